import { TOKENS } from "./tokens.js";

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
