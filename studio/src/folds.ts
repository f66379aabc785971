import type { GraphRow } from "./types";

/** Rows that a person folded away, and where the others stand then. The rows themselves keep their numbers. */
export class Folds {
  /** The hidden rows of each fold by the row that stands for them. */
  readonly #folds: ReadonlyMap<number, readonly number[]>;
  readonly #hidden: readonly number[];

  constructor(folds: ReadonlyMap<number, readonly number[]> = new Map()) {
    this.#folds = folds;
    this.#hidden = [...new Set([...folds.values()].flat())].sort((a, b) => a - b);
  }

  /** The rows behind this one; undefined where it folds nothing. */
  behind(row: number): readonly number[] | undefined {
    return this.#folds.get(row);
  }

  isHidden(row: number): boolean {
    return this.#hidden[this.#before(row)] === row;
  }

  /** Of the number of all rows: how many are shown. */
  placeOf(row: number): number {
    return row - this.#before(row);
  }

  /** The row at a place: the other way round. */
  rowAt(place: number): number {
    let row = place;
    for (const hidden of this.#hidden) {
      if (hidden > row) break;
      row += 1;
    }
    return row;
  }

  fold(row: number, rows: readonly number[]): Folds {
    return new Folds(new Map([...this.#folds, [row, rows]]));
  }

  unfold(row: number): Folds {
    return new Folds(new Map([...this.#folds].filter(([one, rows]) => one !== row && !rows.includes(row))));
  }

  /** How many hidden rows come before a row. */
  #before(row: number): number {
    let [low, high] = [0, this.#hidden.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#hidden[middle] as number) < row) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** The rows of the sub-agent that a row belongs to: one stretch of its branch in one module, as far as it was read. */
export function stretchOf(rows: ReadonlyMap<number, GraphRow>, row: number): readonly number[] {
  const own = rows.get(row);
  if (own === undefined) return [];
  const found = [row];
  for (const by of [-1, 1])
    for (let at = row + by; rows.has(at); at += by) {
      const other = rows.get(at) as GraphRow;
      if (other.branch !== own.branch) continue;
      if (other.module !== own.module) break;
      found.push(at);
    }
  return found.sort((a, b) => a - b);
}
