import {
  BeyondHorizonError,
  type FactId,
  type FactOf,
  type Json,
  type Session,
  type View,
} from "../../session/index.js";

/** When a memory was read last: the time, and the step of the stream where the reading says one. */
export type Access = { readonly at: string; readonly step?: number };

type Accesses = ReadonlyMap<string, ReadonlyMap<FactId, Access>>;

/**
 * What a session has read of each space, and when. It is asked of the session that reads: its past is its own, so that a
 * fork has a past of its own too, and the same question from the same id has the same answer for ever.
 */
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
    // Of a session whose past is not loaded, what was read there is not known any more.
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
  if (typeof json !== "object" || json === null || Array.isArray(json)) return undefined;
  return (json as { readonly [name: string]: Json })[name];
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
