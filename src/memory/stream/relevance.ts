import type { Embedder } from "../embedding/embedder.js";
import { MEANT_CHARACTERS } from "../search/nearest.js";

/** Numbers of vectors that are held for each embedder: with 256 of them in each, some 30,000 texts. */
const HELD = 8_000_000;
/** Texts that an embedder is asked about at once. */
const BATCH = 256;

/** Vectors of one embedder, by text; those that were asked for longest ago go first. */
class Vectors {
  readonly #known = new Map<string, Float32Array>();
  #numbers = 0;

  get(text: string): Float32Array | undefined {
    const vector = this.#known.get(text);
    if (vector === undefined) return undefined;
    this.#known.delete(text);
    this.#known.set(text, vector);
    return vector;
  }

  set(text: string, vector: Float32Array): void {
    this.#numbers += vector.length - (this.#known.get(text)?.length ?? 0);
    this.#known.set(text, vector);
    for (const [oldest, { length }] of this.#known) {
      if (this.#numbers <= HELD || oldest === text) break;
      this.#known.delete(oldest);
      this.#numbers -= length;
    }
  }
}

const vectors = new WeakMap<Embedder, Vectors>();

/**
 * How near texts are to a question: the cosine of their vectors, in whole precision. The index keeps vectors that are rounded,
 * which is enough to find the nearest; here small differences are spread from 0 to 1 and decide.
 */
export async function nearness(
  embedder: Embedder,
  question: string,
  texts: readonly string[],
  signal?: AbortSignal,
): Promise<readonly number[]> {
  const [asked, ...others] = await vectorsOf(embedder, [question, ...texts], signal);
  return others.map((vector) => cosine(asked as Float32Array, vector));
}

async function vectorsOf(
  embedder: Embedder,
  texts: readonly string[],
  signal: AbortSignal | undefined,
): Promise<readonly Float32Array[]> {
  let known = vectors.get(embedder);
  if (known === undefined) {
    known = new Vectors();
    vectors.set(embedder, known);
  }
  const cut = texts.map((text) => text.slice(0, MEANT_CHARACTERS).toWellFormed());
  // Held here too: what is looked up now must not go because of what comes after.
  const found = new Map<string, Float32Array>();
  const lacking: string[] = [];
  for (const text of new Set(cut)) {
    const vector = known.get(text);
    if (vector === undefined) lacking.push(text);
    else found.set(text, vector);
  }
  for (let from = 0; from < lacking.length; from += BATCH) {
    const some = lacking.slice(from, from + BATCH);
    const made = await embedder.embed(some, signal);
    for (const [place, text] of some.entries()) {
      const vector = made[place] as Float32Array;
      found.set(text, vector);
      known.set(text, vector);
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
