import { factTypes } from "../../session/index.js";
import { type Graph, OUTCOMES, REQUESTS } from "./graph.js";

/** The way that a session went, oldest fact first, and where on it each turn begins. */
export type Line = {
  readonly places: Int32Array;
  readonly turns: readonly number[];
  /** Requests that are open at its end. */
  readonly open: number;
};

const BEGINS: ReadonlySet<string> = factTypes(
  "session-start session-detach message-say model-call context-compress branch-fork branch-merge run-start",
  "run-end budget-stop",
);
/** A turn of a program without a model is cut at a call after so many facts. */
const LONG = 100;

const known = new WeakMap<Graph, Map<number, Line>>();
/** So many lines of one graph are kept: the session's, and those of branches that somebody looks at. */
const KEPT = 4;

const EMPTY: Line = { places: new Int32Array(), turns: [], open: 0 };

/** The line that leads to a fact. The first question takes time in proportion to its length, later ones to what is new. */
export function lineTo(graph: Graph, head: number): Line {
  const lines = known.get(graph) ?? new Map<number, Line>();
  known.set(graph, lines);
  const line = lines.get(head) ?? read(graph, head, lines);
  lines.delete(head);
  lines.set(head, line);
  for (const one of lines.keys()) if (lines.size > KEPT) lines.delete(one);
  return line;
}

function read(graph: Graph, head: number, lines: ReadonlyMap<number, Line>): Line {
  let fresh = 0;
  let place = head;
  for (; place !== -1 && !lines.has(place); place = graph.beforeAt(place)) fresh += 1;
  const before = lines.get(place) ?? EMPTY;
  const from = before.places.length;
  const places = new Int32Array(from + fresh);
  places.set(before.places);
  let at = places.length;
  for (let one = head; one !== place; one = graph.beforeAt(one)) places[--at] = one;
  const turns = [...before.turns];
  let { open } = before;
  for (let offset = from; offset < places.length; offset++) {
    const type = graph.table.typeAt(places[offset] as number);
    const begins = BEGINS.has(type);
    const isRequest = REQUESTS.has(type);
    const isLong = isRequest && open === 0 && offset - (turns.at(-1) ?? 0) >= LONG;
    if (begins || isLong || offset === 0) turns.push(offset);
    // Whatever was open before a turn is not waited for in it.
    if (begins) open = 0;
    if (isRequest && type !== "model-call") open += 1;
    else if (open > 0 && OUTCOMES.has(type)) open -= 1;
  }
  return { places, turns, open };
}
