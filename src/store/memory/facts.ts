import type { FactId } from "../../session/index.js";
import { postorder } from "../../util/index.js";
import type { FactTable, NewFact } from "../shelf.js";

/** Some rows: a number where it is one, as it mostly is, since a list for each would double what a fact takes. */
type Rows = number | number[] | undefined;

/**
 * The facts of a store in memory and which made which. A fact is a row: the number of facts that were stored before it.
 * Parents are stored before children, so a greater row is never in the past of a lesser one, and walking rows downwards
 * meets every fact after all its descendants. Most methods below live on that.
 */
export class Facts implements FactTable {
  readonly #rows = new Map<FactId, number>();
  readonly #ids: FactId[] = [];
  readonly #lines: string[] = [];
  readonly #parents: Rows[] = [];
  readonly #children: Rows[] = [];

  get count(): number {
    return this.#ids.length;
  }

  get lines(): readonly string[] {
    return this.#lines;
  }

  id(row: number): FactId {
    return this.#ids[row] as FactId;
  }

  line(row: number): string {
    return this.#lines[row] as string;
  }

  /** The row of an id, or -1. */
  row(id: FactId): number {
    return this.#rows.get(id) ?? -1;
  }

  has(id: FactId): boolean {
    return this.#rows.has(id);
  }

  add({ id, line, parents }: NewFact): void {
    const row = this.#ids.push(id) - 1;
    this.#rows.set(id, row);
    this.#lines.push(line);
    this.#children.push(undefined);
    const [first, ...others] = parents.map((parent) => this.row(parent));
    this.#parents.push(others.length === 0 ? first : [first as number, ...others]);
    for (const parent of this.parents(row)) {
      const before = this.#children[parent];
      if (Array.isArray(before)) before.push(row);
      else this.#children[parent] = before === undefined ? row : [before, row];
    }
  }

  /** The parents of a row, in the order of its line. */
  parents(row: number): readonly number[] {
    return listOf(this.#parents[row]);
  }

  /** The rows made directly from this one, in the order they were stored. */
  children(row: number): readonly number[] {
    return listOf(this.#children[row]);
  }

  /** Ids that begin with these hex digits, at most `most`. */
  startingWith(prefix: string, most: number): FactId[] {
    const found: FactId[] = [];
    for (let row = 0; row < this.count && found.length < most; row++)
      if (this.id(row).startsWith(prefix)) found.push(this.id(row));
    return found;
  }

  /**
   * The past of the heads and the heads, in the order of `Session.history()`: what the first parent saw first.
   * Rows in the past of `without`, and those themselves, are left out.
   */
  history(heads: readonly number[], without: readonly number[] = []): number[] {
    const done = this.#past(without);
    const rows: number[] = [];
    for (const head of heads) this.#postorder(head, done, rows);
    return rows;
  }

  /** How many rows the past of a row has, itself included. */
  size(row: number): number {
    return this.#past([row]).reduce((count, mark) => count + mark, 0);
  }

  descends(stored: readonly FactId[], ancestor: FactId): boolean {
    const oldest = this.row(ancestor);
    const open = stored.map((id) => this.row(id)).filter((row) => row >= oldest);
    const seen = new Set<number>();
    for (let row = open.pop(); row !== undefined; row = open.pop()) {
      if (row === oldest) return true;
      for (const parent of this.parents(row)) {
        if (parent < oldest || seen.has(parent)) continue;
        seen.add(parent);
        open.push(parent);
      }
    }
    return false;
  }

  /**
   * The longest end of the history of `head`, of at most `most` rows, that hangs from one row that `holds`:
   * that row first, then all others, which descend from it alone. Undefined when no row does.
   */
  tail(head: number, most: number, holds: (id: FactId) => boolean): number[] | undefined {
    const marked = new Uint8Array(head + 1);
    const visited: number[] = [];
    let waiting = 1;
    let best: { row: number; size: number } | undefined;
    marked[head] = 1;
    for (let row = head; row >= 0 && visited.length < most; row--) {
      if (marked[row] === 0) continue;
      waiting -= 1;
      // Nothing else is waiting: everything newer has all its parents among the visited or here.
      if (waiting === 0 && holds(this.id(row))) best = { row, size: visited.length };
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
    return rows;
  }

  /** These facts without those that are unwanted, and that nothing that stays has grown from. */
  without(unwanted: Iterable<FactId>, standing: Iterable<FactId>): Facts {
    const goes = new Uint8Array(this.count);
    for (const id of unwanted) goes[this.row(id)] = 1;
    for (const id of standing) goes[this.row(id)] = 0;
    for (let row = this.count - 1; row >= 0; row--)
      if (goes[row] === 0) for (const parent of this.parents(row)) goes[parent] = 0;
    const rest = new Facts();
    for (let row = 0; row < this.count; row++) if (goes[row] === 0) rest.add(this.fact(row));
    return rest;
  }

  fact(row: number): NewFact {
    const parents = this.parents(row).map((parent) => this.id(parent));
    return { id: this.id(row), line: this.line(row), parents };
  }

  /** Marks the rows and their past. */
  #past(rows: readonly number[]): Uint8Array {
    const marked = new Uint8Array(this.count);
    for (const row of rows) marked[row] = 1;
    for (let row = rows.reduce((one, other) => Math.max(one, other), -1); row >= 0; row--)
      if (marked[row] === 1) for (const parent of this.parents(row)) marked[parent] = 1;
    return marked;
  }

  #postorder(head: number, done: Uint8Array, rows: number[]): void {
    if (done[head] === 1) return;
    for (const row of postorder(
      head,
      (child) => this.parents(child),
      (parent) => done[parent] !== 1,
    )) {
      done[row] = 1;
      rows.push(row);
    }
  }
}

function listOf(rows: Rows): readonly number[] {
  return rows === undefined ? [] : typeof rows === "number" ? [rows] : rows;
}
