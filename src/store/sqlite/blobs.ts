import type { Digest } from "../../session/index.js";
import { UNDER_WAY_MS } from "../commit.js";
import { DamageError } from "../error.js";
import type { Blob, BlobTable, Erasure } from "../shelf.js";
import type { Connection } from "./connection.js";
import { further } from "./lines.js";
import { sumOfRow } from "./names.js";

/** How many digests are read at once. */
const BATCH = 1000;
/** How many blobs are read ahead, at first and at most. Larger ones than this are not. */
const FEW_AHEAD = 8;
const MANY_AHEAD = 256;
const LARGE = 16_384;
const AHEAD =
  "SELECT rowid AS n, digest, CASE WHEN length(bytes) < ? THEN bytes END AS bytes FROM blobs WHERE rowid > ? AND rowid <= ?";

const DIGEST_DIGITS = 64;

export class Blobs implements BlobTable {
  readonly #connection: Connection;
  /** Blobs that were read with the one before them, until the current task is over. */
  readonly #ahead = new Map<Digest, Uint8Array>();
  /** The row after the last one that was read. */
  #next = -1;
  #rows = FEW_AHEAD;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  get(digest: Digest): Uint8Array | undefined {
    const ahead = this.#ahead.get(digest);
    if (ahead !== undefined) {
      // Handed over once: what a caller does to its bytes must not reach the next one.
      this.#ahead.delete(digest);
      return ahead;
    }
    const row = this.#connection.get("SELECT rowid AS n, bytes FROM blobs WHERE digest = ?", bytesOf(digest));
    if (row === undefined) return undefined;
    if (!(row.bytes instanceof Uint8Array))
      throw new DamageError(
        `${this.#connection.path} blob ${digest}`,
        "its bytes are not those that were written",
      );
    this.#readAhead(row.n as number);
    return row.bytes;
  }

  /**
   * A reader of blobs in the order in which they came, as a conversation is read, gets the next ones with one query. They are
   * forgotten when the current task is over, so content that is erased is not held here.
   */
  #readAhead(row: number): void {
    const isNext = row === this.#next;
    this.#next = row + 1;
    if (!isNext) {
      this.#rows = FEW_AHEAD;
      return;
    }
    if (this.#ahead.size === 0) setImmediate(() => this.#forget());
    this.#ahead.clear();
    for (const { n, digest, bytes } of this.#connection.all(AHEAD, LARGE, row, row + this.#rows)) {
      this.#next = (n as number) + 1;
      if (digest instanceof Uint8Array && bytes instanceof Uint8Array)
        this.#ahead.set(Buffer.from(digest).toString("hex"), bytes);
    }
    this.#rows = Math.min(2 * this.#rows, MANY_AHEAD);
  }

  #forget(): void {
    this.#ahead.clear();
    this.#next = -1;
    this.#rows = FEW_AHEAD;
  }

  *digests(): Iterable<readonly Digest[]> {
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
    this.#forget();
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

  *putSince(since: number): Generator<Digest, void> {
    for (const { digests } of this.#connection.all("SELECT digests FROM puts WHERE at >= ?", since)) {
      const all = Buffer.from(digests as Uint8Array).toString("hex");
      for (let from = 0; from < all.length; from += DIGEST_DIGITS)
        yield all.slice(from, from + DIGEST_DIGITS);
    }
  }

  erase({ digest, fact, by, at, why }: Erasure): void {
    this.#connection.run("INSERT OR IGNORE INTO erasures VALUES (?, ?, ?, ?, ?)", digest, fact, by, at, why);
    this.drop(digest);
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

  addKey({ id, secret }: { readonly id: string; readonly secret: Uint8Array }): void {
    const sum = sumOfRow(id, Buffer.from(secret).toString("hex"));
    this.#connection.run("INSERT OR IGNORE INTO secrets VALUES (?, ?, ?)", id, secret, sum);
  }

  dropKey(id: string): void {
    this.#connection.run("DELETE FROM secrets WHERE id = ?", id);
  }
}

function bytesOf(digest: Digest): Uint8Array {
  return Buffer.from(digest, "hex");
}
