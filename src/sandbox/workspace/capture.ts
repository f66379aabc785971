import type { Digest, Tree, TreeEntry } from "../../session/index.js";
import { FileError, MissingFileError } from "../error.js";
import type { Snapshot } from "../sandbox.js";
import type { Trees } from "../trees.js";
import { codeOf, Directory } from "./directory.js";
import { completed, type Draft, type DraftBelow, type Row } from "./draft.js";
import { Exclude } from "./exclude.js";
import { Intake } from "./intake.js";
import { Pace } from "./pace.js";
import type { Below, Leaf, Seen, Skipped, StatCache } from "./stat-cache.js";
import { prepare, type Surveyed, survey } from "./survey.js";
import { opened, unlisted } from "./way.js";

/** How deep directories of a workspace are looked into: each one on the way is held open. */
export const DEEPEST = 250;

export type CaptureOptions = {
  /** What was seen last time, and from now on what is seen this time. */
  readonly cache: StatCache;
  /** Patterns of what is not looked at (see `Exclude`); they become part of the tree. */
  readonly exclude?: readonly string[];
  /** Bytes that may have been added since the cache was filled; with more it is a `SnapshotLimitError`. */
  readonly limit?: number;
  readonly signal?: AbortSignal;
};

/**
 * The tree of a directory of the host, kept in the blob space: files, modes, links, empty directories, whatever is
 * hidden or ignored elsewhere. Only what changed since the cache was filled is read. No link is followed; what runs in the
 * directory meanwhile can make the tree a mixture of before and after, never of inside and outside.
 */
export function capture(root: string, trees: Trees, options: CaptureOptions): Promise<Snapshot> {
  const { cache } = options;
  return cache.turns.take(async () => {
    options.signal?.throwIfAborted();
    await checkCache(cache, trees, options.exclude);
    const surveyed = await survey(cache, root, options.signal);
    if (cache.root === undefined || surveyed.touched.has(cache.root))
      cache.root = await new Capture(trees, surveyed, options).run(root, cache.root);
    // Nobody waits for it, and it cannot fail.
    void prepare(cache, root);
    const { tree, files, bytes } = cache.root;
    return { tree, files, bytes, skipped: skippedIn(cache.root) };
  });
}

/** What is in the cache is worth nothing when the blobs it stands for were collected, or other paths are left out now. */
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

class Capture {
  readonly #trees: Trees;
  readonly #surveyed: Surveyed;
  readonly #intake: Intake;
  readonly #pace: Pace;
  readonly #exclude: Exclude | undefined;
  readonly #since = Date.now();
  /** The texts of trees that are new, by id. */
  readonly #written = new Map<Digest, Uint8Array>();

  constructor(trees: Trees, surveyed: Surveyed, { cache, exclude = [], limit, signal }: CaptureOptions) {
    this.#trees = trees;
    this.#surveyed = surveyed;
    this.#pace = new Pace(signal);
    this.#intake = new Intake(trees, this.#pace, cache.isKnown ? limit : undefined);
    this.#exclude = exclude.length === 0 ? undefined : new Exclude(exclude);
  }

  async run(root: string, before: Seen | undefined): Promise<Seen> {
    let directory: Directory | undefined;
    try {
      directory = Directory.at(root);
      const draft = await this.#visit(directory, before, []);
      let seen: Seen | undefined;
      await this.#intake.finish(() => {
        seen = completed(draft, this.#since, (each, leaves, below) =>
          this.#write(leaves, below, each.before, each === draft ? this.#exclude?.patterns : undefined),
        );
        return [...this.#written.values()];
      });
      return seen as unknown as Seen;
    } catch (error) {
      const code = codeOf(error);
      if (code === undefined) throw error;
      throw new FileError("failed", ".", `the workspace cannot be read (${code})`, error);
    } finally {
      directory?.close();
    }
  }

  /** Looks at a directory again, or only at what changed below it. */
  async #visit(directory: Directory, before: Seen | undefined, way: readonly string[]): Promise<Draft> {
    if (before === undefined || this.#surveyed.changed.has(before)) return this.#look(directory, before, way);
    const directories: DraftBelow[] = [];
    for (const [name, { mode, seen }] of before.directories) {
      const made = this.#surveyed.touched.has(seen)
        ? await this.#enter(directory, name, seen, way)
        : { made: seen, mode };
      // What was there when the directory was looked at is gone, or is something else.
      if (made === undefined || "why" in made) return this.#look(directory, before, way);
      directories.push({ name, ...made });
    }
    return { before, directories };
  }

  async #look(directory: Directory, before: Seen | undefined, way: readonly string[]): Promise<Draft> {
    // Before it is listed: what comes in meanwhile makes it look changed next time.
    const stats = directory.stat();
    const leaves: Row[] = [];
    const directories: DraftBelow[] = [];
    const skipped: Skipped[] = [];
    for (const { name, kind } of directory.entries()) {
      if (this.#pace.long) await this.#pace.rest();
      if (this.#exclude?.has(way, name, kind === "directory") === true) continue;
      const found = await this.#intake.look(directory, way, name, kind, before);
      if (found.what === "leaf") leaves.push(found);
      else if (found.what === "skipped") skipped.push({ name, why: found.why });
      else if (found.what === "directory") {
        if (kind !== "directory" && this.#exclude?.has(way, name, true) === true) continue;
        const below = before?.directories.get(name);
        const isSame = below !== undefined && !this.#surveyed.touched.has(below.seen);
        const made = isSame
          ? { made: below.seen, mode: below.mode }
          : await this.#enter(directory, name, below?.seen, way);
        if (made === undefined) continue;
        if ("why" in made) skipped.push({ name, why: made.why });
        else directories.push({ name, ...made });
      }
    }
    return { before, looked: { device: stats.dev, stats, leaves, skipped }, directories };
  }

  /** A directory below; undefined when it is not there. */
  async #enter(
    parent: Directory,
    name: string,
    before: Seen | undefined,
    way: readonly string[],
  ): Promise<{ made: Draft | Seen; mode: number } | { why: string } | undefined> {
    if (way.length >= DEEPEST) return { why: `it is more than ${DEEPEST} directories deep` };
    const directory = opened(parent, name);
    if (directory === undefined || "why" in directory) return directory;
    try {
      const { mode } = directory.stat();
      return { made: await this.#visit(directory, before, [...way, name]), mode: mode & 0o777 };
    } catch (error) {
      // Errors of files are dealt with where they are read: this is the directory itself.
      return unlisted(error);
    } finally {
      directory.close();
    }
  }

  #write(
    leaves: readonly Leaf[],
    directories: ReadonlyMap<string, Below>,
    before: Seen | undefined,
    exclude: readonly string[] | undefined,
  ): Digest {
    const entries: TreeEntry[] = [...leaves];
    for (const [name, { mode, seen }] of directories)
      entries.push({ kind: "tree", name, mode, digest: seen.tree });
    // In the order that a tree is read back in: it is remembered as it is.
    entries.sort((one, other) => (one.name < other.name ? -1 : 1));
    const tree: Tree = { entries, ...(exclude !== undefined && { exclude }) };
    const { id, bytes } = this.#trees.written(tree);
    if (id !== before?.tree) this.#written.set(id, bytes);
    return id;
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
