/** A copy of bytes with one bit turned over. */
export function flipped(bytes: Uint8Array, bit: number): Buffer {
  const copy = Buffer.from(bytes);
  const place = Math.floor(bit / 8);
  copy[place] = (copy[place] as number) ^ (1 << (bit % 8));
  return copy;
}

/** Every bit of a text, turned over: as it comes out when somebody reads the bytes as UTF-8. */
export function* flips(text: string): Iterable<{ readonly bit: number; readonly text: string }> {
  const bytes = Buffer.from(text);
  for (let bit = 0; bit < bytes.length * 8; bit++) yield { bit, text: flipped(bytes, bit).toString("utf8") };
}
