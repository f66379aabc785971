import type { Memory } from "../state.js";
import type { Profile } from "./profile.js";

/** A memory with what its score is made of. */
export type Candidate = {
  readonly memory: Memory;
  /** The cosine of its meaning and that of the question. */
  readonly meaning: number;
  /** When it was last read, or else written: as a time, and as a step of the stream. */
  readonly accessed: { readonly at: number; readonly step: number };
};

export type Scored = Candidate & {
  readonly score: number;
  /** Each from 0 to 1, as it is weighed. */
  readonly recency: number;
  readonly relevance: number;
  readonly importance: number;
};

/**
 * The best of some memories, that were given as they were written: the sum of recency, relevance and importance, each
 * spread from 0 to 1 over all of them, by their weights. Of equals, the one that was written first; where ranks
 * count, the one that was read longest ago.
 */
export function best(
  candidates: readonly Candidate[],
  { decay, clock, weights, limit, order }: Profile,
  now: number,
): readonly Scored[] {
  const inTurn =
    clock === "rank"
      ? [...candidates].sort((one, other) => one.accessed.at - other.accessed.at)
      : [...candidates];
  const newest = inTurn.reduce((most, { accessed }) => Math.max(most, accessed.step), 0);
  const recency = spread(
    inTurn.map(({ accessed }, place) => {
      if (clock === "rank") return decay ** (place + 1);
      if (clock === "steps") return decay ** (newest - accessed.step);
      return decay ** (Math.max(0, now - accessed.at) / HOUR);
    }),
  );
  const relevance = spread(inTurn.map(({ meaning }) => meaning));
  const importance = spread(importances(inTurn));
  const scored = inTurn.map((candidate, place): Scored => {
    const [recent, relevant, important] = [recency[place], relevance[place], importance[place]] as [
      number,
      number,
      number,
    ];
    return {
      ...candidate,
      score: weights.recency * recent + weights.relevance * relevant + weights.importance * important,
      recency: recent,
      relevance: relevant,
      importance: important,
    };
  });
  const chosen = scored.sort((one, other) => other.score - one.score).slice(0, limit);
  if (order === "score") return chosen;
  const places = new Map(candidates.map(({ memory }, place) => [memory.id, place]));
  return chosen.sort(
    (one, other) => (places.get(one.memory.id) as number) - (places.get(other.memory.id) as number),
  );
}

const HOUR = 3_600_000;

/** From 0 to 1, the least and the most of them. Where all are equal, none stands out. */
function spread(values: readonly number[]): readonly number[] {
  const least = values.reduce((one, other) => Math.min(one, other), Number.POSITIVE_INFINITY);
  const most = values.reduce((one, other) => Math.max(one, other), Number.NEGATIVE_INFINITY);
  const range = most - least;
  return range > 0 ? values.map((value) => (value - least) / range) : values.map(() => 0.5);
}

/** Those of which nobody has said how important they are count as the least of the others. */
function importances(candidates: readonly Candidate[]): readonly number[] {
  const known = candidates.flatMap(({ memory: { importance } }) =>
    importance === undefined ? [] : [importance],
  );
  const least = known.reduce((one, other) => Math.min(one, other), Number.POSITIVE_INFINITY);
  return candidates.map(({ memory: { importance = known.length === 0 ? 0 : least } }) => importance);
}
