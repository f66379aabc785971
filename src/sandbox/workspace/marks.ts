import type { Digest } from "../../session/index.js";
import type { Trees } from "../trees.js";
import type { Conflict } from "./conflict.js";
import { entryAt } from "./entries.js";

/** Of the paths that were in conflict, those whose text still has the marks of it. */
export async function markedPaths(
  trees: Trees,
  tree: Digest,
  conflicts: readonly Conflict[],
): Promise<readonly string[]> {
  const marked: string[] = [];
  for (const { path, kind } of conflicts) {
    const entry = kind === "content" || kind === "add-add" ? await entryAt(trees, tree, path) : undefined;
    if (entry?.kind !== "file") continue;
    const text = Buffer.from(await trees.blob(entry.digest)).toString("latin1");
    if (/^(<{7}|>{7}|\|{7}) /m.test(text)) marked.push(path);
  }
  return marked;
}
