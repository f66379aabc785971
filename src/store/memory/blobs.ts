import type { Digest } from "../../session/index.js";
import { type Ledger, UNDER_WAY_MS } from "../commit.js";
import type { Blob, Erasure } from "../shelf.js";

/** Content outside of lines: blobs, what was erased of them, and the secrets that salts are made of. */
export class Blobs {
  readonly bytes = new Map<Digest, Uint8Array>();
  readonly erased = new Map<Digest, Erasure>();
  readonly keys = new Map<string, Uint8Array>();
  /** When blobs came without a fact that refers to them. */
  readonly #puts = new Map<Digest, number>();

  add(blobs: readonly Blob[], revived: ReadonlySet<Digest>): void {
    for (const { digest, bytes } of blobs) {
      if (revived.has(digest)) this.erased.delete(digest);
      if (!this.erased.has(digest) && !this.bytes.has(digest)) this.bytes.set(digest, bytes);
    }
  }

  put(digests: readonly Digest[]): void {
    const now = Date.now();
    for (const digest of digests) {
      // Taken out first, so that the oldest are in front and what is as good as waste is forgotten from there.
      this.#puts.delete(digest);
      this.#puts.set(digest, now);
    }
    for (const [oldest, at] of this.#puts) {
      if (at >= now - UNDER_WAY_MS) return;
      this.#puts.delete(oldest);
    }
  }

  *since(since: number): Generator<Digest, void> {
    for (const [digest, at] of this.#puts) if (at >= since) yield digest;
  }

  erase(erasure: Erasure): void {
    if (!this.erased.has(erasure.digest)) this.erased.set(erasure.digest, erasure);
    this.bytes.delete(erasure.digest);
  }

  drop(digest: Digest): void {
    this.bytes.delete(digest);
    this.#puts.delete(digest);
  }

  addKey({ id, secret }: Parameters<Ledger["blobs"]["addKey"]>[0]): void {
    if (!this.keys.has(id)) this.keys.set(id, secret);
  }
}
