import type { Digest, Tree, TreeEntry } from "../session/index.js";
import { digestOf, EMPTY_TREE, readTree, writeTree } from "../session/index.js";
import { MissingFileError } from "./error.js";

/** Where the bytes of files and trees are kept: a store, or a part of it. */
export interface BlobSpace {
  putBlobs(blobs: readonly Uint8Array[]): Promise<readonly Digest[]>;
  blob(digest: Digest): Promise<Uint8Array | undefined>;
}

/** Longer files are kept in pieces of this many bytes. */
export const PIECE_BYTES = 8 * 1024 ** 2;
/** The digest of a piece that is all zeros, such as one in the hole of a file: it need not be read or hashed to be known. */
export const ZERO_PIECE: Digest = "2daeb1f36095b44b318410b3f4e8b5d989dcc7bb023d1426c492dab0a3053e74";
const REMEMBERED = 20_000;

/** An entry of a tree without its name: what a side of a merge has at a path. */
export type Side = Unnamed<TreeEntry>;
type Unnamed<Entry> = Entry extends TreeEntry ? Omit<Entry, "name"> : never;

/** A file in a blob space: whole, or a list of its pieces. */
export type StoredFile = { readonly kind: "file" | "parts"; readonly digest: Digest };

/** Trees in a blob space. Those read before are remembered: a tree never changes. */
export class Trees {
  readonly #blobs: BlobSpace;
  readonly #known = new Map<Digest, Tree>();

  constructor(blobs: BlobSpace) {
    this.#blobs = blobs;
  }

  /** The tree of an id; null is the empty one. */
  async tree(id: Digest | null): Promise<Tree> {
    if (id === null || id === EMPTY_TREE) return EMPTY;
    const known = this.#known.get(id);
    if (known !== undefined) return known;
    const tree = readTree(Buffer.from(await this.#bytes(id, "a tree")).toString("utf8"));
    this.#remember(id, tree);
    return tree;
  }

  /** The bytes of a file, or of one piece of it. */
  async blob(digest: Digest): Promise<Uint8Array> {
    return this.#bytes(digest, "a file");
  }

  /** The bytes of a file of a tree, whole or in pieces, one after the other. */
  async *pieces(entry: StoredFile): AsyncIterable<Uint8Array> {
    if (entry.kind === "file") {
      yield await this.blob(entry.digest);
      return;
    }
    for (const digest of await this.parts(entry.digest)) yield await this.blob(digest);
  }

  /** All bytes of a file of a tree. */
  async bytes(entry: StoredFile): Promise<Uint8Array> {
    if (entry.kind === "file") return this.blob(entry.digest);
    const pieces: Uint8Array[] = [];
    for await (const piece of this.pieces(entry)) pieces.push(piece);
    return Buffer.concat(pieces);
  }

  /** The digests of the pieces of a file. */
  async parts(digest: Digest): Promise<readonly Digest[]> {
    return JSON.parse(Buffer.from(await this.#bytes(digest, "a file")).toString("utf8")) as Digest[];
  }

  /** Keeps bytes. One call for many is one commit. */
  async put(blobs: readonly Uint8Array[]): Promise<readonly Digest[]> {
    return blobs.length === 0 ? [] : this.#blobs.putBlobs(blobs);
  }

  /** The id of a tree, and its text for `put`. The tree is known from here on. */
  written(tree: Tree): { readonly id: Digest; readonly bytes: Uint8Array } {
    const bytes = Buffer.from(writeTree(tree), "utf8");
    const id = digestOf(bytes);
    // In the order that it is read back in: it is remembered as it is.
    this.#remember(id, { ...tree, entries: [...tree.entries].sort(byName) });
    return { id, bytes };
  }

  #remember(id: Digest, tree: Tree): void {
    if (this.#known.size >= REMEMBERED) {
      const [oldest] = this.#known.keys();
      if (oldest !== undefined) this.#known.delete(oldest);
    }
    this.#known.set(id, tree);
  }

  async #bytes(digest: Digest, what: string): Promise<Uint8Array> {
    const bytes = await this.#blobs.blob(digest);
    if (bytes === undefined) throw new MissingFileError(what, digest);
    return bytes;
  }
}

function byName(one: TreeEntry, other: TreeEntry): number {
  return one.name < other.name ? -1 : 1;
}

const EMPTY: Tree = Object.freeze({ entries: Object.freeze([]) });
