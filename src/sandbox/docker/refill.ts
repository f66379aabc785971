import type { Digest } from "../../session/index.js";
import { FileError } from "../error.js";
import { bytesOfName } from "../path.js";
import type { Trees } from "../trees.js";
import { Exclude } from "../workspace/exclude.js";
import type { Archive } from "./archive.js";
import type { Freezer } from "./freeze.js";
import { emptying, removalOf, WORKSPACE } from "./script.js";

import { partsOf } from "./tree-read.js";

const ATTEMPTS = 3;

type Names = readonly string[];

/** What emptying a workspace needs: scripts while it runs, looks while it stands still. */
export type Emptying = {
  readonly archive: Archive;
  readonly trees: Trees;
  readonly freezer: Freezer;
  readonly script: (words: readonly string[]) => Promise<string>;
};

/**
 * Empties a workspace, and then does something with it before anything in it runs again. The engine cannot remove files,
 * so a script in the container does, with programs that commands may have replaced: the engine's own look decides
 * whether it is empty. What the tree that comes next excludes stays, unless the directory it is in goes.
 */
export async function emptied(
  { archive, trees, freezer, script }: Emptying,
  next: Digest | null,
  work: () => Promise<void>,
): Promise<void> {
  const exclude = new Exclude((await trees.tree(next)).exclude ?? []);
  const isPlain = exclude.patterns.length === 0;
  const directories = isPlain ? new Set<string>() : await directoriesOf(next, trees);
  let waste: readonly Names[] = isPlain
    ? []
    : await freezer.whileFrozen(() => wasteIn(archive, exclude, directories));
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const now = waste;
    await freezer.whileRunning(async () => {
      if (isPlain) await script(emptying());
      else for (const names of now) await script(removalOf(names.map(bytesOfName)));
    });
    const isDone = await freezer.whileFrozen(async () => {
      waste = await wasteIn(archive, exclude, directories);
      if (waste.length > 0) return false;
      await work();
      return true;
    });
    if (isDone) return;
  }
  throw new FileError("failed", waste[0]?.join("/") ?? ".", "it is in the way and could not be removed");
}

/** The topmost entries of the workspace that must go. */
async function wasteIn(
  archive: Archive,
  exclude: Exclude,
  directories: ReadonlySet<string>,
): Promise<Names[]> {
  const entries: { readonly names: Names; readonly isDirectory: boolean }[] = [];
  for await (const { name, kind } of archive.read(Buffer.from(WORKSPACE))) {
    const names = partsOf(name);
    if (names.length > 0) entries.push({ names, isDirectory: kind === "directory" });
  }
  entries.sort((one, other) => one.names.length - other.names.length);
  const excluded = new Set<string>();
  const needed = new Set<string>();
  if (exclude.patterns.length > 0)
    for (const { names, isDirectory } of entries) {
      const way = names.slice(0, -1);
      if (isUnder(excluded, names) || !directories.has(way.join("/"))) continue;
      if (!exclude.has(way, names.at(-1) as string, isDirectory)) continue;
      excluded.add(names.join("/"));
      way.forEach((_name, place) => {
        needed.add(way.slice(0, place + 1).join("/"));
      });
    }
  const gone = new Set<string>();
  const waste: Names[] = [];
  for (const { names } of entries) {
    const path = names.join("/");
    if (needed.has(path) || isUnder(excluded, names) || isUnder(gone, names)) continue;
    gone.add(path);
    waste.push(names);
  }
  return waste;
}

/** Whether one of these paths is this one, or one above it. */
function isUnder(paths: ReadonlySet<string>, names: Names): boolean {
  return paths.size > 0 && names.some((_name, place) => paths.has(names.slice(0, place + 1).join("/")));
}

/** The paths of all directories of a tree, "" for itself. */
async function directoriesOf(tree: Digest | null, trees: Trees): Promise<ReadonlySet<string>> {
  const paths = new Set<string>();
  const todo: { readonly digest: Digest | null; readonly path: string }[] = [{ digest: tree, path: "" }];
  for (let next = todo.pop(); next !== undefined; next = todo.pop()) {
    const { digest, path } = next;
    paths.add(path);
    for (const entry of (await trees.tree(digest)).entries)
      if (entry.kind === "tree")
        todo.push({ digest: entry.digest, path: path === "" ? entry.name : `${path}/${entry.name}` });
  }
  return paths;
}
