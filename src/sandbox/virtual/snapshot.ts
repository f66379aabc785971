import type { Digest, TreeEntry } from "../../session/index.js";
import type { Snapshot } from "../sandbox.js";
import type { Trees } from "../trees.js";
import { Deposit, totalsOf } from "../workspace/entries.js";
import { Exclude } from "../workspace/exclude.js";
import { type Content, type Directory, entriesOf, underOf } from "./space.js";

/** Keeps a frozen workspace as a tree. Unchanged directories keep their id and are not rewritten. */
export class Keeper {
  readonly #trees: Trees;
  readonly #read: (directory: Directory) => Promise<void>;
  readonly #exclude: Exclude;
  readonly #deposit: Deposit;
  /** To be done when everything so far is kept. */
  readonly #kept: (() => void)[] = [];

  constructor(trees: Trees, read: (directory: Directory) => Promise<void>, exclude: readonly string[]) {
    this.#trees = trees;
    this.#deposit = new Deposit(trees);
    this.#read = read;
    this.#exclude = new Exclude(exclude);
  }

  async keep(workspace: Directory): Promise<Snapshot> {
    const tree = await this.tree(workspace);
    return { tree, ...(await totalsOf(this.#trees, tree)), skipped: [] };
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
    const entry = await this.#deposit.file("", 0, content.bytes ?? new Uint8Array(0));
    if (entry.kind !== "file" && entry.kind !== "parts") return;
    const { kind, digest } = entry;
    // Others read the file meanwhile, so it is not dropped here before it is there.
    this.#kept.push(() => {
      content.stored = { kind, digest };
      delete content.bytes;
    });
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
    const digest = await this.#deposit.tree({ entries, ...(isMarked && { exclude }) });
    // It is frozen, so anyone who changes it changes a copy.
    const under = underOf(exclude, way);
    this.#kept.push(() => void Object.assign(directory, { digest, under }));
    return digest;
  }

  #isKept(directory: Directory, way: readonly string[]): boolean {
    return directory.digest !== undefined && directory.under === underOf(this.#exclude.patterns, way);
  }

  async #flush(): Promise<void> {
    await this.#deposit.finish();
    for (const done of this.#kept.splice(0)) done();
  }
}
