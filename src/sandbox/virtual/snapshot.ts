import type { Digest, TreeEntry } from "../../session/index.js";
import type { Snapshot } from "../sandbox.js";
import { PIECE_BYTES, type Trees } from "../trees.js";
import { Exclude } from "../workspace/exclude.js";
import { type Content, type Directory, entriesOf, type Totals, underOf } from "./space.js";

/** So much is put with one call. */
const BATCH_BYTES = 8 * 1024 ** 2;
const BATCH_BLOBS = 1_000;

/**
 * Keeps a frozen workspace as a tree. Directories in which nothing was changed keep their id and are not written again.
 * Of those, only the lists of names are read, once, to count what is in them.
 */
export class Keeper {
  readonly #trees: Trees;
  readonly #read: (directory: Directory) => Promise<void>;
  readonly #exclude: Exclude;
  #waiting: { readonly bytes: Uint8Array; readonly kept: (digest: Digest) => void }[] = [];
  #bytes = 0;

  constructor(trees: Trees, read: (directory: Directory) => Promise<void>, exclude: readonly string[]) {
    this.#trees = trees;
    this.#read = read;
    this.#exclude = new Exclude(exclude);
  }

  async keep(workspace: Directory): Promise<Snapshot> {
    const tree = await this.tree(workspace);
    return { tree, ...(await this.#totals(workspace, [])), skipped: [] };
  }

  /** The same without counting: nothing is read but the workspace itself and what was changed. */
  async tree(workspace: Directory): Promise<Digest> {
    // Only the tree itself tells what was excluded when it was made.
    await this.#read(workspace);
    // Files before the trees that name them: anyone who finds a tree finds what is in it.
    await this.#files(workspace, []);
    await this.#flush();
    const tree = await this.#directory(workspace, []);
    await this.#flush();
    return tree;
  }

  /** Puts the contents of changed files. */
  async #files(directory: Directory, way: readonly string[]): Promise<void> {
    if (this.#isKept(directory, way)) return;
    await this.#read(directory);
    for (const [name, node] of entriesOf(directory)) {
      if (node.kind === "link" || this.#exclude.has(way, name, node.kind === "directory")) continue;
      if (node.kind === "directory") await this.#files(node, [...way, name]);
      else if (node.content.stored === undefined) await this.#content(node.content);
    }
  }

  async #content(content: Content): Promise<void> {
    const bytes = content.bytes ?? new Uint8Array(0);
    if (bytes.length <= PIECE_BYTES) {
      await this.#put(bytes, (digest) => {
        content.stored = { kind: "file", digest };
        // It is read from where it is kept from now on.
        delete content.bytes;
      });
      return;
    }
    const parts: Digest[] = [];
    for (let at = 0; at < bytes.length; at += PIECE_BYTES)
      parts.push(...(await this.#trees.put([bytes.subarray(at, at + PIECE_BYTES)])));
    const [digest] = await this.#trees.put([Buffer.from(JSON.stringify(parts))]);
    if (digest === undefined) throw new Error("the blob space returned no digest");
    content.stored = { kind: "parts", digest };
    delete content.bytes;
  }

  /** The tree of a directory; all its files are kept by now. */
  async #directory(directory: Directory, way: readonly string[]): Promise<Digest> {
    if (directory.digest !== undefined && this.#isKept(directory, way)) return directory.digest;
    await this.#read(directory);
    const entries: TreeEntry[] = [];
    for (const [name, node] of entriesOf(directory)) {
      if (this.#exclude.has(way, name, node.kind === "directory")) continue;
      if (node.kind === "link") entries.push({ kind: "link", name, target: node.target });
      else if (node.kind === "directory") {
        const digest = await this.#directory(node, [...way, name]);
        entries.push({ kind: "tree", name, mode: node.mode, digest });
      } else if (node.content.stored !== undefined) {
        const { kind, digest } = node.content.stored;
        entries.push({ kind, name, mode: node.mode, size: node.content.size, digest });
      }
    }
    const { patterns: exclude } = this.#exclude;
    const isMarked = way.length === 0 && exclude.length > 0;
    const { id, bytes } = this.#trees.written({ entries, ...(isMarked && { exclude }) });
    // It is frozen, so anyone who changes it changes a copy.
    const under = underOf(exclude, way);
    await this.#put(bytes, (digest) => void Object.assign(directory, { digest, under }));
    return id;
  }

  /** What is in a directory that is kept, counted once. */
  async #totals(directory: Directory, way: readonly string[]): Promise<Totals> {
    if (directory.totals !== undefined) return directory.totals;
    await this.#read(directory);
    let [files, bytes] = [0, 0];
    for (const [name, node] of entriesOf(directory)) {
      if (this.#exclude.has(way, name, node.kind === "directory")) continue;
      const below =
        node.kind === "directory"
          ? await this.#totals(node, [...way, name])
          : { files: 1, bytes: node.kind === "file" ? node.content.size : 0 };
      files += below.files;
      bytes += below.bytes;
    }
    directory.totals = { files, bytes };
    return directory.totals;
  }

  #isKept(directory: Directory, way: readonly string[]): boolean {
    return directory.digest !== undefined && directory.under === underOf(this.#exclude.patterns, way);
  }

  /** Keeps bytes, soon; `kept` is told when they are. */
  async #put(bytes: Uint8Array, kept: (digest: Digest) => void): Promise<void> {
    this.#waiting.push({ bytes, kept });
    this.#bytes += bytes.length;
    if (this.#bytes >= BATCH_BYTES || this.#waiting.length >= BATCH_BLOBS) await this.#flush();
  }

  async #flush(): Promise<void> {
    const batch = this.#waiting;
    [this.#waiting, this.#bytes] = [[], 0];
    const digests = await this.#trees.put(batch.map(({ bytes }) => bytes));
    batch.forEach(({ kept }, place) => {
      kept(digests[place] as Digest);
    });
  }
}
