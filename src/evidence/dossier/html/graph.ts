import type { Branch, Dossier, Graph, Row } from "../dossier.js";
import { brief } from "../saying.js";
import { type Html, html } from "./html.js";
import { type Anchors, count, line, when } from "./words.js";

const HEIGHT = 46;
const WIDTH = 18;
const MIDDLE = 16;
/** Lanes beyond these are drawn over the last one: a picture is no wider than a phone. */
const COLUMNS = 12;
const COLOURS = 8;

/** The picture of the graph: lanes on the left, and beside them, as a list, what each place says. */
export function graphSection({ graph, branches, counts }: Dossier, anchors: Anchors): Html {
  const known = new Map(branches.items.map((branch) => [branch.index, branch]));
  const columns = columnsOf(graph);
  const width = (Math.max(0, ...columns.values()) + 1) * WIDTH + 8;
  const lanes = [...columns].map(([branch]) => known.get(branch)?.name ?? "");
  return html`<section id="graph" aria-labelledby="graph-h"><h2 id="graph-h">The graph <span class="n">${count(counts.facts, "fact")}, ${count(counts.branches, "branch", "branches")}</span></h2>
<p class="lead">From the beginning at the top to the result at the bottom. Every branch is here, also those that nothing took in; a dashed line was rejected.</p>
<div class="graph"><svg width="${width}" height="${graph.rows.length * HEIGHT}" viewBox="0 0 ${width} ${graph.rows.length * HEIGHT}" role="img" aria-labelledby="graph-t"><title id="graph-t">Lanes of ${count(lanes.length, "branch", "branches")}; the list beside it says the same in words.</title>${edges(graph, columns, known)}${graph.rows.map((row, place) => dot(row, place, columns))}</svg>
<ol>${graph.rows.map((row, place) => entry(row, place, graph, known, anchors))}</ol></div></section>`;
}

/** A lane is taken when a branch begins and given back when its last line has arrived. */
function columnsOf({ rows }: Graph): ReadonlyMap<number, number> {
  const until = new Map<number, number>();
  rows.forEach((row, place) => {
    until.set(row.branch, Math.max(until.get(row.branch) ?? 0, place));
    for (const from of row.from) {
      const branch = rows[from]?.branch;
      if (branch !== undefined) until.set(branch, Math.max(until.get(branch) ?? 0, place));
    }
  });
  const columns = new Map<number, number>();
  const taken: (number | undefined)[] = [];
  rows.forEach((row, place) => {
    for (const [column, branch] of taken.entries())
      if (branch !== undefined && (until.get(branch) ?? 0) < place) taken[column] = undefined;
    if (columns.has(row.branch)) return;
    const free = taken.indexOf(undefined);
    const column = Math.min(free === -1 ? taken.length : free, COLUMNS - 1);
    taken[column] = row.branch;
    columns.set(row.branch, column);
  });
  return columns;
}

function edges(
  { rows }: Graph,
  columns: ReadonlyMap<number, number>,
  known: ReadonlyMap<number, Branch>,
): readonly Html[] {
  return rows.flatMap((row, place) =>
    row.from.map((from) => {
      const source = rows[from] as Row;
      const [x1, y1, x2, y2] = [xOf(source.branch, columns), yOf(from), xOf(row.branch, columns), yOf(place)];
      // A branch has the colour of its lane from where it leaves to where it arrives.
      const isNew = source.branch !== row.branch && row.kind !== "merge" && row.kind !== "end";
      const lane = isNew || source.branch === row.branch ? row.branch : source.branch;
      const path =
        x1 === x2
          ? `M${x1} ${y1}V${y2}`
          : isNew
            ? `M${x1} ${y1}C${x1} ${y1 + HEIGHT * 0.6} ${x2} ${y1 + HEIGHT * 0.4} ${x2} ${y1 + HEIGHT}V${y2}`
            : `M${x1} ${y1}V${y2 - HEIGHT}C${x1} ${y2 - HEIGHT * 0.4} ${x2} ${y2 - HEIGHT * 0.6} ${x2} ${y2}`;
      const isRejected = known.get(lane)?.fate === "rejected";
      return html`<path class="edge${isRejected && " rejected"} s${colour(lane)}" d="${path}"/>`;
    }),
  );
}

function xOf(branch: number, columns: ReadonlyMap<number, number>): number {
  return (columns.get(branch) ?? 0) * WIDTH + WIDTH / 2 + 4;
}

function yOf(place: number): number {
  return place * HEIGHT + MIDDLE;
}

function colour(branch: number): number {
  return branch % COLOURS;
}

/** What a place looks like says what it is, also without colours. */
function dot(row: Row, place: number, columns: ReadonlyMap<number, number>): Html {
  const [x, y] = [xOf(row.branch, columns), yOf(place)];
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

function entry(
  row: Row,
  place: number,
  graph: Graph,
  known: ReadonlyMap<number, Branch>,
  anchors: Anchors,
): Html {
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

/** What became of a branch, in a word or two. */
export function fateWord({ fate, elsewhere }: Branch): string {
  const words: { readonly [fate in Branch["fate"]]: string } = {
    trunk: "trunk",
    result: "the result stands here",
    accepted: "accepted",
    rejected: "rejected",
    merged: "merged",
    returned: "gave its answer back",
    left: "left when the run ended",
    open: elsewhere === true ? "taken in by nothing" : "not merged",
  };
  return words[fate];
}
