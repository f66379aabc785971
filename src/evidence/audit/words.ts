import {
  type Digest,
  describeFact,
  type Fact,
  type Gone,
  lineOf,
  shortId,
  textOf,
  Withheld,
} from "../../session/index.js";
import type { Erasure } from "../../store/index.js";
import { amount } from "../../util/index.js";

/** Who erased what: content that is gone is told with it. */
export type Erasures = ReadonlyMap<Digest, Erasure>;

/** An id as far as people need it. */
export const short = shortId;

/** A number of things, in words. */
export const many = amount;

/** Names in a row: "a", "a and b", "a, b and c". */
export function row(names: readonly string[]): string {
  if (names.length < 2) return names.join("");
  return `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
}

/** Some words of somebody else, on one line, without what a terminal would obey, in quotes. */
export function quoted(value: unknown, erasures: Erasures, most = 120): string {
  const words = plainWords(value, erasures, most);
  return value instanceof Withheld ? words : `"${words}"`;
}

/** The same without quotes. */
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

/** What a fact says happened, as the rest of a sentence that begins with who did it. */
export function deedOf(fact: Fact, erasures: Erasures, most = 120): string {
  return describeFact(fact, {
    each: most,
    quotes: true,
    gone: (content) => goneWords(content, erasures),
  });
}
