import type { Digest } from "../../session/index.js";
import { UNDER_WAY_MS } from "../commit.js";
import type { Blob, BlobTable, Erasure } from "../shelf.js";
import { BlobReader, bytesOf } from "../sql/blobs.js";
import type { Connection } from "./connection.js";
import { sumOfRow } from "./names.js";

export class Blobs extends BlobReader implements BlobTable {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    super(connection);
    this.#connection = connection;
  }

  add(blobs: readonly Blob[], revived: ReadonlySet<Digest>): void {
    // Asked once: most stores have no erasures, and blobs come by the ten thousand.
    const some = blobs.length > 0 && this.#connection.get("SELECT 1 FROM erasures LIMIT 1") !== undefined;
    for (const { digest, bytes } of blobs) {
      if (some && revived.has(digest)) this.#connection.run("DELETE FROM erasures WHERE digest = ?", digest);
      if (!some || revived.has(digest) || this.erased(digest) === undefined)
        this.#connection.run("INSERT OR IGNORE INTO blobs VALUES (?, ?)", bytesOf(digest), bytes);
    }
  }

  drop(digest: Digest): void {
    this.forget();
    this.#connection.run("DELETE FROM blobs WHERE digest = ?", bytesOf(digest));
  }

  /** Only what came lately is kept: older ones are as good as waste. */
  put(digests: readonly Digest[]): void {
    if (digests.length === 0) return;
    const now = Date.now();
    const bytes = Buffer.from(digests.join(""), "hex");
    this.#connection.run("INSERT INTO puts (at, digests) VALUES (?, ?)", now, bytes);
    // Rows are in the order of time, so only the oldest is looked at.
    for (;;) {
      const oldest = this.#connection.get("SELECT n, at FROM puts ORDER BY n LIMIT 1");
      if (oldest === undefined || (oldest.at as number) >= now - UNDER_WAY_MS) return;
      this.#connection.run("DELETE FROM puts WHERE n = ?", oldest.n as number);
    }
  }

  erase({ digest, fact, by, at, why }: Erasure): void {
    this.#connection.run("INSERT OR IGNORE INTO erasures VALUES (?, ?, ?, ?, ?)", digest, fact, by, at, why);
    this.drop(digest);
  }

  addKey({ id, secret }: { readonly id: string; readonly secret: Uint8Array }): void {
    const sum = sumOfRow(id, Buffer.from(secret).toString("hex"));
    this.#connection.run("INSERT OR IGNORE INTO secrets VALUES (?, ?, ?)", id, secret, sum);
  }

  dropKey(id: string): void {
    this.#connection.run("DELETE FROM secrets WHERE id = ?", id);
  }
}
