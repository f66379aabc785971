/**
 * The bytes of a base64 text in its one spelling, or undefined. Others are refused: the last bits of a text mean nothing, and
 * a bit that means nothing could be changed without anybody noticing.
 */
export function bytesOf(text: string, length?: number): Buffer | undefined {
  const bytes = Buffer.from(text, "base64");
  if (bytes.toString("base64") !== text) return undefined;
  return length === undefined || bytes.length === length ? bytes : undefined;
}
