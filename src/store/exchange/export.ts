import {
  type Digest,
  digestOf,
  digestsOf,
  EMPTY_TREE,
  type FactId,
  type FactOf,
  isDigest,
  parentsOf,
  readFact,
  typeOf,
} from "../../session/index.js";
import { addReached, type TreeNode, TreeWalk, treesIn } from "../care/tree-walk.js";
import { DamageError } from "../error.js";
import type { Erasure, Shelf } from "../shelf.js";
import type { Line } from "../store.js";
import { blobLine, erasureLine } from "./lines.js";

/**
 * The lines of `docs/format.md`: facts byte for byte, and each blob before the first fact that needs it, by itself or
 * through a tree.
 */
export async function* exportLines(
  shelf: Shelf,
  heads: readonly FactId[],
  without: readonly FactId[],
  withBlobs: boolean,
): AsyncIterable<string> {
  const told = new Set<Digest>();
  const walk = new TreeWalk();
  const content = contentLines(shelf, heads, told);
  let asked = without.length === 0;
  for (const lines of verified(shelf, heads, without)) {
    for (const { id, line } of lines) {
      if (withBlobs) {
        for (const digest of digestsOf(line)) yield* content(digest, `${id} refers to it`);
        const trees = treesIn(line);
        // Most exports name no trees, and need not know what the other side has of them.
        if (trees.length > 0 && !asked) await passOver(shelf, without, walk, told);
        asked ||= trees.length > 0;
        for (const tree of trees) if (walk.add(tree)) yield* treeLines(shelf, content, walk, tree, id);
      }
      yield line;
    }
  }
}

/** The blobs of a tree that were not told yet. */
async function* treeLines(
  shelf: Shelf,
  content: ContentLines,
  walk: TreeWalk,
  tree: Digest,
  id: FactId,
): AsyncIterable<string> {
  const lineOf = ({ digest, path }: Pick<TreeNode, "digest" | "path">): readonly string[] => {
    // The empty tree is known to everybody, so a store need not have it.
    if (digest === EMPTY_TREE && shelf.blobs.get(digest) === undefined) return [];
    const place = path === "" ? "" : `${JSON.stringify(path)} in `;
    return content(digest, `it is ${place}the tree ${tree} of the fact ${id}`);
  };
  yield* lineOf({ digest: tree, path: "" });
  for await (const { below } of walk.follow((digest) => shelf.blobs.get(digest)))
    for (const node of below) yield* lineOf(node);
}

/** Takes for told what the trees of a past lead to. */
async function passOver(
  shelf: Shelf,
  heads: readonly FactId[],
  walk: TreeWalk,
  told: Set<Digest>,
): Promise<void> {
  const trees: Digest[] = [];
  for (const lines of shelf.history(heads)) trees.push(...lines.flatMap(treesIn));
  await addReached(trees, (digest) => shelf.blobs.get(digest), told, walk);
}

/** The line of a blob or of its erasure; none where it was told before. */
type ContentLines = (digest: Digest, why: string) => readonly string[];

/**
 * Tells content, each blob once. Where a fact of the exported past tells of an erasure, that one is named: it comes along, and
 * proves it.
 */
function contentLines(shelf: Shelf, heads: readonly FactId[], told: Set<Digest>): ContentLines {
  const agrees = agreement((digest) => soundBlob(shelf, digest));
  let own: ReadonlyMap<Digest, Erasure> | undefined;
  return (digest, why) => {
    if (told.has(digest)) return [];
    told.add(digest);
    const bytes = soundBlob(shelf, digest);
    if (bytes !== undefined) return [blobLine(digest, bytes)];
    const kept = shelf.blobs.erased(digest);
    if (kept === undefined)
      throw new DamageError(
        `the blob ${digest}`,
        `it is missing, and ${why}; an export with { blobs: false } goes without`,
      );
    if (!agrees(kept, shelf.lines([kept.fact])[0]))
      throw new DamageError(`the erasure of ${digest}`, "it does not say what the fact says that erased it");
    own ??= erasuresIn(shelf, heads);
    return [erasureLine(own.get(digest) ?? kept)];
  };
}

function erasuresIn(shelf: Shelf, heads: readonly FactId[]): ReadonlyMap<Digest, Erasure> {
  const own = new Map<Digest, Erasure>();
  for (const lines of shelf.history(heads))
    for (const line of lines) {
      if (typeOf(line) !== "content-erase") continue;
      const { digests, by, at, why } = readFact(line, {
        read: (digest) => soundBlob(shelf, digest),
      }) as FactOf<"content-erase">;
      for (const digest of Array.isArray(digests) ? digests : [])
        if (!own.has(digest)) own.set(digest, { digest, fact: digestOf(line), by, at, why });
    }
  return own;
}

/**
 * The history of a shelf, held against the ids that the facts and the heads name: a line that was altered or
 * left out is an error, not another history. The first bits of an id are enough to tell damage.
 */
export function* verified(
  shelf: Shelf,
  heads: readonly FactId[],
  without: readonly FactId[] = [],
): Generator<readonly Line[], void> {
  const met = new Set<number>();
  let last = "";
  for (const lines of shelf.history(heads, without)) {
    const batch: Line[] = [];
    for (const line of lines) {
      for (const parent of parentsOf(line))
        if (parent !== last && !met.has(bitsOf(parent))) missing(shelf, parent, without);
      last = digestOf(line);
      met.add(bitsOf(last));
      batch.push({ id: last, line });
    }
    yield batch;
  }
  for (const head of heads) if (!met.has(bitsOf(head))) missing(shelf, head, without);
}

/** A parent that is not among the lines must be in the past that was left out. */
function missing(shelf: Shelf, id: FactId, without: readonly FactId[]): void {
  if (without.length > 0 && shelf.lines([id])[0] !== undefined) return;
  throw new DamageError(`the fact ${id}`, "it is missing or altered");
}

function bitsOf(id: FactId): number {
  return Number.parseInt(id.slice(0, 12), 16);
}

/** The bytes of a blob, as they were written. */
export function soundBlob(shelf: Shelf, digest: Digest): Uint8Array | undefined {
  const bytes = shelf.blobs.get(digest);
  if (bytes !== undefined && digestOf(bytes) !== digest)
    throw new DamageError(`the blob ${digest}`, "its bytes are not those that were written");
  return bytes;
}

type Agrees = (erasure: Erasure, line: string | undefined) => boolean;

/**
 * Whether an erasure is what its fact says. The fact may be elsewhere; then the erasure is all there is to know. A long list
 * stands outside of its line: without it the fact says nothing. It is read once, since each of its digests is asked about.
 */
export function agreement(blob: (digest: Digest) => Uint8Array | undefined): Agrees {
  const lists = new Map<FactId, ReadonlySet<unknown>>();
  return (erasure, line) => {
    if (line === undefined) return isDigest(erasure.fact);
    const fact = readFact(line, undefined) as { readonly [field: string]: unknown };
    if (fact.type !== "content-erase") return false;
    if ((["by", "at", "why"] as const).some((field) => fact[field] !== erasure[field])) return false;
    let list = lists.get(erasure.fact);
    if (list === undefined) {
      const { digests } = readFact(line, { read: blob }) as { readonly digests?: unknown };
      list = new Set(Array.isArray(digests) ? digests : []);
      lists.set(erasure.fact, list);
    }
    return list.has(erasure.digest);
  };
}
