import type { FactId } from "../../session/index.js";
import { shareOf, weighed } from "./asked.js";
import { Crowd } from "./crowd.js";
import type { Connection } from "./database.js";
import type { Filter } from "./filter.js";
import type { Live } from "./live.js";
import { lengthOf } from "./vector.js";
import { byWords } from "./words.js";

export type FindOptions = Filter & {
  readonly limit: number;
  /** What a score must be at least, from 0 to 1. */
  readonly threshold: number;
  /** What has expired by this time is not found. */
  readonly now: string;
  /** What counts: words, meaning, or both (the default). */
  readonly mode?: "fused" | "words" | "meaning";
  readonly signal?: AbortSignal;
};

/** A question: its text, and its meaning as a vector where that counts. */
export type Question = {
  readonly query: string;
  readonly vector: Int8Array | undefined;
  /** How much of it the embedder knows, from 0 to 1, where it says so. */
  readonly coverage: number | undefined;
};

/** A memory that was found: by its place. */
export type Hit = {
  readonly id: FactId;
  readonly score: number;
  readonly parts: { readonly words: number; readonly meaning: number };
  readonly alike: readonly FactId[];
};

/** Different memories that are compared for each way of looking. */
const CANDIDATES = 40;
/** The nearest vectors that are looked at, as many as are compared exactly of very many. */
const FIRST_LOOK = 2_000;
const DEEP_LOOK = 16_000;
/** Memories that are looked at in one way, whatever they are. */
const LOOKS = 8_000;

type Candidate = { readonly place: number; readonly words: readonly string[] };

/**
 * The live memories that answer a question, best first; equal ones by their ids. Everything that a score is made of is
 * a function of the question and of the live memories.
 */
export function hitsIn(
  connection: Connection,
  live: Live,
  { query, vector, coverage }: Question,
  options: FindOptions,
): readonly Hit[] {
  const { mode = "fused", limit, threshold, now } = options;
  const { mask, count } = live.meant(options, now);
  if (count === 0) return [];
  const asked = mode === "meaning" ? [] : weighed(connection, query, live.size);
  const wordsOf = (place: number): readonly string[] => {
    const words = connection.get("SELECT list FROM words WHERE rowid = ?", live.rows[place] as number)
      ?.list as string | undefined;
    return words === undefined || words === "" ? [] : words.split(" ");
  };
  const candidates = new Map<number, Candidate>();
  const take = (places: Iterable<number>): number => {
    const crowd = new Crowd<Candidate>();
    let looks = 0;
    for (const place of places) {
      const candidate = candidates.get(place) ?? { place, words: wordsOf(place) };
      crowd.offer(candidate, candidate.words);
      if (crowd.guests.length >= Math.max(CANDIDATES, limit) || ++looks >= LOOKS) break;
    }
    for (const { value, others } of crowd.guests)
      for (const one of [value, ...others]) candidates.set(one.place, one);
    return crowd.guests.length;
  };
  if (mode !== "meaning") take(byWords(connection, live, asked, mask));
  if (vector !== undefined && mode !== "words") {
    const near = (most: number): Iterable<number> =>
      live.neighbours.nearest(vector, mask, most).map(({ place }) => place);
    // Where those turn out to say all the same, others are looked for further away.
    if (take(near(FIRST_LOOK)) < CANDIDATES && count > FIRST_LOOK) take(near(DEEP_LOOK));
  }
  const length = vector === undefined ? 0 : lengthOf(vector);
  const scored: (Candidate & Omit<Hit, "alike">)[] = [];
  for (const candidate of candidates.values()) {
    const words = shareOf(asked, candidate.words);
    const meaning = vector === undefined ? 0 : live.neighbours.cosine(vector, length, candidate.place);
    const score = fused(mode, words, meaning, coverage);
    if (score >= threshold && score > 0)
      scored.push({
        ...candidate,
        id: live.ids[candidate.place] as FactId,
        score,
        parts: { words, meaning },
      });
  }
  scored.sort((one, other) => other.score - one.score || (one.id < other.id ? -1 : 1));
  const crowd = new Crowd<(typeof scored)[number]>({ exact: true });
  for (const one of scored) {
    if (crowd.guests.length > limit) break;
    crowd.offer(one, one.words);
  }
  return crowd.guests.slice(0, limit).map(({ value: { id, score, parts }, others }) => ({
    id,
    score,
    parts,
    alike: others.map((one) => one.id),
  }));
}

/** How much meaning counts beside words, where all of a question is known to the embedder. */
const MEANING = 0.8;

function fused(mode: string, words: number, meaning: number, coverage = 1): number {
  if (mode === "words") return words;
  if (mode === "meaning") return meaning;
  const weight = MEANING * coverage;
  return weight * meaning + (1 - weight) * words;
}
