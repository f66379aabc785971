import type { FactId } from "../../session/index.js";
import { Listeners } from "../commit.js";
import type { NameRecord } from "../shelf.js";
import type { Connection } from "./connection.js";
import type { Names } from "./names.js";

/** How often other processes' moves are looked for while someone listens. */
const POLL_MS = 100;

/** Those who want to hear that names moved: by this process at once, by others after the next look. */
export class PollingListeners extends Listeners {
  readonly #connection: Connection;
  readonly #names: Names;
  #heard = new Map<string, FactId | null>();
  #version = 0;
  #poll: NodeJS.Timeout | undefined;

  constructor(connection: Connection, names: Names) {
    super();
    this.#connection = connection;
    this.#names = names;
  }

  override add(heard: (moved: readonly NameRecord[]) => void): () => void {
    const remove = super.add(heard);
    if (this.#poll === undefined) {
      this.#version = this.#dataVersion();
      this.#heard = new Map(this.#names.under("").map(({ name, head }) => [name, head]));
      this.#poll = setInterval(() => this.#look(), POLL_MS);
      this.#poll.unref();
    }
    return () => {
      remove();
      if (this.size === 0) this.stop();
    };
  }

  override tell(moved: readonly NameRecord[]): void {
    for (const { name, head } of moved) this.#heard.set(name, head);
    super.tell(moved);
  }

  stop(): void {
    clearInterval(this.#poll);
    this.#poll = undefined;
  }

  /** SQLite tells whether another connection has written; which names moved is then compared. */
  #look(): void {
    try {
      const version = this.#dataVersion();
      if (version === this.#version) return;
      const moved = this.#names
        .under("")
        .filter(({ name, head }) => head !== null && this.#heard.get(name) !== head);
      this.#version = version;
      this.tell(moved);
    } catch {
      // A look that fails says nothing; the next reading or writing says what is wrong.
    }
  }

  #dataVersion(): number {
    return this.#connection.get("PRAGMA data_version")?.data_version as number;
  }
}
