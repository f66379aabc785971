import type { Script } from "./piece.js";

/** How long the runs of characters are that are hashed, and what each counts. */
const LENGTHS: { readonly [script in Script]: readonly (readonly [length: number, weight: number])[] } = {
  spaced: [
    [3, 0.5],
    [4, 0.75],
    [5, 1],
  ],
  han: [
    [1, 0.5],
    [2, 1],
  ],
  thai: [
    [2, 0.25],
    [3, 0.75],
    [4, 1],
  ],
  sign: [[1, 1]],
  mark: [],
};

/** Each run of characters goes to so many dimensions: the more, the less do two of them look alike by accident. */
const SPREAD = 4;

/**
 * Adds the character n-grams of a word to a sum: what the table does not know is still like itself, its inflections
 * and its compounds. Whole numbers decide where, so that it is the same everywhere.
 */
export function addGrams(sum: Float64Array, script: Script, text: string, weight: number): void {
  const framed = script === "spaced" ? `<${text.slice(0, LONGEST)}>` : text.slice(0, LONGEST);
  for (const [length, each] of LENGTHS[script])
    for (let from = 0; from + length <= framed.length; from++) {
      const single = length === 1 && isKana(framed.charCodeAt(from));
      if (!single) addGram(sum, framed, from, length, weight * each);
    }
}

const LONGEST = 4_096;

/** A kana by itself is a sound, not a word. */
function isKana(unit: number): boolean {
  return unit >= 0x3040 && unit <= 0x30ff;
}

function addGram(sum: Float64Array, text: string, from: number, length: number, weight: number): void {
  // FNV-1a, and the last steps of MurmurHash3, which let every bit of it change half of the others.
  let hash = 0x811c9dc5;
  for (let at = from; at < from + length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  for (let turn = 0; turn < SPREAD; turn++) {
    hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
    hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
    hash ^= hash >>> 16;
    const dimension = (hash >>> 1) % sum.length;
    sum[dimension] = (sum[dimension] as number) + (hash & 1 ? weight : -weight);
  }
}
