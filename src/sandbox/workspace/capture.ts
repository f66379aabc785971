import type { Snapshot } from "../sandbox.js";
import type { Trees } from "../trees.js";
import type { Directory } from "./directory.js";
import type { Draft, DraftBelow, Row } from "./draft.js";
import { checkCache, DEEPEST, readable, Scan, skippedIn, TOO_DEEP } from "./scan.js";
import type { Seen, Skipped, StatCache } from "./stat-cache.js";
import { prepare, type Surveyed, survey } from "./survey.js";
import { opened, unlisted } from "./way.js";

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

class Capture {
  readonly #scan: Scan;
  readonly #surveyed: Surveyed;

  constructor(trees: Trees, surveyed: Surveyed, options: CaptureOptions) {
    this.#scan = new Scan(trees, options);
    this.#surveyed = surveyed;
  }

  run(root: string, before: Seen | undefined): Promise<Seen> {
    return readable([root], async ([directory]) =>
      this.#scan.finish(await this.#visit(directory as Directory, before, [])),
    );
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
      const found = await this.#scan.look(directory, way, name, kind, before);
      if (found.what === "leaf") leaves.push(found);
      else if (found.what === "skipped") skipped.push({ name, why: found.why });
      else if (found.what === "directory") {
        if (kind !== "directory" && this.#scan.isExcluded(way, name, true)) continue;
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
    if (way.length >= DEEPEST) return TOO_DEEP;
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
}
