import { statSync } from "node:fs";
import { openDatabase, type SqliteDatabase } from "../../store/index.js";
import { nearestOf, showValue } from "../../util/index.js";
import { ExistingError, reasonOf } from "./error.js";
import { type Fields, requireFields } from "./fields.js";
import type { ExistingSource } from "./source.js";
import { entriesOf, type Row, rowText } from "./table.js";

/** What a table without a key of its own is read with; no column is called so. */
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
    entries: () => {
      const key = columns.key ?? ((row: Row) => keyOf(row[PLACE]));
      return entriesOf(
        async () => rowsOf(path, table, columns, use),
        { ...columns, key },
        use,
        (row) => {
          const { [PLACE]: _place, ...rest } = row;
          return rowText(rest);
        },
      );
    },
  });
}

function keyOf(place: unknown): string {
  return typeof place === "string" ? place : `rowid ${place}`;
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
      {
        data: { path, table },
        cause: error,
      },
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
