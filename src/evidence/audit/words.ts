import type { Digest, Fact, Gone } from "../../session/index.js";
import { describeFact, lineOf, shortId, textOf } from "../../session/index.js";
import type { Erasure } from "../../store/index.js";
import { amount } from "../../util/index.js";

/** Erasures by digest: withheld content is described with them. */
export type Erasures = ReadonlyMap<Digest, Erasure>;

/** An id as far as people need it. */
export const short = shortId;

/** A number of things, in words. */
export const many = amount;

/** "is" or "are", and "was" or "were", for so many. */
export function are(count: number): string {
  return count === 1 ? "is" : "are";
}
export function were(count: number): string {
  return count === 1 ? "was" : "were";
}

/** Names in a row: "a", "a and b", "a, b and c". */
export function row(names: readonly string[]): string {
  if (names.length < 2) return names.join("");
  return `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
}

/** Words of others, on one line and without control characters. */
export function plainWords(value: unknown, erasures: Erasures, most = 120): string {
  return lineOf(
    textOf(value, (content) => goneWords(content, erasures)),
    most,
  );
}

/** Why content is not here. */
function goneWords({ reason, digest }: Gone, erasures: Erasures): string {
  const erasure = erasures.get(digest);
  if (erasure !== undefined) return `[erased by ${erasure.by} at ${erasure.at}: ${lineOf(erasure.why, 120)}]`;
  return reason === "unfit" ? "[content that is not what its line says]" : "[content that is not here]";
}

/** The event of a fact, as the rest of a sentence that begins with its author. */
export function deedOf(fact: Fact, erasures: Erasures, most = 120): string {
  return describeFact(fact, { each: most, quotes: true, gone: (content) => goneWords(content, erasures) });
}
