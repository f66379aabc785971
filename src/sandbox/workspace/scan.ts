import type { Digest, TreeEntry } from "../../session/index.js";
import { defined } from "../../util/index.js";
import { FileError, MissingFileError } from "../error.js";
import type { Snapshot } from "../sandbox.js";
import type { Trees } from "../trees.js";
import { codeOf, Directory, type Kind } from "./directory.js";
import { completed, type Draft } from "./draft.js";
import { Exclude } from "./exclude.js";
import { type Found, Intake } from "./intake.js";
import { Pace } from "./pace.js";
import type { Seen, StatCache } from "./stat-cache.js";

/** How deep directories of a workspace are looked into: each one on the way is held open. */
export const DEEPEST = 250;
export const TOO_DEEP = { why: `it is more than ${DEEPEST} directories deep` } as const;

export type ScanOptions = {
  readonly cache: StatCache;
  readonly exclude?: readonly string[];
  readonly limit?: number;
  readonly signal?: AbortSignal;
};

/** Entries of a directory that are as they were in a tree, and the id of that tree. */
export type KeptEntries = { readonly entries: readonly TreeEntry[]; readonly base: Digest };

/** One look at a workspace: reads what is new, and keeps it with the trees that it makes. */
export class Scan {
  readonly #trees: Trees;
  readonly #intake: Intake;
  readonly #pace: Pace;
  readonly #exclude: Exclude | undefined;
  readonly #since = Date.now();

  constructor(trees: Trees, { cache, exclude = [], limit, signal }: ScanOptions) {
    this.#trees = trees;
    this.#pace = new Pace(signal);
    this.#intake = new Intake(trees, this.#pace, cache.isKnown ? limit : undefined);
    this.#exclude = exclude.length === 0 ? undefined : new Exclude(exclude);
  }

  isExcluded(way: readonly string[], name: string, isDirectory: boolean): boolean {
    return this.#exclude?.has(way, name, isDirectory) === true;
  }

  /** Looks at an entry. One that is excluded is nothing. Not async: a workspace has many entries, and this is the way to each. */
  look(
    directory: Directory,
    way: readonly string[],
    name: string,
    kind: Kind | "unknown",
    before: Seen | undefined,
  ): Found | Promise<Found> {
    if (this.isExcluded(way, name, kind === "directory")) return { what: "nothing" };
    const look = () => this.#intake.look(directory, way, name, kind, before);
    return this.#pace.long ? this.#pace.rest().then(look) : look();
  }

  /** Keeps what was read, and the trees of a draft that are new; `kept` says what else a directory holds. */
  async finish(
    draft: Draft,
    kept: (draft: Draft) => KeptEntries | undefined = () => undefined,
  ): Promise<Seen> {
    const written = new Map<Digest, Uint8Array>();
    const [seen] = await this.#intake.finish(() => {
      const made = completed(draft, this.#since, (each, leaves, below) => {
        const old = kept(each);
        const entries: TreeEntry[] = [...leaves, ...(old?.entries ?? [])];
        for (const [name, { mode, seen }] of below)
          entries.push({ kind: "tree", name, mode, digest: seen.tree });
        const exclude = each === draft ? this.#exclude?.patterns : undefined;
        const { id, bytes } = this.#trees.written({ entries, ...defined({ exclude }) });
        if (id !== old?.base && id !== each.before?.tree) written.set(id, bytes);
        return id;
      });
      return [made, [...written.values()]];
    });
    return seen;
  }
}

/** Does something with directories of the host, held open meanwhile. An error of the system is a `FileError`. */
export async function readable<Value>(
  paths: readonly string[],
  work: (directories: readonly Directory[]) => Promise<Value>,
): Promise<Value> {
  const open: Directory[] = [];
  try {
    for (const path of paths) open.push(Directory.at(path));
    return await work(open);
  } catch (error) {
    const code = codeOf(error);
    if (code === undefined) throw error;
    throw new FileError("failed", ".", `the workspace cannot be read (${code})`, error);
  } finally {
    for (const directory of open) directory.close();
  }
}

/** The cache is worth nothing when the blobs it stands for were collected, or other paths are left out now. */
export async function checkCache(
  cache: StatCache,
  trees: Trees,
  exclude: readonly string[] = [],
): Promise<void> {
  const excluded = JSON.stringify(exclude);
  if (cache.excluded !== excluded) cache.clear();
  cache.excluded = excluded;
  if (cache.root === undefined) return;
  try {
    await trees.blob(cache.root.tree);
  } catch (error) {
    if (!(error instanceof MissingFileError)) throw error;
    cache.clear();
  }
}

/** What the directories that were seen have that no tree can hold, by path. */
export function skippedIn(root: Seen): Snapshot["skipped"] {
  const skipped: { path: string; why: string }[] = [];
  const queue: { seen: Seen; path: string }[] = [{ seen: root, path: "" }];
  for (const { seen, path } of queue) {
    for (const { name, why } of seen.skipped) skipped.push({ path: `${path}${name}`, why });
    for (const [name, below] of seen.directories) queue.push({ seen: below.seen, path: `${path}${name}/` });
  }
  return skipped.sort((one, other) => (one.path < other.path ? -1 : 1));
}
