import { type FactId, isPerson } from "../../session/index.js";
import { defined } from "../../util/index.js";
import type { Branch } from "./branches.js";
import { type Html, html } from "./html/html.js";
import { type Anchors, count, line, type Section, when } from "./html/words.js";
import { type Seen, timeOf } from "./item.js";
import { brief, saying } from "./words.js";

/** The picture: one row for each place where something began, branched, came together or was decided. */
export type Graph = { readonly rows: readonly Row[]; readonly total: number; readonly gap?: number };

export type RowKind =
  | "start"
  | "fork"
  | "merge"
  | "stretch"
  | "check"
  | "person"
  | "say"
  | "stop"
  | "suspend"
  | "end";

export type Row = {
  readonly kind: RowKind;
  readonly branch: number;
  readonly label: string;
  /** The colour of what happened: good, bad, or neither. */
  readonly tone?: "good" | "bad";
  readonly facts: number;
  readonly first: FactId;
  readonly last: FactId;
  readonly at?: string;
  /** The rows that it comes from. */
  readonly from: readonly number[];
};

/** A row while the record is read. */
type Draft = { -readonly [Key in keyof Omit<Row, "at" | "from">]: Row[Key] } & {
  readonly at: string | undefined;
  readonly from: Set<Draft>;
  readonly counts: Map<string, number>;
};

/** So many rows are drawn; a longer history is folded until it fits, and then the middle is left out. */
const ROWS = 240;
/** After so many, facts that do not branch are only counted. */
const REMEMBERED = 20_000;

/** The facts that a stretch mentions, with their singular and plural. */
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
    return { rows: rows.map((row) => shown(row, places)), total, ...defined({ gap }) };
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

/** The facts that get a row of their own. */
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
  return { kind, branch, label: brief(label, 200), ...defined({ tone, facts, first, last, at }), from };
}

const HEIGHT = 46;
const MIDDLE = 16;
/** Lanes are as wide as this; many lanes are narrower, and then the picture scrolls. */
const WIDEST = 18;
const NARROWEST = 6;
const ROOM = 216;
const COLOURS = 8;

/** The picture of the graph: lanes on the left, and beside them, as a list, what each place says. */
export const graphSection: Section = {
  id: "graph",
  title: "The graph",
  note: ({ counts }) => `${count(counts.facts, "fact")}, ${count(counts.branches, "branch", "branches")}`,
  body: ({ graph, branches }, anchors) => {
    const known = new Map(branches.items.map((branch) => [branch.index, branch]));
    const lanes = lanesOf(graph);
    const columns = Math.max(0, ...lanes.values()) + 1;
    const step = Math.max(NARROWEST, Math.min(WIDEST, Math.floor(ROOM / columns)));
    const xOf = (branch: number): number => (lanes.get(branch) ?? 0) * step + step / 2 + 4;
    const width = columns * step + 8;
    return html`<p class="lead">From the beginning at the top to the result at the bottom. Every branch is here, also those that nothing took in; a dashed line was rejected.</p>
<div class="graph"><svg width="${width}" height="${graph.rows.length * HEIGHT}" viewBox="0 0 ${width} ${graph.rows.length * HEIGHT}" role="img" aria-labelledby="graph-t"><title id="graph-t">Lanes of ${count(lanes.size, "branch", "branches")}; the list beside it says the same in words.</title>${edges(graph, xOf, known)}${graph.rows.map((row, place) => dot(row, xOf(row.branch), place))}</svg>
<ol>${graph.rows.map((row, place) => entry(row, place, graph, known, anchors))}</ol></div>`;
  },
};

/** The lane of each branch. It is reserved from where the branch forks to where its last line arrives. */
export function lanesOf({ rows }: Graph): ReadonlyMap<number, number> {
  const spans = new Map<number, { from: number; until: number }>();
  rows.forEach(({ branch, from }, place) => {
    const span = spans.get(branch);
    if (span === undefined) spans.set(branch, { from: Math.min(place, ...from), until: place });
    else span.until = place;
    for (const one of from) {
      const source = spans.get((rows[one] as Row).branch);
      // The first line of a branch runs on its own lane, every other one on the lane that it comes from.
      if (source !== undefined && span !== undefined) source.until = Math.max(source.until, place);
    }
  });
  const lanes = new Map<number, number>();
  const taken: number[] = [];
  for (const [branch, { from, until }] of [...spans].sort(([, one], [, other]) => one.from - other.from)) {
    const free = taken.findIndex((end) => end < from);
    const lane = free === -1 ? taken.length : free;
    taken[lane] = until;
    lanes.set(branch, lane);
  }
  return lanes;
}

function edges({ rows }: Graph, xOf: (branch: number) => number, known: ReadonlyMap<number, Branch>) {
  const begun = new Set<number>();
  return rows.flatMap((row, place) => {
    const isFirst = !begun.has(row.branch);
    begun.add(row.branch);
    return row.from.map((from) => {
      const source = rows[from] as Row;
      const [x1, y1, x2, y2] = [xOf(source.branch), yOf(from), xOf(row.branch), yOf(place)];
      // A branch has the colour of its lane from where it leaves to where it arrives.
      const lane = isFirst ? row.branch : source.branch;
      const path =
        x1 === x2
          ? `M${x1} ${y1}V${y2}`
          : isFirst
            ? `M${x1} ${y1}C${x1} ${y1 + HEIGHT * 0.6} ${x2} ${y1 + HEIGHT * 0.4} ${x2} ${y1 + HEIGHT}V${y2}`
            : `M${x1} ${y1}V${y2 - HEIGHT}C${x1} ${y2 - HEIGHT * 0.4} ${x2} ${y2 - HEIGHT * 0.6} ${x2} ${y2}`;
      const isRejected = known.get(lane)?.fate === "rejected";
      return html`<path class="edge${isRejected && " rejected"} s${colour(lane)}" d="${path}"/>`;
    });
  });
}

function yOf(place: number): number {
  return place * HEIGHT + MIDDLE;
}

function colour(branch: number): number {
  return branch % COLOURS;
}

/** The shape of a mark shows its kind, also without colours. */
function dot(row: Row, x: number, place: number): Html {
  const y = yOf(place);
  const lane = `s${colour(row.branch)}`;
  switch (row.kind) {
    case "check":
    case "stop":
      return row.tone === "good"
        ? html`<circle class="dot good" cx="${x}" cy="${y}" r="6"/><path class="cross" d="M${x - 3} ${y}l2 2.4l4-4.6"/>`
        : html`<circle class="dot bad" cx="${x}" cy="${y}" r="6"/><path class="cross" d="M${x - 2.6} ${y - 2.6}l5.2 5.2m0-5.2l-5.2 5.2"/>`;
    case "person":
      return html`<rect class="dot ${row.tone ?? lane}" x="${x - 5}" y="${y - 5}" width="10" height="10" rx="2"/>`;
    case "merge":
      return html`<circle class="dot ${lane}" cx="${x}" cy="${y}" r="7"/><circle class="dot solid ${lane}" cx="${x}" cy="${y}" r="2.5"/>`;
    case "end":
      return html`<circle class="dot ${row.tone === "bad" ? "bad" : `solid ${lane}`}" cx="${x}" cy="${y}" r="6"/>`;
    case "start":
      return html`<circle class="dot ${lane}" cx="${x}" cy="${y}" r="6"/>`;
    case "suspend":
      return html`<circle class="dot ${lane}" cx="${x}" cy="${y}" r="7"/><path class="edge ${lane}" d="M${x - 2} ${y - 3}v6m4-6v6"/>`;
    case "fork":
      return html`<circle class="dot solid ${lane}" cx="${x}" cy="${y}" r="5"/>`;
    default:
      return html`<circle class="dot solid ${lane}" cx="${x}" cy="${y}" r="3"/>`;
  }
}

function entry(row: Row, place: number, graph: Graph, known: ReadonlyMap<number, Branch>, anchors: Anchors) {
  const branch = known.get(row.branch);
  const left = graph.total - graph.rows.length;
  const gap = left > 0 && place === graph.gap ? `after ${count(left, "row")} that are not drawn` : undefined;
  return html`<li class="${row.kind}"><b dir="auto">${row.label}</b>${line(
    gap,
    branch && brief(branch.name, 40),
    row.kind === "fork" && branch !== undefined && fateWord(branch),
    row.facts > 1 && count(row.facts, "fact"),
    row.at === undefined ? undefined : when(row.at, "clock"),
    anchors.id(row.first),
  )}</li>`;
}

/** The fate of a branch, in a word or two. */
export function fateWord({ fate, elsewhere }: Branch): string {
  const words: { readonly [fate in Branch["fate"]]: string } = {
    trunk: "trunk",
    result: "the result stands here",
    accepted: "accepted",
    rejected: "rejected",
    merged: "merged",
    gathered: "gathered, none is preferred",
    returned: "gave its answer back",
    left: "left when the run ended",
    open: elsewhere === true ? "taken in by nothing" : "not merged",
  };
  return words[fate];
}
