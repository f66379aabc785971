import type { Digest } from "../../session/index.js";
import type { Trees } from "../trees.js";
import { edited, entryAt } from "./entries.js";

/** A tree without the directories above some paths that have nothing left in them, where they may go. */
export async function swept(
  trees: Trees,
  tree: Digest,
  paths: readonly string[],
  mayGo: (directory: string) => Promise<boolean>,
): Promise<Digest> {
  let left = tree;
  for (const path of paths)
    for (let end = path.lastIndexOf("/"); end > 0; end = path.lastIndexOf("/", end - 1)) {
      const above = path.slice(0, end);
      const entry = await entryAt(trees, left, above);
      if (entry?.kind !== "tree" || (await trees.tree(entry.digest)).entries.length > 0) break;
      if (!(await mayGo(above))) break;
      left = await edited(trees, left, [{ path: above, entry: null }]);
    }
  return left;
}
