import { closeSync, copyFileSync, existsSync, mkdtempSync, openSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { StoreError } from "../error.js";
import { openDatabase, type SqliteDatabase } from "./driver.js";
import { checkLog } from "./log.js";
import { logRow, sumOfRow } from "./names.js";

/** "rath" in ASCII, in the file's header: tells our databases from others'. */
const APPLICATION = 0x72617468;

/**
 * Each entry takes the schema one version further; opening an older store runs those it lacks.
 *
 * A fact's place (`p`) is `chain * 2^26 + place in the chain`; a chain is a stretch of history along first
 * parents, so a history is a few ranges of places, read without walking edges. `k` is the first 48 bits of
 * the id; the id itself is the digest of the line and is not stored twice. New lines are in `fresh`, older
 * ones in `packs`, with `ids` to find them (see lines.ts). `sum` covers a row that no id covers. `puts` has, commit
 * by commit, which blobs came without a fact and when: one row for all of them, or it would cost as much as the blobs.
 * `moves` is the log of names that moved, and `moved` the number of the last move of a name.
 */
const MIGRATIONS: readonly (string | ((database: SqliteDatabase) => void))[] = [
  `CREATE TABLE fresh (n INTEGER PRIMARY KEY, k INTEGER NOT NULL, p INTEGER NOT NULL, line TEXT NOT NULL);
   CREATE TABLE packs (p INTEGER PRIMARY KEY, last INTEGER NOT NULL, lines TEXT NOT NULL);
   CREATE TABLE ids (k INTEGER NOT NULL, p INTEGER NOT NULL, PRIMARY KEY (k, p)) WITHOUT ROWID;
   CREATE TABLE chains (chain INTEGER PRIMARY KEY, base INTEGER);
   CREATE INDEX chains_base ON chains (base);
   CREATE TABLE merges (child INTEGER NOT NULL, place INTEGER NOT NULL, parent INTEGER NOT NULL, PRIMARY KEY (child, place)) WITHOUT ROWID;
   CREATE INDEX merges_parent ON merges (parent);
   CREATE TABLE names (name TEXT PRIMARY KEY, p INTEGER, id TEXT, epoch INTEGER NOT NULL, owner TEXT, until INTEGER NOT NULL, sum INTEGER NOT NULL) WITHOUT ROWID;
   CREATE TABLE steps (name TEXT NOT NULL, key TEXT NOT NULL, id TEXT NOT NULL, sum INTEGER NOT NULL, PRIMARY KEY (name, key)) WITHOUT ROWID;
   CREATE TABLE snapshots (p INTEGER PRIMARY KEY, snapshot TEXT NOT NULL);
   CREATE TABLE blobs (digest BLOB NOT NULL UNIQUE, bytes BLOB NOT NULL);
   CREATE TABLE erasures (digest TEXT PRIMARY KEY, fact TEXT NOT NULL, by TEXT NOT NULL, at TEXT NOT NULL, why TEXT NOT NULL) WITHOUT ROWID;
   CREATE TABLE secrets (id TEXT PRIMARY KEY, secret BLOB NOT NULL, sum INTEGER NOT NULL) WITHOUT ROWID;
   CREATE TABLE generation (collected INTEGER NOT NULL);
   INSERT INTO generation VALUES (0);`,
  "CREATE TABLE puts (n INTEGER PRIMARY KEY, at INTEGER NOT NULL, digests BLOB NOT NULL)",
  // Copies of the file keep it, wherever they lie.
  `CREATE TABLE identity (id TEXT NOT NULL);
   INSERT INTO identity VALUES (lower(hex(randomblob(16))));`,
  logMoves,
];
/** Stores from this version on can be read without what later versions added. */
const READABLE = 2;

export const SCHEMA = MIGRATIONS.length;

/** Opens the database of a store, new or old, ready for durable writes. */
export function openSchema(path: string): SqliteDatabase {
  if (path === ":memory:" || path === "")
    throw new StoreError(
      "url",
      `Cannot keep a store at ${JSON.stringify(path)}: it would not last.`,
      'use "memory:", or give a path: "sqlite:./rath.db"',
    );
  checkLog(path);
  makeFile(path);
  const database = openDatabase(path);
  try {
    // Waiting comes first: changing the journal mode takes a lock that a starting neighbour may hold.
    database.exec("PRAGMA busy_timeout = 5000");
    // In this order: a neighbour that is just making the tables marks them as ours in the same commit.
    const tables = number(database, "(SELECT count(*) AS value FROM sqlite_schema)", true);
    const application = number(database, "application_id");
    const version = number(database, "user_version");
    // Only on a new file: on an old one even asking waits for a writer.
    if (tables === 0) database.exec("PRAGMA page_size = 4096; PRAGMA auto_vacuum = INCREMENTAL;");
    if (tables > 0 && application !== APPLICATION) {
      throw new StoreError(
        "not-a-store",
        `Cannot open ${path}: it is the database of another program.`,
        "choose another path; this file is left as it is",
      );
    }
    if (version > SCHEMA) {
      throw new StoreError(
        "newer",
        `Cannot open ${path}: its schema is ${version}, and this version of openrath supports up to ${SCHEMA}.`,
        "install a newer version of openrath",
        { data: { found: version, known: SCHEMA } },
      );
    }
    // A short log is written over again soon; syncing a file that does not grow is a fifth cheaper (measured).
    database.exec(
      `PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA secure_delete = ON; PRAGMA journal_size_limit = 67108864; PRAGMA wal_autocheckpoint = 500;`,
    );
    if (version < SCHEMA) migrate(database);
    database.exec("PRAGMA busy_timeout = 20");
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/**
 * Opens the database of a store that may not be written, to be read. A log beside it needs a file of SQLite's own that cannot be
 * made there: without a log the database is read as one that does not change, with one as a copy.
 */
export function openToRead(path: string): SqliteDatabase {
  const log = statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0;
  const ways = [
    () => openDatabase(path, { readOnly: true }),
    ...(log === 0 ? [() => openDatabase(`${pathToFileURL(path).href}?immutable=1`, { readOnly: true })] : []),
    () => openCopy(path),
  ];
  let reason: unknown;
  for (const way of ways) {
    let database: SqliteDatabase | undefined;
    try {
      database = way();
      const version = number(database, "user_version");
      if (number(database, "application_id") === APPLICATION && version >= READABLE && version <= SCHEMA) {
        if (version < LOGS_MOVES) withoutMoves(database);
        return database;
      }
      // Missing tables cannot be added.
      database.close();
    } catch (error) {
      reason ??= error;
      database?.close();
    }
  }
  throw reason;
}

/** The copy has no name from the moment it is open: a process that is killed leaves nothing of what people said in a temporary folder. */
function openCopy(path: string): SqliteDatabase {
  const folder = mkdtempSync(join(tmpdir(), "rath-read-"));
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  try {
    const copy = join(folder, "rath.db");
    for (const end of ["", "-wal"])
      if (existsSync(`${path}${end}`)) copyFileSync(`${path}${end}`, `${copy}${end}`);
    const database = openDatabase(copy);
    // Takes in the log, so that reading needs no other file.
    database.exec("PRAGMA journal_mode = DELETE");
    if (process.platform !== "win32") remove();
    return {
      exec: (sql) => database.exec(sql),
      prepare: (sql) => database.prepare(sql),
      close: () => {
        database.close();
        remove();
      },
    };
  } catch (error) {
    remove();
    throw error;
  }
}

/** A new store is its owner's alone: it holds what people said, and the keys of erasable content. */
function makeFile(path: string): void {
  try {
    closeSync(openSync(path, "ax", 0o600));
  } catch {
    // It is there already, or cannot be made: opening it says why.
  }
}

function migrate(database: SqliteDatabase): void {
  database.exec("BEGIN IMMEDIATE");
  try {
    // Asked again under the lock: another process may have been first.
    for (let version = number(database, "user_version"); version < SCHEMA; version++) {
      const migration = MIGRATIONS[version];
      if (typeof migration === "string") database.exec(migration);
      else migration?.(database);
      database.exec(`PRAGMA user_version = ${version + 1}; PRAGMA application_id = ${APPLICATION};`);
    }
    database.exec("COMMIT");
  } catch (error) {
    try {
      database.exec("ROLLBACK");
    } catch {
      // SQLite has already rolled back by itself after a failed write; the first failure is the news.
    }
    throw error;
  }
}

/** The names of an older store count as moved in the order of their names. */
function logMoves(database: SqliteDatabase): void {
  database.exec(`${MOVES};
    ALTER TABLE names ADD COLUMN moved INTEGER NOT NULL DEFAULT 0;
    CREATE INDEX names_moved ON names (moved)`);
  const log = database.prepare("INSERT INTO moves VALUES (?, ?, ?, ?, ?)");
  const count = database.prepare("UPDATE names SET moved = ?, sum = ? WHERE name = ?");
  let moves = 0;
  for (const { name, p, id, epoch, owner, until } of database
    .prepare("SELECT * FROM names ORDER BY name")
    .all()) {
    const moved = id === null ? 0 : ++moves;
    if (id !== null) log.run(...logRow({ n: moved, name: name as string, head: id as string, before: null }));
    count.run(moved, sumOfRow(name, p, id, epoch, owner, until, moved), name as string);
  }
}

/** Lets a store that is older than the log of moves, and may not be written, be read as one that has none. */
function withoutMoves(database: SqliteDatabase): void {
  database.exec(`CREATE TEMP ${MOVES.slice("CREATE ".length)};
    CREATE TEMP VIEW names AS SELECT *, row_number() OVER (ORDER BY name) AS moved FROM main.names`);
}

const MOVES =
  "CREATE TABLE moves (n INTEGER PRIMARY KEY, name TEXT NOT NULL, id BLOB, was BLOB, sum INTEGER NOT NULL)";
/** The first version with a log of moves. */
const LOGS_MOVES = 4;

function number(database: SqliteDatabase, what: string, query = false): number {
  const row = database.prepare(query ? `SELECT ${what} AS value` : `PRAGMA ${what}`).get() ?? {};
  return Number(Object.values(row)[0] ?? 0);
}
