import type { Fact, FactId, FactOf, Session } from "../../../session/index.js";
import { goesOnFrom, Withheld } from "../../../session/index.js";
import type { ExportFormat } from "../exchange.js";
import { millisecondsOf, UNKNOWN_TIME } from "../intake.js";
import { shownOf } from "../trajectory/line.js";

/** A table of all calls and what they cost, for spreadsheets. */
export const csv: ExportFormat = {
  name: "csv",
  title: "a table of calls and cost (CSV)",
  extension: ".csv",
  write: async (subject) => {
    const lines = [line(COLUMNS)];
    for (const row of rowsOf(await shownOf(subject))) lines.push(line(row));
    return `${lines.join("\r\n")}\r\n`;
  },
};

const COLUMNS = [
  ..."time branch run agent kind name input_tokens output_tokens cached_tokens reasoning_tokens".split(" "),
  ..."cost milliseconds status error fact".split(" "),
];
type Cell = string | number | undefined;
type Call = FactOf<"model-call" | "tool-call">;
type Outcome = FactOf<"model-reply" | "model-failure" | "tool-result" | "tool-failure">;

function* rowsOf(session: Session): Generator<readonly Cell[]> {
  const outcomes = new Map<FactId, Outcome>();
  for (const { fact } of session.history()) if (isOutcome(fact)) outcomes.set(fact.of, fact);
  const branches = new Map<FactId, string>();
  for (const node of session.history()) {
    const { fact, id } = node;
    const before = branches.get(goesOnFrom(node)?.id ?? "") ?? "main";
    const branch = fact.type === "branch-fork" ? fact.name : before;
    branches.set(id, branch);
    if (fact.type === "model-call" || fact.type === "tool-call")
      yield rowOf(id, fact, outcomes.get(id), branch);
  }
}

function rowOf(id: FactId, call: Call, outcome: Outcome | undefined, branch: string): readonly Cell[] {
  const isModel = call.type === "model-call";
  const reply = outcome?.type === "model-reply" ? outcome : undefined;
  const error = outcome !== undefined && "error" in outcome ? outcome.error : undefined;
  return [
    call.at === UNKNOWN_TIME ? undefined : call.at,
    branch,
    call.run,
    (isModel ? call.agent : undefined) ?? (call.by.startsWith("agent:") ? call.by.slice(6) : undefined),
    isModel ? "model" : "tool",
    isModel ? (reply?.model ?? call.model) : call.name,
    reply?.usage.input,
    reply?.usage.output,
    reply?.usage.cached,
    reply?.usage.reasoning,
    reply?.cost,
    outcome?.milliseconds ?? between(call.at, outcome?.at),
    outcome === undefined ? "pending" : error === undefined ? "ok" : "failed",
    // Its message may repeat what was said.
    error === undefined ? undefined : error instanceof Withheld ? "withheld" : (error.code ?? error.name),
    id,
  ];
}

function isOutcome(fact: Fact): fact is Outcome {
  return /^(model-(reply|failure)|tool-(result|failure))$/.test(fact.type);
}

/** Milliseconds from a call to its outcome, where both times are known. */
function between(from: string, to: string | undefined): number | undefined {
  if (to === undefined || from === UNKNOWN_TIME || to === UNKNOWN_TIME) return undefined;
  const milliseconds = millisecondsOf(to) - millisecondsOf(from);
  return milliseconds >= 0 ? milliseconds : undefined;
}

function line(cells: readonly Cell[]): string {
  return cells.map(cellOf).join(",");
}

/** Spreadsheets compute what begins like this, and some look behind blanks and in full width. */
const FORMULA = /^[\s\p{Cf}]*[=+\-@＝＋－＠|%]|^[\t\r\n]/u;

function cellOf(value: Cell): string {
  if (value === undefined) return "";
  if (typeof value === "number") return String(value);
  const text = value.toWellFormed();
  const safe = FORMULA.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) || safe !== text || safe.trim() !== safe
    ? `"${safe.replaceAll('"', '""')}"`
    : safe;
}
