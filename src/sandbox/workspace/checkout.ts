import { mkdirSync, type Stats } from "node:fs";
import { type Digest, EMPTY_TREE, type TreeEntry } from "../../session/index.js";
import { FileError } from "../error.js";
import { requireExact } from "../path.js";
import type { Trees } from "../trees.js";
import { DEEPEST } from "./capture.js";
import { ATTEMPTS, codeOf, Directory, opened, Pace, removeEntry } from "./directory.js";
import { isSame } from "./entries.js";
import { Exclude } from "./exclude.js";
import { Placer } from "./placer.js";
import type { Draft, DraftBelow, Leaf, Row, Seen, StatCache } from "./stat-cache.js";
import { completed } from "./stat-cache.js";
import { prepare, type Surveyed, survey } from "./survey.js";

export type CheckoutOptions = {
  /** The known state of the directory; updated by this checkout. */
  readonly cache: StatCache;
  /** The tree that the directory certainly holds: only differences are touched. */
  readonly from?: Digest | null;
  /** Whether nothing else can write here yet. Else the next capture reads again what is written now. */
  readonly alone?: boolean;
  /** Another checkout of the tree that nobody writes to (see `frozen`): copying it is faster. */
  readonly like?: string;
  readonly signal?: AbortSignal;
};

/**
 * Makes a directory match a tree, in place, touching only differences and following no link. Excluded files
 * stay, unless their directory goes. The next checkout repairs an interrupted one.
 */
export function checkout(
  root: string,
  trees: Trees,
  tree: Digest | null,
  options: CheckoutOptions,
): Promise<void> {
  const { cache, from } = options;
  return cache.turns.take(async () => {
    options.signal?.throwIfAborted();
    const { exclude = [] } = await trees.tree(tree);
    const excluded = JSON.stringify(exclude);
    if (cache.excluded !== excluded) cache.clear();
    if (from !== undefined && cache.root?.tree !== (from ?? EMPTY_TREE)) cache.clear();
    const surveyed = from === undefined ? await survey(cache, root, options.signal) : undefined;
    const seen = cache.root;
    // Anyone who is cut off here leaves something that was not seen.
    cache.clear();
    cache.excluded = excluded;
    const work = new Checkout(trees, surveyed, new Exclude(exclude), options);
    cache.put(await work.run(root, tree ?? EMPTY_TREE, from === null ? EMPTY_TREE : from, seen));
    // Nobody waits for it, and it cannot fail.
    void prepare(cache, root);
  });
}

type Below = Extract<TreeEntry, { kind: "tree" }>;

class Checkout {
  readonly #trees: Trees;
  readonly #surveyed: Surveyed | undefined;
  readonly #exclude: Exclude;
  readonly #alone: boolean;
  readonly #like: string | undefined;
  readonly #pace: Pace;
  readonly #since = Date.now();
  readonly #made = new Map<Draft, Digest>();

  constructor(
    trees: Trees,
    surveyed: Surveyed | undefined,
    exclude: Exclude,
    { alone = false, like, signal }: CheckoutOptions,
  ) {
    this.#trees = trees;
    this.#surveyed = surveyed;
    this.#exclude = exclude;
    this.#alone = alone;
    this.#like = like;
    this.#pace = new Pace(signal);
  }

  /** The final state; undefined when not all of it is known. */
  async run(
    root: string,
    want: Digest,
    from: Digest | undefined,
    seen: Seen | undefined,
  ): Promise<Seen | undefined> {
    let directory: Directory;
    let like: Directory | undefined;
    try {
      directory = this.#alone ? Directory.alone(root) : Directory.at(root);
    } catch (error) {
      throw new FileError("failed", ".", "the workspace is not there", error);
    }
    try {
      like = this.#like === undefined ? undefined : Directory.alone(this.#like);
      const placer = new Placer(this.#trees, directory.stat(), this.#pace);
      const site = { directory, way: [], has: from ?? this.#certain(seen), seen, like };
      const draft = await this.#settle(placer, site, want);
      if (draft === undefined) return undefined;
      // Nobody else could change what is there until now, or could since the beginning.
      return completed(
        draft,
        this.#alone ? Date.now() : this.#since,
        (each) => this.#made.get(each) as Digest,
      );
    } finally {
      directory.close();
      like?.close();
    }
  }

  /** The tree of a directory that looks as it was seen, with all that is below. */
  #certain(seen: Seen | undefined): Digest | undefined {
    const isCertain = seen !== undefined && this.#surveyed?.touched.has(seen) === false;
    return isCertain ? seen.tree : undefined;
  }

  /** Makes a directory what a tree says. The answer is what is known of it then. */
  async #settle(placer: Placer, site: Site, want: Digest, mode?: number): Promise<Draft | Seen | undefined> {
    const { directory, seen, has } = site;
    if (has === want && seen?.tree === want && isMode(directory, mode)) return seen;
    const first = directory.stat();
    // Directories without access are closed again in the end.
    if (has !== want && process.geteuid?.() !== 0) directory.unlock();
    const { entries } = await this.#trees.tree(want);
    const there =
      has === undefined
        ? listed(site, this.#exclude)
        : new Map((await this.#trees.tree(has)).entries.map(named));
    const work = { ...site, placer, there, isTouched: false };
    await this.#clear(work, new Set(entries.map(({ name }) => name)));
    const leaves: Row[] = [];
    const directories: DraftBelow[] = [];
    let isKnown = true;
    for (const entry of entries) {
      if (this.#pace.long) await this.#pace.rest();
      try {
        // A tree that spells the name of one file twice is not ours.
        requireExact(entry.name);
        if (entry.kind !== "tree") {
          leaves.push({ leaf: entry, stats: await this.#leaf(work, entry) });
          continue;
        }
        const made = await this.#below(work, entry);
        if (made === undefined) isKnown = false;
        else directories.push({ name: entry.name, mode: entry.mode, made });
      } catch (error) {
        throw told(error, [...site.way, entry.name].join("/"));
      }
    }
    if (!isMode(directory, mode)) directory.chmod(mode as number);
    if (!isKnown) return undefined;
    const draft = this.#draft(work, first, leaves, directories);
    if (draft !== undefined) this.#made.set(draft, want);
    return draft;
  }

  #draft(
    work: Work,
    first: Stats,
    leaves: readonly Row[],
    directories: readonly DraftBelow[],
  ): Draft | undefined {
    const { directory, seen, has, isTouched } = work;
    const device = first.dev;
    const skipped = has === undefined ? [] : (seen?.skipped ?? []);
    if (this.#alone)
      return { before: seen, looked: { device, stats: directory.stat(), leaves, skipped }, directories };
    // Not listed and not touched: it is as it was seen, if it was.
    if (has !== undefined && !isTouched && seen?.tree === has) return { before: seen, directories };
    // Entries that came in while it was touched are unknown: it is listed again next time.
    const stats = isTouched || has !== undefined ? undefined : first;
    return { before: seen, looked: { device, stats, leaves, skipped }, directories };
  }

  /** Removes what must not be there. */
  async #clear(work: Work, wanted: ReadonlySet<string>): Promise<void> {
    for (const name of work.there.keys()) {
      if (wanted.has(name)) continue;
      work.isTouched = true;
      try {
        await removeEntry(work.directory, name);
      } catch (error) {
        throw told(error, [...work.way, name].join("/"));
      }
    }
  }

  /** Puts a file or a link there unless it is; undefined when it must be read again to be certain of it. */
  async #leaf(work: Work, leaf: Leaf): Promise<Stats | undefined> {
    const { directory, seen, there, placer } = work;
    const had = there.get(leaf.name);
    const stats = there.has(leaf.name) ? directory.look(leaf.name) : undefined;
    const row = seen?.rowOf(leaf.name) ?? 0;
    const old = seen?.leaves[row - 1];
    const isCertain = old !== undefined && stats !== undefined && isSame(old, leaf);
    if (isCertain && seen?.isUnchanged(row, stats) === true) return stats;
    if (had !== undefined && isSame(had, leaf)) return undefined;
    const kept = stats === undefined ? undefined : await placer.kept(directory, leaf, stats);
    if (kept !== undefined) return kept;
    work.isTouched = true;
    if (stats?.isDirectory() === true) await removeEntry(directory, leaf.name);
    return placer.place(directory, leaf, stats === undefined, work.like);
  }

  /** Makes a directory below what it should be. */
  async #below(work: Work, entry: Below): Promise<Draft | Seen | undefined> {
    const had = work.there.get(entry.name);
    const old = work.seen?.directories.get(entry.name);
    const isThere =
      had !== undefined
        ? isSame(had, entry)
        : this.#certain(old?.seen) === entry.digest && old?.mode === entry.mode;
    if (isThere) return old?.seen.tree === entry.digest ? old.seen : undefined;
    const { directory, isNew } = await settled(work, entry.name);
    const like = work.like === undefined ? undefined : opened(work.like, entry.name);
    try {
      if (isNew) directory.own(work.directory.stat());
      const has = isNew ? EMPTY_TREE : had?.kind === "tree" ? had.digest : this.#certain(old?.seen);
      const site = {
        directory,
        way: [...work.way, entry.name],
        has,
        seen: isNew ? undefined : old?.seen,
        like: like instanceof Directory ? like : undefined,
      };
      return await this.#settle(work.placer, site, entry.digest, entry.mode);
    } finally {
      directory.close();
      if (like instanceof Directory) like.close();
    }
  }
}

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

/** A directory below, made when it is missing; anything else there is removed. */
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

/** The names that are there, of which nothing is certain. Excluded entries are not looked at. */
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
