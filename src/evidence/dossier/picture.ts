import { type FactId, isPerson } from "../../session/index.js";
import type { Graph, Row, RowKind } from "./dossier.js";
import { brief, saying } from "./saying.js";
import { type Seen, timeOf } from "./seen.js";

type Draft = {
  kind: RowKind;
  readonly branch: number;
  label: string;
  tone?: "good" | "bad";
  facts: number;
  readonly first: FactId;
  last: FactId;
  readonly at: string | undefined;
  readonly from: Set<Draft>;
  readonly counts: Map<string, number>;
};

/** So many rows are drawn; a longer history is folded until it fits, and then the middle is left out. */
const ROWS = 240;
/** So many are remembered before what is no branching is only counted. */
const REMEMBERED = 20_000;

/** What is worth a word in a stretch, and how one and several of it are called. */
const NOTABLE: ReadonlyMap<string, readonly [one: string, many: string]> = new Map([
  ["model-call", ["model call", "model calls"]],
  ["model-failure", ["failed model call", "failed model calls"]],
  ["tool-call", ["tool call", "tool calls"]],
  ["tool-failure", ["failed tool call", "failed tool calls"]],
  ["step-call", ["step", "steps"]],
  ["step-failure", ["failed step", "failed steps"]],
  ["command-run", ["command", "commands"]],
  ["workspace-change", ["change of files", "changes of files"]],
  ["workspace-merge", ["merge of files", "merges of files"]],
  ["memory-read", ["memory reading", "memory readings"]],
  ["memory-write", ["memory", "memories"]],
  ["message-say", ["message", "messages"]],
  ["approval-ask", ["question to a person", "questions to people"]],
  ["validation-report", ["check", "checks"]],
  ["context-compress", ["summary", "summaries"]],
  ["note", ["note", "notes"]],
]);

/** The rows of the graph, made while the record is read. */
export class Picture {
  readonly #rows: Draft[] = [];
  /** The newest row of each branch. */
  readonly #newest = new Map<number, Draft>();
  readonly #place = new Map<FactId, Draft>();

  see(seen: Seen): void {
    const { id, parents, branch, fact } = seen;
    const event = this.#rows.length < REMEMBERED || isBranching(fact.type) ? eventOf(seen) : undefined;
    const notable = NOTABLE.has(fact.type);
    const newest = this.#newest.get(branch.index);
    let row = newest;
    if (
      event !== undefined ||
      newest === undefined ||
      (notable && newest.kind !== "stretch" && this.#rows.length < REMEMBERED)
    ) {
      row = this.#row(seen, event, newest);
    }
    if (row === undefined) return;
    row.facts += 1;
    row.last = id;
    if (notable && event === undefined) row.counts.set(fact.type, (row.counts.get(fact.type) ?? 0) + 1);
    for (const parent of parents) {
      const from = this.#place.get(parent);
      if (from !== undefined && from !== row) row.from.add(from);
    }
    this.#place.set(id, row);
  }

  end(): Graph {
    for (const row of this.#rows) if (row.kind === "stretch") row.label = summed(row.counts);
    let rows = this.#rows;
    if (rows.length > ROWS) rows = folded(rows);
    const total = rows.length;
    const gap = total > ROWS ? ROWS / 2 : undefined;
    if (gap !== undefined) rows = [...rows.slice(0, gap), ...rows.slice(-gap)];
    const places = new Map(rows.map((row, place) => [row, place]));
    return {
      rows: rows.map((row) => shown(row, places)),
      total,
      ...(gap !== undefined && { gap }),
    };
  }

  #row(seen: Seen, event: Event | undefined, newest: Draft | undefined): Draft {
    const { id, branch, fact, parents } = seen;
    // Where a run once waited lies aside when it went on: its row stands after what it waited with, not at the end.
    const isAside = seen.elsewhere && event?.kind === "suspend";
    const row: Draft = {
      kind: event?.kind ?? "stretch",
      branch: branch.index,
      label: event?.label ?? "",
      ...(event?.tone !== undefined && { tone: event.tone }),
      facts: 0,
      first: id,
      last: id,
      at: timeOf(fact.at),
      from: new Set(newest === undefined || isAside ? [] : [newest]),
      counts: new Map(),
    };
    if (isAside) {
      const places = parents.map((parent) => this.#rows.indexOf(this.#place.get(parent) as Draft));
      this.#rows.splice(Math.max(-1, ...places) + 1, 0, row);
    } else {
      this.#rows.push(row);
      this.#newest.set(branch.index, row);
    }
    return row;
  }
}

type Event = { readonly kind: RowKind; readonly label: string; readonly tone?: "good" | "bad" };

function isBranching(type: string): boolean {
  return (
    type === "branch-fork" || type === "branch-merge" || type === "session-start" || type === "session-detach"
  );
}

/** What gets a row of its own. */
function eventOf({ fact, parents, branch }: Seen): Event | undefined {
  switch (fact.type) {
    case "session-start":
    case "session-detach":
    case "run-start":
    case "record-import":
      return { kind: "start", label: saying(fact) };
    case "branch-fork":
      return { kind: "fork", label: saying(fact) };
    case "branch-merge":
      return {
        kind: "merge",
        label: `${fact.adopt === "both" ? `merged into ${branch.name}` : fact.adopt === "none" ? `gathered ${parents.length} branches and preferred none` : `merged and accepted ${branch.name}`}${fact.why === undefined ? "" : `: ${brief(fact.why)}`}`,
      };
    case "validation-report":
      return { kind: "check", label: saying(fact), tone: fact.passed ? "good" : "bad" };
    case "approval-give":
      return {
        kind: "person",
        label: `${fact.by} ${saying(fact)}`,
        tone: fact.decision === "reject" ? "bad" : "good",
      };
    case "signal-give":
    case "effect-settle":
    case "content-erase":
      return { kind: "person", label: `${fact.by} ${saying(fact)}` };
    case "head-sign":
      return { kind: "person", label: `${fact.by} ${saying(fact)}`, tone: "good" };
    case "message-say":
      return fact.role === "user" && parents.length > 0
        ? { kind: isPerson(fact.by) ? "person" : "say", label: `${fact.by}: ${brief(fact.content)}` }
        : undefined;
    case "budget-stop":
    case "effect-doubt":
    case "run-cancel":
      return { kind: "stop", label: saying(fact), tone: "bad" };
    case "run-suspend":
      return { kind: "suspend", label: saying(fact) };
    case "run-end":
      return { kind: "end", label: saying(fact), tone: fact.error === undefined ? "good" : "bad" };
    default:
      return undefined;
  }
}

function summed(counts: ReadonlyMap<string, number>): string {
  const said = [...counts].map(([type, count]) => {
    const [one, many] = NOTABLE.get(type) as readonly [string, string];
    return `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
  });
  return said.length === 0 ? "bookkeeping" : said.join(", ");
}

/** Neighbours on one branch become one row, unless something branches or comes together there. */
function folded(rows: readonly Draft[]): Draft[] {
  const into = new Map<Draft, Draft>();
  const newest = new Map<number, Draft>();
  const kept: Draft[] = [];
  for (const row of rows) {
    const before = newest.get(row.branch);
    const isPlain = row.kind !== "fork" && row.kind !== "merge" && row.kind !== "start" && row.kind !== "end";
    if (isPlain && before !== undefined && before.kind === "stretch" && row.from.size <= 1) {
      before.facts += row.facts;
      before.last = row.last;
      for (const [type, count] of countsOf(row))
        before.counts.set(type, (before.counts.get(type) ?? 0) + count);
      into.set(row, before);
      continue;
    }
    if (isPlain) {
      for (const [type, count] of countsOf(row)) row.counts.set(type, count);
      row.kind = "stretch";
      delete row.tone;
    }
    newest.set(row.branch, row);
    kept.push(row);
  }
  for (const row of kept) {
    if (row.kind === "stretch") row.label = summed(row.counts);
    const from = [...row.from].map((one) => into.get(one) ?? one).filter((one) => one !== row);
    row.from.clear();
    for (const one of from) row.from.add(one);
  }
  return kept;
}

function countsOf(row: Draft): Iterable<readonly [string, number]> {
  if (row.kind === "stretch") return [...row.counts];
  return row.kind === "person" || row.kind === "say"
    ? [["message-say", 1]]
    : row.kind === "check"
      ? [["validation-report", 1]]
      : [];
}

function shown(row: Draft, places: ReadonlyMap<Draft, number>): Row {
  const { kind, branch, label, tone, facts, first, last, at } = row;
  const from = [...row.from].flatMap((one) => places.get(one) ?? []).sort((one, other) => one - other);
  return {
    kind,
    branch,
    label: brief(label, 200),
    ...(tone !== undefined && { tone }),
    facts,
    first,
    last,
    ...(at !== undefined && { at }),
    from,
  };
}
