import { AsyncResource } from "node:async_hooks";
import { type Digest, EMPTY_TREE, type Tree, type TreeEntry } from "../../session/index.js";
import type { StoredFile, Trees } from "../trees.js";

/** Where the workspace is, seen from inside. */
export const WORKSPACE = "workspace";

/**
 * All that commands of a sandbox can see, in memory: the workspace, whose directories are read from their trees when
 * they are first looked into, and around it what a system has (`/bin`, `/tmp`), which is not a part of the workspace.
 *
 * Everything is done in one step that does not wait. A step that comes to a directory which was not read yet is undone
 * by doing nothing: it throws `Unread`, the directory is read, and the step is taken again. So commands that run at the
 * same time never see each other's half-done changes.
 */
export class Space {
  readonly #trees: Trees;
  readonly #now: () => number;
  /** Whose directories may be changed in place. */
  #owner: object = {};
  #root: Directory;
  // The shell guards what runs on its behalf (no timers, no new functions). A store is not on its behalf.
  readonly #outside = new AsyncResource("openrath-virtual-sandbox");

  constructor(trees: Trees, now: () => number, system: Directory, workspace: Digest | Directory | null) {
    this.#trees = trees;
    this.#now = now;
    this.#root = copyOf(system, this.#owner);
    this.#mount(workspace);
  }

  get now(): number {
    return this.#now();
  }

  /** Looks at everything from the root. */
  see<Result>(step: (root: Directory) => Result): Promise<Result> {
    return this.#retrying(() => step(this.#root));
  }

  seeWorkspace<Result>(step: (workspace: Directory) => Result): Promise<Result> {
    return this.#retrying(() => step(this.#workspace()));
  }

  /** Changes something. The step must look at all it needs before it changes anything. */
  change<Result>(step: (edit: Edit) => Result): Promise<Result> {
    return this.#retrying(() => step(this.#edit()));
  }

  /** The workspace as it is now: anyone who has it sees no later change, and nobody sees what it is changed to. */
  freeze(): Directory {
    this.#owner = {};
    return this.#workspace();
  }

  /** Another space with the same workspace and a fresh system around it. */
  fork(system: Directory): Space {
    return new Space(this.#trees, this.#now, system, this.freeze());
  }

  /** Makes the workspace another one. */
  restore(tree: Digest | null): void {
    this.#mount(tree);
  }

  /** The bytes of a file. Not to be changed. */
  async bytes({ content }: FileNode): Promise<Uint8Array> {
    const { bytes, stored } = content;
    if (bytes !== undefined) return bytes;
    if (stored === undefined) return new Uint8Array(0);
    return this.#outside.runInAsyncScope(() => this.#trees.bytes(stored));
  }

  async read(directory: Directory): Promise<void> {
    const { digest } = directory;
    if (directory.entries !== undefined || digest === undefined) return;
    fill(directory, await this.#outside.runInAsyncScope(() => this.#trees.tree(digest)));
  }

  #workspace(): Directory {
    return this.#root.entries?.get(WORKSPACE) as Directory;
  }

  #mount(workspace: Digest | Directory | null): void {
    const directory =
      workspace instanceof Directory
        ? workspace
        : new Directory(this.#owner, 0o755, this.#now(), workspace ?? EMPTY_TREE);
    this.#root.entries?.set(WORKSPACE, directory);
  }

  #edit(): Edit {
    // The root is the one directory that is never shared: it was copied when the space was made.
    if (this.#root.owner !== this.#owner) this.#root = copyOf(this.#root, this.#owner);
    return new Edit(this.#root, this.#owner, this.#now(), () => {
      this.#owner = {};
    });
  }

  async #retrying<Result>(step: () => Result): Promise<Result> {
    for (;;) {
      try {
        return step();
      } catch (error) {
        if (!(error instanceof Unread)) throw error;
        await this.read(error.directory);
      }
    }
  }
}

/** One step of change. */
export class Edit {
  readonly root: Directory;
  readonly now: number;
  readonly #owner: object;
  readonly #disown: () => void;

  constructor(root: Directory, owner: object, now: number, disown: () => void) {
    this.root = root;
    this.now = now;
    this.#owner = owner;
    this.#disown = disown;
  }

  directory(mode = 0o755): Directory {
    return new Directory(this.#owner, mode, this.now, new Map());
  }

  put(names: readonly string[], node: Node): void {
    const parent = this.#owned(names.slice(0, -1));
    const name = names.at(-1);
    if (name === undefined) return;
    parent.entries?.set(name, node);
    parent.mtime = this.now;
  }

  remove(names: readonly string[]): void {
    const parent = this.#owned(names.slice(0, -1));
    parent.entries?.delete(names.at(-1) ?? "");
    parent.mtime = this.now;
  }

  /** A node may stand at two places from now on: neither may be changed in place. */
  share(): void {
    this.#disown();
  }

  /** Gives a directory another mode or time. Its content stays the same. */
  adjust(names: readonly string[], change: { readonly mode?: number; readonly mtime?: number }): void {
    const parent = this.#owned(names.slice(0, -1));
    const name = names.at(-1);
    const directory = name === undefined ? this.root : parent.entries?.get(name);
    if (directory?.kind !== "directory") return;
    const own = directory.owner === this.#owner ? directory : copyOf(directory, this.#owner);
    own.mode = change.mode ?? own.mode;
    own.mtime = change.mtime ?? own.mtime;
    if (name !== undefined) parent.entries?.set(name, own);
  }

  /** The directory of these names, ours to change, and so are those on the way. */
  #owned(names: readonly string[]): Directory {
    let directory = changed(this.root);
    for (const name of names) {
      const entries = entriesOf(directory);
      const child = entries.get(name);
      if (child?.kind !== "directory") throw new Error(`there is no directory ${name} to change`);
      entriesOf(child);
      const own = changed(child.owner === this.#owner ? child : copyOf(child, this.#owner));
      entries.set(name, own);
      directory = own;
    }
    return directory;
  }
}

function changed(directory: Directory): Directory {
  directory.digest = undefined;
  directory.under = "";
  return directory;
}

/** An entry of a directory. Files and links never change: a change puts another one in their place. */
export type Node = FileNode | LinkNode | Directory;

export type FileNode = {
  readonly kind: "file";
  readonly mode: number;
  readonly mtime: number;
  readonly content: Content;
};

export type LinkNode = { readonly kind: "link"; readonly target: string; readonly mtime: number };

/** The bytes of a file, here or in the trees. Kept bytes are dropped here: memory holds only changes. */
export type Content = { readonly size: number; bytes?: Uint8Array; stored?: StoredFile };

/** A directory. Only the space that owns it changes it; others copy first, so a fork costs nothing. */
export class Directory {
  readonly kind = "directory";
  readonly owner: object;
  mode: number;
  mtime: number;
  /** undefined until it is looked into; then `digest` says where the entries are. */
  entries: Map<string, Node> | undefined;
  /** The tree it is, as long as nothing in it was changed. */
  digest: Digest | undefined;
  /** For which excludes and which path `digest` holds; "" where nothing is excluded. */
  under: string;

  constructor(owner: object, mode: number, mtime: number, from: Map<string, Node> | Digest, under = "") {
    this.owner = owner;
    this.mode = mode;
    this.mtime = mtime;
    this.entries = typeof from === "string" ? undefined : from;
    this.digest = typeof from === "string" ? from : undefined;
    this.under = under;
  }
}

/** The same directory for another owner. */
export function copyOf(directory: Directory, owner: object): Directory {
  const { mode, mtime, entries, digest, under } = directory;
  const from = entries === undefined ? (digest ?? "") : new Map(entries);
  const copy = new Directory(owner, mode, mtime, from, under);
  copy.digest = digest;
  return copy;
}

/** A directory was needed that nobody has looked into yet: read it and try again. */
export class Unread extends Error {
  readonly directory: Directory;

  constructor(directory: Directory) {
    super("a directory was not read yet");
    this.name = "Unread";
    this.directory = directory;
  }
}

/** The entries of a directory, or `Unread`. */
export function entriesOf(directory: Directory): Map<string, Node> {
  if (directory.entries === undefined) throw new Unread(directory);
  return directory.entries;
}

/** Puts the entries of its tree into a directory that was not looked into yet. */
export function fill(directory: Directory, tree: Tree): void {
  if (directory.entries !== undefined) return;
  if (tree.exclude !== undefined) directory.under = underOf(tree.exclude, []);
  const { under } = directory;
  const childUnder = (name: string): string => (under === "" ? "" : `${under}/${name}`);
  directory.entries = new Map(
    tree.entries.map((entry) => [entry.name, nodeOf(entry, directory.owner, childUnder(entry.name))]),
  );
}

/** A word for the excludes and the path that a digest holds for: the same directory elsewhere may be another tree. */
export function underOf(exclude: readonly string[], way: readonly string[]): string {
  return exclude.length === 0 ? "" : [JSON.stringify(exclude), ...way].join("/");
}

export function file(bytes: Uint8Array, mode: number, mtime: number): FileNode {
  return { kind: "file", mode, mtime, content: { size: bytes.length, bytes } };
}

/** Appends without copying where unused room follows the bytes, so appends cost only their lines. */
export function appended(bytes: Uint8Array, more: Uint8Array): Content {
  const size = bytes.length + more.length;
  const room = rooms.get(bytes.buffer);
  const end = bytes.byteOffset + bytes.length;
  if (room !== undefined && room.used === end && end + more.length <= bytes.buffer.byteLength) {
    new Uint8Array(bytes.buffer, end, more.length).set(more);
    room.used = end + more.length;
    return { size, bytes: new Uint8Array(bytes.buffer, bytes.byteOffset, size) };
  }
  const buffer = new ArrayBuffer(Math.max(256, size * 2));
  const whole = new Uint8Array(buffer, 0, size);
  whole.set(bytes);
  whole.set(more, bytes.length);
  rooms.set(buffer, { used: size });
  return { size, bytes: whole };
}

/** Of buffers that were made with room to grow: how much is used. */
const rooms = new WeakMap<ArrayBufferLike, { used: number }>();

/** Files of a tree are older than everything that is done here. */
const BEFORE = 0;

function nodeOf(entry: TreeEntry, owner: object, under: string): Node {
  switch (entry.kind) {
    case "link":
      return { kind: "link", target: entry.target, mtime: BEFORE };
    case "tree":
      return new Directory(owner, entry.mode, BEFORE, entry.digest, under);
    default: {
      const { kind, digest, size, mode } = entry;
      return { kind: "file", mode, mtime: BEFORE, content: { size, stored: { kind, digest } } };
    }
  }
}
