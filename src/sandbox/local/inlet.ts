import { Socket } from "node:net";

/** Our end of the pipe that a command reads from. */
export class Inlet {
  readonly #socket: Socket;
  #open = false;
  #ending = false;
  #waiting = 0;

  /** @param descriptor opened for reading too: so it can be written to before the command has opened it */
  constructor(descriptor: number) {
    this.#socket = new Socket({ fd: descriptor, readable: false, writable: true });
    this.#socket.on("error", () => {});
  }

  /** Resolves when the bytes are in the pipe, or when nobody will read them. */
  write(bytes: Uint8Array | string): Promise<void> {
    if (this.#ending || this.#socket.destroyed) return Promise.resolve();
    this.#waiting += 1;
    return new Promise((resolve) => {
      this.#socket.write(bytes, () => {
        this.#waiting -= 1;
        resolve();
        this.#settle();
      });
    });
  }

  /** No more input: the command sees the end of it after what was written. */
  end(): void {
    this.#ending = true;
    this.#settle();
  }

  /** The command has opened its end. Before that ours must stay: it would wait for another forever. */
  opened(): void {
    this.#open = true;
    this.#settle();
  }

  close(): void {
    this.#ending = true;
    this.#socket.destroy();
  }

  #settle(): void {
    if (this.#open && this.#ending && this.#waiting === 0) this.#socket.destroy();
  }
}
