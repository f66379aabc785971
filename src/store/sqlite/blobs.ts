import type { Digest } from "../../session/index.js";
import { DamageError } from "../error.js";
import type { Blob, Erasure } from "../shelf.js";
import type { Connection } from "./connection.js";
import { further } from "./lines.js";
import { sumOfRow } from "./names.js";

/** How many digests are read at once. */
const BATCH = 1000;

/** Content outside of lines: blobs, what was erased of them, and the secrets that salts are made of. */
export class Blobs {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  get(digest: Digest): Uint8Array | undefined {
    const bytes = this.#connection.get("SELECT bytes FROM blobs WHERE digest = ?", bytesOf(digest))?.bytes;
    if (bytes !== undefined && !(bytes instanceof Uint8Array))
      throw new DamageError(
        `${this.#connection.path} blob ${digest}`,
        "its bytes are not those that were written",
      );
    return bytes;
  }

  async *digests(): AsyncIterable<readonly Digest[]> {
    let after = 0;
    for (;;) {
      const rows = this.#connection.all(
        "SELECT rowid AS n, digest FROM blobs WHERE rowid > ? ORDER BY rowid LIMIT ?",
        after,
        BATCH,
      );
      if (rows.length === 0) return;
      after = further(after, rows.at(-1)?.n as number);
      yield rows.map(({ n, digest }) => {
        if (digest instanceof Uint8Array) return Buffer.from(digest).toString("hex");
        throw new DamageError(`${this.#connection.path} blob ${String(n)}`, "its digest is not a digest");
      });
    }
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
    this.#connection.run("DELETE FROM blobs WHERE digest = ?", bytesOf(digest));
  }

  addErasure({ digest, fact, by, at, why }: Erasure): void {
    this.#connection.run("INSERT OR IGNORE INTO erasures VALUES (?, ?, ?, ?, ?)", digest, fact, by, at, why);
  }

  erased(digest: Digest): Erasure | undefined {
    return this.#connection.get("SELECT * FROM erasures WHERE digest = ?", digest) as Erasure | undefined;
  }

  erasures(): readonly Erasure[] {
    return this.#connection.all("SELECT * FROM erasures ORDER BY at, digest") as unknown as Erasure[];
  }

  key(id: string): Uint8Array | undefined {
    return this.#connection.get("SELECT secret FROM secrets WHERE id = ?", id)?.secret as
      | Uint8Array
      | undefined;
  }

  addKey(id: string, secret: Uint8Array): void {
    this.#connection.run(
      "INSERT OR IGNORE INTO secrets VALUES (?, ?, ?)",
      id,
      secret,
      sumOfRow(id, Buffer.from(secret).toString("hex")),
    );
  }

  dropKey(id: string): void {
    this.#connection.run("DELETE FROM secrets WHERE id = ?", id);
  }
}

function bytesOf(digest: Digest): Uint8Array {
  return Buffer.from(digest, "hex");
}
