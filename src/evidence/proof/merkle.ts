import { hash } from "node:crypto";

/**
 * The Merkle tree of RFC 6962: a leaf is SHA-256(00 ‖ entry), a node SHA-256(01 ‖ left ‖ right), and the left
 * side is the largest power of two smaller than the tree.
 */
export const HASH_BYTES = 32;

/** The root of a tree without leaves. */
export const EMPTY_ROOT: Buffer = hash("sha256", Buffer.alloc(0), "buffer");

export function leafHash(entry: Uint8Array): Buffer {
  const bytes = Buffer.allocUnsafe(1 + entry.length);
  bytes[0] = 0;
  bytes.set(entry, 1);
  return hash("sha256", bytes, "buffer");
}

const pair = Buffer.alloc(1 + 2 * HASH_BYTES, 1);

export function nodeHash(left: Uint8Array, right: Uint8Array): Buffer {
  pair.set(left, 1);
  pair.set(right, 1 + HASH_BYTES);
  return hash("sha256", pair, "buffer");
}

/** A tree that only grows: of what came before, the roots of its whole subtrees are all that is held. */
export class Growth {
  /** Whole subtrees from left to right, each smaller than the one before. */
  readonly #roots: Buffer[] = [];
  #size = 0;

  get size(): number {
    return this.#size;
  }

  add(leaf: Buffer): void {
    let root = leaf;
    for (let rest = this.#size; rest % 2 === 1; rest = (rest - 1) / 2)
      root = nodeHash(this.#roots.pop() as Buffer, root);
    this.#roots.push(root);
    this.#size += 1;
  }

  root(): Buffer {
    let root: Buffer | undefined;
    for (let index = this.#roots.length - 1; index >= 0; index--) {
      const left = this.#roots[index] as Buffer;
      root = root === undefined ? left : nodeHash(left, root);
    }
    return root ?? EMPTY_ROOT;
  }
}

/** The root over some of the leaves: from the first to the one before the last. */
export type Subtree = (from: number, to: number) => Buffer;

/** The largest power of two below a number that is at least two. */
export function split(size: number): number {
  let half = 1;
  while (half * 2 < size) half *= 2;
  return half;
}

/** The hashes beside the way from a leaf to the root, from the leaf up. */
export function inclusionPath(index: number, size: number, subtree: Subtree): Buffer[] {
  const path: Buffer[] = [];
  let from = 0;
  let to = size;
  while (to - from > 1) {
    const middle = from + split(to - from);
    if (index < middle) {
      path.push(subtree(middle, to));
      to = middle;
    } else {
      path.push(subtree(from, middle));
      from = middle;
    }
  }
  return path.reverse();
}

/** The root that a leaf and the hashes beside its way lead to; undefined when they are not so many as there must be. */
export function rootOfPath(
  leaf: Buffer,
  index: number,
  size: number,
  path: readonly Buffer[],
): Buffer | undefined {
  if (!isSize(index) || !isSize(size) || index >= size) return undefined;
  let root = leaf;
  const isWhole = climb(index, size - 1, path, (beside, isLeft) => {
    root = isLeft ? nodeHash(beside, root) : nodeHash(root, beside);
  });
  return isWhole ? root : undefined;
}

/** Goes up from a node with the hashes beside its way. Whether there are as many of them as there must be. */
export function climb(
  start: number,
  end: number,
  path: readonly Buffer[],
  join: (beside: Buffer, isLeft: boolean) => void,
): boolean {
  let [node, last] = [start, end];
  const up = (): void => {
    [node, last] = [half(node), half(last)];
  };
  for (const beside of path) {
    if (last === 0) return false;
    const isLeft = node % 2 === 1 || node === last;
    join(beside, isLeft);
    // A node without a right neighbour goes up as it is until it has a left one.
    while (isLeft && node % 2 === 0 && node !== 0) up();
    up();
  }
  return last === 0;
}

/** The hashes that show that a tree of an earlier size is the beginning of this one. */
export function consistencyPath(earlier: number, size: number, subtree: Subtree): Buffer[] {
  const path: Buffer[] = [];
  if (earlier <= 0 || earlier >= size) return path;
  let from = 0;
  let to = size;
  let whole = true;
  while (earlier !== to) {
    const middle = from + split(to - from);
    if (earlier <= middle) {
      path.push(subtree(middle, to));
      to = middle;
    } else {
      path.push(subtree(from, middle));
      from = middle;
      whole = false;
    }
  }
  if (!whole) path.push(subtree(from, to));
  return path.reverse();
}

export function same(one: Uint8Array, other: Uint8Array): boolean {
  return Buffer.compare(one, other) === 0;
}

function half(number: number): number {
  return Math.floor(number / 2);
}

function isSize(size: number): boolean {
  return Number.isSafeInteger(size) && size >= 0;
}
