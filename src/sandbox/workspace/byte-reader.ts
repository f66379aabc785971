import type { Readable } from "node:stream";
import { GitError } from "../error.js";

/** Takes a stream apart, so many bytes at a time. */
export class ByteReader {
  readonly #chunks: AsyncIterator<Buffer>;
  readonly #held: Buffer[] = [];
  #size = 0;

  constructor(stream: Readable) {
    this.#chunks = stream[Symbol.asyncIterator]();
  }

  /** The next line; undefined at the end. */
  async line(): Promise<string | undefined> {
    let text = "";
    for (;;) {
      if (this.#size === 0 && !(await this.#more())) return text === "" ? undefined : text;
      const [first] = this.#held as [Buffer];
      const end = first.indexOf(10);
      const part = await this.take(end === -1 ? first.length : end + 1);
      text += part.toString("latin1");
      if (end !== -1) return text.slice(0, -1);
    }
  }

  /** Exactly so many bytes. */
  async take(size: number): Promise<Buffer> {
    while (this.#size < size)
      if (!(await this.#more())) throw new GitError("read from git", "it ended in the middle");
    const parts: Buffer[] = [];
    for (let left = size; left > 0; ) {
      const first = this.#held.shift() as Buffer;
      const part = first.subarray(0, left);
      if (part.length < first.length) this.#held.unshift(first.subarray(left));
      parts.push(part);
      left -= part.length;
    }
    this.#size -= size;
    return parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts);
  }

  async #more(): Promise<boolean> {
    const { value, done } = await this.#chunks.next();
    if (done === true) return false;
    this.#held.push(value);
    this.#size += value.length;
    return true;
  }
}
