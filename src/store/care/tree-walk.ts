import { isUtf8 } from "node:buffer";
import {
  type Digest,
  digestOf,
  isDigest,
  RecordError,
  readFact,
  readTree,
  treesOf,
} from "../../session/index.js";
import { parseJson } from "../../util/index.js";
import { breath, TURN } from "../commit.js";
import { DamageError } from "../error.js";

/**
 * Something that a tree leads to. `path` is where it was met first, from the root of the tree; the root itself has none.
 * `parts` is a list of digests, and each `piece` is a part of a long file.
 */
export type TreeNode = {
  readonly kind: "tree" | "parts" | "file" | "piece";
  readonly digest: Digest;
  readonly path: string;
  /** How many bytes a file has, as its directory says. */
  readonly size?: number;
};

/** Few lines name trees, and parsing the others would cost all stores; content that looks like one is sorted out by its type. */
const NAMES_TREES = /"type":"(?:workspace-(?:import|read|change|merge|resolve)|session-detach|sandbox-open)"/;

/** The trees that the fact of a line refers to. */
export function treesIn(line: string): readonly Digest[] {
  // A line that was altered on the disk may say anything.
  return NAMES_TREES.test(line) ? treesOf(readFact(line, undefined)).filter(isDigest) : [];
}

/** Reads a blob, at once or with waiting. */
type Read = (digest: Digest) => Uint8Array | undefined | Promise<Uint8Array | undefined>;

/**
 * A way through trees, each of them once however often it is named:
 *
 * ```ts
 * for await (const { below } of walk.follow(read)) for (const { digest, path } of below) …
 * ```
 */
export class TreeWalk {
  readonly #met = new Set<string>();
  /** The nodes that are still to be entered. A list and not the call stack: directories may be nested as deep as anyone likes. */
  readonly #open: TreeNode[] = [];

  /** Whether a tree is new on this way; if so, it is among the next ones. */
  add(tree: Digest): boolean {
    return this.#push({ kind: "tree", digest: tree, path: "" });
  }

  /** A directory, or the list of a file's pieces, that was not entered yet. */
  next(): TreeNode | undefined {
    return this.#open.pop();
  }

  /** The nodes below one. Throws a `RecordError` when the bytes are not what a tree says they are. */
  enter({ kind, path }: TreeNode, bytes: Uint8Array): readonly TreeNode[] {
    if (!isUtf8(bytes)) throw new RecordError(`what is called a ${kind} is not text`);
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8");
    if (kind === "parts") return piecesIn(text).map((digest) => ({ kind: "piece", digest, path }));
    const nodes: TreeNode[] = [];
    for (const entry of readTree(text).entries) {
      if (entry.kind === "link") continue;
      const node = { ...entry, path: path === "" ? entry.name : `${path}/${entry.name}` };
      nodes.push(node);
      if (node.kind !== "file") this.#push(node);
    }
    return nodes;
  }

  /** The same, for a decision about what is kept: damage must not make a blob look unused. */
  enterSound(node: TreeNode, bytes: Uint8Array): readonly TreeNode[] {
    if (digestOf(bytes) !== node.digest)
      throw new DamageError(`the blob ${node.digest}`, "its bytes are not those that were written");
    try {
      return this.enter(node, bytes);
    } catch (error) {
      // It is what was written, and leads nowhere.
      if (error instanceof RecordError) return [];
      throw error;
    }
  }

  /** Enters everything that was not entered yet. Others of this process get a turn now and then. */
  async *follow(
    read: Read,
  ): AsyncGenerator<{ readonly node: TreeNode; readonly below: readonly TreeNode[] }> {
    let count = 0;
    for (let node = this.next(); node !== undefined; node = this.next()) {
      const bytes = await read(node.digest);
      yield { node, below: bytes === undefined ? [] : this.enterSound(node, bytes) };
      if (++count % TURN === 0) await breath();
    }
  }

  #push(node: TreeNode): boolean {
    // The same bytes may be called a directory by one tree and something else by another, which may be wrong.
    const key = `${node.kind} ${node.digest}`;
    if (this.#met.has(key)) return false;
    this.#met.add(key);
    this.#open.push(node);
    return true;
  }
}

/** Adds trees that are new on a way, and everything that they lead to. */
export async function addReached(
  trees: Iterable<Digest>,
  read: Read,
  into: Set<Digest>,
  walk = new TreeWalk(),
): Promise<void> {
  for (const tree of trees) if (walk.add(tree)) into.add(tree);
  for await (const { below } of walk.follow(read)) for (const { digest } of below) into.add(digest);
}

function piecesIn(text: string): readonly Digest[] {
  const pieces = parseJson(text);
  if (Array.isArray(pieces) && pieces.every(isDigest) && JSON.stringify(pieces) === text) return pieces;
  throw new RecordError("what is called the parts of a file is not a list of digests");
}

/** Whether bytes look like a directory: how the text of every tree begins. */
export function looksLikeTree(bytes: Uint8Array | undefined): boolean {
  return (
    bytes !== undefined && Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).indexOf(TREE) === 0
  );
}

const TREE = Buffer.from('{"tree":1,', "utf8");
