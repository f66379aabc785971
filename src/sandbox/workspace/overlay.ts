import { type Digest, EMPTY_TREE, type TreeEntry } from "../../session/index.js";
import { FileError } from "../error.js";
import type { Snapshot } from "../sandbox.js";
import type { Trees } from "../trees.js";
import { checkCache, DEEPEST, skippedIn } from "./capture.js";
import { codeOf, Directory } from "./directory.js";
import { completed, type Draft, type DraftBelow, type Row } from "./draft.js";
import { totalsOf } from "./entries.js";
import { Exclude } from "./exclude.js";
import { Intake } from "./intake.js";
import { Pace } from "./pace.js";
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
    const open: Directory[] = [];
    try {
      const layers = [merged, upper].map((path) => {
        const directory = Directory.at(path);
        open.push(directory);
        return directory;
      });
      const work = new OverlayCapture(options);
      cache.root = await work.run(layers[0] as Directory, layers[1] as Directory, cache.root);
      const { files, bytes } = await totalsOf(trees, cache.root.tree);
      return { tree: cache.root.tree, files, bytes, skipped: skippedIn(cache.root) };
    } catch (error) {
      const code = codeOf(error);
      if (code === undefined) throw error;
      throw new FileError("failed", ".", `the workspace cannot be read (${code})`, error);
    } finally {
      for (const directory of open) directory.close();
    }
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
  readonly #intake: Intake;
  readonly #pace: Pace;
  readonly #exclude: Exclude | undefined;
  readonly #base: Digest;
  readonly #since = Date.now();
  /** What a directory has of the lower layer, and what it was there. */
  readonly #kept = new Map<Draft, { readonly entries: readonly TreeEntry[]; readonly base: Digest }>();
  readonly #written = new Map<Digest, Uint8Array>();

  constructor({ trees, base, cache, exclude = [], limit, signal }: OverlayOptions) {
    this.#trees = trees;
    this.#base = base ?? EMPTY_TREE;
    this.#pace = new Pace(signal);
    this.#intake = new Intake(trees, this.#pace, cache.isKnown ? limit : undefined);
    this.#exclude = exclude.length === 0 ? undefined : new Exclude(exclude);
  }

  async run(merged: Directory, upper: Directory, before: Seen | undefined): Promise<Seen> {
    const draft = await this.#look({ merged, upper, base: this.#base, before, way: [] });
    let seen: Seen | undefined;
    await this.#intake.finish(() => {
      seen = completed(draft, this.#since, (each, leaves, below) => {
        const kept = this.#kept.get(each);
        const entries: TreeEntry[] = [...leaves, ...(kept?.entries ?? [])];
        for (const [
          name,
          {
            mode,
            seen: { tree },
          },
        ] of below)
          entries.push({ kind: "tree", name, mode, digest: tree });
        entries.sort((one, other) => (one.name < other.name ? -1 : 1));
        const exclude = each === draft ? this.#exclude?.patterns : undefined;
        const { id, bytes } = this.#trees.written({ entries, ...(exclude !== undefined && { exclude }) });
        if (id !== kept?.base && id !== each.before?.tree) this.#written.set(id, bytes);
        return id;
      });
      return [...this.#written.values()];
    });
    return seen as unknown as Seen;
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
      if (this.#pace.long) await this.#pace.rest();
      if (this.#exclude?.has(way, name, kind === "directory") === true) continue;
      const old = below.get(name);
      if (changed?.has(name) === false && old !== undefined) {
        kept.push(old);
        continue;
      }
      const found = await this.#intake.look(merged, way, name, kind, before);
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
    if (way.length >= DEEPEST) return { why: `it is more than ${DEEPEST} directories deep` };
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
