import { readSync } from "node:fs";
import { Socket } from "node:net";
import { AFTERWARDS_BYTES, readSlowly } from "../afterwards.js";

const CHUNK = Buffer.allocUnsafe(64 * 1024);

/** Our end of a pipe that a command writes into. */
export class Outlet {
  readonly #descriptor: number;
  readonly #socket: Socket;
  #take: (bytes: Uint8Array) => void;
  #ended = false;

  /** @param ended called once nobody holds the other end */
  constructor(descriptor: number, take: (bytes: Uint8Array) => void, ended: () => void) {
    this.#descriptor = descriptor;
    this.#take = take;
    this.#socket = new Socket({ fd: descriptor, readable: true, writable: false });
    this.#socket.on("data", (bytes: Buffer) => this.#take(bytes));
    this.#socket.on("error", () => {});
    this.#socket.once("end", () => {
      this.#ended = true;
      ended();
    });
  }

  get ended(): boolean {
    return this.#ended;
  }

  /**
   * Takes what is in the pipe now, once the command is over. Whether that was all: as long as a process that it left
   * behind holds the other end, more may come, and is read slowly.
   */
  drain(): boolean {
    readSlowly(this.#socket);
    // One that is filled as fast as it is emptied has no end.
    for (let left = AFTERWARDS_BYTES; !this.#ended; ) {
      if (this.#socket.destroyed) return true;
      const count = left > 0 ? this.#read() : undefined;
      if (count === undefined) return false;
      if (count === 0) this.#ended = true;
      else this.#take(CHUNK.subarray(0, count));
      left -= count;
    }
    return true;
  }

  /** Goes on reading and drops what comes: anyone who still writes must not die of it. */
  ignore(): void {
    this.#take = () => {};
    this.#socket.unref();
  }

  close(): void {
    this.#socket.destroy();
  }

  /** undefined: nothing now. */
  #read(): number | undefined {
    try {
      return readSync(this.#descriptor, CHUNK, 0, CHUNK.length, null);
    } catch {
      return undefined;
    }
  }
}
