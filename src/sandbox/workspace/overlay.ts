import { type Digest, EMPTY_TREE, type TreeEntry } from "../../session/index.js";
import type { Snapshot } from "../sandbox.js";
import type { Trees } from "../trees.js";
import { Directory } from "./directory.js";
import type { Draft, DraftBelow, Row } from "./draft.js";
import { totalsOf } from "./entries.js";
import { checkCache, DEEPEST, type KeptEntries, readable, Scan, skippedIn, TOO_DEEP } from "./scan.js";
import type { Seen, Skipped, StatCache } from "./stat-cache.js";
import { opened, unlisted } from "./way.js";

export type OverlayOptions = {
  /** The directory that takes the changes, on the host. */
  readonly upper: string;
  /** The mount as it is seen inside, on the host: `/proc/<pid>/root/workspace`. */
  readonly merged: string;
  /** The tree that the lower layer is a checkout of. */
  readonly base: Digest | null;
  readonly trees: Trees;
  readonly cache: StatCache;
  readonly exclude?: readonly string[];
  /** Bytes that may have been added since the last look; with more it is a `SnapshotLimitError`. */
  readonly limit?: number;
  readonly signal?: AbortSignal;
};

/**
 * The tree of a workspace that is an overlay over a checkout of `base`: only directories with changes are looked at, so
 * it costs what changed and not what is there. What is not in the upper layer is as it was; what the mount does not show
 * was deleted. That holds for a mount with `redirect_dir=nofollow`: else a renamed directory could pass for the one whose
 * name it took.
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
  /** What a directory has of the lower layer, and what it was there. */
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
    const leaves: Row[] = [];
    const kept: TreeEntry[] = [];
    const directories: DraftBelow[] = [];
    const skipped: Skipped[] = [];
    for (const { name, kind } of merged.entries()) {
      const old = below.get(name);
      if (changed?.has(name) === false && old !== undefined) {
        if (!this.#scan.isExcluded(way, name, kind === "directory")) kept.push(old);
        continue;
      }
      const found = await this.#scan.look(merged, way, name, kind, before);
      if (found.what === "leaf") leaves.push(found);
      else if (found.what === "skipped") skipped.push({ name, why: found.why });
      else if (found.what === "directory") {
        const isUnder = changed?.has(name) === true;
        const made = await this.#enter(layers, name, isUnder, old?.kind === "tree" ? old.digest : EMPTY_TREE);
        if (made !== undefined && "why" in made) skipped.push({ name, why: made.why });
        else if (made !== undefined) directories.push(made);
      }
    }
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
  ): Promise<DraftBelow | { why: string } | undefined> {
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
      return { name, mode: inside.stat().mode & 0o777, made };
    } catch (error) {
      return unlisted(error);
    } finally {
      for (const each of [inside, under]) if (each instanceof Directory) each.close();
    }
  }
}
