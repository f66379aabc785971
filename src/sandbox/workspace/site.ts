import { mkdirSync } from "node:fs";
import type { Digest, TreeEntry } from "../../session/index.js";
import { FileError } from "../error.js";
import { codeOf, type Directory } from "./directory.js";
import type { Exclude } from "./exclude.js";
import type { Placer } from "./placer.js";
import { removeEntry } from "./remove.js";
import { DEEPEST } from "./scan.js";
import type { Seen } from "./stat-cache.js";
import { ATTEMPTS } from "./way.js";

/** A directory to be made what a tree says, and what is known of it. */
export type Site = {
  readonly directory: Directory;
  readonly way: readonly string[];
  /** The tree that it is, if that is certain. */
  readonly has: Digest | undefined;
  readonly seen: Seen | undefined;
  /** The same directory elsewhere, where nobody changes it. */
  readonly like: Directory | undefined;
};
/** A directory while it is made what a tree says. */
export type Work = Site & {
  readonly placer: Placer;
  /** The names that are there, and what they are where that is certain. */
  readonly there: ReadonlyMap<string, TreeEntry | undefined>;
  isTouched: boolean;
};

/** A directory below, made when there is none; what else is there goes. */
export async function settled(work: Work, name: string): Promise<{ directory: Directory; isNew: boolean }> {
  if (work.way.length >= DEEPEST)
    throw new FileError("failed", name, `it is more than ${DEEPEST} directories deep`);
  let isNew = false;
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    try {
      return { directory: work.directory.open(name), isNew };
    } catch (error) {
      const code = codeOf(error);
      if (code !== "ENOENT" && code !== "ENOTDIR" && code !== "ELOOP") throw error;
    }
    work.isTouched = true;
    await removeEntry(work.directory, name);
    try {
      mkdirSync(work.directory.to(name), { mode: 0o700 });
      isNew = true;
    } catch (error) {
      if (codeOf(error) !== "EEXIST") throw error;
      isNew = false;
    }
  }
  throw new FileError("failed", name, "something else takes its place all the time");
}

/** The names that are there, of which nothing is certain. What the tree excludes is not looked at. */
export function listed({ directory, way }: Site, exclude: Exclude): Map<string, TreeEntry | undefined> {
  const found = new Map<string, TreeEntry | undefined>();
  for (const { name, kind } of directory.entries())
    if (!exclude.has(way, name, kind === "directory")) found.set(name, undefined);
  return found;
}

export function isMode(directory: Directory, mode: number | undefined): boolean {
  return mode === undefined || (directory.stat().mode & 0o7777) === mode;
}

export function named(entry: TreeEntry): readonly [string, TreeEntry] {
  return [entry.name, entry];
}

export function told(error: unknown, path: string): unknown {
  const code = codeOf(error);
  return code === undefined ? error : new FileError("failed", path, `the system says ${code}`, error);
}
