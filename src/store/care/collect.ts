import { type Digest, digestOf, digestsOf, type FactId, refsOf } from "../../session/index.js";
import { UNDER_WAY_MS } from "../commit.js";
import { verified } from "../exchange/export.js";
import type { BlobTable, Removal, Shelf } from "../shelf.js";
import type { Collected, CollectOptions } from "../store.js";
import { addReached, looksLikeTree, TreeWalk, treesIn } from "./tree-walk.js";

/** Removes the facts that no name leads to, and the blobs that no remaining fact leads to. */
export async function collect(shelf: Shelf, { dryRun, all }: CollectOptions): Promise<Collected> {
  // A blob that is put from here on is spared in any case: it may be for a fact that is saved a moment later. Puts are noted by
  // the clock of the process where all writers are on one host, and by the clock of the store where they are not.
  const now = shelf.capabilities.writers === "many-hosts" ? shelf.now?.() : undefined;
  const since = (now ?? Date.now()) + 1 - (all === true ? 0 : UNDER_WAY_MS);
  const heads = shelf.names.under("").flatMap((record) => record.head ?? []);
  const facts = new Set<FactId>();
  const blobs = new Set<Digest>();
  const trees = new Set<Digest>();
  // Facts that damage hides must not be taken for unused ones.
  for (const lines of verified(shelf, heads)) {
    for (const { id, line } of lines) {
      facts.add(id);
      for (const ref of Object.values(refsOf(line))) blobs.add(ref.digest);
      for (const tree of treesIn(line)) trees.add(tree);
    }
  }
  const read = (digest: Digest): Uint8Array | undefined => shelf.blobs.get(digest);
  await addReached(trees, read, blobs);
  const put = new Set(shelf.blobs.putSince(since));
  // Work that is under way keeps files that were there before, too: only what changed is put, and the directories above it.
  const recent = new Set([...put].filter((digest) => !blobs.has(digest) && looksLikeTree(read(digest))));
  const reached = new Set<Digest>();
  await addReached(recent, read, reached);
  const loose = new Set<FactId>();
  for (const lines of shelf.every()) {
    for (const line of lines) {
      const id = digestOf(line);
      if (!facts.has(id)) loose.add(id);
    }
  }
  const digests: Digest[] = [];
  let spared = 0;
  for (const batch of shelf.blobs.digests()) {
    for (const digest of batch) {
      if (blobs.has(digest)) continue;
      if (put.has(digest) || reached.has(digest)) spared += 1;
      else digests.push(digest);
    }
  }
  if (dryRun !== true && loose.size + digests.length > 0)
    await shelf.remove({ ids: [...loose], digests, trees, since });
  return { facts: loose.size, blobs: digests.length, keptFacts: facts.size, keptBlobs: blobs.size, spared };
}

/**
 * Of blobs that nothing led to when they were counted, those that may still go: others may have put them again or saved
 * facts since. Erased blobs go in any case. Nobody writes meanwhile; `lines` are those that stay.
 */
export function removable(
  what: Removal,
  lines: () => Iterable<string>,
  blobs: Pick<BlobTable, "get" | "erased" | "putSince">,
): ReadonlySet<Digest> {
  const going = new Set(what.digests);
  const unsure = new Set([...going].filter((digest) => blobs.erased(digest) === undefined));
  if (unsure.size === 0) return going;
  const keep = (digest: Digest): void => {
    if (unsure.delete(digest)) going.delete(digest);
  };
  const walk = new TreeWalk();
  for (const digest of what.since === undefined ? [] : blobs.putSince(what.since)) {
    keep(digest);
    if (what.trees?.has(digest) !== true && looksLikeTree(blobs.get(digest))) walk.add(digest);
  }
  for (const line of lines()) {
    for (const digest of digestsOf(line)) keep(digest);
    // The trees that were counted lead to nothing that is to go, so only newer ones are walked: this runs while others wait.
    for (const tree of treesIn(line)) if (what.trees?.has(tree) !== true && walk.add(tree)) keep(tree);
  }
  for (let node = walk.next(); node !== undefined; node = walk.next()) {
    const bytes = blobs.get(node.digest);
    for (const { digest } of bytes === undefined ? [] : walk.enterSound(node, bytes)) keep(digest);
  }
  return going;
}
