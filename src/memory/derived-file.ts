import { setTimeout as wait } from "node:timers/promises";
import type { FactId } from "../session/index.js";
import type { SqliteDatabase, SqliteRow, SqliteStatement, SqliteValue } from "../store/index.js";
import { BUSY, openDatabase, sqliteCode } from "../store/index.js";

/** The error code of SQLite for a table that another connection of this process has locked. */
const LOCKED = 6;
/** How long another process may hold a file that is derived from a store. */
const PATIENCE_MS = 60_000;

/** A connection to a database that is derived from a store, with its prepared statements by their text. */
export class Connection {
  readonly #database: SqliteDatabase;
  readonly #statements = new Map<string, SqliteStatement>();

  constructor(path: string) {
    this.#database = openDatabase(path);
  }

  get(sql: string, ...values: SqliteValue[]): SqliteRow | undefined {
    return this.#statement(sql).get(...values) as SqliteRow | undefined;
  }

  all(sql: string, ...values: SqliteValue[]): SqliteRow[] {
    return this.#statement(sql).all(...values);
  }

  /** The row that was inserted last. */
  run(sql: string, ...values: SqliteValue[]): number {
    return Number(this.#statement(sql).run(...values).lastInsertRowid);
  }

  exec(sql: string): void {
    this.#database.exec(sql);
  }

  /** Undoes a transaction that failed. */
  rollback(): void {
    try {
      this.#database.exec("ROLLBACK");
    } catch {
      // SQLite has rolled back by itself.
    }
  }

  /** Whether the file has the tables of this program, in this version of them. */
  hasFormat(application: number, format: number): boolean {
    return (
      this.get("PRAGMA application_id")?.application_id === application &&
      this.get("PRAGMA user_version")?.user_version === format
    );
  }

  close(): void {
    this.#statements.clear();
    this.#database.close();
  }

  #statement(sql: string): SqliteStatement {
    let statement = this.#statements.get(sql);
    if (statement === undefined) {
      statement = this.#database.prepare(sql);
      this.#statements.set(sql, statement);
    }
    return statement;
  }
}

/** An id as an index keeps it: half as long, and in the same order. */
export function bytesOf(id: FactId): Uint8Array {
  return Buffer.from(id, "hex");
}

/** The first 48 bits of an id: a number by which the same ids are in the same order in every index. */
export function keyOf(id: FactId): number {
  return Number.parseInt(id.slice(0, 12), 16);
}

/** The suffixes of the files of a database. The file itself is last: until then another process finds it as it was. */
export const SUFFIXES: readonly string[] = ["-wal", "-shm", "-journal", ""];

/** Whether another process or connection holds the file, so that the operation can be tried again. */
export function isBusy(error: unknown): boolean {
  return sqliteCode(error) === BUSY || sqliteCode(error) === LOCKED;
}

/** Tries again while another process holds the file. */
export async function patiently<Value>(
  act: () => Value | Promise<Value>,
  signal?: AbortSignal,
): Promise<Value> {
  for (const until = performance.now() + PATIENCE_MS; ; ) {
    try {
      return await act();
    } catch (error) {
      if (!isBusy(error) || performance.now() > until) throw error;
      signal?.throwIfAborted();
      // For a random time, so that two processes do not keep meeting.
      await wait(2 + Math.random() * 20);
    }
  }
}
