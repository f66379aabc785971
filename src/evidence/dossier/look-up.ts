import { type Digest, type Fact, type FactId, readFact, refsOf } from "../../session/index.js";
import type { Store } from "../../store/index.js";

/** A fact by its id, with its content; undefined when it is not in the store. */
export async function factAt(
  store: Store,
  id: FactId,
  erased: ReadonlySet<Digest>,
): Promise<Fact | undefined> {
  const line = await store.line(id);
  if (line === undefined) return undefined;
  const blobs = new Map<Digest, Uint8Array>();
  for (const { digest } of Object.values(refsOf(line))) {
    const bytes = await store.blob(digest).catch(() => undefined);
    if (bytes !== undefined) blobs.set(digest, bytes);
  }
  return readFact(line, {
    read: (digest) => blobs.get(digest) ?? (erased.has(digest) ? "erased" : undefined),
  });
}
