import { type Digest, digestOf, digestsOf, type FactId, RathError } from "../../session/index.js";
import { TreeWalk, treesIn } from "../care/tree-walk.js";
import { BLOB_BYTES_PER_COMMIT, BLOB_COST } from "../commit.js";
import type { Shelf } from "../shelf.js";
import type { Imported, Store } from "../store.js";
import { soundBlob } from "./export.js";

/** Brings over what `from` has: the other side is told what is known here, so that only the rest travels. */
export async function syncStores(from: Store, to: Store, shelf: Shelf, names: boolean): Promise<Imported> {
  const theirs = await from.names();
  const ours = await to.names();
  const wanted = new Set<FactId>();
  for (const { id } of theirs) if (!(await to.has(id))) wanted.add(id);
  const shared = new Set<FactId>();
  for (const { id } of [...theirs, ...ours]) if (!wanted.has(id) && (await from.has(id))) shared.add(id);
  const report: Imported =
    wanted.size === 0
      ? { written: 0, known: 0, blobs: 0, refused: 0, unproved: 0, heads: [] }
      : await to.import(from.export([...wanted], { without: [...shared] }));
  const filled = await fillBlobs(from, shelf, [...shared]);
  // A name moves only forward: where both sides went on, it stays, and the other side's head is in the report.
  const standing = new Map(ours.map(({ name, id }) => [name, id]));
  for (const { name, id } of names ? theirs : []) {
    // Where nothing moves, nothing need be written.
    if (standing.get(name) === id) continue;
    await to.point(name, id).catch((error: unknown) => {
      if (!(error instanceof RathError) || (error.code !== "name-conflict" && error.code !== "name-fenced"))
        throw error;
    });
  }
  return { ...report, blobs: report.blobs + filled };
}

/** Brings over content of facts that both sides have, where it is missing here and was not erased. */
async function fillBlobs(from: Store, shelf: Shelf, heads: readonly FactId[]): Promise<number> {
  const needed = new Set<Digest>();
  const walk = new TreeWalk();
  for (const lines of shelf.history(heads))
    for (const line of lines) {
      for (const digest of digestsOf(line)) needed.add(digest);
      for (const tree of treesIn(line)) if (walk.add(tree)) needed.add(tree);
    }
  // Many at a time, so that a blob costs no commit of its own.
  let waiting = new Map<Digest, Uint8Array>();
  let [bytesWaiting, count] = [0, 0];
  const flush = async (): Promise<void> => {
    const blobs = [...waiting].map(([digest, bytes]) => ({ digest, bytes }));
    waiting = new Map();
    bytesWaiting = 0;
    if (blobs.length > 0) await shelf.commit({ facts: [], blobs });
  };
  const fetch = async (digest: Digest): Promise<Uint8Array | undefined> => {
    const bytes = shelf.blobs.erased(digest) === undefined ? await from.blob(digest) : undefined;
    if (bytes === undefined || digestOf(bytes) !== digest) return undefined;
    waiting.set(digest, bytes);
    bytesWaiting += bytes.length + BLOB_COST;
    count += 1;
    if (bytesWaiting >= BLOB_BYTES_PER_COMMIT) await flush();
    return bytes;
  };
  // A tree that is not here must come first: it says what else is missing.
  const read = async (digest: Digest): Promise<Uint8Array | undefined> =>
    soundBlob(shelf, digest) ?? waiting.get(digest) ?? (await fetch(digest));
  for await (const { node, below } of walk.follow(read)) {
    needed.delete(node.digest);
    for (const { digest } of below) needed.add(digest);
  }
  if (needed.size > 0)
    for (const here of shelf.blobs.digests()) for (const digest of here) needed.delete(digest);
  for (const digest of needed) if (!waiting.has(digest)) await fetch(digest);
  await flush();
  return count;
}
