import type { Branch, Dossier, Graph, Row } from "../dossier.js";
import { brief } from "../saying.js";
import { type Html, html } from "./html.js";
import { type Anchors, count, line, when } from "./words.js";

const HEIGHT = 46;
const MIDDLE = 16;
/** Lanes are as wide as this; many lanes are narrower, and then the picture scrolls. */
const WIDEST = 18;
const NARROWEST = 6;
const ROOM = 216;
const COLOURS = 8;

/** The picture of the graph: lanes on the left, and beside them, as a list, what each place says. */
export function graphSection({ graph, branches, counts }: Dossier, anchors: Anchors): Html {
  const known = new Map(branches.items.map((branch) => [branch.index, branch]));
  const lanes = lanesOf(graph);
  const columns = Math.max(0, ...lanes.values()) + 1;
  const step = Math.max(NARROWEST, Math.min(WIDEST, Math.floor(ROOM / columns)));
  const xOf = (branch: number): number => (lanes.get(branch) ?? 0) * step + step / 2 + 4;
  const width = columns * step + 8;
  return html`<section id="graph" aria-labelledby="graph-h"><h2 id="graph-h">The graph <span class="n">${count(counts.facts, "fact")}, ${count(counts.branches, "branch", "branches")}</span></h2>
<p class="lead">From the beginning at the top to the result at the bottom. Every branch is here, also those that nothing took in; a dashed line was rejected.</p>
<div class="graph"><svg width="${width}" height="${graph.rows.length * HEIGHT}" viewBox="0 0 ${width} ${graph.rows.length * HEIGHT}" role="img" aria-labelledby="graph-t"><title id="graph-t">Lanes of ${count(lanes.size, "branch", "branches")}; the list beside it says the same in words.</title>${edges(graph, xOf, known)}${graph.rows.map((row, place) => dot(row, xOf(row.branch), place))}</svg>
<ol>${graph.rows.map((row, place) => entry(row, place, graph, known, anchors))}</ol></div></section>`;
}

/**
 * Which lane each branch is drawn on. A branch has its lane to itself from the row where it leaves another
 * branch, not only from its own first row, until its last line has arrived: two branches are never drawn on one line.
 */
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

function edges(
  { rows }: Graph,
  xOf: (branch: number) => number,
  known: ReadonlyMap<number, Branch>,
): readonly Html[] {
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

/** What a place looks like says what it is, also without colours. */
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
    gathered: "gathered, none is preferred",
    returned: "gave its answer back",
    left: "left when the run ended",
    open: elsewhere === true ? "taken in by nothing" : "not merged",
  };
  return words[fate];
}
