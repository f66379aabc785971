import type { Stats } from "node:fs";
import type { Digest } from "../../session/index.js";
import { type Below, type Leaf, Seen, type Skipped, STAMP, stamp, unstamp } from "./stat-cache.js";

/**
 * A directory that is about to be known. What is not certain of it is left out: the stats of a leaf that must be read
 * again next time, those of the directory when it must be listed again.
 */
export type Draft = {
  /** What it was before. Without `looked` it is that, but for what is below. */
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

/** What a draft comes to. `since` is the time from which on changes are not covered by it; `tree` says which tree it makes. */
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
    if (stats === undefined || stats.dev !== looked.device) unstamp(stamps, row);
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
