import { createHash, randomUUID } from "node:crypto";
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { FactId } from "../../session/index.js";
import {
  openDatabase,
  type SqliteDatabase,
  type SqliteRow,
  type SqliteStatement,
  type SqliteValue,
  sqliteCode,
} from "../../store/index.js";
import { APPLICATION, FORMAT, NO_TABLES, TABLES, VECTORS } from "./schema.js";

/** Where an index stands: at which fact, of which making, after how many changes. */
export type State = {
  readonly head: FactId | undefined;
  readonly build: string;
  readonly stamp: number;
  /** What had been erased from the store by then. */
  readonly erasures: string;
};

/** Pages of the log after which they are taken over into the file: 4 MB. */
export const LOG_PAGES = 1_000;
/** What the log keeps on disk when it is written from the beginning again: one long way must not leave it long. */
const LOG_BYTES = LOG_PAGES * 4_096;

/** One connection, with its statements by their text. */
export class Connection {
  readonly #database: SqliteDatabase;
  readonly #statements = new Map<string, SqliteStatement>();

  constructor(database: SqliteDatabase) {
    this.#database = database;
  }

  get(sql: string, ...values: SqliteValue[]): SqliteRow | undefined {
    return this.#statement(sql).get(...values) as SqliteRow | undefined;
  }

  all(sql: string, ...values: SqliteValue[]): SqliteRow[] {
    return this.#statement(sql).all(...values);
  }

  run(sql: string, ...values: SqliteValue[]): number {
    return Number(this.#statement(sql).run(...values).lastInsertRowid);
  }

  exec(sql: string): void {
    this.#database.exec(sql);
  }

  get state(): State {
    const row = this.get("SELECT head, build, stamp, erasures FROM state");
    if (row === undefined) throw new DamagedIndex("it does not say where it stands");
    return {
      head: (row.head as FactId | null) ?? undefined,
      build: row.build as string,
      stamp: row.stamp as number,
      erasures: row.erasures as string,
    };
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

/** The file of a space's index, named so that it can be told and that no two spaces share one. */
export function fileOf(folder: string, space: string): string {
  const shown = space.replace(/[^A-Za-z0-9._-]+/g, "-").slice(0, 60);
  const sum = createHash("sha256").update(space.toWellFormed()).digest("hex").slice(0, 12);
  return join(folder, `${shown}-${sum}.sqlite`);
}

/**
 * Two connections to an index: one that writes, and one that reads what was there before, until the writing is done.
 * In memory, where there is only one, both are the same.
 */
export type Connections = { readonly path: string; readonly write: Connection; readonly read: Connection };

/** Opens an index, or makes it anew where it is not one of ours, not of this version, or damaged. */
export function openIndex(path: string, space: string): Connections {
  if (path === ":memory:") return inMemory(space);
  try {
    // The texts are in it: for whoever the store is, and nobody else.
    mkdirSync(join(path, ".."), { recursive: true, mode: 0o700 });
    const connections = opened(path, space);
    if (isSound(connections, space)) return connections;
    closeIndex(connections);
  } catch (error) {
    if (isBusy(error)) return inMemory(space);
  }
  return newIndex(path, space);
}

/** An index with nothing in it. Where it cannot be kept, it is held in memory: it is only derived. */
export function newIndex(path: string, space: string): Connections {
  if (path === ":memory:") return inMemory(space);
  try {
    // The file itself last: whoever opens it between finds it as damaged as it was.
    for (const end of ["-wal", "-shm", "-journal", ""]) rmSync(`${path}${end}`, { force: true });
    return opened(path, space);
  } catch {
    return inMemory(space);
  }
}

export function closeIndex({ write, read }: Connections): void {
  for (const one of new Set([read, write])) {
    try {
      one.close();
    } catch {
      // A connection that cannot be closed is given up; what it held is derived.
    }
  }
}

function inMemory(space: string): Connections {
  const connection = new Connection(openDatabase(":memory:"));
  make(connection, space);
  return { path: ":memory:", write: connection, read: connection };
}

function opened(path: string, space: string): Connections {
  const write = new Connection(openDatabase(path));
  try {
    // Written ahead and synced now and then: after a power cut it is as it was some changes ago, and whole.
    write.exec("PRAGMA busy_timeout = 2000; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL");
    write.exec(
      `PRAGMA cache_size = -32000; PRAGMA temp_store = MEMORY; PRAGMA wal_autocheckpoint = ${LOG_PAGES};
       PRAGMA journal_size_limit = ${LOG_BYTES}`,
    );
    // What was erased from the store must not be found in a page that nobody uses.
    write.exec("PRAGMA secure_delete = ON");
    if (isEmpty(write)) {
      write.exec("BEGIN IMMEDIATE");
      // Another process may have made it since.
      if (isEmpty(write)) make(write, space);
      write.exec("COMMIT");
    }
    // From here on, whoever waits for another process lets others of this one go on.
    write.exec("PRAGMA busy_timeout = 20");
    const read = new Connection(openDatabase(path));
    read.exec("PRAGMA busy_timeout = 2000; PRAGMA cache_size = -32000; PRAGMA temp_store = MEMORY");
    return { path, write, read };
  } catch (error) {
    write.close();
    throw error;
  }
}

function isEmpty(connection: Connection): boolean {
  return connection.get("SELECT 1 FROM sqlite_schema LIMIT 1") === undefined;
}

function make(connection: Connection, space: string): void {
  connection.exec(
    `PRAGMA application_id = ${APPLICATION}; PRAGMA user_version = ${FORMAT}; ${TABLES} ${VECTORS}`,
  );
  begin(connection, space);
}

/** Takes everything out that is derived from facts. In a transaction of whoever calls. */
export function emptied(connection: Connection, space: string): void {
  connection.exec(NO_TABLES);
  connection.exec(TABLES);
  begin(connection, space);
}

function begin(connection: Connection, space: string): void {
  connection.run("INSERT INTO state VALUES (1, ?, NULL, ?, 0, '')", space.toWellFormed(), randomUUID());
}

/**
 * Asked on the connection that makes the tables: after a check, a connection whose tables another one makes anew is never
 * closed by SQLite, and keeps its files open.
 */
function isSound({ write }: Connections, space: string): boolean {
  if (write.get("PRAGMA application_id")?.application_id !== APPLICATION) return false;
  if (write.get("PRAGMA user_version")?.user_version !== FORMAT) return false;
  if (write.get("SELECT space FROM state")?.space !== space.toWellFormed()) return false;
  return write.get("PRAGMA quick_check(1)")?.quick_check === "ok";
}

/** Whether another process is in the way, so that it is to be tried again. */
export function isBusy(error: unknown): boolean {
  return sqliteCode(error) === 5 || sqliteCode(error) === 6;
}

/** Whether SQLite found the file to be damaged, cut off or somebody else's, or cannot write it any more. */
export function isBroken(error: unknown): boolean {
  // A row that is no JSON any more is as bad as a page that is none.
  if (error instanceof DamagedIndex || error instanceof SyntaxError) return true;
  return sqliteCode(error) !== 0 && !isBusy(error);
}

export class DamagedIndex extends Error {}
