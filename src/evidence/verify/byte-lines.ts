import { createReadStream } from "node:fs";

/** A line of a file as its bytes are, without the newline. */
export type ByteLine = {
  readonly number: number;
  /** Where it begins in the file. */
  readonly offset: number;
  readonly bytes: Buffer;
  /** Whether a newline ends it: the last line of a file may have none. */
  readonly ended: boolean;
};

/** The lines of a file, or of its bytes, a batch at a time. Only the byte 0A ends a line. */
export async function* byteLines(source: string | Uint8Array): AsyncIterable<readonly ByteLine[]> {
  let number = 0;
  let offset = 0;
  let rest: Buffer[] = [];
  const chunks: Iterable<Buffer> | AsyncIterable<Buffer> =
    typeof source === "string"
      ? createReadStream(source, { highWaterMark: 1024 * 1024 })
      : [Buffer.from(source.buffer, source.byteOffset, source.byteLength)];
  for await (const chunk of chunks) {
    const batch: ByteLine[] = [];
    let from = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, from)) {
      const piece = chunk.subarray(from, end);
      // A line may be longer than any chunk; its pieces are joined once.
      const bytes = rest.length === 0 ? piece : Buffer.concat([...rest, piece]);
      rest = [];
      batch.push({ number: ++number, offset, bytes, ended: true });
      offset += bytes.length + 1;
      from = end + 1;
    }
    if (from < chunk.length) rest.push(chunk.subarray(from));
    if (batch.length > 0) yield batch;
  }
  if (rest.length > 0) yield [{ number: number + 1, offset, bytes: Buffer.concat(rest), ended: false }];
}
