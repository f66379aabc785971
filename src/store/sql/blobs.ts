import type { Digest } from "../../session/index.js";
import { DamageError } from "../error.js";
import type { BlobTable, Erasure } from "../shelf.js";
import { further, type Rows, type SqlRow } from "./rows.js";

/** How many digests are read at once. */
const BATCH = 1000;
/** How many blobs are read ahead, at first and at most. Larger ones than this are not. */
const FEW_AHEAD = 8;
const MANY_AHEAD = 256;
const LARGE = 16_384;
const AHEAD =
  "SELECT rowid AS n, digest, CASE WHEN length(bytes) < ? THEN bytes END AS bytes FROM blobs WHERE rowid > ? AND rowid <= ?";

const DIGEST_DIGITS = 64;

/** The content of a database. */
export class BlobReader
  implements Pick<BlobTable, "get" | "digests" | "putSince" | "erased" | "erasures" | "key">
{
  readonly #rows: Rows;
  /** Blobs that were read with the one before them, until the current task is over. */
  readonly #ahead = new Map<Digest, Uint8Array>();
  /** The row after the last one that was read. */
  #next = -1;
  #aheadRows = FEW_AHEAD;

  constructor(rows: Rows) {
    this.#rows = rows;
  }

  get(digest: Digest): Uint8Array | undefined {
    const ahead = this.#ahead.get(digest);
    if (ahead !== undefined) {
      // Handed over once: what a caller does to its bytes must not reach the next one.
      this.#ahead.delete(digest);
      return ahead;
    }
    const row = this.#rows.get("SELECT rowid AS n, bytes FROM blobs WHERE digest = ?", bytesOf(digest));
    if (row === undefined) return undefined;
    if (!(row.bytes instanceof Uint8Array))
      throw new DamageError(`${this.#rows.path} blob ${digest}`, "its bytes are not those that were written");
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
      this.#aheadRows = FEW_AHEAD;
      return;
    }
    if (this.#ahead.size === 0) setImmediate(() => this.forget());
    this.#ahead.clear();
    for (const { n, digest, bytes } of this.#rows.all(AHEAD, LARGE, row, row + this.#aheadRows)) {
      this.#next = (n as number) + 1;
      if (digest instanceof Uint8Array && bytes instanceof Uint8Array)
        this.#ahead.set(Buffer.from(digest).toString("hex"), bytes);
    }
    this.#aheadRows = Math.min(2 * this.#aheadRows, MANY_AHEAD);
  }

  /** Forgets what was read ahead. */
  forget(): void {
    this.#ahead.clear();
    this.#next = -1;
    this.#aheadRows = FEW_AHEAD;
  }

  *digests(): Iterable<readonly Digest[]> {
    let after = 0;
    for (;;) {
      const rows = this.#rows.all(
        "SELECT rowid AS n, digest FROM blobs WHERE rowid > ? ORDER BY rowid LIMIT ?",
        after,
        BATCH,
      );
      if (rows.length === 0) return;
      after = further(after, rows.at(-1)?.n as number);
      yield rows.map(({ n, digest }) => {
        if (digest instanceof Uint8Array) return Buffer.from(digest).toString("hex");
        throw new DamageError(`${this.#rows.path} blob ${String(n)}`, "its digest is not a digest");
      });
    }
  }

  *putSince(since: number): Generator<Digest, void> {
    for (const { digests } of this.#rows.all("SELECT digests FROM puts WHERE at >= ?", since)) {
      const all = Buffer.from(digests as Uint8Array).toString("hex");
      for (let from = 0; from < all.length; from += DIGEST_DIGITS)
        yield all.slice(from, from + DIGEST_DIGITS);
    }
  }

  erased(digest: Digest): Erasure | undefined {
    const row = this.#rows.get("SELECT * FROM erasures WHERE digest = ?", digest);
    return row && this.erasureOf(row);
  }

  erasures(): readonly Erasure[] {
    return this.#rows.all("SELECT * FROM erasures ORDER BY at, digest").map((row) => this.erasureOf(row));
  }

  protected erasureOf(row: SqlRow): Erasure {
    return row as unknown as Erasure;
  }

  key(id: string): Uint8Array | undefined {
    return this.#rows.get("SELECT secret FROM secrets WHERE id = ?", id)?.secret as Uint8Array | undefined;
  }
}

export function bytesOf(digest: Digest): Uint8Array {
  return Buffer.from(digest, "hex");
}
