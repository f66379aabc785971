import type { FactId } from "../../session/index.js";
import type { MoveRecord, NamePage, NameRecord, NameTable } from "../shelf.js";
import type { Place } from "./chain.js";
import type { Rows, SqlRow } from "./rows.js";

/** No character comes after it. */
const LAST = "\u{10ffff}";
const COLUMNS = "name, id, epoch, owner, until, moved";
/** No name has control characters or half a pair of them. PostgreSQL cannot be asked for the first, and takes the second for another. */
const STRANGE = /[\p{Cc}\p{Cs}]/u;
/** As many names are sorted rather than sought among those that moved lately. */
const FEW = 5000;

/** The names of a database, and the log of their moves. */
export class NameReader implements Pick<NameTable, "get" | "under" | "page" | "moves" | "newestMove"> {
  readonly #rows: Rows;
  /** How far the clock of this process is ahead of the one that leases end by. */
  readonly #ahead: () => number;

  constructor(rows: Rows, ahead: () => number = () => 0) {
    this.#rows = rows;
    this.#ahead = ahead;
  }

  get(name: string): NameRecord | undefined {
    if (STRANGE.test(name)) return undefined;
    const row = this.#rows.get(`SELECT ${COLUMNS} FROM names WHERE name = ?`, name);
    return row && this.#recordOf(row);
  }

  /** A stretch of the index, as names are in the order of their bytes. */
  under(start: string): readonly NameRecord[] {
    return this.#rows
      .all(
        `SELECT ${COLUMNS} FROM names WHERE name >= ? AND name < ? ORDER BY name`,
        start,
        `${start}${LAST}${LAST}`,
      )
      .map((row) => this.#recordOf(row));
  }

  page(page: NamePage): readonly NameRecord[] {
    if (STRANGE.test(page.under)) return [];
    const range = [page.under, `${page.under}${LAST}${LAST}`];
    const limit = page.limit < 0 ? Number.MAX_SAFE_INTEGER : page.limit;
    const within = "id IS NOT NULL AND name >= ? AND name < ?";
    if (page.order === "name")
      return this.#rows
        .all(
          `SELECT ${COLUMNS} FROM names WHERE ${within} AND name > ? ORDER BY name LIMIT ?`,
          ...range,
          page.after?.split("\0", 1)[0] ?? "",
          limit,
        )
        .map((row) => this.#recordOf(row));
    const counted = `SELECT count(*) AS found FROM (SELECT 1 FROM names WHERE ${within} LIMIT ${FEW}) AS few`;
    const isFew = (this.#rows.get(counted, ...range)?.found as number) < FEW;
    // Many names are met soon on the way back through the moves; few are not.
    const order = isFew ? "+moved" : "moved";
    return this.#rows
      .all(
        `SELECT ${COLUMNS} FROM names WHERE ${within} AND ${order} < ? ORDER BY ${order} DESC LIMIT ?`,
        ...range,
        page.before,
        limit,
      )
      .map((row) => this.#recordOf(row));
  }

  moves(after: number, most: number): readonly MoveRecord[] {
    return this.#rows
      .all("SELECT n, name, id, was FROM moves WHERE n > ? ORDER BY n LIMIT ?", after, most)
      .map(({ n, name, id, was }) => ({
        n: n as number,
        name: name as string,
        head: idOf(id),
        before: idOf(was),
      }));
  }

  newestMove(): number {
    return (this.#rows.get("SELECT max(n) AS n FROM moves")?.n ?? 0) as number;
  }

  #recordOf(row: SqlRow): NameRecord {
    const record = recordOf(row);
    return record.until === 0 ? record : { ...record, until: record.until + this.#ahead() };
  }

  /** Where names stand. */
  places(): readonly Place[] {
    return this.#rows.all("SELECT p FROM names WHERE p IS NOT NULL").map((row) => row.p as Place);
  }
}

export function recordOf(row: SqlRow): NameRecord {
  return {
    name: row.name as string,
    head: row.id as FactId | null,
    epoch: row.epoch as number,
    until: row.until as number,
    moved: row.moved as number,
    ...(row.owner !== null && { owner: row.owner as string }),
  };
}

export function idOf(bytes: SqlRow[string] | undefined): FactId | null {
  return bytes instanceof Uint8Array ? Buffer.from(bytes).toString("hex") : null;
}
