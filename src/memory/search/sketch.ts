import { COMMON } from "./common.js";

/** How many words of a text stand for it. Two texts that share most of their words share one of them nearly always. */
const KEYS = 4;

/**
 * A sketch of a set of words: the smallest of their hashes, for some hashes. How likely two sets have one of these in
 * common is how much of the words they share, so texts that are alike are found by looking up few numbers.
 */
export function sketchOf(words: Iterable<string>): number[] {
  const every = new Set(words);
  const telling = [...every].filter((word) => !COMMON.has(word));
  const smallest = new Array<number>(KEYS).fill(0xffffffff);
  for (const word of telling.length > 0 ? telling : every) {
    const hash = hashOf(word);
    for (let key = 0; key < KEYS; key++) {
      const mixed = mix(hash ^ Math.imul(key + 1, 0x9e3779b9));
      if (mixed < (smallest[key] as number)) smallest[key] = mixed;
    }
  }
  // Numbered, so that the keys of one hash are not mistaken for those of another.
  return every.size === 0 ? [] : smallest.map((one, key) => one * 8 + key);
}

/** What two sets of words share of all their words, from 0 to 1. */
export function likeness(one: ReadonlySet<string>, other: ReadonlySet<string>): number {
  const [few, many] = one.size < other.size ? [one, other] : [other, one];
  // Too different in length to be alike: not worth counting.
  if (few.size * 4 < many.size) return 0;
  let shared = 0;
  for (const word of few) if (many.has(word)) shared += 1;
  const union = one.size + other.size - shared;
  return union === 0 ? 1 : shared / union;
}

function hashOf(word: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < word.length; at++) hash = Math.imul(hash ^ word.charCodeAt(at), 0x01000193);
  return hash;
}

function mix(value: number): number {
  let hash = value | 0;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
