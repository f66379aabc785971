import { type Digest, EMPTY_TREE, type PathChange, type TreeEntry } from "../../session/index.js";
import type { Trees } from "../trees.js";

/**
 * Which paths differ between two trees, sorted; null is the empty tree. Equal sub-trees are not looked into. Another
 * mode, and another kind of thing at the same path, is "modify". A directory is named when it is added or deleted
 * empty, and when its mode changes; else what is in it speaks for it.
 */
export async function diffTrees(
  trees: Trees,
  before: Digest | null,
  after: Digest | null,
): Promise<readonly PathChange[]> {
  const changes: PathChange[] = [];
  await compare(trees, before ?? EMPTY_TREE, after ?? EMPTY_TREE, "", changes);
  return changes.sort((one, other) => (one.path < other.path ? -1 : 1));
}

async function compare(
  trees: Trees,
  before: Digest,
  after: Digest,
  way: string,
  changes: PathChange[],
): Promise<void> {
  if (before === after) return;
  const [olds, news] = [await trees.tree(before), await trees.tree(after)];
  for (const [old, now] of paired(olds.entries, news.entries)) {
    if (old !== undefined && now !== undefined && isSame(old, now)) continue;
    const path = `${way}${(now ?? old)?.name}`;
    const [from, to] = [old?.kind === "tree" ? old : undefined, now?.kind === "tree" ? now : undefined];
    const isLeaf = (from ?? to) === undefined;
    if (old === undefined) {
      if (isLeaf || to?.digest === EMPTY_TREE) changes.push({ path, change: "add" });
    } else if (now === undefined) {
      if (isLeaf || from?.digest === EMPTY_TREE) changes.push({ path, change: "delete" });
    } else if (from === undefined || to === undefined || from.mode !== to.mode)
      changes.push({ path, change: "modify" });
    if (!isLeaf)
      await compare(trees, from?.digest ?? EMPTY_TREE, to?.digest ?? EMPTY_TREE, `${path}/`, changes);
  }
}

/** The entries of two trees by name, in order. */
function* paired(
  ones: readonly TreeEntry[],
  others: readonly TreeEntry[],
): Iterable<readonly [TreeEntry | undefined, TreeEntry | undefined]> {
  let [left, right] = [0, 0];
  while (left < ones.length || right < others.length) {
    const [one, other] = [ones[left], others[right]];
    const isFirst = one !== undefined && (other === undefined || one.name <= other.name);
    const isSecond = other !== undefined && (one === undefined || other.name <= one.name);
    yield [isFirst ? one : undefined, isSecond ? other : undefined];
    if (isFirst) left += 1;
    if (isSecond) right += 1;
  }
}

/** Whether two entries are the same thing, whatever they are called. */
export function isSame(one: TreeEntry, other: TreeEntry): boolean {
  if (one.kind === "link" || other.kind === "link")
    return one.kind === "link" && other.kind === "link" && one.target === other.target;
  return one.kind === other.kind && one.mode === other.mode && one.digest === other.digest;
}
