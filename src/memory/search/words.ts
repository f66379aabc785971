import type { AskedWord } from "./asked.js";
import { COMMON } from "./common.js";
import type { Connection } from "./database.js";
import type { Live } from "./live.js";

/** Memories that are looked at for their words, about: a word that more have is only looked for together with another. */
const LOOKED_AT = 6_000;
/** The rarest word is looked for by itself up to here. */
const AT_MOST = 10_000;
/** Of so few memories, a word that many have costs nothing. */
const FEW = 1_000;
/** Rows that are asked for first. */
const FIRST = 400;

/**
 * The places of a mask that have words of a question, the best first, by bm25; equal ones by their ids. Full text search
 * has only the live memories in it, so this depends on nothing else. Common words are left out where rarer ones are there:
 * they would cost much and tell little.
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
