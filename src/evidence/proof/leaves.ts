import { closeSync, openSync, readSync } from "node:fs";
import type { FactId } from "../../session/index.js";
import { ProofError } from "./error.js";
import { appendAt, sizeOf } from "./file.js";
import { HASH_BYTES, leafHash, nodeHash, split } from "./merkle.js";

/** So many leaves have one root in the file of roots. A proof reads one block of leaves, and the roots of the others. */
export const BLOCK = 256;
/** So many ids are read at once. */
const AT_ONCE = 4096;

/** The leaves of a log on disk: `leaves` has fact ids, 32 bytes each; `roots` caches block roots. */
export class Leaves {
  readonly #ids: string;
  readonly #roots: string;

  constructor(folder: string) {
    this.#ids = `${folder}/leaves`;
    this.#roots = `${folder}/roots`;
  }

  /** How many whole ids, and how many roots of blocks, there are. */
  get count(): number {
    return Math.floor(sizeOf(this.#ids) / HASH_BYTES);
  }
  get blocks(): number {
    return Math.floor(sizeOf(this.#roots) / HASH_BYTES);
  }
  /** Bytes of an unfinished entry, left by an interrupted write. */
  get torn(): { readonly leaves: number; readonly roots: number } {
    return { leaves: sizeOf(this.#ids) % HASH_BYTES, roots: sizeOf(this.#roots) % HASH_BYTES };
  }

  /** The ids from one place to the one before another. */
  read(from: number, to: number): Buffer {
    return readPart(this.#ids, from * HASH_BYTES, (to - from) * HASH_BYTES);
  }

  /** The first `size` ids as text, in their order. */
  *ids(size: number): Generator<FactId> {
    for (let from = 0; from < size; from += AT_ONCE) {
      const part = this.read(from, Math.min(size, from + AT_ONCE));
      for (let at = 0; at < part.length; at += HASH_BYTES) yield part.toString("hex", at, at + HASH_BYTES);
    }
  }

  /** The roots of blocks as the file has them. */
  readRoots(from: number, to: number): Buffer {
    return readPart(this.#roots, from * HASH_BYTES, (to - from) * HASH_BYTES);
  }

  /** Writes ids behind the first `size`, and the roots of the blocks that they fill. Later bytes are cut off. */
  append(size: number, ids: Buffer): void {
    appendAt(this.#ids, ids, size * HASH_BYTES);
    const whole = Math.floor(size / BLOCK);
    const full = Math.floor((size + ids.length / HASH_BYTES) / BLOCK);
    const roots: Buffer[] = [];
    for (let block = whole; block < full; block++)
      roots.push(blockRoot(this.read(block * BLOCK, (block + 1) * BLOCK)));
    appendAt(this.#roots, Buffer.concat(roots), whole * HASH_BYTES);
  }

  /** Makes the roots of blocks again from the first `size` ids. */
  rebuild(size: number): void {
    const roots = Array.from({ length: Math.floor(size / BLOCK) }, (_, block) =>
      blockRoot(this.read(block * BLOCK, (block + 1) * BLOCK)),
    );
    appendAt(this.#roots, Buffer.concat(roots), 0);
  }

  /** The root over some of the leaves of a tree, from the roots of whole blocks where there are any. */
  readonly subtree = (from: number, to: number): Buffer => {
    const count = to - from;
    if (count <= BLOCK && (count < BLOCK || from % BLOCK !== 0)) return blockRoot(this.read(from, to));
    if (count === BLOCK) return this.readRoots(from / BLOCK, from / BLOCK + 1);
    if (from % BLOCK === 0 && count % BLOCK === 0) return combined(this.readRoots(from / BLOCK, to / BLOCK));
    const middle = from + split(count);
    return nodeHash(this.subtree(from, middle), this.subtree(middle, to));
  };

  /** Where an id stands; undefined when it is not there. */
  indexOf(id: FactId, size: number): number | undefined {
    const wanted = Buffer.from(id, "hex");
    const step = 32 * 1024;
    for (let from = 0; from < size; from += step) {
      const ids = this.read(from, Math.min(size, from + step));
      for (let at = ids.indexOf(wanted); at >= 0; at = ids.indexOf(wanted, at + 1))
        if (at % HASH_BYTES === 0) return from + at / HASH_BYTES;
    }
    return undefined;
  }
}

/** The root over ids that lie side by side. */
export function blockRoot(ids: Buffer): Buffer {
  return folded(
    Array.from({ length: ids.length / HASH_BYTES }, (_, place) =>
      leafHash(ids.subarray(place * HASH_BYTES, (place + 1) * HASH_BYTES)),
    ),
  );
}

function combined(roots: Buffer): Buffer {
  return folded(
    Array.from({ length: roots.length / HASH_BYTES }, (_, place) =>
      roots.subarray(place * HASH_BYTES, (place + 1) * HASH_BYTES),
    ),
  );
}

/** The root over the hashes of whole subtrees of one size. Level by level it is the same tree as split from above. */
function folded(hashes: Buffer[]): Buffer {
  let level = hashes;
  while (level.length > 1) {
    const above: Buffer[] = [];
    for (let place = 0; place < level.length; place += 2) {
      const [left, right] = [level[place] as Buffer, level[place + 1]];
      above.push(right === undefined ? left : nodeHash(left, right));
    }
    level = above;
  }
  return level[0] as Buffer;
}

function readPart(path: string, place: number, length: number): Buffer {
  const bytes = Buffer.allocUnsafe(length);
  if (length === 0) return bytes;
  const fd = openSync(path, "r");
  try {
    for (let done = 0; done < length; ) {
      const read = readSync(fd, bytes, done, length - done, place + done);
      if (read === 0)
        throw new ProofError(
          "log-damaged",
          `The log is damaged: ${path} ends at byte ${place + done}.`,
          "rath verify says what is wrong with it",
          { data: { place: path, offset: place + done } },
        );
      done += read;
    }
  } finally {
    closeSync(fd);
  }
  return bytes;
}
