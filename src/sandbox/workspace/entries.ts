import { type Digest, EMPTY_TREE, type Tree, type TreeEntry } from "../../session/index.js";
import { defined } from "../../util/index.js";
import { PathRefusedError } from "../error.js";
import { namesOf } from "../path.js";
import type { Trees } from "../trees.js";
import { DIRECTORY_MODE } from "./way.js";

/** Every path of a tree with its entry, directories before what is in them. */
export async function* entriesOf(
  trees: Trees,
  tree: Digest | null,
): AsyncIterable<{ readonly path: string; readonly entry: TreeEntry }> {
  // The last directory first: what is in one comes before its neighbour.
  const waiting = [{ digest: tree ?? EMPTY_TREE, way: "", from: 0 }];
  for (let at = waiting.at(-1); at !== undefined; at = waiting.at(-1)) {
    const { entries } = await trees.tree(at.digest);
    const entry = entries[at.from];
    at.from += 1;
    if (entry === undefined) waiting.pop();
    else {
      const path = `${at.way}${entry.name}`;
      yield { path, entry };
      if (entry.kind === "tree") waiting.push({ digest: entry.digest, way: `${path}/`, from: 0 });
    }
  }
}

/** What a tree has at a path; undefined when there is nothing, or a link on the way. */
export async function entryAt(
  trees: Trees,
  tree: Digest | null,
  path: string,
): Promise<TreeEntry | undefined> {
  let at: TreeEntry | undefined = { kind: "tree", name: "", mode: 0o755, digest: tree ?? EMPTY_TREE };
  for (const name of namesOf(path)) {
    if (at?.kind !== "tree") return undefined;
    at = (await trees.tree(at.digest)).entries.find((entry) => entry.name === name);
  }
  return at;
}

export type Totals = { readonly files: number; readonly bytes: number };
const counted = new WeakMap<Trees, Map<Digest, Totals>>();
const REMEMBERED = 100_000;

/** How many files (and links) and bytes a tree holds. Trees that were counted before are not read again. */
export async function totalsOf(trees: Trees, tree: Digest): Promise<Totals> {
  const known = counted.get(trees) ?? new Map<Digest, Totals>();
  counted.set(trees, known);
  const found = known.get(tree);
  if (found !== undefined) return found;
  let [files, bytes] = [0, 0];
  for (const entry of (await trees.tree(tree)).entries) {
    const below = entry.kind === "tree" ? await totalsOf(trees, entry.digest) : undefined;
    files += below?.files ?? 1;
    bytes += below?.bytes ?? ("size" in entry ? entry.size : 0);
  }
  if (known.size >= REMEMBERED) known.clear();
  const totals = { files, bytes };
  known.set(tree, totals);
  return totals;
}

/** What to put at a path, or null to take away what is there. */
export type TreeEdit = { readonly path: string; readonly entry: Unnamed | null };
type Unnamed = TreeEntry extends infer Entry
  ? Entry extends TreeEntry
    ? Omit<Entry, "name">
    : never
  : never;

/**
 * A tree with some paths set and others taken away, one after the other. Directories on the way are made, in place of
 * what else is there; one that becomes empty stays.
 */
export async function edited(trees: Trees, tree: Digest | null, edits: readonly TreeEdit[]): Promise<Digest> {
  const root = opened(await trees.tree(tree));
  for (const { path, entry } of edits) {
    const names = namesOf(path);
    const last = names.at(-1);
    if (last === undefined) throw new PathRefusedError(path, "it is the workspace itself");
    let at: Open | undefined = root;
    for (const name of names.slice(0, -1)) at = at && (await entered(trees, at, name, entry !== null));
    if (entry === null) at?.entries.delete(last);
    else at?.entries.set(last, { ...entry, name: last });
  }
  const written: Uint8Array[] = [];
  const digest = closed(trees, root, written);
  await trees.put(written);
  return digest;
}

/** A directory whose entries are being changed. */
type Open = {
  readonly mode: number;
  readonly exclude: Tree["exclude"];
  readonly entries: Map<string, TreeEntry | Open>;
};

function opened({ entries, exclude }: Tree, mode = DIRECTORY_MODE): Open {
  return { mode, exclude, entries: new Map(entries.map((entry) => [entry.name, entry])) };
}

async function entered(trees: Trees, at: Open, name: string, make: boolean): Promise<Open | undefined> {
  const there = at.entries.get(name);
  if (there !== undefined && "entries" in there) return there;
  if (there?.kind !== "tree" && !make) return undefined;
  const next =
    there?.kind === "tree" ? opened(await trees.tree(there.digest), there.mode) : opened({ entries: [] });
  at.entries.set(name, next);
  return next;
}

function closed(trees: Trees, { exclude, entries }: Open, written: Uint8Array[]): Digest {
  const rows = [...entries].map(([name, entry]): TreeEntry => {
    if (!("entries" in entry)) return entry;
    return { kind: "tree", name, mode: entry.mode, digest: closed(trees, entry, written) };
  });
  const { id, bytes } = trees.written({ entries: rows, ...defined({ exclude }) });
  written.push(bytes);
  return id;
}

/** A tree without the directories above some paths that have nothing left in them, where they may go. */
export async function withoutEmptyDirectories(
  trees: Trees,
  tree: Digest,
  paths: readonly string[],
  mayGo: (directory: string) => Promise<boolean>,
): Promise<Digest> {
  let left = tree;
  for (const path of paths)
    for (let end = path.lastIndexOf("/"); end > 0; end = path.lastIndexOf("/", end - 1)) {
      const above = path.slice(0, end);
      const entry = await entryAt(trees, left, above);
      if (entry?.kind !== "tree" || (await trees.tree(entry.digest)).entries.length > 0) break;
      if (!(await mayGo(above))) break;
      left = await edited(trees, left, [{ path: above, entry: null }]);
    }
  return left;
}
