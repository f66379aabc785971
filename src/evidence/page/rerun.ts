import {
  type Cost,
  canonical,
  costText,
  costWith,
  digestOf,
  type Effect,
  type FactId,
} from "../../session/index.js";
import { amount, defined } from "../../util/index.js";
import { AuditError } from "../audit/error.js";
import type { Numbers } from "./column.js";
import type { FactTable } from "./fact-table.js";
import { type Graph, REQUESTS } from "./graph.js";
import { type FactRow, factRow, type RowReader } from "./row.js";

/** The difference that a rerun from a fact makes. */
export type Change =
  /** The program goes on from here in another way: other instructions, another model, other code. */
  | { readonly kind: "instruction" | "model" | "program" }
  /** The fact itself is different: the arguments of a call, an outcome, an answer, a message. */
  | { readonly kind: "input" | "answer" | "message" }
  /** The request is made once more as it was. */
  | { readonly kind: "again" };

/** A request of the record, and what a rerun would do about it. */
export type RerunRequest = {
  readonly id: FactId;
  readonly label: string;
  readonly kind: "model" | "tool" | "step" | "person" | "wait";
  readonly effect?: Effect;
  /** Where it acts: in the sandbox of a branch of its own, or on the world outside. */
  readonly place?: string;
  readonly tokens?: number;
  readonly cost?: number | null;
};

/** A rerun before it happens: nothing is done, nothing is recorded. */
export type RerunPlan = {
  /** SHA-256 of the plan, to confirm exactly this one. */
  readonly digest: string;
  readonly head: FactId;
  readonly from: FactId;
  readonly change: Change;
  /** Requests whose outcomes come from the record, the newest of them. */
  readonly taken: readonly RerunRequest[];
  /** Requests that the record has after the fact: they are made for real, if the program asks for the same. */
  readonly real: readonly RerunRequest[];
  /** Those of them for which people were asked. */
  readonly asks: readonly RerunRequest[];
  /** Those of them that act on the world, or may. */
  readonly writes: readonly RerunRequest[];
  /** Requests whose outcome nobody knows: they are settled first. */
  readonly doubts: readonly RerunRequest[];
  /** How many requests there are in all, of which at most 200 are named here. */
  readonly counts: { readonly taken: number; readonly real: number };
  /** After the first answer that differs the program may ask for anything. */
  readonly unknown: boolean;
  /** As the record has it; null where a reply has no price. */
  readonly tokens: number;
  readonly cost: Cost;
  readonly sentence: string;
};

const MOST = 200;
const KINDS: readonly string[] = ["instruction", "model", "program", "input", "answer", "message", "again"];

/** Sorts the requests of a session into those that a rerun from a fact takes from the record and those that it makes. */
export async function rerunPlan(
  graph: Graph,
  reader: RowReader,
  head: number,
  from: number,
  change: Change,
): Promise<RerunPlan> {
  if (!KINDS.includes(change?.kind))
    throw new AuditError(
      "question-refused",
      `A rerun cannot change ${JSON.stringify(String(change?.kind).slice(0, 80))}.`,
      `the kinds of change are ${KINDS.join(", ")}`,
      {},
    );
  const { table } = graph;
  const isOwn = (change.kind === "input" || change.kind === "again") && REQUESTS.has(table.typeAt(from));
  const before = requestsBefore(graph, from, isOwn);
  const after = requestsAfter(graph, from, isOwn);
  const doubts = before.filter((place) => graph.doubts.has(place));
  const told = async (places: readonly number[]): Promise<readonly RerunRequest[]> => {
    const requests: RerunRequest[] = [];
    for (const place of places) requests.push(await requestAt(graph, reader, place));
    return requests;
  };
  const real = await told(after.slice(0, MOST));
  const [tokens, cost] = spentBy(graph, after);
  const asked = askedAbout(graph);
  const plan = {
    head: table.ids.at(head),
    from: table.ids.at(from),
    change,
    taken: await told(before.filter((place) => !graph.doubts.has(place)).slice(-MOST)),
    real,
    asks: real.filter(({ id, kind }) => kind === "person" || asked.has(table.ids.placeOf(id))),
    writes: real.filter(isWrite),
    doubts: await told(doubts.slice(0, MOST)),
    counts: { taken: before.length - doubts.length, real: after.length },
    unknown: after.length > 0 || graph.open.size > 0,
    tokens,
    cost,
  };
  const whole = { ...plan, sentence: sentenceOf(plan) };
  return { digest: digestOf(canonical(whole as never)), ...whole };
}

/** Requests in the past of a fact: their outcomes are on the tape. */
function requestsBefore({ table, spans }: Graph, from: number, isOwn: boolean): readonly number[] {
  const past = new Uint8Array(from + 1);
  past[from] = 1;
  for (let place = from; place >= 0; place--) if (past[place] === 1) table.markParents(place, past);
  if (isOwn) past[from] = 0;
  return requestsIn(spans[0], table, 0, from + 1, past);
}

/** Requests of its run that come from a fact, in the session and not beside it. */
function requestsAfter({ table, spans, length }: Graph, from: number, isOwn: boolean): readonly number[] {
  const later = new Uint8Array(length);
  later[from] = 1;
  const hasRun = table.runAt(from) !== undefined;
  for (let place = from + 1; place < length; place++) {
    const isOther = hasRun && !table.isSameRun(place, from);
    const isBeside = table.isElsewhere(place) && !table.isElsewhere(from);
    if (!isOther && !isBeside && table.hasMarkedParent(place, later)) later[place] = 1;
  }
  if (!isOwn) later[from] = 0;
  return requestsIn(spans[0], table, from, length, later);
}

function requestsIn(
  begins: Numbers,
  table: FactTable,
  from: number,
  end: number,
  marks: Uint8Array,
): readonly number[] {
  const found: number[] = [];
  for (let span = begins.from(from); span < begins.length && begins.at(span) < end; span++) {
    const place = begins.at(span);
    if (marks[place] === 1 && REQUESTS.has(table.typeAt(place))) found.push(place);
  }
  return found;
}

/** Calls for which people were asked. */
function askedAbout({ marks, table }: Graph): ReadonlySet<number> {
  const asked = new Set<number>();
  for (let one = 0; one < marks.waiting.length; one++) {
    const place = marks.waiting.at(one);
    if (table.typeAt(place) === "approval-ask" && table.ofAt(place) !== -1) asked.add(table.ofAt(place));
  }
  return asked;
}

async function requestAt(graph: Graph, reader: RowReader, place: number): Promise<RerunRequest> {
  const { table } = graph;
  const id = table.ids.at(place);
  const fact = (await reader.fact(id))?.fact;
  const row: Pick<FactRow, "label"> =
    fact === undefined ? { label: table.typeAt(place) } : factRow({ id, fact });
  const kind = kindOf(table.typeAt(place));
  const [, ends] = graph.spans;
  const span = graph.spans[0].find(place);
  const reply = kind === "model" && span !== -1 ? graph.replies[0].find(ends.at(span)) : -1;
  const cost = reply === -1 ? undefined : graph.replies[2].at(reply);
  const { effect } = (fact ?? {}) as { readonly effect?: Effect };
  return {
    id,
    label: row.label,
    kind,
    ...defined({ effect }),
    ...((kind === "tool" || kind === "step") && { place: await placeOf(graph, reader, place) }),
    ...(reply !== -1 && {
      tokens: graph.replies[1].at(reply),
      cost: cost === undefined || Number.isNaN(cost) ? null : cost,
    }),
  };
}

function kindOf(type: string): RerunRequest["kind"] {
  if (type === "model-call") return "model";
  if (type === "tool-call") return "tool";
  if (type === "step-call") return "step";
  return type === "timer-set" ? "wait" : "person";
}

const EVIDENCE = 200;

/** The sandbox that a call used, as what it left says; a call that used none acts on the host. */
async function placeOf(graph: Graph, reader: RowReader, call: number): Promise<string> {
  const { table } = graph;
  for (let place = call + 1; place < Math.min(graph.length, call + EVIDENCE); place++) {
    if (table.ofAt(place) !== call) continue;
    if (/-(?:result|failure)$/.test(table.typeAt(place))) break;
    if (!/^(?:command-run|workspace-|sandbox-)/.test(table.typeAt(place))) continue;
    const { sandbox } = ((await reader.fact(table.ids.at(place)))?.fact ?? {}) as {
      readonly sandbox?: unknown;
    };
    if (typeof sandbox === "string") return `a fork of the sandbox ${sandbox}`;
  }
  return "the host";
}

/** A write, or a call of which the record does not say what it does to the world. */
function isWrite({ kind, effect, place }: RerunRequest): boolean {
  return (
    (kind === "tool" || kind === "step") &&
    place === "the host" &&
    (effect === undefined || effect === "write" || effect === "idempotent")
  );
}

function spentBy(graph: Graph, requests: readonly number[]): readonly [tokens: number, cost: Cost] {
  const [begins, ends] = graph.spans;
  let [tokens, cost] = [0, 0 as Cost];
  for (const place of requests) {
    if (graph.table.typeAt(place) !== "model-call") continue;
    const span = begins.find(place);
    const reply = span === -1 ? -1 : graph.replies[0].find(ends.at(span));
    if (reply === -1) continue;
    const price = graph.replies[2].at(reply);
    tokens += graph.replies[1].at(reply);
    cost = costWith(cost, Number.isNaN(price) ? undefined : price);
  }
  return [tokens, cost];
}

type Told = Pick<RerunPlan, "real" | "asks" | "writes" | "doubts" | "counts" | "tokens" | "cost">;

/** The plan in words, as a person confirms it. */
function sentenceOf({ real, asks, writes, doubts, counts, tokens, cost }: Told): string {
  const models = real.filter(({ kind }) => kind === "model").length;
  const others = real.filter(({ kind }) => kind === "tool" || kind === "step").length;
  const more = counts.real - real.length;
  const be = (count: number, one: string, many: string): string => (count === 1 ? one : many);
  const price = cost === null ? ", at an unknown cost" : cost > 0 ? `, about ${costText(cost)}` : "";
  // Each write is listed with its arguments beside the sentence.
  const nameOf = (label: string): string => label.replace(/ with [[{].*$/s, "");
  const written = writes.map(({ label, place }) => `${nameOf(label)} on ${place ?? "the host"}`).join("; ");
  const sentences = [
    doubts.length > 0 && `${amount(doubts.length, "call")} in doubt must be settled first.`,
    `${amount(counts.taken, "outcome")} ${be(counts.taken, "is", "are")} taken from the record.`,
    models > 0 &&
      `${amount(models, "model call")} ${be(models, "is", "are")} made again, about ${tokens.toLocaleString("en")} tokens${price}.`,
    others > 0 && `${amount(others, "call")} ${be(others, "is", "are")} made again.`,
    writes.length > 0 &&
      `${amount(writes.length, "write")} ${be(writes.length, "is", "are")} real: ${written.slice(0, 600)}.`,
    asks.length > 0 && `${amount(asks.length, "request")} will ask a person first.`,
    more > 0 && `${amount(more, "more request")} ${be(more, "is", "are")} not listed.`,
    real.length > 0 && "After the first different answer the program may ask for other things.",
  ];
  return sentences.filter((sentence) => sentence !== false).join(" ");
}
