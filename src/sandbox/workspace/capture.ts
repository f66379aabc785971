import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { type Digest, EMPTY_TREE, type TreeEntry } from "../../session/index.js";
import { defined } from "../../util/index.js";
import { FileError, MissingFileError, SandboxSpecError } from "../error.js";
import type { Snapshot } from "../sandbox.js";
import type { Trees } from "../trees.js";
import { codeOf, Directory, type Named, opened, Pace, unlisted } from "./directory.js";
import { totalsOf } from "./entries.js";
import { Exclude } from "./exclude.js";
import { type Found, Intake } from "./intake.js";
import type { Draft, DraftBelow, Row, Seen, Skipped } from "./stat-cache.js";
import { completed, StatCache } from "./stat-cache.js";
import { prepare, type Surveyed, survey } from "./survey.js";

export type CaptureOptions = {
  /** The result of the last look; updated by this one. */
  readonly cache: StatCache;
  /** Patterns of what is not looked at (see `Exclude`); they become part of the tree. */
  readonly exclude?: readonly string[];
  /** Bytes that may have been added since the cache was filled; with more it is a `SnapshotLimitError`. */
  readonly limit?: number;
  readonly signal?: AbortSignal;
};

/**
 * Captures a directory of the host as a tree: files, modes, links, empty and hidden directories. Reads only
 * what changed since the cache was filled. No link is followed: concurrent changes can mix before and after,
 * never inside and outside.
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
      // An entry of the last look is gone, or is something else.
      if (made === undefined || "why" in made) return this.#look(directory, before, way);
      directories.push({ name, ...made });
    }
    return { before, directories };
  }

  async #look(directory: Directory, before: Seen | undefined, way: readonly string[]): Promise<Draft> {
    // Before it is listed: what comes in meanwhile makes it look changed next time.
    const stats = directory.stat();
    const { leaves, skipped, directories } = await this.#scan.entries(
      directory,
      way,
      before,
      async (name, kind) => {
        if (kind !== "directory" && this.#scan.isExcluded(way, name, true)) return undefined;
        const below = before?.directories.get(name);
        if (below === undefined || this.#surveyed.touched.has(below.seen))
          return this.#enter(directory, name, below?.seen, way);
        return { made: below.seen, mode: below.mode };
      },
    );
    return { before, looked: { device: stats.dev, stats, leaves, skipped }, directories };
  }

  /** A directory below; undefined when it is not there. */
  async #enter(
    parent: Directory,
    name: string,
    before: Seen | undefined,
    way: readonly string[],
  ): Promise<Entered> {
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

export type OverlayOptions = CaptureOptions & {
  /** The directory that takes the changes, on the host. */
  readonly upper: string;
  /** The mount as it is seen inside, on the host: `/proc/<pid>/root/workspace`. */
  readonly merged: string;
  /** The tree that the lower layer is a checkout of. */
  readonly base: Digest | null;
  readonly trees: Trees;
};

/**
 * Captures an overlay over a checkout of `base`, looking only at directories with changes. An entry that is not in the
 * upper layer is unchanged; one that the mount does not show was deleted. The mount needs `redirect_dir=nofollow`.
 */
export function captureOverlay(options: OverlayOptions): Promise<Snapshot> {
  const { cache, trees, merged, upper } = options;
  return cache.turns.take(async () => {
    options.signal?.throwIfAborted();
    await checkCache(cache, trees, options.exclude);
    const seen = await readable([merged, upper], (layers) =>
      new OverlayCapture(options).run(layers[0] as Directory, layers[1] as Directory, cache.root),
    );
    cache.root = seen;
    const { files, bytes } = await totalsOf(trees, seen.tree);
    return { tree: seen.tree, files, bytes, skipped: skippedIn(seen) };
  });
}

/** A directory that has changes. Without `upper` everything in it is looked at. */
type Layers = {
  readonly merged: Directory;
  readonly upper: Directory | undefined;
  readonly base: Digest;
  readonly before: Seen | undefined;
  readonly way: readonly string[];
};

class OverlayCapture {
  readonly #trees: Trees;
  readonly #scan: Scan;
  readonly #base: Digest;
  /** The unchanged entries of each directory, and its tree in the lower layer. */
  readonly #kept = new Map<Draft, KeptEntries>();

  constructor(options: OverlayOptions) {
    this.#trees = options.trees;
    this.#scan = new Scan(options.trees, options);
    this.#base = options.base ?? EMPTY_TREE;
  }

  async run(merged: Directory, upper: Directory, before: Seen | undefined): Promise<Seen> {
    const draft = await this.#look({ merged, upper, base: this.#base, before, way: [] });
    return this.#scan.finish(draft, (each) => this.#kept.get(each));
  }

  async #look(layers: Layers): Promise<Draft> {
    const { merged, upper, before, way } = layers;
    const below = new Map((await this.#trees.tree(layers.base)).entries.map((entry) => [entry.name, entry]));
    // First, so that what is made meanwhile is in neither: then it is looked at.
    const changed = upper === undefined ? undefined : new Set(upper.names());
    const kept: TreeEntry[] = [];
    const isKept = (name: string, kind: Named["kind"]): boolean => {
      const old = below.get(name);
      if (changed?.has(name) !== false || old === undefined) return false;
      if (!this.#scan.isExcluded(way, name, kind === "directory")) kept.push(old);
      return true;
    };
    const enter = (name: string): Promise<Entered> => {
      const old = below.get(name);
      const base = old?.kind === "tree" ? old.digest : EMPTY_TREE;
      return this.#enter(layers, name, changed?.has(name) === true, base);
    };
    const found = await this.#scan.entries(merged, way, before, enter, isKept);
    const { leaves, skipped, directories } = found;
    // Where the layers are on several devices, files show other ones than directories do.
    const device = leaves.find(({ stats }) => stats !== undefined)?.stats?.dev ?? 0;
    const draft: Draft = { before, looked: { device, stats: undefined, leaves, skipped }, directories };
    this.#kept.set(draft, { entries: kept, base: layers.base });
    return draft;
  }

  async #enter(
    { merged, upper, before, way }: Layers,
    name: string,
    isUnder: boolean,
    base: Digest,
  ): Promise<Entered> {
    if (way.length >= DEEPEST) return TOO_DEEP;
    const inside = opened(merged, name);
    const under = isUnder && upper !== undefined ? opened(upper, name) : undefined;
    try {
      if (inside === undefined || "why" in inside) return inside;
      const made = await this.#look({
        merged: inside,
        upper: under === undefined || "why" in under ? undefined : under,
        base,
        before: before?.directories.get(name)?.seen,
        way: [...way, name],
      });
      return { mode: inside.stat().mode & 0o777, made };
    } catch (error) {
      return unlisted(error);
    } finally {
      for (const each of [inside, under]) if (each instanceof Directory) each.close();
    }
  }
}

/** The caches of folders that were imported before: several branches often begin with the same one. */
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

/** How deep directories of a workspace are looked into: each one on the way is held open. */
export const DEEPEST = 250;
export const TOO_DEEP = { why: `it is more than ${DEEPEST} directories deep` } as const;

/** Entries of a directory that are as they were in a tree, and the id of that tree. */
export type KeptEntries = { readonly entries: readonly TreeEntry[]; readonly base: Digest };

/** A directory below: what it is, or why it is left out; undefined when it is not there. */
type Entered = { readonly made: Draft | Seen; readonly mode: number } | { readonly why: string } | undefined;

/** One look at a workspace: reads what is new, and keeps it with the trees that it makes. */
export class Scan {
  readonly #trees: Trees;
  readonly #intake: Intake;
  readonly #pace: Pace;
  readonly #exclude: Exclude | undefined;
  readonly #since = Date.now();

  constructor(trees: Trees, { cache, exclude = [], limit, signal }: CaptureOptions) {
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
    kind: Named["kind"],
    before: Seen | undefined,
  ): Found | Promise<Found> {
    if (this.isExcluded(way, name, kind === "directory")) return { what: "nothing" };
    const look = () => this.#intake.look(directory, way, name, kind, before);
    return this.#pace.long ? this.#pace.rest().then(look) : look();
  }

  /** Looks at the entries of a directory that are not kept, and enters those that are directories. */
  async entries(
    directory: Directory,
    way: readonly string[],
    before: Seen | undefined,
    enter: (name: string, kind: Named["kind"]) => Promise<Entered>,
    isKept: (name: string, kind: Named["kind"]) => boolean = () => false,
  ): Promise<{ leaves: Row[]; skipped: Skipped[]; directories: DraftBelow[] }> {
    const leaves: Row[] = [];
    const skipped: Skipped[] = [];
    const directories: DraftBelow[] = [];
    for (const { name, kind } of directory.entries()) {
      if (isKept(name, kind)) continue;
      const found = await this.look(directory, way, name, kind, before);
      if (found.what === "leaf") leaves.push(found);
      else if (found.what === "skipped") skipped.push({ name, why: found.why });
      else if (found.what === "directory") {
        const made = await enter(name, kind);
        if (made !== undefined && "why" in made) skipped.push({ name, why: made.why });
        else if (made !== undefined) directories.push({ name, ...made });
      }
    }
    return { leaves, skipped, directories };
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

/** The skipped entries of all directories, by path. */
export function skippedIn(root: Seen): Snapshot["skipped"] {
  const skipped: { path: string; why: string }[] = [];
  const queue: { seen: Seen; path: string }[] = [{ seen: root, path: "" }];
  for (const { seen, path } of queue) {
    for (const { name, why } of seen.skipped) skipped.push({ path: `${path}${name}`, why });
    for (const [name, below] of seen.directories) queue.push({ seen: below.seen, path: `${path}${name}/` });
  }
  return skipped.sort((one, other) => (one.path < other.path ? -1 : 1));
}
