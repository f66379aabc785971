import type { FactId, FactOf, Json, Session, View } from "../../session/index.js";
import { BeyondHorizonError } from "../../session/index.js";
import { defined, isObject } from "../../util/index.js";
import type { Memory } from "../state.js";

/** The kind of a memory in a stream: an observation, or a reflection on observations. */
export type StreamKind = "observation" | "reflection";

/** The fields of a stream in the `meta` of a memory. */
type StreamMeta = {
  readonly kind: StreamKind;
  /** 0 for what was observed; of a thought one more than the deepest that it rests on. */
  readonly depth: number;
  /** The time of its writing as a step, where the stream counts in steps. */
  readonly step?: number;
  readonly question?: string;
  /** The newest memory that there was when somebody thought: what came after it was not thought about yet. */
  readonly until?: string;
};

/** Any memory of a space is a part of its stream: what does not say otherwise was observed. */
export function streamMetaOf({ meta }: Pick<Memory, "meta">): StreamMeta {
  const said = field(meta, "stream");
  const [kind, depth, step, until] = ["kind", "depth", "step", "until"].map((name) => field(said, name));
  return {
    kind: kind === "reflection" ? "reflection" : "observation",
    depth: typeof depth === "number" && depth > 0 ? depth : 0,
    ...(typeof step === "number" && { step }),
    ...(typeof until === "string" && { until }),
  };
}

/** The `meta` of a memory with what a stream says of it beside what is there. */
export function withStreamMeta(meta: Json | undefined, stream: StreamMeta): Json {
  const others = isObject(meta) ? meta : defined({ given: meta });
  return { ...others, stream: stream as Json };
}

/** When a memory was read last: the time, and the step of the stream where the reading says one. */
export type Access = { readonly at: string; readonly step?: number };

type Accesses = ReadonlyMap<string, ReadonlyMap<FactId, Access>>;

/** The memories that a session has read of each space, and when; a fork has its own. */
const accessView: View<Accesses> = {
  start: new Map(),
  step(state, fact) {
    if (fact.type !== "memory-read" || !Array.isArray(fact.hits) || !isTouching(fact)) return state;
    const step = stepOf(fact);
    const known = new Map(state.get(fact.space));
    for (const { memory } of fact.hits) known.set(memory, later(known.get(memory), { at: fact.at, step }));
    return new Map(state).set(fact.space, known);
  },
};

/** The memories of a space that a session has read on its way, each with when it did so last. */
export function accessesOf(session: Session, space: string): ReadonlyMap<FactId, Access> {
  try {
    return session.view(accessView).get(space) ?? new Map();
  } catch (error) {
    // The readings of a session whose past is not loaded are unknown.
    if (error instanceof BeyondHorizonError) return new Map();
    throw error;
  }
}

function isTouching({ settings }: FactOf<"memory-read">): boolean {
  return field(settings, "touch") !== false;
}

function stepOf({ settings }: FactOf<"memory-read">): number | undefined {
  const step = field(settings, "step");
  return typeof step === "number" ? step : undefined;
}

export function field(json: Json | undefined, name: string): Json | undefined {
  return isObject(json) ? json[name] : undefined;
}

/** Branches come together in any order. */
function later(
  one: Access | undefined,
  { at, step }: { readonly at: string; readonly step: number | undefined },
): Access {
  const newest = one === undefined || one.at < at ? at : one.at;
  const furthest = Math.max(one?.step ?? Number.NEGATIVE_INFINITY, step ?? Number.NEGATIVE_INFINITY);
  return { at: newest, ...(Number.isFinite(furthest) && { step: furthest }) };
}
