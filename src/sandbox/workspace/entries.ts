import { isUtf8 } from "node:buffer";
import type { Digest, PathChange, Tree, TreeEntry } from "../../session/index.js";
import { digestOf, EMPTY_TREE } from "../../session/index.js";
import { defined } from "../../util/index.js";
import { PathRefusedError } from "../error.js";
import { namesOf } from "../path.js";
import { PIECE_BYTES, type Side, type Trees } from "../trees.js";
import { DIRECTORY_MODE } from "./directory.js";

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

/** The entry of a tree at a path; undefined when there is nothing, or a link on the way, of which `linked` is told. */
export async function entryAt(
  trees: Trees,
  tree: Digest | null,
  path: string,
  linked: () => void = () => {},
): Promise<TreeEntry | undefined> {
  let at: TreeEntry | undefined = { kind: "tree", name: "", mode: 0o755, digest: tree ?? EMPTY_TREE };
  for (const name of namesOf(path)) {
    if (at?.kind === "link") linked();
    if (at?.kind !== "tree") return undefined;
    at = (await trees.tree(at.digest)).entries.find((entry) => entry.name === name);
  }
  return at;
}

/** The text of a short file of a tree; undefined when it is not text. */
export async function textOf(trees: Trees, entry: TreeEntry | undefined): Promise<string | undefined> {
  if (entry?.kind !== "file") return undefined;
  const bytes = await trees.blob(entry.digest);
  if (bytes.includes(0) || !isUtf8(bytes)) return undefined;
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8");
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

export type FileEntry = TreeEntry & { readonly kind: "file" | "parts" };

/** A new entry at a path; null removes the present one. */
export type TreeEdit = { readonly path: string; readonly entry: Side | null };

/** A tree with paths set and removed, in order. Missing directories are made; empty ones stay. */
export async function edited(trees: Trees, tree: Digest | null, edits: readonly TreeEdit[]): Promise<Digest> {
  const root = openTree(await trees.tree(tree));
  for (const { path, entry } of edits) {
    const names = namesOf(path);
    const last = names.at(-1);
    if (last === undefined) throw new PathRefusedError(path, "it is the workspace itself");
    let at: OpenTree | undefined = root;
    for (const name of names.slice(0, -1)) at = at && (await entered(trees, at, name, entry !== null));
    if (entry === null) at?.entries.delete(last);
    else at?.entries.set(last, { ...entry, name: last });
  }
  const deposit = new Deposit(trees);
  const digest = await closeTree(deposit, root);
  await deposit.finish();
  return digest;
}

/** A directory whose entries are being collected or changed: entries that are kept, and other open directories. */
export type OpenTree = {
  readonly mode: number;
  readonly exclude: Tree["exclude"];
  readonly entries: Map<string, TreeEntry | OpenTree>;
};

export function openTree({ entries, exclude }: Tree = { entries: [] }, mode = DIRECTORY_MODE): OpenTree {
  return { mode, exclude, entries: new Map(entries.map((entry) => [entry.name, entry])) };
}

export function isOpenTree(entry: TreeEntry | OpenTree): entry is OpenTree {
  return "entries" in entry;
}

/** The open directory at some names; undefined when something else is there, or nothing. */
export function openAt(root: OpenTree, names: readonly string[]): OpenTree | undefined {
  let found: OpenTree | undefined = root;
  for (const name of names) {
    const next: TreeEntry | OpenTree | undefined = found.entries.get(name);
    if (next === undefined || !isOpenTree(next)) return undefined;
    found = next;
  }
  return found;
}

/** Keeps an open directory with everything below it. */
export async function closeTree(deposit: Deposit, { entries, exclude }: OpenTree): Promise<Digest> {
  const closed: TreeEntry[] = [];
  for (const [name, entry] of entries) {
    if (!isOpenTree(entry)) closed.push(entry);
    else closed.push({ kind: "tree", name, mode: entry.mode, digest: await closeTree(deposit, entry) });
  }
  return deposit.tree({ entries: closed, ...defined({ exclude }) });
}

async function entered(
  trees: Trees,
  at: OpenTree,
  name: string,
  make: boolean,
): Promise<OpenTree | undefined> {
  const there = at.entries.get(name);
  if (there !== undefined && isOpenTree(there)) return there;
  if (there?.kind !== "tree" && !make) return undefined;
  const next = there?.kind === "tree" ? openTree(await trees.tree(there.digest), there.mode) : openTree();
  at.entries.set(name, next);
  return next;
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

/**
 * The paths that differ between two trees, sorted; null is the empty tree. A changed mode or kind is
 * "modify". A directory is named only when it is added or deleted empty, or its mode changes.
 */
export async function diffTrees(
  trees: Trees,
  before: Digest | null,
  after: Digest | null,
): Promise<readonly PathChange[]> {
  const changes: PathChange[] = [];
  await compare(trees, before ?? EMPTY_TREE, after ?? EMPTY_TREE, "", changes);
  return changes.sort((one, other) => (one.path < other.path ? -1 : 1));
}

async function compare(
  trees: Trees,
  before: Digest,
  after: Digest,
  way: string,
  changes: PathChange[],
): Promise<void> {
  if (before === after) return;
  const [olds, news] = [await trees.tree(before), await trees.tree(after)];
  for (const [old, now] of paired(olds.entries, news.entries)) {
    if (old !== undefined && now !== undefined && isSame(old, now)) continue;
    const path = `${way}${(now ?? old)?.name}`;
    const [from, to] = [old?.kind === "tree" ? old : undefined, now?.kind === "tree" ? now : undefined];
    const isLeaf = (from ?? to) === undefined;
    if (old === undefined) {
      if (isLeaf || to?.digest === EMPTY_TREE) changes.push({ path, change: "add" });
    } else if (now === undefined) {
      if (isLeaf || from?.digest === EMPTY_TREE) changes.push({ path, change: "delete" });
    } else if (from === undefined || to === undefined || from.mode !== to.mode)
      changes.push({ path, change: "modify" });
    if (!isLeaf)
      await compare(trees, from?.digest ?? EMPTY_TREE, to?.digest ?? EMPTY_TREE, `${path}/`, changes);
  }
}

/** The entries of two trees by name, in order. */
function* paired(
  ones: readonly TreeEntry[],
  others: readonly TreeEntry[],
): Iterable<readonly [TreeEntry | undefined, TreeEntry | undefined]> {
  let [left, right] = [0, 0];
  while (left < ones.length || right < others.length) {
    const [one, other] = [ones[left], others[right]];
    const isFirst = one !== undefined && (other === undefined || one.name <= other.name);
    const isSecond = other !== undefined && (one === undefined || other.name <= one.name);
    yield [isFirst ? one : undefined, isSecond ? other : undefined];
    if (isFirst) left += 1;
    if (isSecond) right += 1;
  }
}

/** Whether two entries are the same thing, whatever they are called. */
export function isSame(one: TreeEntry, other: TreeEntry): boolean {
  if (one.kind === "link" || other.kind === "link")
    return one.kind === "link" && other.kind === "link" && one.target === other.target;
  return one.kind === other.kind && one.mode === other.mode && one.digest === other.digest;
}

const BATCH_BYTES = 8 * 1024 ** 2;
const BATCH_BLOBS = 4096;

/** Files and trees on their way into a blob space, many in one commit. All of them are there when `finish` has resolved. */
export class Deposit {
  readonly #trees: Trees;
  #waiting: Uint8Array[] = [];
  #bytes = 0;

  constructor(trees: Trees) {
    this.#trees = trees;
  }

  /** Keeps a file, in pieces when it is long. */
  file(name: string, mode: number, bytes: Uint8Array): Promise<FileEntry> {
    let at = 0;
    return this.read(name, mode, bytes.length, async (size) => {
      at += size;
      return bytes.subarray(at - size, at);
    });
  }

  /** Keeps a file whose bytes are taken as they come. Of a long one, no more than a piece need be in memory. */
  async read(
    name: string,
    mode: number,
    size: number,
    take: (size: number) => Promise<Uint8Array>,
  ): Promise<FileEntry> {
    if (size <= PIECE_BYTES)
      return { kind: "file", name, mode, size, digest: await this.#keep(await take(size)) };
    const parts: Digest[] = [];
    for (let left = size; left > 0; left -= PIECE_BYTES)
      parts.push(await this.#keep(await take(Math.min(left, PIECE_BYTES))));
    return { kind: "parts", name, mode, size, digest: await this.#keep(Buffer.from(JSON.stringify(parts))) };
  }

  /** Keeps a tree, unless it is one of those that are kept already. */
  async tree(tree: Tree, known: readonly (Digest | undefined)[] = []): Promise<Digest> {
    const { id, bytes } = this.#trees.written(tree);
    if (!known.includes(id)) await this.#keep(bytes, id);
    return id;
  }

  async finish(): Promise<void> {
    const blobs = this.#waiting;
    this.#waiting = [];
    this.#bytes = 0;
    await this.#trees.put(blobs);
  }

  async #keep(bytes: Uint8Array, digest: Digest = digestOf(bytes)): Promise<Digest> {
    this.#waiting.push(bytes);
    this.#bytes += bytes.length;
    if (this.#bytes >= BATCH_BYTES || this.#waiting.length >= BATCH_BLOBS) await this.finish();
    return digest;
  }
}
