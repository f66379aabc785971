import type { FactId } from "../../session/index.js";
import type { Connection } from "../derived-file.js";
import { idOf } from "./fold.js";
import type { Filter, Live } from "./live.js";
import { lengthOf } from "./nearest.js";
import { deduplicator, likeness, sketchOf } from "./similar.js";
import { askedOf, COMMON, wordsOf } from "./tokens.js";

export type FindOptions = Filter & {
  /** Maximum number of memories. Default 5. */
  readonly limit: number;
  /** The minimum score of a memory, from 0 to 1. */
  readonly threshold: number;
  /** The time at which memories count as expired. Default: now. */
  readonly now: string;
  /** The score: by words, by meaning, or by both (the default). */
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

/** The live memories that answer a question, best first, then by id. Scores depend on nothing else. */
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
  const wordsAt = (place: number): readonly string[] => {
    const words = connection.get("SELECT list FROM words WHERE rowid = ?", live.rows[place] as number)
      ?.list as string | undefined;
    return words === undefined || words === "" ? [] : words.split(" ");
  };
  const candidates = new Map<number, Candidate>();
  const take = (places: Iterable<number>): number => {
    const { kept, add } = deduplicator<Candidate>();
    let looks = 0;
    for (const place of places) {
      const candidate = candidates.get(place) ?? { place, words: wordsAt(place) };
      add(candidate, candidate.words);
      if (kept.length >= Math.max(CANDIDATES, limit) || ++looks >= LOOKS) break;
    }
    for (const { value, others } of kept)
      for (const one of [value, ...others]) candidates.set(one.place, one);
    return kept.length;
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
  const { kept, add } = deduplicator<(typeof scored)[number]>({ exact: true });
  for (const one of scored) {
    if (kept.length > limit) break;
    add(one, one.words);
  }
  return kept.slice(0, limit).map(({ value: { id, score, parts }, others }) => ({
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

/** Memories that are looked at for their words, about: a word that more have is only looked for together with another. */
const LOOKED_AT = 6_000;
/** The rarest word is looked for by itself up to here. */
const AT_MOST = 10_000;
/** Of so few memories, a word that many have costs nothing. */
const FEW = 1_000;
/** Rows that are asked for first. */
const FIRST = 400;

/**
 * The places of a mask with words of a question, by bm25, then by id. Full text search holds only live
 * memories. Common words are left out where rarer ones exist.
 */
export function* byWords(
  connection: Connection,
  live: Live,
  asked: readonly AskedWord[],
  mask: Uint8Array,
): Generator<number> {
  const match = matchOf(asked, live.size);
  if (match === undefined) return;
  let meant = 1;
  for (const one of mask) meant += one;
  // The fewer are meant, the more have to be asked for to find some of them.
  let most = Math.ceil(FIRST * Math.max(1, live.size / meant / 3));
  let told = 0;
  for (;;) {
    const rows = connection.all(
      "SELECT rowid AS row, rank FROM words WHERE words MATCH ? ORDER BY rank LIMIT ?",
      match,
      most,
    );
    const whole = rows.length < most;
    // Of those that are as good as the last one, the limit may have cut some off.
    const last = rows.at(-1)?.rank;
    const ranked = rows
      .filter(({ rank }) => whole || rank !== last)
      .map(({ row, rank }) => ({ place: live.placeOf(row as number), rank: rank as number }))
      .filter((one): one is { place: number; rank: number } => one.place !== undefined)
      .sort(
        (one, other) =>
          one.rank - other.rank ||
          ((live.ids[one.place] as string) < (live.ids[other.place] as string) ? -1 : 1),
      );
    for (const { place } of ranked.slice(told)) if (mask[place] === 1) yield place;
    if (whole) return;
    told = ranked.length;
    most = -1 >>> 1;
  }
}

function matchOf(asked: readonly AskedWord[], live: number): string | undefined {
  const known = asked.filter(({ found }) => found > 0);
  const content = known.filter(({ word }) => !COMMON.has(word));
  const telling = content.filter(({ found }) => found * 10 <= live || live < FEW);
  const words: AskedWord[] = [];
  let sum = 0;
  // Where all of them are in many memories, more is looked at; there is nothing else to go by.
  const [chosen, most] =
    telling.length > 0 ? [telling, LOOKED_AT] : [content.length > 0 ? content : known, LOOKED_AT * 3];
  for (const one of chosen) {
    if (words.length > 0 ? sum + one.found > most : one.found > AT_MOST) break;
    words.push(one);
    sum += one.found;
  }
  const alternatives = words.map(({ word }) => `"${word}"`);
  // Of those that were left out, the two rarest together still say something.
  const [one, other] = known.filter((word) => !words.includes(word));
  if (one !== undefined && other !== undefined && one.found * other.found <= LOOKED_AT * live)
    alternatives.push(`("${one.word}" AND "${other.word}")`);
  return alternatives.length === 0 ? undefined : alternatives.join(" OR ");
}

/** A word of a question: how many live memories have it, and how much it counts. */
export type AskedWord = { readonly word: string; readonly found: number; readonly weight: number };

/** The weight of a common word beside another. */
const LITTLE = 0.1;
/** A word that no memory has is no more telling than one that few have. */
const UNKNOWN = 0.6;

/** The words of a question, the rarest first. */
export function weighed(connection: Connection, query: string, live: number): readonly AskedWord[] {
  const words = askedOf(query).map((word) => {
    const found =
      (connection.get("SELECT doc FROM vocabulary WHERE term = ?", word)?.doc as number | undefined) ?? 0;
    // Never zero: one author who writes a word a thousand times must not make it worthless for others.
    const rare = 1 + Math.log(1 + (live - found + 0.5) / (found + 0.5));
    return { word, found, weight: rare * (COMMON.has(word) ? LITTLE : 1) * (found === 0 ? UNKNOWN : 1) };
  });
  return words.sort((one, other) => one.found - other.found || (one.word < other.word ? -1 : 1));
}

/** The share (0 to 1) of a question's words that a text has, weighted; repeated words count in full. */
export function shareOf(asked: readonly AskedWord[], words: readonly string[]): number {
  const times = new Map<string, number>();
  for (const { word } of asked) times.set(word, 0);
  for (const word of words) {
    const before = times.get(word);
    if (before !== undefined) times.set(word, before + 1);
  }
  const length = Math.min(0.6, 0.05 + words.length * 0.003);
  let [all, had] = [0, 0];
  for (const { word, weight } of asked) {
    const often = times.get(word) as number;
    all += weight;
    if (often > 0) had += weight * (often / (often + length));
  }
  return all === 0 ? 0 : had / all;
}

/** Memories that are compared for one key of a sketch. More have it when it is of a word that many have. */
const COMPARED = 12;
/** The minimum share of all their words that two texts have in common. */
const NEAR = 0.4;

/** Live memories that share most of their words with a text, the nearest first; equal ones by their ids. */
export function nearTo(connection: Connection, text: string, most: number): readonly FactId[] {
  const words = wordsOf(text);
  const rows = new Set<number>();
  for (const key of sketchOf(words))
    for (const { row } of connection.all(
      `SELECT row FROM sketch WHERE key = ? ORDER BY tag LIMIT ${COMPARED}`,
      key,
    ))
      rows.add(row as number);
  const own = new Set(words);
  const near: { readonly id: FactId; readonly alike: number }[] = [];
  for (const row of rows) {
    const found = connection.get("SELECT list FROM words WHERE rowid = ?", row)?.list as string | undefined;
    const alike = likeness(own, new Set(found?.split(" ")));
    if (alike >= NEAR)
      near.push({ id: idOf(connection.get("SELECT id FROM memory WHERE row = ?", row)?.id), alike });
  }
  return near
    .sort((one, other) => other.alike - one.alike || (one.id < other.id ? -1 : 1))
    .slice(0, most)
    .map(({ id }) => id);
}
