import { type Digest, EMPTY_TREE, type PathChange, type Tree, type TreeEntry } from "../../session/index.js";
import type { Trees } from "../trees.js";
import { type Conflict, type ConflictKind, sideOf } from "./conflict.js";
import { Deposit, diffTrees, type FileEntry, isSame, textOf } from "./entries.js";
import { mergeText } from "./text-merge.js";

/** The trees of a merge: what the sides have in common, and what each made of it. null is a workspace without files. */
export type MergeSides = Three<Digest | null>;

/** The outcome of a merge. A conflicting text has markers; otherwise ours stays, or the side that exists. */
export type MergedTree = {
  readonly tree: Digest;
  /** The changes from ours to the merged tree. */
  readonly paths: readonly PathChange[];
  readonly conflicts: readonly Conflict[];
  readonly sides: MergeSides;
};

/**
 * A three-way merge of trees, text line by line. A change of one side, or the same change of both, is taken;
 * anything else is a conflict. Equal directories are not read.
 */
export async function mergeTrees(trees: Trees, sides: MergeSides): Promise<MergedTree> {
  const merge = new TreeMerge(trees);
  const tree = await merge.root(three(sides, (side) => side ?? EMPTY_TREE));
  return {
    tree,
    paths: await diffTrees(trees, sides.ours, tree),
    conflicts: merge.conflicts.sort((one, other) => (one.path < other.path ? -1 : 1)),
    sides: three(sides, (side) => side),
  };
}

type Entries = Three<TreeEntry | undefined>;
type Directory = TreeEntry & { readonly kind: "tree" };

/** A directory that is being merged: its entries so far, and those still to come. */
type Frame = {
  readonly path: string;
  readonly name: string;
  readonly of: Entries;
  readonly waiting: (readonly [string, Entries])[];
  readonly merged: TreeEntry[];
};

const NOTHING: Entries = { base: undefined, ours: undefined, theirs: undefined };

class TreeMerge {
  readonly conflicts: Conflict[] = [];
  readonly #trees: Trees;
  readonly #deposit: Deposit;

  constructor(trees: Trees) {
    this.#trees = trees;
    this.#deposit = new Deposit(trees);
  }

  async root(ids: Three<Digest>): Promise<Digest> {
    const settled = winner(ids, (one, other) => one === other);
    if (settled !== undefined) return ids[settled];
    const roots = await allThree(three(ids, (id) => this.#trees.tree(id)));
    const exclude = mergeSets(three(roots, (root) => root.exclude));
    // A stack of our own: paths may be as deep as a path is long.
    const root: Frame = { path: "", name: "", of: NOTHING, waiting: waitingOf(roots), merged: [] };
    const open = [root];
    for (let frame = root; ; ) {
      const next = frame.waiting.pop();
      if (next !== undefined) {
        const [name, entries] = next;
        const deeper = await this.#entry(frame, name, entries);
        if (deeper !== undefined) open.push(deeper);
      } else {
        open.pop();
        const above = open.at(-1);
        const tree = { entries: frame.merged, ...(above === undefined && exclude && { exclude }) };
        if (above === undefined) {
          const id = await this.#deposit.tree(tree, Object.values(ids));
          await this.#deposit.finish();
          return id;
        }
        const entry = await this.#directory(frame, tree);
        if (entry !== undefined) above.merged.push(entry);
      }
      frame = open.at(-1) as Frame;
    }
  }

  /** Merges one entry of a directory, or answers with the directory that has to be merged first. */
  async #entry(frame: Frame, name: string, entries: Entries): Promise<Frame | undefined> {
    const path = frame.path === "" ? name : `${frame.path}/${name}`;
    const take = (entry: TreeEntry | undefined): undefined => {
      if (entry !== undefined) frame.merged.push(entry);
    };
    const settled = winner(entries, sameEntry);
    if (settled !== undefined) return take(entries[settled]);
    const { base, ours, theirs } = entries;
    // Both sides changed it, each in its own way.
    const both = isDirectory(ours) && isDirectory(theirs);
    const gone = isDirectory(base) && ((!ours && isDirectory(theirs)) || (!theirs && isDirectory(ours)));
    if (both || gone)
      return { path, name, of: entries, waiting: waitingOf(await this.#treesOf(entries)), merged: [] };
    if (ours === undefined) return take(this.#conflict(path, "delete-modify", entries));
    if (theirs === undefined) return take(this.#conflict(path, "modify-delete", entries));
    if (isFile(ours) && isFile(theirs)) return take(await this.#file(path, entries, ours, theirs));
    if (ours.kind === "link" && theirs.kind === "link") return take(this.#conflict(path, "link", entries));
    return take(this.#conflict(path, "kind", entries));
  }

  /** Content and mode are merged apart: one side may have changed the one and the other the other. */
  async #file(path: string, entries: Entries, ours: FileEntry, theirs: FileEntry): Promise<TreeEntry> {
    const base = isFile(entries.base) ? entries.base : undefined;
    const files = { base, ours, theirs };
    const modeOf = winner(files, (one, other) => one?.mode === other?.mode);
    const mode = files[modeOf ?? "ours"]?.mode ?? ours.mode;
    const contentOf = winner(
      files,
      (one, other) => one?.kind === other?.kind && one?.digest === other?.digest,
    );
    if (contentOf !== undefined) {
      if (modeOf === undefined) this.#conflict(path, "mode", entries);
      return { ...(files[contentOf] ?? ours), mode };
    }
    const texts = await allThree(
      three<FileEntry | undefined, Promise<string | undefined>>(files, (file) => textOf(this.#trees, file)),
    );
    if (
      texts.ours === undefined ||
      texts.theirs === undefined ||
      (base !== undefined && texts.base === undefined)
    ) {
      this.#conflict(path, base === undefined ? "add-add" : "binary", entries);
      return { ...ours, mode };
    }
    const { text, conflicts } = mergeText(texts.base, texts.ours, texts.theirs);
    // One conflict a path: what it says of the sides has their modes, too.
    if (conflicts > 0) this.#conflict(path, base === undefined ? "add-add" : "content", entries);
    else if (modeOf === undefined) this.#conflict(path, "mode", entries);
    return this.#deposit.file(ours.name, mode, Buffer.from(text, "utf8"));
  }

  /** The entry of a directory whose own entries are merged; undefined when it is deleted. */
  async #directory(frame: Frame, tree: Tree): Promise<TreeEntry | undefined> {
    const { path, name, of } = frame;
    const modes = three(of, (entry) => (isDirectory(entry) ? entry : undefined));
    const { base, ours, theirs } = modes;
    const known = [base, ours, theirs].flatMap((entry) => entry?.digest ?? []);
    if (ours !== undefined && theirs !== undefined) {
      const settled = winner(modes, (one, other) => one?.mode === other?.mode);
      if (settled === undefined) this.#conflict(path, "mode", of);
      const mode = modes[settled ?? "ours"]?.mode ?? ours.mode;
      return { kind: "tree", name, mode, digest: await this.#deposit.tree(tree, known) };
    }
    // One side deleted it. Additions and changes of the other keep it, and so does a mode that it changed.
    const left = (ours ?? theirs) as Directory;
    if (tree.entries.length > 0)
      return { kind: "tree", name, mode: left.mode, digest: await this.#deposit.tree(tree, known) };
    if (left.mode === base?.mode) return undefined;
    return this.#conflict(path, ours === undefined ? "delete-modify" : "modify-delete", of);
  }

  #treesOf(entries: Entries): Promise<Three<Tree>> {
    return allThree(three(entries, (entry) => this.#trees.tree(isDirectory(entry) ? entry.digest : null)));
  }

  /** Notes a conflict, and answers with what stands there meanwhile. */
  #conflict(path: string, kind: ConflictKind, { base, ours, theirs }: Entries): TreeEntry | undefined {
    this.conflicts.push({
      path,
      kind,
      ...(base && { base: sideOf(base) }),
      ...(ours && { ours: sideOf(ours) }),
      ...(theirs && { theirs: sideOf(theirs) }),
    });
    return ours ?? theirs;
  }
}

/** All names of three directories with what each has there. */
function waitingOf(sides: Three<Tree>): (readonly [string, Entries])[] {
  const found = new Map<string, { -readonly [Side in keyof Entries]: Entries[Side] }>();
  for (const side of ["base", "ours", "theirs"] as const)
    for (const entry of sides[side].entries) {
      const entries = found.get(entry.name);
      if (entries === undefined) found.set(entry.name, { ...NOTHING, [side]: entry });
      else entries[side] = entry;
    }
  return [...found];
}

function sameEntry(one: TreeEntry | undefined, other: TreeEntry | undefined): boolean {
  return one === undefined || other === undefined ? one === other : isSame(one, other);
}

function isDirectory(entry: TreeEntry | undefined): entry is Directory {
  return entry?.kind === "tree";
}

function isFile(entry: TreeEntry | undefined): entry is FileEntry {
  return entry?.kind === "file" || entry?.kind === "parts";
}

/** A value for each side of a merge. */
type Three<Thing> = { readonly base: Thing; readonly ours: Thing; readonly theirs: Thing };

function three<From, To>({ base, ours, theirs }: Three<From>, map: (one: From) => To): Three<To> {
  return { base: map(base), ours: map(ours), theirs: map(theirs) };
}

async function allThree<Thing>({ base, ours, theirs }: Three<Promise<Thing>>): Promise<Three<Thing>> {
  const [one, two, other] = await Promise.all([base, ours, theirs]);
  return { base: one, ours: two, theirs: other };
}

/** The side that is right, when the sides agree or only one of them changed anything. */
export function winner<Thing>(
  { base, ours, theirs }: Three<Thing>,
  same: (one: Thing, other: Thing) => boolean,
): "ours" | "theirs" | undefined {
  if (same(ours, theirs) || same(base, theirs)) return "ours";
  return same(base, ours) ? "theirs" : undefined;
}

/** Lists without an order: what either side added is in, what either side took away is out. */
export function mergeSets(lists: Three<readonly string[] | undefined>): readonly string[] | undefined {
  const settled = winner(lists, (one, other) => JSON.stringify(one) === JSON.stringify(other));
  if (settled !== undefined) return lists[settled];
  const [base, ours, theirs] = [new Set(lists.base), new Set(lists.ours), new Set(lists.theirs)];
  const kept = [...new Set([...ours, ...theirs])].filter(
    (one) => !base.has(one) || (ours.has(one) && theirs.has(one)),
  );
  return kept.length > 0 ? kept.sort() : undefined;
}
