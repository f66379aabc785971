import { Breach } from "./limits.js";

const NEWLINE = 10;

/**
 * Puts lines together from what comes in pieces. A line that is longer than allowed is refused as soon as that can be
 * seen: what a server sends without an end is never held.
 */
export class Frames {
  readonly #most: number;
  #pieces: Buffer[] = [];
  #held = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** The lines that are whole with this piece. */
  *take(piece: Buffer): Generator<string> {
    let from = 0;
    for (let end = piece.indexOf(NEWLINE); end !== -1; end = piece.indexOf(NEWLINE, from)) {
      this.#hold(piece.subarray(from, end));
      from = end + 1;
      const line = Buffer.concat(this.#pieces, this.#held).toString("utf8").trim();
      this.clear();
      if (line !== "") yield line;
    }
    if (from < piece.length) this.#hold(Buffer.from(piece.subarray(from)));
  }

  /** Whether the beginning of a line is waiting for its end. */
  get partial(): boolean {
    return this.#held > 0;
  }

  clear(): void {
    this.#pieces = [];
    this.#held = 0;
  }

  #hold(piece: Buffer): void {
    this.#held += piece.length;
    if (this.#held > this.#most) {
      this.clear();
      throw new Breach("frame", `it sent a message of more than ${this.#most} bytes`);
    }
    this.#pieces.push(piece);
  }
}
