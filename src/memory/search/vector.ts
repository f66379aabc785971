/** Characters of a text that its vector is of. Of more, none would be clearer. */
export const MEANT_CHARACTERS = 8_192;

/**
 * A vector in whole numbers from -127 to 127, the largest of them the largest: what is computed from it is the same to the
 * bit on every machine. One without a direction, or with numbers that are none, is all zeros and like nothing.
 */
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
