import type { Embedder } from "./embedder.js";
import { readingOf } from "./reading.js";

/** Goes up whenever a text may get another vector: an index of other vectors is then built again. */
const VERSION = 1;

/**
 * The embedding of the package `@openrath/embedding`: no key, no network. Every word has one vector, and a
 * text is their sum, so it knows what is spoken of and not what is said about it.
 */
export function staticEmbedding(): Embedder {
  return {
    name: `openrath-static-${VERSION}`,
    dimensions: DIMENSIONS,
    embed: (texts, signal) =>
      texts.map((text) => {
        signal?.throwIfAborted();
        return vectorOf(text);
      }),
    coverage,
  };
}

const DIMENSIONS = 256;

/** How much of a text the table knows, from 0 to 1: the less, the more is to be given on the words themselves. */
export function coverage(text: string): number {
  const { known, letters } = readingOf(text);
  return letters === 0 ? 0 : known / letters;
}

/** How much the characters count beside the meaning where nothing is known. */
const GRAMS = 0.85;

function vectorOf(text: string): Float32Array {
  const { meaning, grams, known, letters, unsure } = readingOf(text);
  const [first, second] = [lengthOf(meaning), lengthOf(grams)];
  const a = first === 0 ? 0 : known / letters / first;
  const b = second === 0 ? 0 : (GRAMS * unsure) / letters / second;
  const sum = meaning.map((value, at) => value * a + (grams[at] as number) * b);
  const length = lengthOf(sum);
  return Float32Array.from(sum, (value) => (length === 0 ? 0 : value / length));
}

function lengthOf(vector: Float64Array): number {
  let sum = 0;
  for (const value of vector) sum += value * value;
  return Math.sqrt(sum);
}
