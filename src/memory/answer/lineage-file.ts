import { mkdirSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import type { FactId } from "../../session/index.js";
import { openDatabase, type SqliteDatabase, type SqliteStatement } from "../../store/index.js";

/** How long this process may stand still for another one. Whoever needs more patience lets others go on meanwhile. */
const BUSY_MS = 50;
/** "lind" in ASCII: tells our files from others'. */
const APPLICATION = 0x6c696e64;
/** Another number is another format: a file that has it is made anew. */
const FORMAT = 2;

/**
 * What has happened since memories were read, in a form that can be asked: a million facts after one reading are one node.
 *
 * A node is a reading that found something, a detached root, or a fact in which facts of different nodes come together; every
 * fact that comes from it, up to the next node, is of that node. Other facts are of no node and are not kept here. An
 * `edge` leads from a node to the next; `turn` says whether there is a way on which nobody has begun a new turn, and the lowest bit
 * of a fact's `kind` the same of the way from its node. A detached root cites the session that it was detached from, which may
 * come later or never: a `way` is an edge, or leads from there. `k` is the first 48 bits of an id. `root` is the first fact of a
 * memory space: forks of a space have it in common. The index covers the past of the sessions in `head`: those of names, and
 * facts that are cited and that no name leads to.
 */
const SCHEMA = `
  CREATE TABLE head (id TEXT PRIMARY KEY, cited INTEGER NOT NULL, root TEXT) WITHOUT ROWID;
  CREATE TABLE fact (n INTEGER PRIMARY KEY, k INTEGER NOT NULL, id BLOB NOT NULL, node INTEGER NOT NULL, kind INTEGER NOT NULL);
  CREATE INDEX fact_k ON fact (k);
  CREATE INDEX fact_node ON fact (node, kind) WHERE kind > 1;
  CREATE TABLE node (n INTEGER PRIMARY KEY, fact TEXT NOT NULL UNIQUE, at TEXT, by TEXT, space TEXT, branch TEXT, before TEXT);
  CREATE TABLE edge (parent INTEGER NOT NULL, child INTEGER NOT NULL, turn INTEGER NOT NULL, PRIMARY KEY (parent, child)) WITHOUT ROWID;
  CREATE INDEX edge_child ON edge (child);
  CREATE TABLE hit (memory TEXT NOT NULL, node INTEGER NOT NULL, score REAL, shown INTEGER NOT NULL, PRIMARY KEY (memory, node)) WITHOUT ROWID;
  CREATE INDEX hit_node ON hit (node);
  CREATE TABLE amount (node INTEGER NOT NULL, type TEXT NOT NULL, n INTEGER NOT NULL, PRIMARY KEY (node, type)) WITHOUT ROWID;
  CREATE TABLE about (fact TEXT NOT NULL, memory TEXT NOT NULL, space TEXT, root TEXT, PRIMARY KEY (fact, memory)) WITHOUT ROWID;
  CREATE INDEX about_memory ON about (memory);
  CREATE TABLE cite (fact TEXT NOT NULL, cited TEXT NOT NULL, node INTEGER NOT NULL, PRIMARY KEY (fact, cited)) WITHOUT ROWID;
  CREATE INDEX cite_cited ON cite (cited);
  CREATE INDEX cite_node ON cite (node) WHERE node > 0;
  CREATE TABLE outside (digest TEXT NOT NULL, fact TEXT NOT NULL, open INTEGER NOT NULL, PRIMARY KEY (digest, fact)) WITHOUT ROWID;
  CREATE INDEX outside_fact ON outside (fact);
  CREATE TABLE missing (cited TEXT PRIMARY KEY) WITHOUT ROWID;
  CREATE VIEW way AS SELECT parent, child FROM edge
    UNION ALL SELECT cite.node, node.n FROM cite JOIN node ON node.fact = cite.fact
    WHERE cite.node > 0 AND NOT EXISTS (SELECT 1 FROM about WHERE about.fact = cite.fact);`;

const TABLES = ["head", "fact", "node", "edge", "hit", "amount", "about", "cite", "outside", "missing"];

/** A database of the index, in a file or in memory, and its statements by their text. */
export class LineageFile {
  readonly #database: SqliteDatabase;
  readonly #statements = new Map<string, SqliteStatement>();

  private constructor(database: SqliteDatabase) {
    this.#database = database;
  }

  /** Opens or makes it. One that is not of this format is emptied; one that is none fails. */
  static open(path: string | undefined): LineageFile {
    if (path !== undefined) mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    const database = openDatabase(path ?? ":memory:");
    try {
      // A rollback journal, and no log: a log that outlives its connection would speak for a file that is not there.
      database.exec(`PRAGMA busy_timeout = ${BUSY_MS}; PRAGMA cache_size = -262144; PRAGMA temp_store = MEMORY;
        PRAGMA journal_mode = DELETE; PRAGMA synchronous = NORMAL;`);
      return new LineageFile(database);
    } catch (error) {
      database.close();
      throw error;
    }
  }

  static remove(path: string): void {
    for (const end of ["", "-wal", "-shm", "-journal"]) rmSync(`${path}${end}`, { force: true });
  }

  /** Whether it has the tables of this format. */
  get isCurrent(): boolean {
    return this.#pragma("user_version") === FORMAT && this.#pragma("application_id") === APPLICATION;
  }

  /** Empties it and makes its tables. In a transaction. */
  make(): void {
    this.#statements.clear();
    const there = this.#database.prepare(
      "SELECT type, name FROM sqlite_schema WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%'",
    );
    for (const { type, name } of there.all())
      this.#database.exec(
        `DROP ${type === "view" ? "VIEW" : "TABLE"} "${String(name).replaceAll('"', '""')}"`,
      );
    this.#database.exec(SCHEMA);
    this.#database.exec(`PRAGMA user_version = ${FORMAT}; PRAGMA application_id = ${APPLICATION};`);
  }

  clear(): void {
    for (const table of TABLES) this.#database.exec(`DELETE FROM ${table}`);
  }

  exec(sql: string): void {
    this.#database.exec(sql);
  }

  statement(sql: string): SqliteStatement {
    let statement = this.#statements.get(sql);
    if (statement === undefined) {
      statement = this.#database.prepare(sql);
      this.#statements.set(sql, statement);
    }
    return statement;
  }

  /** What it knows of a fact; undefined when no reading is in its past. */
  find(id: FactId): { readonly n: number; readonly node: number; readonly kind: number } | undefined {
    return this.statement("SELECT n, node, kind FROM fact WHERE k = ? AND id = ?").get(
      keyOf(id),
      bytesOf(id),
    ) as { n: number; node: number; kind: number } | undefined;
  }

  close(): void {
    this.#statements.clear();
    this.#database.close();
  }

  #pragma(name: string): number {
    return Number(Object.values(this.#database.prepare(`PRAGMA ${name}`).get() ?? {})[0] ?? 0);
  }
}

export function keyOf(id: FactId): number {
  return Number.parseInt(id.slice(0, 12), 16);
}

export function bytesOf(id: FactId): Uint8Array {
  return Buffer.from(id, "hex");
}
