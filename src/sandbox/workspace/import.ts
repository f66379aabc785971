import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { SandboxSpecError } from "../error.js";
import type { Snapshot } from "../sandbox.js";
import type { Trees } from "../trees.js";
import { capture } from "./capture.js";
import { StatCache } from "./stat-cache.js";

/** What was seen of folders that were taken in before: several branches often begin with the same one. */
const caches = new WeakMap<Trees, Map<string, StatCache>>();

/** Takes the files of a folder of the host in. The folder is only read. */
export async function importFolder(
  folder: string,
  trees: Trees,
  exclude: readonly string[] = [],
): Promise<Snapshot> {
  const root = resolve(folder);
  const found = await stat(root).catch(() => undefined);
  if (found?.isDirectory() !== true)
    throw new SandboxSpecError(
      "workspace",
      found === undefined ? `there is nothing at ${root}` : `${root} is not a folder`,
      'give a folder that is there: { workspace: "./repo" }, or leave it out to begin with no files',
      { workspace: folder },
    );
  const known = caches.get(trees) ?? new Map<string, StatCache>();
  caches.set(trees, known);
  const key = JSON.stringify([root, exclude]);
  const cache = known.get(key) ?? new StatCache();
  known.set(key, cache);
  return capture(root, trees, { cache, ...(exclude.length > 0 && { exclude }) });
}
