import { climb, EMPTY_ROOT, nodeHash, same } from "../merkle.js";

/** Whether a tree is the beginning of another, by the hashes that show it (RFC 9162, 2.1.4.2). */
export function isConsistent(
  earlier: { readonly size: number; readonly root: Uint8Array },
  later: { readonly size: number; readonly root: Uint8Array },
  path: readonly Buffer[],
): boolean {
  if (![earlier.size, later.size].every(Number.isSafeInteger) || earlier.size > later.size) return false;
  if (earlier.size === later.size) return path.length === 0 && same(earlier.root, later.root);
  // Everything begins with nothing.
  if (earlier.size === 0) return path.length === 0 && same(earlier.root, EMPTY_ROOT);
  const isPower = earlier.size === 2 ** Math.round(Math.log2(earlier.size));
  const [first, ...rest] = isPower ? [Buffer.from(earlier.root), ...path] : path;
  if (first === undefined) return false;
  let node = earlier.size - 1;
  let last = later.size - 1;
  while (node % 2 === 1) {
    node = Math.floor(node / 2);
    last = Math.floor(last / 2);
  }
  let [old, root] = [first, first];
  const isWhole = climb(node, last, rest, (beside, isLeft) => {
    if (isLeft) old = nodeHash(beside, old);
    root = isLeft ? nodeHash(beside, root) : nodeHash(root, beside);
  });
  return isWhole && same(old, earlier.root) && same(root, later.root);
}
