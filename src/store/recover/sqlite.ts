import { digestOf, type FactId } from "../../session/index.js";
import { DamageError, problemOf } from "../error.js";
import type { Erasure } from "../shelf.js";
import { chainOf, type Place } from "../sql/chain.js";
import { openDatabase, type SqliteDatabase, type SqliteRow, storeErrorOf } from "../sqlite/driver.js";
import { keyOf } from "../sqlite/lines.js";
import { checkLog } from "../sqlite/log.js";
import { type PageRow, rowsInPages } from "./pages.js";
import type { Piece, Salvage } from "./recover.js";

/**
 * Reads what can be read of a damaged database: first through SQLite, from both ends of each table, row by
 * row; and where that meets damage, page by page without it.
 */
export function salvageSqlite(path: string): Salvage {
  return new SqliteSalvage(path);
}

class SqliteSalvage implements Salvage {
  readonly #path: string;
  readonly #database: SqliteDatabase | undefined;
  /** The first problem of SQLite; from then on pages are read as well. */
  #trouble: string | undefined;
  readonly #failure: unknown;
  #failed = 0;
  readonly #outdated: boolean = false;
  /** First bits of ids that the index has, with their places: a line that was altered has another id. */
  readonly #keys = new Map<number, Place>();
  readonly #ids = new Map<Place, FactId>();
  readonly #bases = new Map<number, Place | null>();
  readonly #blobs = new Map<string, Uint8Array>();
  readonly #names = new Map<string, { readonly p: Place; readonly id: FactId }>();

  constructor(path: string) {
    this.#path = path;
    try {
      checkLog(path);
    } catch (error) {
      // Through SQLite the store would look as it was before the damaged commit; its pages have what came later.
      this.#trouble = problemOf(error);
      this.#outdated = true;
    }
    try {
      this.#database = openDatabase(path, { readOnly: true });
      this.#database.prepare("SELECT count(*) FROM sqlite_schema").get();
    } catch (error) {
      this.#failure = error;
      this.#trouble = problemOf(storeErrorOf(error, path));
    }
  }

  async *lines(): AsyncGenerator<Piece> {
    for (const row of this.#rows("PRAGMA integrity_check(1)"))
      if (String(Object.values(row)[0]) !== "ok") this.#trouble ??= String(Object.values(row)[0]);
    for (const row of this.#both("SELECT k, p FROM ids ORDER BY k"))
      this.#keys.set(row.k as number, row.p as Place);
    for (const row of this.#both("SELECT chain, base FROM chains ORDER BY chain"))
      this.#bases.set(row.chain as number, row.base as Place | null);
    for (const row of this.#outdated
      ? []
      : this.#both("SELECT name, p, id FROM names WHERE id IS NOT NULL ORDER BY name"))
      this.#names.set(row.name as string, { p: row.p as Place, id: row.id as FactId });
    let found = 0;
    for (const piece of this.#throughSqlite()) {
      found += "line" in piece ? 1 : 0;
      yield piece;
    }
    if (this.#trouble === undefined) return;
    yield { place: this.#path, problem: this.#trouble };
    for (const piece of this.#throughPages()) {
      found += 1;
      yield piece;
    }
    // Nothing of ours is in the file: better to say why it does not open.
    if (found === 0 && this.#failure !== undefined) throw storeErrorOf(this.#failure, this.#path);
  }

  *#throughSqlite(): Generator<Piece> {
    const rows: SqliteRow[] = [];
    for (const row of this.#both("SELECT n, p, k FROM fresh ORDER BY n"))
      rows.push({ ...row, text: "SELECT line AS text FROM fresh WHERE n = ?" });
    for (const row of this.#both("SELECT p AS n, p FROM packs ORDER BY p"))
      rows.push({ ...row, text: "SELECT lines AS text FROM packs WHERE p = ?" });
    for (const { n, p, k, text } of rows) {
      const place = `${this.#path} fact ${String(p)}`;
      try {
        const value = this.#database?.prepare(String(text)).get(n as number)?.text;
        if (typeof value !== "string") throw new DamageError(place, "it cannot be read");
        yield* this.#linesOf(p as Place, value, k as number | undefined);
      } catch (error) {
        this.#trouble ??= problemOf(error);
        yield { place, problem: problemOf(error) };
      }
    }
  }

  #linesOf(p: Place, text: string, k?: number): Piece[] {
    return text.split("\n").map((line, index) => {
      const id = digestOf(line);
      const indexed = this.#keys.get(keyOf(id));
      const sure = k === keyOf(id) || indexed !== undefined;
      if (!sure) this.#trouble ??= "a line is not the one that was written";
      else this.#ids.set(indexed ?? p + index, id);
      return { place: `${this.#path} fact ${p + index}`, line, sure };
    });
  }

  /** Rows are told apart by what they hold: what says which table they are of may be what is damaged. */
  *#throughPages(): Generator<Piece> {
    const packs: { row: PageRow; text: string }[] = [];
    const known = new Set(this.#ids.values());
    for (const row of rowsInPages(this.#path)) {
      const { rowid, values } = row;
      const [one, two, three, four] = values;
      const width = values.length;
      const isNumbered = typeof two === "number";
      if (rowid === undefined) {
        if (width === 2 && typeof one === "number" && isNumbered) this.#keys.set(one, two);
        else if (
          (width === 7 || width === 8) &&
          typeof one === "string" &&
          isNumbered &&
          typeof three === "string"
        ) {
          if (!this.#names.has(one)) this.#names.set(one, { p: two, id: three });
        }
      } else if (width === 4 && isNumbered && typeof three === "number" && typeof four === "string") {
        packs.push({ row: { ...row, rowid: three }, text: four });
        if (keyOf(digestOf(four)) === two) this.#keys.set(two, three);
      } else if (width === 3 && one === null && typeof three === "string") packs.push({ row, text: three });
      else if (width === 2 && one === null && (two === null || isNumbered)) {
        if (!this.#bases.has(rowid)) this.#bases.set(rowid, two);
      } else if (width === 2 && two instanceof Uint8Array) this.#blobs.set(digestOf(two), two);
    }
    for (const { row, text } of packs) {
      for (const piece of this.#linesOf(row.rowid as Place, text)) {
        if (!("line" in piece) || known.has(digestOf(piece.line))) continue;
        // A row that is cut off ends in half a line, and old rows stand about in pages: neither is news.
        if (piece.line.startsWith('{"rath":') && piece.line.endsWith("}"))
          yield { ...piece, place: `${this.#path} page ${row.page}` };
      }
    }
  }

  blob(digest: string): Uint8Array | undefined {
    const [row] = [...this.#rows("SELECT bytes FROM blobs WHERE digest = ?", Buffer.from(digest, "hex"))];
    return row?.bytes instanceof Uint8Array && digestOf(row.bytes) === digest
      ? row.bytes
      : (this.#blobs.get(digest) ?? (row?.bytes as Uint8Array | undefined));
  }

  erased(digest: string): Erasure | undefined {
    const [row] = [...this.#rows("SELECT * FROM erasures WHERE digest = ?", digest)];
    return row as Erasure | undefined;
  }

  async *names(): AsyncGenerator<{ name: string; ids: readonly FactId[] }> {
    const chains = new Map<number, Place[]>();
    for (const place of this.#ids.keys()) {
      const chain = chains.get(chainOf(place));
      if (chain === undefined) chains.set(chainOf(place), [place]);
      else chain.push(place);
    }
    for (const [name, { p, id }] of this.#names) {
      // Where the newest facts are lost, the name goes back along first parents to the last that is there.
      const back = [id];
      const seen = new Set<number>();
      for (
        let at: Place | null = p;
        at !== null && !seen.has(chainOf(at));
        at = this.#bases.get(chainOf(at)) ?? null
      ) {
        const last: Place = at;
        seen.add(chainOf(last));
        const before = (chains.get(chainOf(last)) ?? [])
          .filter((place) => place <= last)
          .sort((one, other) => other - one);
        for (const place of before)
          if (this.#ids.get(place) !== id) back.push(this.#ids.get(place) as FactId);
      }
      yield { name, ids: back };
    }
  }

  close(): void {
    this.#database?.close();
  }

  /** Rows from both ends: the way from one end stops at the damage, the way from the other goes around it. */
  *#both(sql: string): Generator<SqliteRow> {
    const rows: SqliteRow[] = [];
    const count = this.#failed;
    for (const row of this.#rows(sql)) {
      rows.push(row);
      yield row;
    }
    if (this.#failed === count) return;
    const seen = new Set(rows.map((row) => JSON.stringify(row)));
    for (const row of this.#rows(`${sql} DESC`)) if (!seen.has(JSON.stringify(row))) yield row;
  }

  *#rows(sql: string, ...values: (string | Uint8Array)[]): Generator<SqliteRow> {
    if (this.#database === undefined) return;
    try {
      yield* this.#database.prepare(sql).iterate(...values) as Iterable<SqliteRow>;
    } catch (error) {
      this.#failed += 1;
      this.#trouble ??= problemOf(error);
    }
  }
}
