import { rmSync } from "node:fs";
import { Connection, isBusy, SUFFIXES } from "../../memory/index.js";
import type { FactId } from "../../session/index.js";
import type { Store } from "../../store/index.js";
import { besideStore, sqliteCode } from "../../store/index.js";

/** "rathc": an application id of SQLite, so that a file of another program is told from ours. */
const APPLICATION = 0x72617463;
/** The version of the tables and of what is written into them. A file with another one is made anew. */
const FORMAT = 2;

/**
 * Everything is derived from the store. `fact` has a row for each fact, in the order in which they were found. `words` has
 * its words and its exact values as tokens, and no text: what a search shows is read from the store. `session` has a row for each
 * name, and no row twice: facts of a name that is gone point to the old one; `trait` the values that sessions are chosen by, `fork` the places where branches
 * left, `blob` the facts whose words come from erasable content.
 */
const TABLES = `
  CREATE TABLE state (one INTEGER PRIMARY KEY CHECK (one = 1), token TEXT, erasures TEXT NOT NULL);
  INSERT INTO state VALUES (1, NULL, '');
  CREATE TABLE fact (row INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, session INTEGER NOT NULL, at INTEGER NOT NULL,
    tool TEXT, model TEXT);
  CREATE VIRTUAL TABLE words USING fts5 (text, type, actor, tool, model, content = '', contentless_delete = 1,
    detail = column, tokenize = "unicode61 remove_diacritics 2");
  CREATE TABLE session (row INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, head BLOB NOT NULL, changed INTEGER NOT NULL,
    state TEXT NOT NULL, summary TEXT NOT NULL);
  CREATE INDEX session_changed ON session (changed, row);
  CREATE INDEX session_state ON session (state, changed, row);
  CREATE TABLE trait (kind TEXT NOT NULL, value TEXT NOT NULL, session INTEGER NOT NULL,
    PRIMARY KEY (kind, value, session)) WITHOUT ROWID;
  CREATE INDEX trait_session ON trait (session);
  CREATE TABLE fork (place BLOB NOT NULL, session INTEGER NOT NULL, PRIMARY KEY (place, session)) WITHOUT ROWID;
  CREATE TABLE blob (digest BLOB NOT NULL, fact INTEGER NOT NULL, PRIMARY KEY (digest, fact)) WITHOUT ROWID;`;

/** The file beside the store; a store in memory has its catalogue in memory. */
function pathOf(store: Store): string {
  const path = besideStore(store);
  return path === undefined ? ":memory:" : `${path}.catalogue`;
}

/** Opens the catalogue of a store, or makes it anew where it is not one of ours, not of this version, or damaged. */
export function openCatalogue(store: Store): Connection {
  const path = pathOf(store);
  try {
    const connection = opened(path);
    if (isSound(connection)) return connection;
    connection.close();
  } catch (error) {
    if (isBusy(error)) return opened(":memory:");
  }
  return newCatalogue(store);
}

/** A catalogue with nothing in it. Where it cannot be kept, it is held in memory: it is only derived. */
export function newCatalogue(store: Store): Connection {
  try {
    for (const suffix of SUFFIXES) rmSync(`${pathOf(store)}${suffix}`, { force: true });
    return opened(pathOf(store));
  } catch {
    return opened(":memory:");
  }
}

/** Whether the file is damaged, cut off, or of another program. */
export function isBroken(error: unknown): boolean {
  return error instanceof SyntaxError || (sqliteCode(error) !== 0 && !isBusy(error));
}

function opened(path: string): Connection {
  const connection = new Connection(path);
  try {
    connection.exec("PRAGMA busy_timeout = 2000; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL");
    // Erased words must not stay in an unused page.
    connection.exec(
      "PRAGMA secure_delete = ON; PRAGMA cache_size = -16000; PRAGMA journal_size_limit = 4194304",
    );
    if (connection.get("SELECT 1 FROM sqlite_schema LIMIT 1") === undefined) {
      connection.exec("BEGIN IMMEDIATE");
      // Another process may have made it since.
      if (connection.get("SELECT 1 FROM sqlite_schema LIMIT 1") === undefined)
        connection.exec(`PRAGMA application_id = ${APPLICATION}; PRAGMA user_version = ${FORMAT}; ${TABLES}`);
      connection.exec("COMMIT");
    }
    return connection;
  } catch (error) {
    connection.close();
    throw error;
  }
}

function isSound(connection: Connection): boolean {
  return (
    connection.hasFormat(APPLICATION, FORMAT) &&
    connection.get("SELECT count(*) AS rows FROM state")?.rows === 1
  );
}

export function idIn(bytes: unknown): FactId {
  return Buffer.from(bytes as Uint8Array).toString("hex");
}
