import type { Digest, Tree, TreeEntry } from "../../session/index.js";

/** What a name of a directory stands for. Files and links never change: a change puts another one in their place. */
export type Node = FileNode | LinkNode | Directory;

export type FileNode = {
  readonly kind: "file";
  readonly mode: number;
  readonly mtime: number;
  readonly content: Content;
};

export type LinkNode = { readonly kind: "link"; readonly target: string; readonly mtime: number };

/**
 * The bytes of a file: here, or where trees are kept. Once they are kept they are not held here, so a sandbox
 * needs memory only for what was changed since its last snapshot.
 */
export type Content = {
  readonly size: number;
  bytes?: Uint8Array;
  stored?: { readonly kind: "file" | "parts"; readonly digest: Digest };
};

/**
 * A directory. It is changed in place only by the space that owns it; everybody else makes a copy first. So a fork, a
 * copy or a snapshot of any size is a new owner, and costs nothing until something is changed.
 */
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
  totals: Totals | undefined;

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
  const { mode, mtime, entries, digest, under, totals } = directory;
  const copy = new Directory(
    owner,
    mode,
    mtime,
    entries === undefined ? (digest ?? "") : new Map(entries),
    under,
  );
  copy.digest = digest;
  copy.totals = totals;
  return copy;
}

/** How many files and links lie in a directory and below, and how many bytes. */
export type Totals = { readonly files: number; readonly bytes: number };

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

/**
 * Content with more at its end. Where there is room behind the bytes and nobody has used it, they are not copied: who
 * appends line by line pays for the lines.
 */
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

/** What comes from a tree is older than everything that is done here. */
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
