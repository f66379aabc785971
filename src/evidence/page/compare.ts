import { diffArrays } from "diff";
import {
  type Cost,
  canonical,
  costWith,
  digestOf,
  type Fact,
  type FactId,
  factTypes,
  type Json,
} from "../../session/index.js";
import type { Recorded } from "../../store/index.js";
import { defined, isObject } from "../../util/index.js";
import { type Shown, shown } from "./content.js";
import type { Graph } from "./graph.js";
import { rowAt } from "./graph-page.js";
import { type Line, lineTo } from "./line.js";
import { type ListOptions, type ListPage, pageOf, stretchOf } from "./list.js";
import type { FactRow, RowReader } from "./row.js";

export type CompareKind = "message" | "call" | "check" | "memory" | "other";

/** The same step on both sides, or a step that only one side has. */
export type ComparedRow = {
  readonly kind: CompareKind;
  readonly a?: FactRow;
  readonly b?: FactRow;
  /** Nothing differs but ids, times and nonces. */
  readonly same: boolean;
  /** The paths of the values that differ: "input.path, outcome.output". */
  readonly diff?: string;
  readonly values?: readonly { readonly path: string; readonly a?: Shown; readonly b?: Shown }[];
};

/** The work of one side after the ancestor, in sums. */
type SideSum = {
  readonly facts: number;
  readonly passed: number;
  readonly failed: number;
  readonly calls: number;
  readonly tokens: number;
  readonly cost: Cost;
  /** From the first fact of its own to the last, in milliseconds; null where the record says no time. */
  readonly ms: number | null;
};

export type Compare = Omit<ListPage<ComparedRow>, "items"> & {
  readonly rows: readonly ComparedRow[];
  /** The newest fact that both have on their way; null for sessions that share nothing: then turns are paired. */
  readonly ancestor: FactId | null;
  /** How many facts both have on their way. */
  readonly common: number;
  readonly a: { readonly head: FactId };
  readonly b: { readonly head: FactId };
  /** Each figure of both sides: a first. */
  readonly sums: { readonly [figure in keyof SideSum]: readonly [a: number | null, b: number | null] };
  /** Steps that were not paired: of each side the first 600 are. */
  readonly more: number;
};

export type CompareOptions = ListOptions & {
  /** Only rows that differ. Default true. */
  readonly differences?: boolean;
  /** Only rows of this kind. */
  readonly kind?: CompareKind;
};

/** A line of a graph, up to a fact. */
export type Side = { readonly graph: Graph; readonly head: number };

type Unit = {
  readonly kind: CompareKind;
  readonly place: number;
  readonly end: number | undefined;
  /** The request key, or the tool with the digest of its arguments; and its kind and name. */
  readonly strong: string;
  readonly weak: string;
  readonly body: Json;
};

const STEPS: ReadonlySet<string> = factTypes(
  "session-start session-detach message-say model-call tool-call step-call validation-report gate-check",
  "memory-read memory-write memory-revise memory-revoke context-compress approval-give signal-give budget-stop",
  "run-end",
);
const MOST = 600;
const PATHS = 50;

/** Pairs what two lines did after their nearest common ancestor. */
export async function compare(
  reader: RowReader,
  a: Side,
  b: Side,
  { differences = true, kind, ...options }: CompareOptions,
): Promise<Compare> {
  const common = commonOf(a, b);
  const [ours, theirs] = [await unitsOf(reader, a, common), await unitsOf(reader, b, common)];
  const pairs = paired(ours.units, theirs.units).map((pair) => ({
    ...pair,
    diff: diffOf(pair.a?.body, pair.b?.body),
  }));
  const wanted = pairs.filter(
    (pair) => (kind === undefined || kindOf(pair) === kind) && !(differences && isSame(pair)),
  );
  const stretch = stretchOf(options, wanted.length);
  const items: ComparedRow[] = [];
  let at = stretch.from;
  for (; wanted[at] !== undefined && items.length < stretch.limit; at += stretch.step) {
    const pair = wanted[at] as (typeof wanted)[number];
    const rows = {
      a: pair.a && (await rowAt(a.graph, reader, pair.a.place, pair.a.end)),
      b: pair.b && (await rowAt(b.graph, reader, pair.b.place, pair.b.end)),
    };
    const same = isSame(pair);
    items.push({
      kind: kindOf(pair),
      ...defined(rows),
      same,
      ...(!same &&
        rows.a &&
        rows.b && { diff: pair.diff.map(({ path }) => path).join(", "), values: pair.diff }),
    });
  }
  const { places } = lineTo(a.graph, a.head);
  const { items: rows, ...cursors } = pageOf(items, stretch, at - stretch.step, wanted.length);
  return {
    rows,
    ...cursors,
    ancestor: common === 0 ? null : a.graph.table.ids.at(places[common - 1] as number),
    common,
    a: { head: a.graph.table.ids.at(a.head) },
    b: { head: b.graph.table.ids.at(b.head) },
    sums: sumsOf(workOf(a.graph, a.head, common).sum, workOf(b.graph, b.head, common).sum),
    more: ours.more + theirs.more,
  };
}

type Pair = { readonly a?: Unit | undefined; readonly b?: Unit | undefined };

function kindOf({ a, b }: Pair): CompareKind {
  return (a ?? b)?.kind ?? "other";
}

function isSame({ a, b, diff }: Pair & { readonly diff: readonly unknown[] }): boolean {
  return a !== undefined && b !== undefined && diff.length === 0;
}

/** How many facts two lines begin with alike. An id covers its past, so one look at each of few places is enough. */
function commonOf(a: Side, b: Side): number {
  const [ours, theirs] = [lineTo(a.graph, a.head).places, lineTo(b.graph, b.head).places];
  const idAt = ({ graph }: Side, places: Int32Array, offset: number) =>
    graph.table.ids.at(places[offset] as number);
  let [from, end] = [0, Math.min(ours.length, theirs.length)];
  while (from < end) {
    const middle = (from + end) >> 1;
    if (idAt(a, ours, middle) === idAt(b, theirs, middle)) from = middle + 1;
    else end = middle;
  }
  return from;
}

async function unitsOf(reader: RowReader, { graph, head }: Side, common: number) {
  const { table, spans } = graph;
  const { steps, count } = workOf(graph, head, common);
  const units: Unit[] = [];
  const [begins, ends] = spans;
  for (const place of steps) {
    const begun = await reader.fact(table.ids.at(place));
    const span = begins.find(place);
    const end = span === -1 || ends.at(span) === -1 ? undefined : ends.at(span);
    const ended = end === undefined ? undefined : await reader.fact(table.ids.at(end));
    if (begun !== undefined) units.push({ place, end, ...unitOf(begun, ended) });
  }
  return { units, more: Math.max(0, count - MOST) };
}

/** Fields that always differ, or say nothing of what was done. */
const NOISE: ReadonlySet<string> = new Set(
  "type at by run seq nonce of from call config prompt milliseconds response meta raw key head before usage cost".split(
    " ",
  ),
);

function unitOf({ fact }: Recorded, ended: Recorded | undefined): Omit<Unit, "place" | "end"> {
  const { key, name, model, role, input, space } = fact as { readonly [field: string]: unknown };
  const named = `${fact.type} ${String(name ?? model ?? role ?? space ?? "")}`;
  const isCall = fact.type === "tool-call" || fact.type === "step-call";
  const strong =
    typeof key === "string" ? `key ${key}` : isCall ? `${named} ${digestIn(input)}` : digestIn(bodyOf(fact));
  const outcome = ended === undefined ? {} : { outcome: bodyOf(ended.fact) };
  return {
    kind: kindIn(fact),
    strong: `${named} ${strong}`,
    weak: named,
    body: { ...bodyOf(fact), ...outcome },
  };
}

function digestIn(value: unknown): string {
  return digestOf(canonical((value ?? null) as Json));
}

function kindIn({ type }: Fact): CompareKind {
  if (/^(?:message-say|session-|model-|context-)/.test(type)) return "message";
  if (type === "tool-call" || type === "step-call") return "call";
  if (type === "validation-report" || type === "gate-check") return "check";
  return type.startsWith("memory-") ? "memory" : "other";
}

/** The content of a fact, without its stamp. Names that a model gave its calls differ each time. */
function bodyOf(fact: Fact): { readonly [field: string]: Json } {
  const fields = Object.entries(fact).filter(([name]) => !NOISE.has(name));
  return JSON.parse(
    JSON.stringify(Object.fromEntries(fields), (name, value) => (name === "call" ? undefined : value)),
  );
}

/** Pairs what is equal in order; between those, what has the same kind and name; the rest stands alone. */
function paired(a: readonly Unit[], b: readonly Unit[]): readonly Pair[] {
  const pairs: Pair[] = [];
  for (const gap of alignedBy(a, b, ({ strong }) => strong))
    if ("pair" in gap) pairs.push(gap.pair);
    else
      for (const rest of alignedBy(gap.a, gap.b, ({ weak }) => weak))
        if ("pair" in rest) pairs.push(rest.pair);
        else pairs.push(...rest.a.map((one) => ({ a: one })), ...rest.b.map((one) => ({ b: one })));
  return pairs;
}

type Aligned = { readonly pair: Pair } | { readonly a: readonly Unit[]; readonly b: readonly Unit[] };

function alignedBy(a: readonly Unit[], b: readonly Unit[], key: (unit: Unit) => string): readonly Aligned[] {
  const aligned: Aligned[] = [];
  let [atA, atB] = [0, 0];
  let gap: { a: readonly Unit[]; b: readonly Unit[] } = { a: [], b: [] };
  const flush = (): void => {
    if (gap.a.length + gap.b.length > 0) aligned.push(gap);
    gap = { a: [], b: [] };
  };
  const [ours, theirs] = [a.map(key), b.map(key)];
  for (const { count, added, removed } of diffArrays(ours, theirs, EDITS) ?? anchored(ours, theirs)) {
    if (removed) {
      gap.a = a.slice(atA, atA + count);
      atA += count;
    } else if (added) {
      gap.b = b.slice(atB, atB + count);
      atB += count;
    } else {
      flush();
      for (let one = 0; one < count; one++) aligned.push({ pair: { a: a[atA++], b: b[atB++] } });
    }
  }
  flush();
  return aligned;
}

/** So many differences are looked for step by step: for two long sequences that have little in common that takes seconds. */
const EDITS = { maxEditLength: 150 };

type Stretch = { readonly count: number; readonly added: boolean; readonly removed: boolean };

/** The longest sequence of pairs that are in order on both sides, where equal keys are paired as often as they come. */
function anchored(a: readonly string[], b: readonly string[]): readonly Stretch[] {
  const places = new Map<string, number[]>();
  for (const [place, key] of b.entries()) places.set(key, [...(places.get(key) ?? []), place]);
  const tails: number[] = [];
  const pairs: { readonly a: number; readonly b: number; readonly before: number }[] = [];
  for (const [place, key] of a.entries()) {
    const other = places.get(key)?.shift();
    if (other === undefined) continue;
    let at = tails.findIndex((tail) => (pairs[tail]?.b ?? 0) > other);
    if (at === -1) at = tails.length;
    pairs.push({ a: place, b: other, before: tails[at - 1] ?? -1 });
    tails[at] = pairs.length - 1;
  }
  const chosen: (typeof pairs)[number][] = [];
  for (let at = tails.at(-1) ?? -1; at !== -1; at = pairs[at]?.before ?? -1)
    chosen.unshift(pairs[at] as (typeof pairs)[number]);
  const stretches: Stretch[] = [];
  let [atA, atB] = [0, 0];
  for (const { a: toA, b: toB } of [...chosen, { a: a.length, b: b.length }]) {
    if (toA > atA) stretches.push({ count: toA - atA, added: false, removed: true });
    if (toB > atB) stretches.push({ count: toB - atB, added: true, removed: false });
    if (toA < a.length && toB < b.length) stretches.push({ count: 1, added: false, removed: false });
    [atA, atB] = [toA + 1, toB + 1];
  }
  return stretches;
}

type Difference = NonNullable<ComparedRow["values"]>[number];

/** The paths at which two values differ, as trees. */
function diffOf(
  a: Json | undefined,
  b: Json | undefined,
  path = "",
  found: Difference[] = [],
): readonly Difference[] {
  if (found.length >= PATHS || canonical(a ?? null) === canonical(b ?? null)) return found;
  if ((isObject(a) && isObject(b)) || (Array.isArray(a) && Array.isArray(b))) {
    const [one, other] = [a, b] as unknown as readonly [{ [key: string]: Json }, { [key: string]: Json }];
    for (const key of new Set([...Object.keys(one), ...Object.keys(other)]))
      diffOf(one[key], other[key], path === "" ? key : `${path}.${key}`, found);
  } else
    found.push({ path, ...(a !== undefined && { a: shown(a) }), ...(b !== undefined && { b: shown(b) }) });
  return found;
}

function sumsOf(a: SideSum, b: SideSum): Compare["sums"] {
  const both = (figure: keyof SideSum) => [a[figure], b[figure]] as const;
  return {
    facts: both("facts"),
    passed: both("passed"),
    failed: both("failed"),
    calls: both("calls"),
    tokens: both("tokens"),
    cost: both("cost"),
    ms: both("ms"),
  };
}

type Work = {
  readonly common: number;
  /** The first steps, and how many there are. */
  readonly steps: readonly number[];
  readonly count: number;
  readonly sum: SideSum;
};

/** The work of lines that were compared lately: counted once, in time in proportion to the line. */
const worked = new WeakMap<Line, Work>();

function workOf(graph: Graph, head: number, common: number): Work {
  const line = lineTo(graph, head);
  const known = worked.get(line);
  if (known?.common === common) return known;
  const { table, replies, marks } = graph;
  const [places, tokens, costs] = replies;
  const steps: number[] = [];
  let count = 0;
  const sum = { passed: 0, failed: 0, calls: 0, tokens: 0, cost: 0 as Cost };
  for (let at = common; at < line.places.length; at++) {
    const place = line.places[at] as number;
    const type = table.typeAt(place);
    if (STEPS.has(type) && ++count <= MOST) steps.push(place);
    if (type === "validation-report") sum[marks.failed.find(place) === -1 ? "passed" : "failed"] += 1;
    const reply = type === "model-reply" ? places.find(place) : -1;
    if (reply === -1) continue;
    const cost = costs.at(reply);
    sum.calls += 1;
    sum.tokens += tokens.at(reply);
    sum.cost = costWith(sum.cost, Number.isNaN(cost) ? undefined : cost);
  }
  const own = line.places.subarray(common);
  const timed = (place: number): boolean => !Number.isNaN(table.timeAt(place));
  const [first, last] = [own.find(timed), own.findLast(timed)];
  const ms = first === undefined ? Number.NaN : table.timeAt(last as number) - table.timeAt(first);
  const facts = own.length;
  const work = {
    common,
    steps,
    count,
    sum: { facts, ...sum, ms: Number.isNaN(ms) ? (facts === 0 ? 0 : null) : ms },
  };
  worked.set(line, work);
  return work;
}
