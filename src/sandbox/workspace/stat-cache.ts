import type { Stats } from "node:fs";
import type { Digest, TreeEntry } from "../../session/index.js";
import { Turns } from "./directory.js";

/**
 * The state of a workspace at the last look, so that the next look reads only what changed: of every
 * entry its size, its times of modification and change, its number and its mode. Times are kept as Node gives them
 * without big integers, to a quarter of a microsecond; no clock that files are stamped by is that fine.
 *
 * A file that was changed so shortly before it was read that a later change could leave the same times (it is *fresh*)
 * is read again next time. A file that a running process has mapped into its memory for writing is not stamped at each
 * of its writes: like git, this does not see those until the system writes them out.
 */
export class StatCache {
  /** The root of the workspace, as far as it is known. */
  root: Seen | undefined;
  /** The patterns that the last look left out. */
  excluded = "";
  /** One look at a time. */
  readonly turns: Turns = new Turns();

  #isBlank = true;

  /** Whether what the next look finds to be new was added since the last one; else it may have been there before. */
  get isKnown(): boolean {
    return this.#isBlank || this.root !== undefined;
  }

  /** Forgets everything: the next look reads every file. */
  clear(): void {
    if (this.root !== undefined) this.#isBlank = false;
    this.root = undefined;
  }

  /** Notes what was put there; undefined when not everything of it is known. */
  put(root: Seen | undefined): void {
    this.#isBlank = false;
    this.root = root;
  }
}

/** Files and links, not directories. */
export type Leaf = Exclude<TreeEntry, { kind: "tree" }>;
export type Skipped = { readonly name: string; readonly why: string };
export type Below = { readonly mode: number; readonly seen: Seen };

export class Seen {
  /** The device it is on, and with it all entries but mount points. */
  readonly device: number;
  /** The names of the leaves, in the order of names. */
  readonly names: readonly string[];
  readonly leaves: readonly Leaf[];
  /** The stamp of the directory itself, then those of the leaves; `NaN` where it is not to be relied on. */
  readonly stamps: Float64Array;
  readonly directories: ReadonlyMap<string, Below>;
  /** Its entries that cannot be in a tree. */
  readonly skipped: readonly Skipped[];
  /** The time before it was looked at: what was stamped before that, and not shortly before, is certain. */
  readonly since: number;
  /** The tree it makes, and how many files and bytes are in it and below. */
  readonly tree: Digest;
  readonly files: number;
  readonly bytes: number;
  /** Whether looking at the stamps is enough to know that nothing changed in it. */
  readonly certain: boolean;

  constructor(from: Omit<Seen, "names" | "files" | "bytes" | "certain" | "rowOf" | "isUnchanged">) {
    this.device = from.device;
    this.leaves = from.leaves;
    this.names = from.leaves.map(({ name }) => name);
    this.stamps = from.stamps;
    this.directories = from.directories;
    this.skipped = from.skipped;
    this.since = from.since;
    this.tree = from.tree;
    // Skipped entries have no stamp: they are looked at again each time.
    let certain = from.skipped.length === 0 && !isFresh(from.stamps, 0, from.since);
    let [files, bytes] = [0, 0];
    from.leaves.forEach((leaf, index) => {
      files += 1;
      if (leaf.kind !== "link") bytes += leaf.size;
      // Names that are not UTF-8 are for those who hold the directory open.
      if (isFresh(from.stamps, index + 1, from.since) || !leaf.name.isWellFormed()) certain = false;
    });
    for (const { seen } of from.directories.values()) {
      files += seen.files;
      bytes += seen.bytes;
    }
    this.files = files;
    this.bytes = bytes;
    this.certain = certain;
  }

  /** Whether a row certainly looks as it was seen. */
  isUnchanged(row: number, stats: Stats): boolean {
    return isStamped(this.stamps, row, stats) && !isFresh(this.stamps, row, this.since);
  }

  /** The row of a leaf in `stamps`, or 0 when there is no such leaf. */
  rowOf(name: string): number {
    let [low, high] = [0, this.names.length - 1];
    while (low <= high) {
      const middle = (low + high) >>> 1;
      const at = this.names[middle] as string;
      if (at === name) return middle + 1;
      if (at < name) low = middle + 1;
      else high = middle - 1;
    }
    return 0;
  }
}

/** How many numbers a stamp has. */
export const STAMP = 5;

function stamp(stamps: Float64Array, row: number, stats: Stats): void {
  const at = row * STAMP;
  stamps[at] = stats.size;
  stamps[at + 1] = stats.mtimeMs;
  stamps[at + 2] = stats.ctimeMs;
  stamps[at + 3] = stats.ino;
  stamps[at + 4] = stats.mode;
}

function isStamped(stamps: Float64Array, row: number, stats: Stats): boolean {
  const at = row * STAMP;
  return (
    stamps[at + 2] === stats.ctimeMs &&
    stamps[at + 1] === stats.mtimeMs &&
    stamps[at] === stats.size &&
    stamps[at + 3] === stats.ino &&
    stamps[at + 4] === stats.mode
  );
}

/** How far the clock that files are stamped by may be behind: it ticks every 10 ms at the slowest. */
const TICK_MS = 20;
const SECONDS_MS = 2_000;

/** Whether a later change could leave the same stamp. A time without a fraction may be in whole seconds. */
function isFresh(stamps: Float64Array, row: number, since: number): boolean {
  const changed = stamps[row * STAMP + 2] as number;
  // Also true for NaN.
  return !(changed < since - (changed % 1000 === 0 ? SECONDS_MS : TICK_MS));
}

/** A directory about to be known. Stats are left out where the leaf or the list must be read again. */
export type Draft = {
  /** The state before. Without `looked`, only the directories below differ from it. */
  readonly before: Seen | undefined;
  readonly looked?: {
    readonly device: number;
    readonly stats: Stats | undefined;
    readonly leaves: readonly Row[];
    readonly skipped: readonly Skipped[];
  };
  readonly directories: readonly DraftBelow[];
};
export type Row = { readonly leaf: Leaf; readonly stats: Stats | undefined };
export type DraftBelow = { readonly name: string; readonly mode: number; readonly made: Draft | Seen };

/** A draft as a seen directory. `since` is the time from which on changes are not covered by it; `tree` says which tree it makes. */
export function completed(
  made: Draft | Seen,
  since: number,
  tree: (draft: Draft, leaves: readonly Leaf[], directories: ReadonlyMap<string, Below>) => Digest,
): Seen {
  if (made instanceof Seen) return made;
  const directories = new Map<string, Below>();
  for (const below of made.directories)
    directories.set(below.name, { mode: below.mode, seen: completed(below.made, since, tree) });
  const { before, looked } = made;
  if (looked === undefined) {
    const old = before as Seen;
    return new Seen({ ...old, directories, tree: tree(made, old.leaves, directories) });
  }
  const rows = [...looked.leaves].sort((one, other) => (one.leaf.name < other.leaf.name ? -1 : 1));
  const leaves = rows.map(({ leaf }) => leaf);
  const stamps = new Float64Array((rows.length + 1) * STAMP);
  [{ stats: looked.stats }, ...rows].forEach(({ stats }, row) => {
    // On another device: a mount point, which the stamp of the directory does not cover.
    if (stats?.dev !== looked.device) stamps.fill(Number.NaN, row * STAMP, (row + 1) * STAMP);
    else stamp(stamps, row, stats);
  });
  return new Seen({
    device: looked.device,
    leaves,
    stamps,
    directories,
    skipped: looked.skipped,
    since,
    tree: tree(made, leaves, directories),
  });
}
