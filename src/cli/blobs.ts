import { type BlobSource, digestsOf } from "../session/index.js";
import type { Store } from "../store/index.js";

/** The content that a line keeps outside of itself, read beforehand: a fact is looked at synchronously. */
export async function blobsOf(store: Store, line: string): Promise<BlobSource | undefined> {
  const digests = digestsOf(line);
  if (digests.length === 0) return undefined;
  const read = new Map<string, Uint8Array | undefined>();
  for (const digest of digests) read.set(digest, await store.blob(digest));
  const erased = [...read.values()].includes(undefined)
    ? new Set((await store.erasures()).map(({ digest }) => digest))
    : new Set<string>();
  return { read: (digest) => read.get(digest) ?? (erased.has(digest) ? "erased" : undefined) };
}
