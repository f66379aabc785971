import type { Embedder } from "../embedding/embedder.js";
import { MEANT_CHARACTERS } from "../search/nearest.js";
import type { Memory } from "../state.js";
import type { Profile } from "./options.js";

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
 * The best by the weighted sum of recency, relevance and importance, each scaled to 0 to 1. Of equals, the
 * one written first; by ranks, the one read longest ago.
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

/** How many numbers are kept for each embedder: with 256 in each vector, about 30,000 texts. */
const HELD = 8_000_000;
/** Texts in one call of an embedder. */
const BATCH = 256;

/** The vectors of each embedder by text, the least recently used first. */
const cache = new WeakMap<Embedder, Map<string, Float32Array>>();

/** The cosine of texts and a question in full precision: rounded vectors would blur small differences. */
export async function nearness(
  embedder: Embedder,
  question: string,
  texts: readonly string[],
  signal?: AbortSignal,
): Promise<readonly number[]> {
  const [asked, ...others] = await vectorsOf(embedder, [question, ...texts], signal);
  return others.map((vector) => cosine(asked as Float32Array, vector));
}

async function vectorsOf(embedder: Embedder, texts: readonly string[], signal: AbortSignal | undefined) {
  const held = cache.get(embedder) ?? new Map<string, Float32Array>();
  cache.set(embedder, held);
  const cut = texts.map((text) => text.slice(0, MEANT_CHARACTERS).toWellFormed());
  // Copied: another call may remove them from the cache while this one waits.
  const found = new Map<string, Float32Array>();
  const lacking: string[] = [];
  for (const text of new Set(cut)) {
    const vector = held.get(text);
    if (vector === undefined) lacking.push(text);
    else found.set(text, vector);
  }
  for (let from = 0; from < lacking.length; from += BATCH) {
    const some = lacking.slice(from, from + BATCH);
    const made = await embedder.embed(some, signal);
    for (const [place, text] of some.entries()) found.set(text, made[place] as Float32Array);
  }
  for (const [text, vector] of found) {
    held.delete(text);
    held.set(text, vector);
    for (const oldest of held.keys()) {
      if (held.size * vector.length <= HELD || oldest === text) break;
      held.delete(oldest);
    }
  }
  return cut.map((text) => found.get(text) as Float32Array);
}

function cosine(one: Float32Array, other: Float32Array): number {
  let [product, ours, theirs] = [0, 0, 0];
  for (let at = 0; at < one.length; at++) {
    const [a, b] = [one[at] as number, other[at] as number];
    product += a * b;
    ours += a * a;
    theirs += b * b;
  }
  return ours === 0 || theirs === 0 ? 0 : product / Math.sqrt(ours * theirs);
}
