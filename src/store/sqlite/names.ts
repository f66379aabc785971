import { digestOf, type FactId } from "../../session/index.js";
import type { NameRecord, NameTable } from "../shelf.js";
import type { Place } from "./chain.js";
import type { Connection } from "./connection.js";
import type { SqliteRow, SqliteValue } from "./driver.js";
import { keyOf } from "./lines.js";

/** No character comes after it. */
const LAST = "\u{10ffff}";
const COLUMNS = "name, id, epoch, owner, until";

/** Methods that write are called in a transaction. */
export class Names implements NameTable {
  readonly #connection: Connection;
  readonly #placeOf: (id: FactId) => Place;

  constructor(connection: Connection, placeOf: (id: FactId) => Place) {
    this.#connection = connection;
    this.#placeOf = placeOf;
  }

  get(name: string): NameRecord | undefined {
    const row = this.#connection.get(`SELECT ${COLUMNS} FROM names WHERE name = ?`, name);
    return row && recordOf(row);
  }

  /** A stretch of the index, as names are in the order of their bytes. */
  under(start: string): readonly NameRecord[] {
    return this.#connection
      .all(
        `SELECT ${COLUMNS} FROM names WHERE name >= ? AND name < ? ORDER BY name`,
        start,
        `${start}${LAST}${LAST}`,
      )
      .map(recordOf);
  }

  /** Where names stand. */
  places(): readonly Place[] {
    return this.#connection.all("SELECT p FROM names WHERE p IS NOT NULL").map((row) => row.p as Place);
  }

  put({ name, head, epoch, owner, until }: NameRecord): void {
    const row = [name, head === null ? null : this.#placeOf(head), head, epoch, owner ?? null, until];
    this.#connection.run(
      "INSERT OR REPLACE INTO names VALUES (?, ?, ?, ?, ?, ?, ?)",
      ...row,
      sumOfRow(...row),
    );
  }

  drop(name: string): void {
    this.#connection.run("DELETE FROM steps WHERE name = ?", name);
    this.#connection.run("DELETE FROM names WHERE name = ?", name);
  }

  step(name: string, key: string): FactId | undefined {
    const row = this.#connection.get("SELECT id FROM steps WHERE name = ? AND key = ?", name, exactly(key));
    return row?.id as FactId | undefined;
  }

  addStep(name: string, key: string, head: FactId): void {
    const row = [name, exactly(key), head];
    this.#connection.run("INSERT INTO steps VALUES (?, ?, ?, ?)", ...row, sumOfRow(...row));
  }

  /** Forgets steps whose fact is gone: they cannot be answered. */
  dropSteps(gone: ReadonlySet<FactId>): void {
    if (gone.size === 0) return;
    for (const { id } of this.#connection.all("SELECT DISTINCT id FROM steps")) {
      if (gone.has(id as FactId)) this.#connection.run("DELETE FROM steps WHERE id = ?", id as FactId);
    }
  }
}

function recordOf(row: SqliteRow): NameRecord {
  return {
    name: row.name as string,
    head: row.id as FactId | null,
    epoch: row.epoch as number,
    until: row.until as number,
    ...(row.owner !== null && { owner: row.owner as string }),
  };
}

/** A text that SQLite tells from any other: some drivers end it at a NUL, and UTF-8 has no lone surrogates. */
function exactly(text: string): string {
  return JSON.stringify(text);
}

/** The sum of a row: names and steps are covered by no id, and an altered one would repeat a step or let a stale writer in. */
export function sumOfRow(...values: readonly (SqliteValue | undefined)[]): number {
  return keyOf(digestOf(JSON.stringify(values)));
}
