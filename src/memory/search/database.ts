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
import { TOKENS } from "./tokens.js";

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

/** "rath" and its index: an application id of SQLite, so that a file of somebody else is told from ours. */
export const APPLICATION = 0x72617869;
/** The version of the tables and of the words in them. A file with another one is made anew. */
export const FORMAT = 2_000 + TOKENS;

/**
 * Everything is derived from the facts of a space. `fact` holds them (of those that are no memory's, only how deep they
 * stand), `about` which memories other facts than their first are about, `undone` what rollbacks took back. `memory` holds
 * what is asked for by filters, `words` (FTS5) the live ones alone, so that no score depends on what is not told.
 * A row that is no memory any more stays with the status `gone`, or others that hold the table would not hear of it.
 */
export const TABLES = `
  CREATE TABLE state (one INTEGER PRIMARY KEY CHECK (one = 1), space TEXT NOT NULL, head TEXT, build TEXT NOT NULL,
    stamp INTEGER NOT NULL, erasures TEXT NOT NULL);
  CREATE TABLE fact (row INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, depth INTEGER NOT NULL, type TEXT,
    body TEXT, text TEXT);
  CREATE INDEX fact_space ON fact (depth, id) WHERE type = 'memory-space';
  CREATE INDEX fact_rollback ON fact (id) WHERE type = 'memory-rollback';
  CREATE TABLE about (memory BLOB NOT NULL, fact INTEGER NOT NULL, PRIMARY KEY (memory, fact)) WITHOUT ROWID;
  CREATE TABLE undone (id BLOB PRIMARY KEY) WITHOUT ROWID;
  CREATE TABLE blob (fact BLOB NOT NULL, digest TEXT NOT NULL, absence INTEGER NOT NULL,
    PRIMARY KEY (fact, digest)) WITHOUT ROWID;
  CREATE INDEX blob_missing ON blob (absence) WHERE absence = 1;
  CREATE TABLE memory (row INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, depth INTEGER NOT NULL, folded TEXT NOT NULL,
    status TEXT NOT NULL, into_id BLOB, subject TEXT, scope TEXT, source TEXT, trust TEXT, by TEXT, at TEXT,
    expires TEXT, digest BLOB, stamp INTEGER NOT NULL);
  CREATE INDEX memory_into ON memory (into_id) WHERE into_id IS NOT NULL;
  CREATE INDEX memory_subject ON memory (subject) WHERE subject IS NOT NULL;
  CREATE INDEX memory_stamp ON memory (stamp);
  CREATE TABLE sketch (key INTEGER NOT NULL, tag INTEGER NOT NULL, row INTEGER NOT NULL,
    PRIMARY KEY (key, tag, row)) WITHOUT ROWID;
  CREATE VIRTUAL TABLE words USING fts5 (list, tokenize = "ascii tokenchars '_'");
  CREATE VIRTUAL TABLE vocabulary USING fts5vocab (words, 'row');
`;

/** What is derived from texts alone, and so stays when the rest is made anew. */
export const VECTORS = `
  CREATE TABLE vector (digest BLOB NOT NULL, embedder TEXT NOT NULL, value BLOB NOT NULL,
    PRIMARY KEY (digest, embedder)) WITHOUT ROWID;
`;

/** Takes away everything that is derived from facts. */
export const NO_TABLES = `
  DROP TABLE vocabulary; DROP TABLE words; DROP TABLE sketch; DROP TABLE memory; DROP TABLE blob; DROP TABLE undone;
  DROP TABLE about; DROP TABLE fact; DROP TABLE state;
`;
