import { createHash } from "node:crypto";
import { statSync } from "node:fs";
import { digestOf } from "../../session/index.js";
import { openDatabase, type SqliteDatabase } from "../../store/index.js";
import { nearestOf, optionNames, showValue } from "../../util/index.js";
import { requireFunction } from "../../workflow/index.js";
import type { ExistingEntry, ExistingSource, Field, Fields } from "./source.js";
import { ExistingError, FIELDS, isTrace, reasonOf, recordOf, requireFields } from "./source.js";

export type Row = { readonly [column: string]: unknown };
export type Rows = Iterable<Row> | AsyncIterable<Row>;

export type TableOptions = Fields<Row> & {
  /** Where it is, in words that will mean the same later: "postgres chat.messages". Never a secret. */
  readonly source: string;
};

/**
 * The rows of a table. A function or a list can be read again for a check; an iterator cannot.
 *
 * ```ts
 * tableOf(() => database.stream("select * from messages order by id"), { source: "chat.messages", key: "id", session: "thread" });
 * ```
 */
export function tableOf(rows: Rows | (() => Rows | Promise<Rows>), options: TableOptions): ExistingSource {
  const use = "link the rows of a table";
  const refuse = (reason: string, hint: string): Error => new ExistingError("option", use, reason, hint);
  requireFields(options, use, [...FIELDS, "source"]);
  requireSource(options.source, use);
  if (typeof rows !== "object" || rows === null)
    requireFunction(
      rows,
      "rows",
      refuse,
      'tableOf(() => rows, { source: "chat.messages", session: "thread" })',
    );
  return Object.freeze<ExistingSource>({
    format: "table",
    source: options.source,
    isTrace: isTrace(options),
    entries: () => entriesOf(async () => (typeof rows === "function" ? rows() : rows), options, use),
  });
}

/** Reads rows one by one; the digest of all is that of the digests, in the order in which they came. */
export async function* entriesOf<One extends object>(
  rows: () => Promise<Iterable<One> | AsyncIterable<One>>,
  fields: Fields<One>,
  use: string,
  written: (row: One) => string = rowText,
): AsyncGenerator<ExistingEntry> {
  const all = createHash("sha256");
  let number = 0;
  for await (const row of listed(rows, use)) {
    number += 1;
    const where = `row ${number}`;
    if (typeof row !== "object" || row === null) {
      yield { skipped: { where, why: "it is not an object" } };
      continue;
    }
    let text: string;
    try {
      text = written(row);
    } catch (error) {
      yield { skipped: { where, why: `it cannot be written down: ${reasonOf(error)}` } };
      continue;
    }
    const digest = digestOf(text);
    all.update(digest);
    const record = recordOf(row, digest, where, fields);
    yield typeof record === "string" ? { skipped: { where, why: record } } : { record };
  }
  yield { digest: all.digest("hex") };
}

/** The rows, and whatever goes wrong with them as what it is. */
async function* listed<One>(
  rows: () => Promise<Iterable<One> | AsyncIterable<One>>,
  use: string,
): AsyncGenerator<One> {
  try {
    const all = await rows();
    if (typeof all !== "object" || all === null || !(Symbol.iterator in all || Symbol.asyncIterator in all))
      throw new TypeError("it gives no rows");
    for await (const row of all) yield row;
  } catch (error) {
    if (error instanceof ExistingError) throw error;
    throw new ExistingError("broken", use, reasonOf(error), "read it again: what was linked is kept", {
      cause: error,
    });
  }
}

/** A row as a text that is the same whenever its values are: whatever a driver gives has one way to be written. */
export function rowText(row: object): string {
  return JSON.stringify(row, (_key, value: unknown) => {
    if (typeof value === "bigint") return String(value);
    if (value instanceof Uint8Array) return digestOf(value);
    if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
    return Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)));
  });
}

export function requireSource(source: unknown, use: string): void {
  if (typeof source === "string" && source !== "" && source.length <= 500 && source.isWellFormed()) return;
  throw new ExistingError("option", use, "it does not say where it is", 'source: "chat.messages"');
}

/** A point of a vector database, without its vector. */
export type Point = {
  readonly id: string | number;
  readonly text?: string;
  readonly metadata?: { readonly [field: string]: unknown };
};

export interface VectorStore {
  list(): AsyncIterable<Point> | Iterable<Point>;
}

export type VectorOptions = {
  /** Where it is, in words that will mean the same later. Never a secret. */
  readonly source: string;
  /** In the metadata of a point. */
  readonly session: Field<{ readonly [field: string]: unknown }>;
  readonly at?: Field<{ readonly [field: string]: unknown }>;
  readonly role?: Field<{ readonly [field: string]: unknown }>;
};

const OPTIONS = optionNames<VectorOptions>()("source session at role");

/**
 * The points of a vector database, found again by their ids.
 *
 * ```ts
 * vectorsOf({ list: () => pages(collection) }, { source: "qdrant notes", session: "thread" });
 * ```
 */
export function vectorsOf(store: VectorStore, options: VectorOptions): ExistingSource {
  const use = "link the points of a vector database";
  requireFields(options, use, OPTIONS);
  requireSource(options.source, use);
  requireFunction(
    store?.list,
    "list",
    (reason, hint) => new ExistingError("option", use, reason, hint),
    "{ list: async function* () { yield { id, text, metadata }; } }",
  );
  const { session, at, role } = options;
  const fields: Fields<Point> = {
    key: "id",
    text: "text",
    session: inMetadata(session),
    ...(at !== undefined && { at: inMetadata(at) }),
    ...(role !== undefined && { role: inMetadata(role) }),
  };
  return Object.freeze<ExistingSource>({
    format: "vectors",
    source: options.source,
    entries: () => entriesOf(async () => store.list(), fields, use),
  });
}

function inMetadata(field: Field<{ readonly [field: string]: unknown }>): Field<Point> {
  return typeof field === "string" ? `metadata.${field}` : ({ metadata }) => field(metadata ?? {});
}

/** The alias of the place of a row, for a table without a key; no column has this name. */
const PLACE = "openrath rowid";

/**
 * A table of an SQLite file, which is only read.
 *
 * ```ts
 * sqliteTable("chat.db", "messages", { session: "thread_id", at: "created", role: "role", text: "body" });
 * ```
 */
export function sqliteTable(path: string, table: string, columns: Fields<Row>): ExistingSource {
  const use = `link the table ${showValue(table)} of ${showValue(path)}`;
  requireFields(columns, use);
  for (const [name, value] of Object.entries({ path, table }))
    if (typeof value !== "string" || value === "" || value.includes("\0"))
      throw new ExistingError(
        "option",
        use,
        `its ${name} is ${showValue(value)}`,
        'sqliteTable("chat.db", "messages", { session: "thread_id" })',
      );
  return Object.freeze<ExistingSource>({
    format: "sqlite",
    source: `${path}#${table}`,
    isTrace: isTrace(columns),
    entries: () => {
      const place = ({ [PLACE]: at }: Row) => (typeof at === "string" ? at : `rowid ${at}`);
      return entriesOf(
        async () => rowsOf(path, table, columns, use),
        { ...columns, key: columns.key ?? place },
        use,
        (row) => {
          const { [PLACE]: _place, ...rest } = row;
          return rowText(rest);
        },
      );
    },
  });
}

function* rowsOf(path: string, table: string, columns: Fields<Row>, use: string): Generator<Row> {
  let database: SqliteDatabase | undefined;
  try {
    if (!statSync(path).isFile()) throw missing(use, "it is not a file");
    database = openDatabase(path, { readOnly: true });
    const select = database.prepare(selectOf(database, table, columns, use));
    // A whole number that JavaScript cannot hold exactly would end the reading.
    select.setReadBigInts(true);
    yield* select.iterate();
  } catch (error) {
    if (error instanceof ExistingError) throw error;
    if ((error as { code?: unknown }).code === "ENOENT") throw missing(use, reasonOf(error));
    throw new ExistingError(
      "unreadable",
      use,
      reasonOf(error),
      "check that it is an SQLite file that no process locks",
      { data: { path, table }, cause: error },
    );
  } finally {
    database?.close();
  }
}

function missing(use: string, reason: string): ExistingError {
  return new ExistingError("missing", use, reason, "look at the path: it has to be a file that can be read");
}

function selectOf(database: SqliteDatabase, table: string, columns: Fields<Row>, use: string): string {
  const known = database.prepare("SELECT name, pk FROM pragma_table_info(?)").all(table);
  const names = known.map(({ name }) => String(name));
  if (names.length === 0) {
    const tables = database.prepare("SELECT name FROM sqlite_schema WHERE type IN ('table', 'view')").all();
    throw unknown(
      "table",
      table,
      tables.map(({ name }) => String(name)),
      use,
    );
  }
  for (const column of Object.values(columns))
    if (typeof column === "string" && !names.includes(column)) throw unknown("column", column, names, use);
  const primary = known.filter(({ pk }) => Number(pk) > 0).map(({ name }) => quoted(String(name)));
  const view = database.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'view' AND name = ?").get(table);
  if (columns.key === undefined && view !== undefined)
    throw new ExistingError(
      "columns",
      use,
      "a view has no places of its own",
      'say what finds a row again: key: "id"',
    );
  const place = primary.length === 0 ? "rowid" : `json_array(${primary.join(", ")})`;
  const order = primary.length === 0 ? "rowid" : primary.join(", ");
  return columns.key === undefined
    ? `SELECT ${place} AS ${quoted(PLACE)}, * FROM ${quoted(table)} ORDER BY ${order}`
    : `SELECT * FROM ${quoted(table)}`;
}

function unknown(
  what: "table" | "column",
  name: string,
  known: readonly string[],
  use: string,
): ExistingError {
  const meant = nearestOf(name, known);
  return new ExistingError(
    "columns",
    use,
    `there is no ${what} ${showValue(name)}`,
    meant === undefined ? `there are ${known.slice(0, 20).join(", ") || "none"}` : `did you mean "${meant}"?`,
  );
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
