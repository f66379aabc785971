import { digestOf, type FactId } from "../../session/index.js";
import { isFenced } from "../name/move.js";
import type { Fence, NameRecord } from "../shelf.js";
import type { Place } from "./chain.js";
import type { Connection } from "./connection.js";
import type { SqliteRow, SqliteValue } from "./driver.js";
import { keyOf } from "./lines.js";

/** No character comes after it. */
const LAST = "\u{10ffff}";
const COLUMNS = "name, id, epoch, owner, until";

/** Names, their leases, and the steps recorded under them. What writes is called in a transaction. */
export class Names {
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

  /** The names that begin so: a stretch of the index, as names are in the order of their bytes. */
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

  /** Sets where a name stands, and leaves its lease as it is in the record of before. */
  set(name: string, head: FactId, before: NameRecord | undefined): NameRecord {
    const now = { ...(before ?? { name, epoch: 0, until: 0 }), head };
    this.put(now);
    return now;
  }

  put({
    name,
    head,
    epoch,
    owner = null,
    until,
  }: Omit<NameRecord, "owner"> & { owner?: string | null }): void {
    const place = head === null ? null : this.#placeOf(head);
    this.#connection.run(
      "INSERT OR REPLACE INTO names VALUES (?, ?, ?, ?, ?, ?, ?)",
      name,
      place,
      head,
      epoch,
      owner,
      until,
      sumOfRow(name, place, head, epoch, owner, until),
    );
  }

  /** Takes a name away. The epoch stays and rises: should the name come again, a lease of before must not hold. */
  forget(name: string, fence?: Fence): "done" | "fenced" | "unknown" {
    const record = this.get(name);
    if (record === undefined || record.head === null) return "unknown";
    if (fence !== undefined && isFenced(record, fence)) return "fenced";
    this.#connection.run("DELETE FROM steps WHERE name = ?", name);
    // One that nobody ever leased has no lease to guard against, and leaves nothing behind.
    if (record.epoch === 0) this.#connection.run("DELETE FROM names WHERE name = ?", name);
    else this.put({ name, head: null, epoch: record.epoch + 1, until: 0 });
    return "done";
  }

  acquire(name: string, owner: string, until: number, now: number): NameRecord | undefined {
    const record = this.get(name);
    if (record?.owner !== undefined && record.owner !== owner && record.until > now) return undefined;
    const taken = { name, head: record?.head ?? null, epoch: (record?.epoch ?? 0) + 1, owner, until };
    this.put(taken);
    return taken;
  }

  extend(name: string, epoch: number, until: number): boolean {
    const record = this.get(name);
    if (record?.epoch !== epoch) return false;
    // Given back is given back: without an owner there is nothing to make longer.
    if (record.owner === undefined) return until === 0;
    // A lease that was given back must not pass the fence any more.
    if (until === 0) this.put({ name, head: record.head, epoch: epoch + 1, until });
    else this.put({ ...record, until });
    return true;
  }

  step(name: string, key: string): FactId | undefined {
    const row = this.#connection.get("SELECT id FROM steps WHERE name = ? AND key = ?", name, exactly(key));
    return row?.id as FactId | undefined;
  }

  addStep(name: string, key: string, head: FactId): void {
    const text = exactly(key);
    this.#connection.run(
      "INSERT INTO steps VALUES (?, ?, ?, ?)",
      name,
      text,
      head,
      sumOfRow(name, text, head),
    );
  }

  /** Forgets steps whose fact is gone: they cannot be answered any more. */
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

/** What a row comes to: names and steps are covered by no id, and an altered one would repeat a step or let a stale writer in. */
export function sumOfRow(...values: readonly (SqliteValue | undefined)[]): number {
  return keyOf(digestOf(JSON.stringify(values)));
}
