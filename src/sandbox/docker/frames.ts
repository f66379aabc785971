import { EngineError } from "./error.js";

/** A piece of what a command wrote, or with "engine" what the engine has to say about it. */
export type Piece = { readonly from: "stdout" | "stderr" | "engine"; readonly bytes: Uint8Array };

const HEADER = 8;
const SOURCES = ["stdout", "stdout", "stderr", "engine"] as const;

/**
 * Takes the engine's stream apart: frames of a kind (one byte, three zeros), a length (four bytes, the highest first)
 * and that many bytes. They may be cut anywhere on the way, so a piece is handed on as soon as it is there.
 */
export class Frames {
  readonly #header: Buffer = Buffer.alloc(HEADER);
  /** How much of the header is there; a whole one means that a body is being read. */
  #have = 0;
  #left = 0;

  /** The pieces in a chunk; an error when it is no such stream. */
  take(chunk: Uint8Array): Piece[] {
    const pieces: Piece[] = [];
    for (let at = 0; at < chunk.length; ) {
      if (this.#have < HEADER) {
        const part = chunk.subarray(at, at + HEADER - this.#have);
        this.#header.set(part, this.#have);
        this.#have += part.length;
        at += part.length;
        if (this.#have === HEADER) this.#begin();
        continue;
      }
      const bytes = chunk.subarray(at, at + this.#left);
      this.#left -= bytes.length;
      at += bytes.length;
      pieces.push({ from: SOURCES[this.#header[0] as number] as Piece["from"], bytes });
      if (this.#left === 0) this.#have = 0;
    }
    return pieces;
  }

  #begin(): void {
    const [kind = 255, ...zeros] = this.#header.subarray(0, 4);
    if (kind >= SOURCES.length || zeros.some((byte) => byte !== 0))
      throw new EngineError(
        "to tell the output of a command",
        101,
        "it sent bytes that are not a frame of it",
      );
    this.#left = this.#header.readUInt32BE(4);
    if (this.#left === 0) this.#have = 0;
  }
}
