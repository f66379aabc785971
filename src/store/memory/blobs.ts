import type { Digest } from "../../session/index.js";
import { UNDER_WAY_MS } from "../commit.js";
import type { Blob, BlobTable, Erasure } from "../shelf.js";

/** Readers get copies: nothing they do to the bytes must reach the store. */
export class Blobs implements BlobTable {
  readonly bytes = new Map<Digest, Uint8Array>();
  readonly #erased = new Map<Digest, Erasure>();
  readonly keys = new Map<string, Uint8Array>();
  /** When blobs came without a fact that refers to them. */
  readonly #puts = new Map<Digest, number>();

  get(digest: Digest): Uint8Array | undefined {
    const bytes = this.bytes.get(digest);
    return bytes && Uint8Array.from(bytes);
  }

  *digests(): Generator<readonly Digest[], void> {
    if (this.bytes.size > 0) yield [...this.bytes.keys()];
  }

  add(blobs: readonly Blob[], revived: ReadonlySet<Digest>): void {
    for (const { digest, bytes } of blobs) {
      if (revived.has(digest)) this.#erased.delete(digest);
      if (!this.#erased.has(digest) && !this.bytes.has(digest)) this.bytes.set(digest, bytes);
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

  *putSince(since: number): Generator<Digest, void> {
    for (const [digest, at] of this.#puts) if (at >= since) yield digest;
  }

  erase(erasure: Erasure): void {
    if (!this.#erased.has(erasure.digest)) this.#erased.set(erasure.digest, erasure);
    this.bytes.delete(erasure.digest);
  }

  erased(digest: Digest): Erasure | undefined {
    return this.#erased.get(digest);
  }

  erasures(): readonly Erasure[] {
    return [...this.#erased.values()];
  }

  drop(digest: Digest): void {
    this.bytes.delete(digest);
    this.#puts.delete(digest);
  }

  key(id: string): Uint8Array | undefined {
    const secret = this.keys.get(id);
    return secret && Uint8Array.from(secret);
  }

  addKey({ id, secret }: { readonly id: string; readonly secret: Uint8Array }): void {
    if (!this.keys.has(id)) this.keys.set(id, Uint8Array.from(secret));
  }
}
