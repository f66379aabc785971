import type { FactId } from "../../session/index.js";

/** Up to so many vectors are all compared; of more, those whose signs differ least. */
const ALL = 10_000;
/** Steps in which cosines are told apart before they are sorted. */
const STEPS = 2_048;

/** A place and how near its vector is to another: the cosine, from 0 to 1. */
export type Near = { readonly place: number; readonly cosine: number };

/** Vectors by place, in whole numbers, and which of them are nearest to another. */
export class Neighbours {
  readonly #ids: readonly FactId[];
  #dimensions = 0;
  #words = 0;
  #room = 0;
  #vectors: Int8Array = new Int8Array(0);
  #signs: Int32Array = new Int32Array(0);
  #lengths: Float64Array = new Float64Array(0);

  constructor(ids: readonly FactId[]) {
    this.#ids = ids;
  }

  get dimensions(): number {
    return this.#dimensions;
  }

  clear(): void {
    this.#dimensions = 0;
    this.#room = 0;
  }

  /** False when it is not as long as the others: it comes from another version of the embedder. */
  set(place: number, value: Uint8Array): boolean {
    if (this.#dimensions === 0) {
      this.#dimensions = value.byteLength;
      this.#words = wordsFor(value.byteLength);
      this.#room = 0;
    }
    if (value.byteLength !== this.#dimensions) return false;
    this.#grow(place + 1);
    const vector = new Int8Array(value.buffer, value.byteOffset, value.byteLength);
    this.#vectors.set(vector, place * this.#dimensions);
    signsOf(vector, this.#signs, place * this.#words);
    this.#lengths[place] = lengthOf(vector);
    return true;
  }

  unset(place: number): void {
    if (this.#dimensions === 0) return;
    this.#grow(place + 1);
    this.#lengths[place] = 0;
  }

  move(from: number, to: number): void {
    if (from === to) return;
    if (from >= this.#room) {
      this.unset(to);
      return;
    }
    const [dimensions, words] = [this.#dimensions, this.#words];
    this.#vectors.copyWithin(to * dimensions, from * dimensions, (from + 1) * dimensions);
    this.#signs.copyWithin(to * words, from * words, (from + 1) * words);
    this.#lengths[to] = this.#lengths[from] as number;
  }

  cosine(vector: Int8Array, length: number, place: number): number {
    const own = place < this.#room ? (this.#lengths[place] as number) : 0;
    if (own === 0 || length === 0) return 0;
    const vectors = this.#vectors;
    const from = place * this.#dimensions;
    let sum = 0;
    for (let at = 0; at < vector.length; at++) sum += (vector[at] as number) * (vectors[from + at] as number);
    return sum <= 0 ? 0 : Math.min(1, sum / (own * length));
  }

  /** The places of a mask, the nearest first, at least so many if there are as many; equal ones by their ids. */
  nearest(vector: Int8Array, mask: Uint8Array, most: number): readonly Near[] {
    const length = lengthOf(vector);
    if (length === 0 || vector.length !== this.#dimensions) return [];
    const pool = this.#pool(vector, mask, most);
    const cosines = new Float64Array(pool.length);
    const counts = new Uint32Array(STEPS + 1);
    for (let at = 0; at < cosines.length; at++) {
      const cosine = this.cosine(vector, length, pool[at] as number);
      cosines[at] = cosine;
      const step = Math.floor(cosine * STEPS);
      counts[step] = (counts[step] as number) + 1;
    }
    // Only the best are put in order, all of a step or none of it.
    let least = STEPS + 1;
    for (let sum = 0; least > 0 && sum < most; ) sum += counts[--least] as number;
    const near: Near[] = [];
    cosines.forEach((cosine, at) => {
      if (cosine > 0 && Math.floor(cosine * STEPS) >= least) near.push({ place: pool[at] as number, cosine });
    });
    const ids = this.#ids;
    return near.sort(
      (one, other) =>
        other.cosine - one.cosine || ((ids[one.place] as FactId) < (ids[other.place] as FactId) ? -1 : 1),
    );
  }

  /** Those worth comparing: all of them, or those whose signs differ in the fewest places. */
  #pool(vector: Int8Array, mask: Uint8Array, most: number): readonly number[] {
    const count = Math.min(mask.length, this.#room);
    const pool: number[] = [];
    let meant = 0;
    for (let place = 0; place < count; place++) meant += mask[place] as number;
    if (meant <= Math.max(ALL, most)) {
      for (let place = 0; place < count; place++) if (mask[place] === 1) pool.push(place);
      return pool;
    }
    const words = this.#words;
    const signs = this.#signs;
    const asked = new Int32Array(words);
    signsOf(vector, asked, 0);
    const distances = new Uint16Array(count);
    const counts = new Uint32Array(this.#dimensions + 2);
    for (let place = 0; place < count; place++) {
      if (mask[place] !== 1 || this.#lengths[place] === 0) continue;
      let distance = 0;
      for (let word = 0, from = place * words; word < words; word++) {
        let bits = (signs[from + word] as number) ^ (asked[word] as number);
        bits -= (bits >>> 1) & 0x55555555;
        bits = (bits & 0x33333333) + ((bits >>> 2) & 0x33333333);
        distance += Math.imul((bits + (bits >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
      }
      // One more than it is, so that 0 is a place that is not meant.
      distances[place] = distance + 1;
      counts[distance + 1] = (counts[distance + 1] as number) + 1;
    }
    // All that are equally far, or none: who is among them must not depend on where they are.
    let furthest = 0;
    for (let sum = 0; furthest < counts.length - 1 && sum < most; ) sum += counts[++furthest] as number;
    for (let place = 0; place < count; place++) {
      const distance = distances[place] as number;
      if (distance > 0 && distance <= furthest) pool.push(place);
    }
    return pool;
  }

  #grow(size: number): void {
    if (size <= this.#room) return;
    const room = Math.max(256, size, this.#room * 2);
    const [vectors, signs, lengths] = [
      new Int8Array(room * this.#dimensions),
      new Int32Array(room * this.#words),
      new Float64Array(room),
    ];
    if (this.#room > 0) {
      vectors.set(this.#vectors);
      signs.set(this.#signs);
      lengths.set(this.#lengths);
    }
    [this.#vectors, this.#signs, this.#lengths, this.#room] = [vectors, signs, lengths, room];
  }
}

/** Characters of a text that its vector is of. Of more, none would be clearer. */
export const MEANT_CHARACTERS = 8_192;

/** A vector as whole numbers (-127 to 127), so results are equal on every machine. Invalid ones are zeros. */
export function quantised(vector: Float32Array): Int8Array {
  let largest = 0;
  for (const value of vector) {
    if (!Number.isFinite(value)) return new Int8Array(vector.length);
    largest = Math.max(largest, Math.abs(value));
  }
  const whole = new Int8Array(vector.length);
  if (largest === 0) return whole;
  for (let at = 0; at < vector.length; at++) whole[at] = Math.round(((vector[at] as number) / largest) * 127);
  return whole;
}

export function lengthOf(vector: Int8Array): number {
  let sum = 0;
  for (const value of vector) sum += value * value;
  return Math.sqrt(sum);
}

/** How many 32-bit words hold one bit for each number of a vector. */
export function wordsFor(dimensions: number): number {
  return Math.ceil(dimensions / 32);
}

/** Which numbers of a vector are above zero, as bits. Vectors that are alike differ in few of them. */
export function signsOf(vector: Int8Array, into: Int32Array, from: number): void {
  const words = wordsFor(vector.length);
  for (let word = 0; word < words; word++) {
    let bits = 0;
    const end = Math.min(vector.length, word * 32 + 32);
    for (let at = word * 32; at < end; at++) if ((vector[at] as number) > 0) bits |= 1 << (at & 31);
    into[from + word] = bits;
  }
}
