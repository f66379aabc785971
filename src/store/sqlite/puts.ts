import type { Digest } from "../../session/index.js";
import { UNDER_WAY_MS } from "../commit.js";
import type { Connection } from "./connection.js";

const DIGEST_BYTES = 32;

/** Which blobs came without a fact, and when. Only what came lately: older ones are as good as waste. */
export class Puts {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** Notes blobs, also those that were here before: whoever puts them relies on them now. Only in a transaction. */
  add(digests: readonly Digest[]): void {
    if (digests.length === 0) return;
    const now = Date.now();
    this.#connection.run(
      "INSERT INTO puts (at, digests) VALUES (?, ?)",
      now,
      Buffer.from(digests.join(""), "hex"),
    );
    this.#drop(now - UNDER_WAY_MS);
  }

  *since(since: number): Generator<Digest, void> {
    for (const { digests } of this.#connection.all("SELECT digests FROM puts WHERE at >= ?", since)) {
      const all = Buffer.from(digests as Uint8Array).toString("hex");
      for (let from = 0; from < all.length; from += 2 * DIGEST_BYTES)
        yield all.slice(from, from + 2 * DIGEST_BYTES);
    }
  }

  /** Rows are in the order of time, so only the oldest is looked at. */
  #drop(before: number): void {
    for (;;) {
      const oldest = this.#connection.get("SELECT n, at FROM puts ORDER BY n LIMIT 1");
      if (oldest === undefined || (oldest.at as number) >= before) return;
      this.#connection.run("DELETE FROM puts WHERE n = ?", oldest.n as number);
    }
  }
}
