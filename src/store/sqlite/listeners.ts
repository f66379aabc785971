import { Listeners } from "../commit.js";
import type { Connection } from "./connection.js";

/** How often other processes' moves are looked for while someone listens. */
const POLL_MS = 100;

/** Those who want to hear that names moved: by this process at once, by others after the next look. */
export class PollingListeners extends Listeners {
  readonly #connection: Connection;
  #version = 0;
  #poll: NodeJS.Timeout | undefined;

  constructor(connection: Connection) {
    super();
    this.#connection = connection;
  }

  override add(heard: () => void): () => void {
    const remove = super.add(heard);
    if (this.#poll === undefined) {
      this.#version = this.#dataVersion();
      this.#poll = setInterval(() => this.#look(), POLL_MS);
      this.#poll.unref();
    }
    return () => {
      remove();
      if (this.size === 0) this.stop();
    };
  }

  stop(): void {
    clearInterval(this.#poll);
    this.#poll = undefined;
  }

  /** SQLite tells whether another connection has written. */
  #look(): void {
    try {
      const version = this.#dataVersion();
      if (version === this.#version) return;
      this.#version = version;
    } catch {
      // A look that fails says nothing; the next reading or writing says what is wrong.
      return;
    }
    this.tell();
  }

  #dataVersion(): number {
    return this.#connection.get("PRAGMA data_version")?.data_version as number;
  }
}
