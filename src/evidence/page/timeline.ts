import { type Cost, costWith, type FactId } from "../../session/index.js";
import type { Recorded } from "../../store/index.js";
import { defined } from "../../util/index.js";
import { type Graph, longestOf } from "./graph.js";
import { type ListOptions, type ListPage, pageOf, stretchOf } from "./list.js";
import { factRow, type RowReader } from "./row.js";

/** Something that takes time. */
export type Span = {
  readonly id: FactId;
  readonly index: number;
  /** The module or the call that it happened in. */
  readonly parent?: FactId;
  readonly kind: "model" | "tool" | "step" | "command" | "wait" | "module";
  readonly name: string;
  readonly branch: string;
  /** Milliseconds since 1970; null where the record says no time. */
  readonly from: number | null;
  readonly to?: number | null;
  /** How long it took, as its outcome says. */
  readonly ms?: number;
  readonly state: "open" | "done" | "failed" | "in-doubt" | "waiting";
  readonly outcome?: FactId;
  /** The outcome was taken from the record of another run. */
  readonly taken?: FactId;
  readonly tokens?: { readonly input: number; readonly output: number };
  /** In dollars; null where the reply has no price. */
  readonly cost?: number | null;
  /** How many attempts failed and were repeated. */
  readonly retries: number;
};

/** Calls of models over time. */
export type Series = {
  readonly from: number | null;
  readonly to: number | null;
  readonly buckets: readonly Bucket[];
  readonly total: Omit<Bucket, "from">;
  /** The longest times in which nothing happened, of more than 30 seconds, as [from, to]. */
  readonly idle: readonly (readonly [number, number])[];
};

type Bucket = {
  readonly from: number;
  readonly calls: number;
  readonly tokens: number;
  readonly cost: Cost;
  /** The mean and the longest time of a reply, in milliseconds. */
  readonly latency: number;
  readonly longest: number;
};

const KINDS: { readonly [type: string]: Span["kind"] } = {
  "model-call": "model",
  "tool-call": "tool",
  "step-call": "step",
  "command-run": "command",
  "module-enter": "module",
};

/** Spans in the order in which they began, of all branches. */
export async function timeline(
  graph: Graph,
  reader: RowReader,
  options: ListOptions,
  until = graph.length - 1,
): Promise<ListPage<Span>> {
  const length = graph.spans[0].from(until + 1);
  const stretch = stretchOf(options, length);
  const items: Span[] = [];
  let at = stretch.from;
  for (; at >= 0 && at < length && items.length < stretch.limit; at += stretch.step)
    items.push(await spanAt(graph, reader, at, until));
  return pageOf(items, stretch, at - stretch.step, length);
}

async function spanAt(graph: Graph, reader: RowReader, index: number, until: number): Promise<Span> {
  const { table } = graph;
  const [begins, ends, tries] = graph.spans;
  const place = begins.at(index);
  const end = ends.at(index) > until ? -1 : ends.at(index);
  const id = table.ids.at(place);
  const begun = await reader.fact(id);
  const ended = end === -1 || end === place ? undefined : await reader.fact(table.ids.at(end));
  const parent = parentOf(graph, place);
  const kind = KINDS[table.typeAt(place)] ?? "wait";
  return {
    id,
    index,
    ...(parent !== -1 && { parent: table.ids.at(parent) }),
    kind,
    name: begun === undefined ? table.typeAt(place) : nameOf(begun),
    branch: graph.branchAt(place).name,
    from: begun === undefined ? null : factRow(begun).at,
    state: graph.doubts.has(place) ? "in-doubt" : kind === "wait" ? "waiting" : "open",
    ...(begun?.fact.type === "command-run" && commandOf(begun)),
    ...(ended !== undefined && outcomeOf(ended)),
    retries: tries.at(index),
  };
}

function parentOf(graph: Graph, place: number): number {
  const type = graph.table.typeAt(place);
  if (type === "module-enter") return graph.outerOf(place);
  const of = graph.table.ofAt(place);
  return type === "command-run" && of !== -1 ? of : graph.moduleAt(place);
}

function nameOf({ fact }: Recorded): string {
  const { name, model, module, command } = fact as { readonly [field: string]: unknown };
  const named = model ?? module ?? name ?? command;
  return typeof named === "string" ? named.slice(0, 200) : factRow({ id: "", fact }).label;
}

/** A command is recorded when it is over. */
function commandOf(recorded: Recorded): Partial<Span> {
  const { code, milliseconds } = recorded.fact as Recorded["fact"] & { readonly type: "command-run" };
  const to = factRow(recorded).at;
  return {
    from: to === null ? null : to - milliseconds,
    to,
    ms: milliseconds,
    state: code === 0 ? "done" : "failed",
  };
}

function outcomeOf(ended: Recorded): Partial<Span> {
  const { fact, id } = ended;
  const { at, flags } = factRow(ended);
  const { milliseconds, from } = fact as { readonly milliseconds?: number; readonly from?: FactId };
  const isCancelled = fact.type === "wait-cancel";
  return {
    to: at,
    outcome: id,
    state: isCancelled || (flags.includes("failed") && fact.type !== "approval-give") ? "failed" : "done",
    ...defined({ ms: milliseconds, taken: fact.type.includes("-give") ? undefined : from }),
    ...(fact.type === "model-reply" && {
      tokens: { input: fact.usage.input, output: fact.usage.output },
      cost: fact.cost ?? null,
    }),
  };
}

/** Tokens, cost and latency of models over time, in so many buckets of equal length. One pass over the graph. */
export function series(graph: Graph, buckets: number): Series {
  const { table } = graph;
  const [places, tokens, costs, times] = graph.replies;
  const { from, to, idle } = graph.hours;
  const count = from === null || to === null ? 0 : buckets;
  const length = ((to ?? 0) - (from ?? 0)) / Math.max(1, count) || 1;
  const sums = Array.from({ length: count }, (_, index) => emptyBucket((from ?? 0) + index * length));
  const total = emptyBucket(0);
  for (let one = 0; one < places.length; one++) {
    const at = table.timeAt(places.at(one));
    const index = Number.isNaN(at) ? -1 : Math.min(count - 1, Math.floor((at - (from ?? 0)) / length));
    for (const sum of [total, sums[index]]) {
      if (sum === undefined) continue;
      const cost = costs.at(one);
      sum.calls += 1;
      sum.tokens += tokens.at(one);
      sum.cost = costWith(sum.cost, Number.isNaN(cost) ? undefined : cost);
      sum.latency += times.at(one);
      sum.longest = Math.max(sum.longest, times.at(one));
    }
  }
  const { from: _, ...all } = meanOf(total);
  return { from, to, buckets: sums.map(meanOf), total: all, idle: longestOf(idle) };
}

type Sum = { -readonly [Key in keyof Bucket]: Bucket[Key] };

function emptyBucket(from: number): Sum {
  return { from, calls: 0, tokens: 0, cost: 0, latency: 0, longest: 0 };
}

function meanOf(sum: Sum): Bucket {
  return { ...sum, latency: sum.calls === 0 ? 0 : sum.latency / sum.calls };
}
