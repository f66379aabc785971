import type { FactId } from "../../session/index.js";

const ID_BYTES = 32;
const HEX_ID = /^[0-9a-f]{64}$/;

/**
 * Which facts there are and which made which, in about 70 bytes each. A fact is a row: the number of facts that
 * were stored before it. Parents are stored before children, so a greater row is never in the past of a lesser
 * one, and walking rows downwards meets every fact after all its descendants. Most methods below live on that.
 */
export class FactIndex {
  #count = 0;
  #ids = Buffer.alloc(64 * ID_BYTES);
  /** A hash table of rows plus one, twice as long as there are rows; 0 is a free slot. */
  #slots = new Int32Array(128);
  /** Row to its first edge. Edges lead to parents and are numbered in the order of rows. */
  #starts = new Uint32Array(65);
  #parents = new Uint32Array(64);
  /** The edges that lead to a row form a list, newest first. */
  #newest = new Int32Array(64).fill(-1);
  #older = new Int32Array(64);
  #child = new Uint32Array(64);
  readonly #scratch = Buffer.alloc(ID_BYTES);

  get count(): number {
    return this.#count;
  }

  id(row: number): FactId {
    return this.#ids.toString("hex", row * ID_BYTES, (row + 1) * ID_BYTES);
  }

  /** The row of an id, or -1. */
  row(id: string): number {
    if (!HEX_ID.test(id)) return -1;
    this.#scratch.write(id, "hex");
    return this.rowOf(this.#scratch);
  }

  /** The row of an id given as bytes, or -1. */
  rowOf(bytes: Uint8Array): number {
    return (this.#slots[this.#slot(bytes)] as number) - 1;
  }

  /** Adds a fact that is not there yet, and returns its row. */
  add(id: Uint8Array, parents: readonly number[]): number {
    const row = this.#count;
    this.#makeRoom(row + 1, (this.#starts[row] as number) + parents.length);
    this.#ids.set(id, row * ID_BYTES);
    this.#slots[this.#slot(id)] = row + 1;
    let edge = this.#starts[row] as number;
    for (const parent of parents) {
      this.#parents[edge] = parent;
      this.#child[edge] = row;
      this.#older[edge] = this.#newest[parent] as number;
      this.#newest[parent] = edge;
      edge += 1;
    }
    this.#starts[row + 1] = edge;
    this.#newest[row] = -1;
    this.#count = row + 1;
    return row;
  }

  /** The parents of a row, in the order of its line. */
  parents(row: number): Uint32Array {
    return this.#parents.subarray(this.#starts[row], this.#starts[row + 1]);
  }

  /** The rows made directly from this one, in the order they were stored. */
  children(row: number): number[] {
    const children: number[] = [];
    for (let edge = this.#newest[row] as number; edge >= 0; edge = this.#older[edge] as number) {
      children.push(this.#child[edge] as number);
    }
    return children.reverse();
  }

  /** Rows whose id begins with these hex digits, at most `most`. */
  startingWith(prefix: string, most: number): number[] {
    const found: number[] = [];
    if (!/^[0-9a-f]{0,64}$/.test(prefix)) return found;
    const whole = Buffer.from(prefix.slice(0, prefix.length & ~1), "hex");
    const odd = prefix.length % 2 === 1 ? Number.parseInt(prefix.at(-1) as string, 16) : undefined;
    for (let row = 0; row < this.#count && found.length < most; row++) {
      const at = row * ID_BYTES;
      let index = 0;
      while (index < whole.length && this.#ids[at + index] === whole[index]) index += 1;
      if (index < whole.length || (odd !== undefined && (this.#ids[at + index] as number) >> 4 !== odd))
        continue;
      found.push(row);
    }
    return found;
  }

  /**
   * The past of the heads and the heads, in the order of `Session.history()`: what the first parent saw first.
   * What is in the past of `without`, and those themselves, are left out.
   */
  history(heads: readonly number[], without: readonly number[] = []): Uint32Array {
    const done = this.#past(without);
    const rows: number[] = [];
    for (const head of heads) this.#postorder(head, done, rows);
    return Uint32Array.from(rows);
  }

  /** How many rows the past of a row has, itself included. */
  size(row: number): number {
    let count = 0;
    for (const mark of this.#past([row])) count += mark;
    return count;
  }

  /** Whether `ancestor` is one of the rows or in their past. */
  reaches(rows: readonly number[], ancestor: number): boolean {
    const seen = new Set<number>();
    const open = rows.filter((row) => row >= ancestor);
    for (let row = open.pop(); row !== undefined; row = open.pop()) {
      if (row === ancestor) return true;
      for (const parent of this.parents(row)) {
        if (parent < ancestor || seen.has(parent)) continue;
        seen.add(parent);
        open.push(parent);
      }
    }
    return false;
  }

  /**
   * The longest end of the history of `head`, of at most `most` rows, that hangs from one row that `holds`:
   * that row first, then all others, which descend from it alone. Undefined when there is none.
   */
  tail(head: number, most: number, holds: (row: number) => boolean): Uint32Array | undefined {
    const marked = new Uint8Array(head + 1);
    const visited: number[] = [];
    let waiting = 1;
    let best: { row: number; size: number } | undefined;
    marked[head] = 1;
    for (let row = head; row >= 0 && visited.length < most; row--) {
      if (marked[row] === 0) continue;
      waiting -= 1;
      // Nothing else is waiting: everything newer has all its parents among the visited or here.
      if (waiting === 0 && holds(row)) best = { row, size: visited.length };
      const parents = this.parents(row);
      // Another beginning: nothing older can be what all of this hangs from.
      if (parents.length === 0) break;
      visited.push(row);
      for (const parent of parents) {
        if (marked[parent] === 1) continue;
        marked[parent] = 1;
        waiting += 1;
      }
    }
    if (best === undefined) return undefined;
    const outside = new Uint8Array(head + 1).fill(1);
    for (const row of visited.slice(0, best.size)) outside[row] = 0;
    const rows = [best.row];
    if (best.row !== head) this.#postorder(head, outside, rows);
    return Uint32Array.from(rows);
  }

  /** Says of every row whether it may go when `unwanted` may: not while something that stays grew from it. */
  removable(unwanted: Iterable<number>, standing: Iterable<number>): Uint8Array {
    const goes = new Uint8Array(this.#count);
    for (const row of unwanted) goes[row] = 1;
    for (const row of standing) goes[row] = 0;
    for (let row = this.#count - 1; row >= 0; row--) {
      if (goes[row] === 0) for (const parent of this.parents(row)) goes[parent] = 0;
    }
    return goes;
  }

  /** Marks the rows and their past. */
  #past(rows: readonly number[]): Uint8Array {
    const marked = new Uint8Array(this.#count);
    let top = -1;
    for (const row of rows) {
      marked[row] = 1;
      if (row > top) top = row;
    }
    for (let row = top; row >= 0; row--) {
      if (marked[row] === 1) for (const parent of this.parents(row)) marked[parent] = 1;
    }
    return marked;
  }

  #postorder(head: number, done: Uint8Array, rows: number[]): void {
    if (done[head] === 1) return;
    const path = [head];
    const next = [0];
    while (path.length > 0) {
      const top = path.length - 1;
      const row = path[top] as number;
      const edge = (this.#starts[row] as number) + (next[top] as number);
      if (edge < (this.#starts[row + 1] as number)) {
        next[top] = (next[top] as number) + 1;
        const parent = this.#parents[edge] as number;
        if (done[parent] === 1) continue;
        path.push(parent);
        next.push(0);
        continue;
      }
      path.pop();
      next.pop();
      done[row] = 1;
      rows.push(row);
    }
  }

  /** Where an id is in the table, or the free slot where it would be. Ids are hashes: their first bits will do. */
  #slot(id: Uint8Array): number {
    const mask = this.#slots.length - 1;
    let slot =
      ((((id[0] as number) << 24) |
        ((id[1] as number) << 16) |
        ((id[2] as number) << 8) |
        (id[3] as number)) >>>
        0) &
      mask;
    for (;;) {
      const row = (this.#slots[slot] as number) - 1;
      if (row < 0) return slot;
      const at = row * ID_BYTES;
      let index = 0;
      while (index < ID_BYTES && this.#ids[at + index] === id[index]) index += 1;
      if (index === ID_BYTES) return slot;
      slot = (slot + 1) & mask;
    }
  }

  #makeRoom(rows: number, edges: number): void {
    if (edges > this.#parents.length) {
      const length = 2 * edges;
      this.#parents = grown(this.#parents, new Uint32Array(length));
      this.#older = grown(this.#older, new Int32Array(length));
      this.#child = grown(this.#child, new Uint32Array(length));
    }
    if (rows * ID_BYTES <= this.#ids.length) return;
    const length = 2 * rows;
    this.#ids = grown(this.#ids, Buffer.alloc(length * ID_BYTES));
    this.#starts = grown(this.#starts, new Uint32Array(length + 1));
    this.#newest = grown(this.#newest, new Int32Array(length));
    let slots = this.#slots.length;
    while (slots < 2 * length) slots *= 2;
    this.#slots = new Int32Array(slots);
    for (let row = 0; row < this.#count; row++) {
      this.#slots[this.#slot(this.#ids.subarray(row * ID_BYTES, (row + 1) * ID_BYTES))] = row + 1;
    }
  }
}

function grown<Numbers extends Uint8Array | Uint32Array | Int32Array>(from: Numbers, into: Numbers): Numbers {
  into.set(from);
  return into;
}
