import { likeness, sketchOf } from "./sketch.js";

/** From here on, two texts say the same in the same words. */
const SAME = 0.95;
/** From here on they are alike, and only so many of them are told. */
const ALIKE = 0.7;
const ALIKE_TOLD = 3;
/** Those that are left out are named up to here. */
const NAMED = 20;

/** Someone who was let in, and those that were left out for being like them. */
export type Guest<Value> = { readonly value: Value; readonly others: Value[] };

type Entry<Value> = {
  readonly words: ReadonlySet<string>;
  readonly guest: Guest<Value>;
  readonly number: number;
};

/**
 * Lets in, best first, those that say something that was not said before. Thousands that say nearly the same take the room
 * of three: of texts that differ in a name or a number, the best three; of texts with the same words, one.
 */
export class Crowd<Value> {
  readonly guests: Guest<Value>[] = [];
  readonly #exact: boolean;
  readonly #entries: Entry<Value>[] = [];
  /** By the sketch of each guest's words: texts that are alike have one of these in common, nearly always. */
  readonly #seen = new Map<number, Entry<Value>[]>();

  /** Exactly, each is held against all that were let in; otherwise against those whose sketch is like theirs. */
  constructor({ exact = false }: { readonly exact?: boolean } = {}) {
    this.#exact = exact;
  }

  /** Whether it was let in. */
  offer(value: Value, said: readonly string[]): boolean {
    const own = new Set(said);
    const keys = this.#exact ? [] : sketchOf(own);
    const theirs = this.#exact ? [this.#entries] : keys.map((key) => this.#seen.get(key) ?? []);
    const met = new Map<number, number>();
    let like: Guest<Value> | undefined;
    for (const entries of theirs)
      for (const { words, guest, number } of entries) {
        if (met.has(number)) continue;
        const alike = likeness(own, words);
        met.set(number, alike);
        if (alike >= SAME) return left(guest, value);
        if (alike >= ALIKE) like ??= guest;
      }
    let number = 0;
    for (const alike of met.values()) if (alike >= ALIKE) number += 1;
    if (like !== undefined && number >= ALIKE_TOLD) return left(like, value);
    const guest = { value, others: [] };
    const entry = { words: own, guest, number: this.guests.length };
    this.guests.push(guest);
    this.#entries.push(entry);
    for (const key of keys) {
      const seen = this.#seen.get(key);
      if (seen === undefined) this.#seen.set(key, [entry]);
      else seen.push(entry);
    }
    return true;
  }
}

function left<Value>(guest: Guest<Value>, value: Value): false {
  if (guest.others.length < NAMED) guest.others.push(value);
  return false;
}
