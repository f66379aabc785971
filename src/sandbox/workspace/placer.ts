import {
  closeSync,
  constants,
  copyFileSync,
  fchmodSync,
  fchownSync,
  fstatSync,
  ftruncateSync,
  lchownSync,
  openSync,
  readlinkSync,
  renameSync,
  rmSync,
  type Stats,
  symlinkSync,
  writeSync,
} from "node:fs";
import { digestOf } from "../../session/index.js";
import { FileError } from "../error.js";
import { bytesOfName, textOfName } from "../path.js";
import { PIECE_BYTES, type Trees, ZERO_PIECE } from "../trees.js";
import type { Directory, Pace } from "./directory.js";
import { ATTEMPTS, belong, CREATE_FLAGS, codeOf, READ_FLAGS, removeEntry, spareName } from "./directory.js";
import { read } from "./intake.js";
import type { Leaf } from "./stat-cache.js";

const COPY = constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE;

type FileLeaf = Exclude<Leaf, { kind: "link" }>;

/** Puts files and links of trees where they belong. */
export class Placer {
  readonly #trees: Trees;
  readonly #pace: Pace;
  readonly #owner: Pick<Stats, "uid" | "gid">;

  constructor(trees: Trees, owner: Pick<Stats, "uid" | "gid">, pace: Pace) {
    this.#trees = trees;
    this.#pace = pace;
    this.#owner = owner;
  }

  /** The stats of a leaf that exists, its mode corrected; undefined for a file with other hard links too. */
  async kept(directory: Directory, leaf: Leaf, there: Stats): Promise<Stats | undefined> {
    if (leaf.kind === "link") {
      const isSame = there.isSymbolicLink() && targetOf(directory, leaf.name) === leaf.target;
      return isSame ? there : undefined;
    }
    if (!there.isFile() || there.size !== leaf.size || there.nlink !== 1) return undefined;
    let fd: number;
    try {
      fd = openSync(directory.to(leaf.name), READ_FLAGS);
    } catch {
      return undefined;
    }
    try {
      const stats = fstatSync(fd);
      if (!stats.isFile() || stats.size !== leaf.size || stats.nlink !== 1) return undefined;
      if (!(await this.#holds(fd, leaf))) return undefined;
      const after = fstatSync(fd);
      if (after.ctimeMs !== stats.ctimeMs || after.mtimeMs !== stats.mtimeMs) return undefined;
      if ((after.mode & 0o7777) === leaf.mode) return after;
      fchmodSync(fd, leaf.mode);
      return fstatSync(fd);
    } finally {
      closeSync(fd);
    }
  }

  /** Replaces an entry with a leaf, never writing into it. Undefined when the result is not certain. */
  async place(
    directory: Directory,
    leaf: Leaf,
    isFree: boolean,
    like?: Directory,
  ): Promise<Stats | undefined> {
    let name = isFree ? leaf.name : spareName();
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      try {
        const stats =
          leaf.kind === "link"
            ? link(directory, name, leaf.target)
            : await this.#file(directory, name, leaf, like);
        if (name === leaf.name) return stats;
        await this.#rename(directory, name, leaf.name);
        // Being renamed is a change that the system notes, so it is looked at again.
        const there = directory.look(leaf.name);
        return there?.ino === stats?.ino ? there : undefined;
      } catch (error) {
        // Someone took the place: it is put beside it, and moved there.
        if (codeOf(error) !== "EEXIST") {
          await removeEntry(directory, name);
          throw error;
        }
        name = spareName();
      }
    }
    throw new FileError("failed", leaf.name, "something else takes its place all the time");
  }

  async #rename(directory: Directory, from: string, to: string): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        renameSync(directory.to(from), directory.to(to));
        return;
      } catch (error) {
        const code = codeOf(error);
        const isDirectory =
          code === "EISDIR" || code === "ENOTEMPTY" || code === "EEXIST" || code === "EPERM";
        if (!isDirectory || attempt === ATTEMPTS) throw error;
        await removeEntry(directory, to);
      }
    }
  }

  async #file(directory: Directory, name: string, leaf: FileLeaf, like?: Directory): Promise<Stats> {
    const copied = like === undefined ? undefined : this.#copied(directory, name, leaf, like);
    if (copied !== undefined) return copied;
    // Short files are read before the place is taken, so that no one sees them half.
    const short = leaf.kind === "file" ? await this.#trees.blob(leaf.digest) : undefined;
    const fd = openSync(directory.to(name), CREATE_FLAGS, leaf.mode);
    try {
      if (short !== undefined) written(fd, short);
      else await this.#pieces(fd, leaf);
      belong(this.#owner, (uid, gid) => fchownSync(fd, uid, gid));
      const stats = fstatSync(fd);
      if ((stats.mode & 0o7777) === leaf.mode) return stats;
      fchmodSync(fd, leaf.mode);
      return fstatSync(fd);
    } finally {
      closeSync(fd);
    }
  }

  /** Writes a long file piece by piece. Where it is all zeros it becomes a hole: it was one most often. */
  async #pieces(fd: number, leaf: FileLeaf): Promise<void> {
    let at = 0;
    for (const digest of await this.#trees.parts(leaf.digest)) {
      if (digest === ZERO_PIECE) at += PIECE_BYTES;
      else {
        const piece = await this.#trees.blob(digest);
        written(fd, piece, at);
        at += piece.length;
      }
      if (this.#pace.long) await this.#pace.rest();
    }
    ftruncateSync(fd, at);
  }

  /** Lets the system copy a file, sharing its blocks where it can; undefined when the copy is not like it. */
  #copied(directory: Directory, name: string, leaf: FileLeaf, like: Directory): Stats | undefined {
    // A copy would follow a link; our checkouts have files there, so anything else is not ours.
    if (like.look(leaf.name)?.isFile() !== true) return undefined;
    try {
      copyFileSync(like.to(leaf.name), directory.to(name), COPY);
      belong(this.#owner, (uid, gid) => lchownSync(directory.to(name), uid, gid));
    } catch (error) {
      if (codeOf(error) === "EEXIST") throw error;
      return undefined;
    }
    const stats = directory.look(name);
    const isIt = stats?.isFile() === true && stats.size === leaf.size && (stats.mode & 0o7777) === leaf.mode;
    if (isIt) return stats;
    rmSync(directory.to(name), { force: true });
    return undefined;
  }

  /** Whether an open file has the bytes of a leaf. */
  async #holds(fd: number, leaf: FileLeaf): Promise<boolean> {
    if (leaf.kind === "file") return digestOf(read(fd, 0, leaf.size)) === leaf.digest;
    let at = 0;
    for await (const piece of this.#trees.pieces(leaf)) {
      if (!Buffer.from(read(fd, at, piece.length)).equals(piece)) return false;
      at += piece.length;
      if (this.#pace.long) await this.#pace.rest();
    }
    return at === leaf.size;
  }
}

function link(directory: Directory, name: string, target: string): Stats | undefined {
  symlinkSync(bytesOfName(target), directory.to(name));
  return directory.look(name);
}

function written(fd: number, bytes: Uint8Array, from = 0): void {
  for (let at = 0; at < bytes.length; ) at += writeSync(fd, bytes, at, bytes.length - at, from + at);
}

function targetOf(directory: Directory, name: string): string | undefined {
  try {
    return textOfName(readlinkSync(directory.to(name), { encoding: "buffer" }));
  } catch {
    return undefined;
  }
}
