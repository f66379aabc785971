import { type Digest, digestsOf } from "../../session/index.js";
import type { BlobTable, Removal } from "../shelf.js";
import { looksLikeTree, TreeWalk, treesIn } from "./tree-walk.js";

/**
 * Of blobs that nothing led to when they were counted, those that may still go: others may have put them again or saved
 * facts since. Erased blobs go in any case. Nobody writes meanwhile; `lines` are those that stay.
 */
export function removable(
  what: Removal,
  lines: () => Iterable<string>,
  blobs: BlobTable,
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
