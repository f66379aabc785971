/** Takes a stream apart, a given number of bytes at a time. */
export class ByteReader {
  readonly #chunks: AsyncIterator<Uint8Array>;
  readonly #cutOff: () => Error;
  #rest: Buffer = Buffer.alloc(0);

  /** @param cutOff the error when the stream ends before the bytes that were asked for */
  constructor(stream: AsyncIterable<Uint8Array>, cutOff: () => Error) {
    this.#chunks = stream[Symbol.asyncIterator]();
    this.#cutOff = cutOff;
  }

  /** The next line; undefined at the end. */
  async line(): Promise<string | undefined> {
    let text = "";
    while (this.#rest.length > 0 || (await this.#more())) {
      const end = this.#rest.indexOf(10);
      text += (await this.some(end < 0 ? this.#rest.length : end + 1)).toString("latin1");
      if (end >= 0) return text.slice(0, -1);
    }
    return text === "" ? undefined : text;
  }

  /** Exactly this many bytes. */
  async take(size: number): Promise<Buffer> {
    const parts: Buffer[] = [];
    for (let left = size; left > 0; left -= parts.at(-1)?.length ?? 0) parts.push(await this.some(left));
    return parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts);
  }

  /** At least one byte, and at most this many. */
  async some(size: number): Promise<Buffer> {
    if (this.#rest.length === 0 && !(await this.#more())) throw this.#cutOff();
    const part = this.#rest.subarray(0, size);
    this.#rest = this.#rest.subarray(size);
    return part;
  }

  /** Reads to the end and drops what comes. */
  async drain(): Promise<void> {
    while (await this.#more());
  }

  async #more(): Promise<boolean> {
    for (;;) {
      const { done, value } = await this.#chunks.next();
      if (done === true) return false;
      this.#rest = Buffer.from(value.buffer, value.byteOffset, value.byteLength);
      if (value.length > 0) return true;
    }
  }
}
