import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import type { FactId } from "../../session/index.js";
import { bytesOf, Connection, keyOf } from "../derived-file.js";

/** How long SQLite waits for another process. The rest of the waiting lets this process do other work. */
const BUSY_MS = 50;
/** "lind" in ASCII: distinguishes our files from others. */
const APPLICATION = 0x6c696e64;
/** A file with another number has another format, and is made anew. */
const FORMAT = 4;

/**
 * The descendants of readings, in a form that can be queried: a million facts after one reading are one node.
 *
 * A node is a reading that found something, a detached root, or a fact with parents of different nodes. A fact that descends
 * from it belongs to it, up to the next node. Facts without a node are not kept here. An `edge` leads from a node to the next;
 * its `turn` says whether there is a path without a new turn, and the lowest bit of a fact's `kind` says the same of the path
 * from its node. A detached root cites the session that it was detached from, which may arrive later or never: a `way` is an
 * edge or such a citation. `k` is the first 48 bits of an id. `root` is the first fact of a memory space, which forks of a
 * space share. The index covers the past of the sessions in `head`: those with names, and cited facts that no name leads to. The
 * names stand as they did at the move `state.token` of the store.
 */
const SCHEMA = `
  CREATE TABLE state (token TEXT NOT NULL);
  INSERT INTO state VALUES ('');
  CREATE TABLE name (name TEXT PRIMARY KEY, id TEXT NOT NULL) WITHOUT ROWID;
  CREATE INDEX name_id ON name (id);
  CREATE TABLE head (id TEXT PRIMARY KEY, cited INTEGER NOT NULL, node INTEGER NOT NULL, root TEXT) WITHOUT ROWID;
  CREATE INDEX head_cited ON head (id) WHERE cited = 1;
  CREATE INDEX head_node ON head (node) WHERE node > 0;
  CREATE INDEX head_root ON head (root) WHERE root IS NOT NULL;
  CREATE TABLE fact (n INTEGER PRIMARY KEY, k INTEGER NOT NULL, id BLOB NOT NULL, node INTEGER NOT NULL, kind INTEGER NOT NULL);
  CREATE INDEX fact_k ON fact (k);
  CREATE INDEX fact_node ON fact (node, kind) WHERE kind > 1;
  CREATE TABLE node (n INTEGER PRIMARY KEY, fact TEXT NOT NULL UNIQUE, at TEXT, by TEXT, space TEXT, branch TEXT, before TEXT);
  CREATE TABLE edge (parent INTEGER NOT NULL, child INTEGER NOT NULL, turn INTEGER NOT NULL, PRIMARY KEY (parent, child)) WITHOUT ROWID;
  CREATE INDEX edge_child ON edge (child);
  CREATE TABLE hit (memory TEXT NOT NULL, node INTEGER NOT NULL, score REAL, shown INTEGER NOT NULL, PRIMARY KEY (memory, node)) WITHOUT ROWID;
  CREATE TABLE amount (node INTEGER NOT NULL, type TEXT NOT NULL, n INTEGER NOT NULL, PRIMARY KEY (node, type)) WITHOUT ROWID;
  CREATE TABLE about (fact TEXT NOT NULL, memory TEXT NOT NULL, space TEXT, root TEXT, PRIMARY KEY (fact, memory)) WITHOUT ROWID;
  CREATE INDEX about_memory ON about (memory);
  CREATE TABLE cite (fact TEXT NOT NULL, cited TEXT NOT NULL, node INTEGER NOT NULL, PRIMARY KEY (fact, cited)) WITHOUT ROWID;
  CREATE INDEX cite_cited ON cite (cited);
  CREATE INDEX cite_node ON cite (node) WHERE node > 0;
  CREATE TABLE outside (digest TEXT NOT NULL, fact TEXT NOT NULL, open INTEGER NOT NULL, PRIMARY KEY (digest, fact)) WITHOUT ROWID;
  CREATE INDEX outside_open ON outside (open, digest, fact) WHERE open > 0;
  CREATE TABLE missing (cited TEXT PRIMARY KEY) WITHOUT ROWID;
  CREATE VIEW way AS SELECT parent, child FROM edge
    UNION ALL SELECT cite.node, node.n FROM cite JOIN node ON node.fact = cite.fact
    WHERE cite.node > 0 AND NOT EXISTS (SELECT 1 FROM about WHERE about.fact = cite.fact);`;

/** The database of the index, in a file or in memory. */
export class LineageFile extends Connection {
  /** Opens or creates it. `isCurrent` is false for a file of another format. */
  constructor(path: string | undefined) {
    if (path !== undefined) mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    super(path ?? ":memory:");
    try {
      // A rollback journal, and no log: a log that outlives its connection would describe a file that is gone.
      this.exec(`PRAGMA busy_timeout = ${BUSY_MS}; PRAGMA cache_size = -262144; PRAGMA temp_store = MEMORY;
        PRAGMA journal_mode = DELETE; PRAGMA synchronous = NORMAL;`);
    } catch (error) {
      this.close();
      throw error;
    }
  }

  /** Whether it has the tables of this format. */
  get isCurrent(): boolean {
    return this.hasFormat(APPLICATION, FORMAT);
  }

  /** The newest move of the store that was taken in; "" where none was. */
  get token(): string {
    return this.get("SELECT token FROM state")?.token as string;
  }

  /** Empties it and creates its tables. In a transaction. */
  make(): void {
    const tables = this.all(
      "SELECT type, name FROM sqlite_schema WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%'",
    );
    for (const { type, name } of tables)
      this.exec(`DROP ${type === "view" ? "VIEW" : "TABLE"} "${String(name).replaceAll('"', '""')}"`);
    this.exec(`${SCHEMA} PRAGMA user_version = ${FORMAT}; PRAGMA application_id = ${APPLICATION};`);
  }

  /** The row of a fact; undefined when it descends from no reading. */
  find(id: FactId): { readonly n: number; readonly node: number; readonly kind: number } | undefined {
    return this.get("SELECT n, node, kind FROM fact WHERE k = ? AND id = ?", keyOf(id), bytesOf(id)) as
      | { n: number; node: number; kind: number }
      | undefined;
  }
}
