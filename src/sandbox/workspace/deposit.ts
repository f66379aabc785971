import { type Digest, digestOf, type Tree, type TreeEntry } from "../../session/index.js";
import { PIECE_BYTES, type Trees } from "../trees.js";

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
  async file(name: string, mode: number, bytes: Uint8Array): Promise<TreeEntry> {
    if (bytes.length <= PIECE_BYTES)
      return { kind: "file", name, mode, size: bytes.length, digest: await this.#keep(bytes) };
    const parts: Digest[] = [];
    for (let at = 0; at < bytes.length; at += PIECE_BYTES)
      parts.push(await this.#keep(bytes.subarray(at, at + PIECE_BYTES)));
    return this.parts(name, mode, bytes.length, parts);
  }

  /** Keeps one piece of a long file. */
  piece(bytes: Uint8Array): Promise<Digest> {
    return this.#keep(bytes);
  }

  /** A long file, whose pieces are kept. */
  async parts(name: string, mode: number, size: number, parts: readonly Digest[]): Promise<TreeEntry> {
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
