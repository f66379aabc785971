import { COMMON } from "./tokens.js";

/** How many words stand for a text. Texts that share most of their words share one of these nearly always. */
const KEYS = 4;

/** A sketch of a set of words: the smallest of each of many hashes. Similar sets share some. */
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

/** The share of all their words that two sets have in common, from 0 to 1. */
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

/** From this likeness on, two texts are the same text. */
const SAME = 0.95;
/** From this likeness on, two texts are similar, and only so many of them are kept. */
const SIMILAR = 0.7;
const SIMILAR_KEPT = 3;
/** How many of the texts that are left out are listed. */
const LISTED = 20;

/** A text that is kept, and those that were left out because they are like it. */
type Kept<Value> = { readonly value: Value; readonly others: Value[] };

/** Drops near-duplicates, best first: one per set of words, three that differ in a name or a number. */
export function deduplicator<Value>({ exact = false }: { readonly exact?: boolean } = {}): {
  readonly kept: readonly Kept<Value>[];
  readonly add: (value: Value, words: readonly string[]) => void;
} {
  type Entry = { readonly words: ReadonlySet<string>; readonly text: Kept<Value>; readonly number: number };
  const kept: Kept<Value>[] = [];
  const entries: Entry[] = [];
  // By the sketch of their words: similar texts have one of these keys in common nearly always.
  const byKey = new Map<number, Entry[]>();
  const leaveOut = ({ others }: Kept<Value>, value: Value): void => {
    if (others.length < LISTED) others.push(value);
  };
  const add = (value: Value, given: readonly string[]): void => {
    const words = new Set(given);
    const keys = exact ? [] : sketchOf(words);
    const compared = new Set<number>();
    let [similar, count]: [Kept<Value> | undefined, number] = [undefined, 0];
    // Exactly, each text is compared with all that are kept; otherwise with those whose sketches meet.
    for (const others of exact ? [entries] : keys.map((key) => byKey.get(key) ?? []))
      for (const other of others) {
        if (compared.has(other.number)) continue;
        compared.add(other.number);
        const alike = likeness(words, other.words);
        if (alike >= SAME) {
          leaveOut(other.text, value);
          return;
        }
        if (alike < SIMILAR) continue;
        similar ??= other.text;
        count += 1;
      }
    if (similar !== undefined && count >= SIMILAR_KEPT) {
      leaveOut(similar, value);
      return;
    }
    const entry = { words, text: { value, others: [] }, number: kept.length };
    kept.push(entry.text);
    entries.push(entry);
    for (const key of keys) {
      const others = byKey.get(key);
      if (others === undefined) byKey.set(key, [entry]);
      else others.push(entry);
    }
  };
  return { kept, add };
}
