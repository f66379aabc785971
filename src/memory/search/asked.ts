import { COMMON } from "./common.js";
import type { Connection } from "./database.js";
import { askedOf } from "./tokens.js";

/** A word of a question: how many live memories have it, and how much it counts. */
export type AskedWord = { readonly word: string; readonly found: number; readonly weight: number };

/** What a common word counts beside another. */
const LITTLE = 0.1;
/** A word that no memory has is no more telling than one that few have. */
const UNKNOWN = 0.6;

/** The words of a question, the rarest first. */
export function weighed(connection: Connection, query: string, live: number): readonly AskedWord[] {
  const words = askedOf(query).map((word) => {
    const found =
      (connection.get("SELECT doc FROM vocabulary WHERE term = ?", word)?.doc as number | undefined) ?? 0;
    // Never nothing: whoever writes a word a thousand times must not make it worthless for others.
    const rare = 1 + Math.log(1 + (live - found + 0.5) / (found + 0.5));
    return { word, found, weight: rare * (COMMON.has(word) ? LITTLE : 1) * (found === 0 ? UNKNOWN : 1) };
  });
  return words.sort((one, other) => one.found - other.found || (one.word < other.word ? -1 : 1));
}

/**
 * What share of a question a text answers by its words, from 0 to 1: of what its words weigh, as much as the text has. A
 * word that stands in a short text, or more than once, counts in full.
 */
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
