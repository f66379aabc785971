import type { Stats } from "node:fs";
import { closeSync, fstatSync, openSync, read as readLater, readlinkSync, readSync } from "node:fs";
import { promisify } from "node:util";
import { type Digest, digestOf } from "../../session/index.js";
import { SnapshotLimitError } from "../error.js";
import { textOfName } from "../path.js";
import { PIECE_BYTES, type Trees, ZERO_PIECE } from "../trees.js";
import { codeOf, type Directory, type Kind, kindOf, type Pace, READ_FLAGS } from "./directory.js";
import type { Leaf, Seen } from "./stat-cache.js";

const BATCH_BYTES = 8 * 1024 ** 2;
const BATCH_BLOBS = 8_192;
const ROOM_BYTES = 1024 ** 2;
/** So little is hashed here and kept together with the trees that name it: one commit instead of two. */
const FEW_BYTES = 1024 ** 2;
/** How often a file that changes while it is read is read. */
const READINGS = 4;
/** So much is read at once; more is read by the threads of the system's calls, so that others get a turn. */
const AT_ONCE_BYTES = 1024 ** 2;
const readAsync = promisify(readLater);

/** A look at an entry of a directory. A leaf without `stats` must be read again next time. */
export type Found =
  | { readonly what: "leaf"; readonly leaf: Leaf; readonly stats: Stats | undefined }
  | { readonly what: "directory" }
  | { readonly what: "skipped"; readonly why: string }
  | { readonly what: "nothing" };

type Pieces = { readonly parts: readonly Digest[]; readonly length: number };

/** Takes files into the blob space, many at a time. A leaf has its digest when `finish` has resolved, if not before. */
export class Intake {
  readonly #trees: Trees;
  readonly #pace: Pace;
  readonly #limit: number;
  /** Bytes that came in: files that are new, and what others have grown by. */
  #added = 0;
  #hasZeros = false;
  #spare: Buffer | undefined;
  #batch: { readonly bytes: Uint8Array; readonly leaf: { digest: Digest } }[] = [];
  #bytes = 0;
  #slab: Buffer = Buffer.alloc(0);
  #at = 0;

  /** @param limit how many bytes may be added before a `SnapshotLimitError` */
  constructor(trees: Trees, pace: Pace, limit: number = Number.POSITIVE_INFINITY) {
    this.#trees = trees;
    this.#pace = pace;
    this.#limit = limit;
  }

  /** Looks at an entry and reads a file that changed since `before`. If it changes meanwhile, looks again. */
  async look(
    directory: Directory,
    way: readonly string[],
    name: string,
    hint: Kind | "unknown",
    before?: Seen,
  ): Promise<Found> {
    const row = before?.rowOf(name) ?? 0;
    let kind = hint;
    for (let attempt = 0; attempt < READINGS; attempt++) {
      let stats: Stats | undefined;
      // A file that was not seen before is opened in any case, and looked at then.
      if (kind !== "directory" && (kind !== "file" || row > 0)) {
        stats = directory.look(name);
        if (stats === undefined) return { what: "nothing" };
        kind = kindOf(stats);
      }
      const old = row > 0 ? before?.leaves[row - 1] : undefined;
      if (stats !== undefined && old !== undefined && before?.isUnchanged(row, stats) === true)
        return { what: "leaf", leaf: old, stats };
      if (kind === "directory") return { what: "directory" };
      if (kind === "other") return { what: "skipped", why: `it is ${wordFor(stats)}` };
      const found =
        kind === "link" ? linkOf(directory, name, stats) : await this.#file(directory, way, name, old);
      if (found !== undefined) return found;
      kind = "unknown";
    }
    return { what: "skipped", why: "it changes from one kind of thing into another all the time" };
  }

  /** Reads a file; undefined when it is not a file by now. */
  async #file(
    directory: Directory,
    way: readonly string[],
    name: string,
    old: Leaf | undefined,
  ): Promise<Found | undefined> {
    let fd: number;
    try {
      fd = openSync(directory.to(name), READ_FLAGS);
    } catch (error) {
      const code = codeOf(error);
      if (code === "ENOENT" || code === "ELOOP" || code === "ENXIO" || code === "ENOTDIR") return undefined;
      if (code === undefined || code === "EMFILE" || code === "ENFILE" || code === "ENOMEM") throw error;
      return { what: "skipped", why: `it cannot be read (${code})` };
    }
    try {
      for (let reading = 1; ; reading++) {
        const stats = fstatSync(fd);
        if (!stats.isFile()) return undefined;
        if (reading === 1) this.#count(way, name, stats.size, old);
        const content =
          stats.size > PIECE_BYTES
            ? await this.#pieces(fd, stats.size)
            : await this.#bytesOf(fd, 0, stats.size, this.#room(stats.size));
        const after = fstatSync(fd);
        const isSame =
          stats.ctimeMs === after.ctimeMs && stats.mtimeMs === after.mtimeMs && stats.size === after.size;
        // A file that is written all the time is taken as it was read, and read again next time.
        if (!isSame && reading < READINGS) continue;
        const leaf = await this.#leaf(name, stats.mode & 0o777, content, old);
        return { what: "leaf", leaf, stats: isSame ? stats : undefined };
      }
    } catch (error) {
      const code = codeOf(error);
      if (code === "EIO" || code === "EACCES" || code === "EPERM" || code === "ESTALE")
        return { what: "skipped", why: `it cannot be read (${code})` };
      throw error;
    } finally {
      closeSync(fd);
    }
  }

  /** A hole takes no room on the disk of the host, but all that is read and kept elsewhere: it counts like bytes. */
  #count(way: readonly string[], name: string, size: number, old: Leaf | undefined): void {
    this.#added += Math.max(0, size - (old === undefined || old.kind === "link" ? 0 : old.size));
    if (this.#added > this.#limit)
      throw new SnapshotLimitError([...way, name].join("/"), this.#added, this.#limit);
  }

  async #bytesOf(fd: number, from: number, size: number, room: Buffer): Promise<Uint8Array> {
    if (size <= AT_ONCE_BYTES) return read(fd, from, size, room);
    let length = 0;
    while (length < size) {
      const { bytesRead } = await readAsync(fd, room, length, size - length, from + length);
      if (bytesRead === 0) break;
      length += bytesRead;
    }
    return room.subarray(0, length);
  }

  /** Where a short file is read to: many share one piece of memory, or collecting them would take as long as reading. */
  #room(size: number): Buffer {
    if (size > ROOM_BYTES / 8) return Buffer.allocUnsafeSlow(size);
    if (this.#at + size > this.#slab.length) {
      this.#slab = Buffer.allocUnsafeSlow(ROOM_BYTES);
      this.#at = 0;
    }
    this.#at += size;
    return this.#slab.subarray(this.#at - size, this.#at);
  }

  /** Keeps a long file piece by piece, so that no more than one is in memory. */
  async #pieces(fd: number, size: number): Promise<Pieces> {
    const parts: Digest[] = [];
    let length = 0;
    while (length < size) {
      // A piece of zeros is not kept, so the next piece can go to the same memory.
      this.#spare ??= Buffer.allocUnsafeSlow(PIECE_BYTES);
      const piece = await this.#bytesOf(fd, length, Math.min(PIECE_BYTES, size - length), this.#spare);
      if (piece.length === 0) break;
      parts.push(await this.#piece(piece));
      length += piece.length;
      // Where the blobs are kept in memory, nothing of this waits for anything.
      if (this.#pace.long) await this.#pace.rest();
    }
    return { parts, length };
  }

  /** Keeps a piece. Those of holes are all the same one, which is kept once. */
  async #piece(piece: Uint8Array): Promise<Digest> {
    // Compared up to the first byte that is not zero, so this costs nothing for other pieces.
    if (piece.length === PIECE_BYTES && ZEROS.equals(piece)) {
      if (!this.#hasZeros) await this.#trees.put([ZEROS]);
      this.#hasZeros = true;
      return ZERO_PIECE;
    }
    this.#spare = undefined;
    return (await this.#trees.put([piece]))[0] as Digest;
  }

  async #leaf(
    name: string,
    mode: number,
    content: Uint8Array | Pieces,
    old: Leaf | undefined,
  ): Promise<Leaf> {
    const size = content.length;
    if (!("parts" in content)) {
      const leaf = { kind: "file" as const, name, mode, size, digest: "" };
      // Most often only its times changed: what is kept already is not sent to be kept again.
      if (old?.kind === "file" && old.size === size && digestOf(content) === old.digest)
        return { ...leaf, digest: old.digest };
      await this.#keep(content, leaf);
      return leaf;
    }
    const [only, second] = content.parts;
    // It has become short while it was read.
    if (only !== undefined && second === undefined) return { kind: "file", name, mode, size, digest: only };
    const isGone = only === undefined;
    const leaf = { kind: isGone ? ("file" as const) : ("parts" as const), name, mode, size, digest: "" };
    await this.#keep(isGone ? new Uint8Array() : Buffer.from(JSON.stringify(content.parts)), leaf);
    return leaf;
  }

  async #keep(bytes: Uint8Array, leaf: { digest: Digest }): Promise<void> {
    this.#batch.push({ bytes, leaf });
    this.#bytes += bytes.length;
    if (this.#bytes >= BATCH_BYTES || this.#batch.length >= BATCH_BLOBS) await this.#flush();
  }

  async #flush(): Promise<void> {
    const batch = this.#batch;
    this.#batch = [];
    this.#bytes = 0;
    const digests = await this.#trees.put(batch.map(({ bytes }) => bytes));
    batch.forEach(({ leaf }, index) => {
      leaf.digest = digests[index] as Digest;
    });
  }

  /** Keeps what is left, and the trees that are made once all leaves have their digests. */
  async finish<Made>(
    make: () => readonly [Made, readonly Uint8Array[]],
  ): Promise<readonly [Made, readonly Uint8Array[]]> {
    if (this.#bytes > FEW_BYTES) await this.#flush();
    const rest = this.#batch.map(({ bytes, leaf }) => {
      leaf.digest = digestOf(bytes);
      return bytes;
    });
    this.#batch = [];
    const made = make();
    await this.#trees.put([...rest, ...made[1]]);
    return made;
  }
}

/** Pages of the system that nobody wrote to take no memory. */
const ZEROS = Buffer.alloc(PIECE_BYTES);

/** As many of the bytes from a place on as there are. */
export function read(
  fd: number,
  from: number,
  size: number,
  bytes: Buffer = Buffer.allocUnsafeSlow(size),
): Uint8Array {
  let length = 0;
  while (length < size) {
    const count = readSync(fd, bytes, length, size - length, from + length);
    if (count === 0) break;
    length += count;
  }
  return length === bytes.length ? bytes : bytes.subarray(0, length);
}

function linkOf(directory: Directory, name: string, stats: Stats | undefined): Found | undefined {
  try {
    const target = textOfName(readlinkSync(directory.to(name), { encoding: "buffer" }));
    const after = directory.look(name);
    const isSame = stats !== undefined && after?.ino === stats.ino && after.ctimeMs === stats.ctimeMs;
    return { what: "leaf", leaf: { kind: "link", name, target }, stats: isSame ? stats : undefined };
  } catch (error) {
    if (codeOf(error) === "ENOENT" || codeOf(error) === "EINVAL") return undefined;
    throw error;
  }
}

function wordFor(stats: Stats | undefined): string {
  if (stats?.isFIFO() === true) return "a pipe";
  if (stats?.isSocket() === true) return "a socket";
  return stats?.isCharacterDevice() === true || stats?.isBlockDevice() === true ? "a device" : "no file";
}
