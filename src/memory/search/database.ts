import { createHash, randomUUID } from "node:crypto";
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { FactId } from "../../session/index.js";
import { sqliteCode } from "../../store/index.js";
import { Connection, isBusy, SUFFIXES } from "../derived-file.js";
import { TOKENS } from "./tokens.js";

/** The position of an index: its id of the space, which making of the tables it is, and the number of its changes. */
export type State = {
  readonly head: FactId | undefined;
  readonly build: string;
  readonly stamp: number;
  /** A digest of the erasures of the store at that time. */
  readonly erasures: string;
};

export function stateOf(connection: Connection): State {
  const row = connection.get("SELECT head, build, stamp, erasures FROM state");
  if (row === undefined) throw new DamagedIndex("the row of its state is missing");
  return { ...(row as State & typeof row), head: (row.head as FactId | null) ?? undefined };
}

/** The size of the log, in pages, at which it is written to the file: 4 MB. */
export const LOG_PAGES = 1_000;
/** The size to which the log is truncated: one long sync must not leave it long. */
const LOG_BYTES = LOG_PAGES * 4_096;

/** The file of a space's index, named so that it can be told and that no two spaces share one. */
export function fileOf(folder: string, space: string): string {
  const shown = space.replace(/[^A-Za-z0-9._-]+/g, "-").slice(0, 60);
  const sum = createHash("sha256").update(space.toWellFormed()).digest("hex").slice(0, 12);
  return join(folder, `${shown}-${sum}.sqlite`);
}

/** Two connections to an index: a writer, and a reader of the state before. In memory both are the same. */
export type Connections = { readonly path: string; readonly write: Connection; readonly read: Connection };

/** Opens an index, or makes it anew where it is not one of ours, not of this version, or damaged. */
export function openIndex(path: string, space: string): Connections {
  if (path === ":memory:") return inMemory(space);
  try {
    // It contains the texts, so only the owner of the store may read it.
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
    for (const suffix of SUFFIXES) rmSync(`${path}${suffix}`, { force: true });
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
      // Its content is derived, so nothing is lost.
    }
  }
}

function inMemory(space: string): Connections {
  const connection = new Connection(":memory:");
  make(connection, space);
  return { path: ":memory:", write: connection, read: connection };
}

function opened(path: string, space: string): Connections {
  const write = new Connection(path);
  try {
    // Written ahead and synced now and then: after a power cut it is as it was some changes ago, and whole.
    write.exec("PRAGMA busy_timeout = 2000; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL");
    write.exec(
      `PRAGMA cache_size = -32000; PRAGMA temp_store = MEMORY; PRAGMA wal_autocheckpoint = ${LOG_PAGES};
       PRAGMA journal_size_limit = ${LOG_BYTES}`,
    );
    // Content that was erased from the store must not stay in an unused page.
    write.exec("PRAGMA secure_delete = ON");
    if (isEmpty(write)) {
      write.exec("BEGIN IMMEDIATE");
      // Another process may have made it since.
      if (isEmpty(write)) make(write, space);
      write.exec("COMMIT");
    }
    // From here on, waiting for another process lets this one do other work.
    write.exec("PRAGMA busy_timeout = 20");
    const read = new Connection(path);
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

/** Removes everything that is derived from facts. In a transaction of the caller. */
export function emptied(connection: Connection, space: string): void {
  connection.exec(NO_TABLES);
  connection.exec(TABLES);
  begin(connection, space);
}

function begin(connection: Connection, space: string): void {
  connection.run("INSERT INTO state VALUES (1, ?, NULL, ?, 0, '')", space.toWellFormed(), randomUUID());
}

/** Asked on the connection that makes the tables: SQLite would not close another one after a check. */
function isSound({ write }: Connections, space: string): boolean {
  if (!write.hasFormat(APPLICATION, FORMAT)) return false;
  if (write.get("SELECT space FROM state")?.space !== space.toWellFormed()) return false;
  return write.get("PRAGMA quick_check(1)")?.quick_check === "ok";
}

/** Whether the file is damaged, truncated, of another program, or cannot be written. */
export function isBroken(error: unknown): boolean {
  // A row whose JSON is damaged is as bad as a damaged page.
  if (error instanceof DamagedIndex || error instanceof SyntaxError) return true;
  return sqliteCode(error) !== 0 && !isBusy(error);
}

export class DamagedIndex extends Error {}

/** "rath" and its index: an application id of SQLite, so that a file of somebody else is told from ours. */
const APPLICATION = 0x72617869;
/** The version of the tables and of the words in them. A file with another one is made anew. */
const FORMAT = 2_000 + TOKENS;

/**
 * Everything is derived from the facts of a space. `fact` holds them (only the depth of those that are not about memories),
 * `about` the memories that facts after their first are about, `undone` the facts that rollbacks undid. `memory` holds the
 * fields of filters, `words` (FTS5) the live memories alone, so that no score depends on others. The row of a memory whose
 * writing was undone stays with the status `gone`: other processes that hold the table must learn of it.
 */
const TABLES = `
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

/** Derived from texts alone, so it stays when the rest is made anew. */
const VECTORS = `
  CREATE TABLE vector (digest BLOB NOT NULL, embedder TEXT NOT NULL, value BLOB NOT NULL,
    PRIMARY KEY (digest, embedder)) WITHOUT ROWID;
`;

const NO_TABLES = `
  DROP TABLE vocabulary; DROP TABLE words; DROP TABLE sketch; DROP TABLE memory; DROP TABLE blob; DROP TABLE undone;
  DROP TABLE about; DROP TABLE fact; DROP TABLE state;
`;
