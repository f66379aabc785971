import { DamageError } from "../error.js";

export type SqlValue = string | number | null | Uint8Array;
export type SqlRow = { readonly [column: string]: SqlValue };

/** A way to read tables with SQL that every database of ours understands; `?` and `?1` stand for values. */
export interface Rows {
  /** Tells the database in findings and errors. */
  readonly path: string;
  get(sql: string, ...values: SqlValue[]): SqlRow | undefined;
  all(sql: string, ...values: SqlValue[]): SqlRow[];
  /** A reading that fails becomes an error with a name. */
  guard<Result>(read: () => Result): Result;
}

/** The next step of a walk through a table. In a damaged one the next may lie behind, and the walk would not end. */
export function further(after: number, next: number): number {
  if (next > after) return next;
  throw new DamageError(`row ${next}`, "the rows of a table are out of order");
}
