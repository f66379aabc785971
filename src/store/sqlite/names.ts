import { digestOf, type FactId } from "../../session/index.js";
import { LOGGED_MOVES } from "../commit.js";
import type { MoveRecord, NameRecord, NameTable } from "../shelf.js";
import type { Place } from "../sql/chain.js";
import { NameReader } from "../sql/names.js";
import type { Connection } from "./connection.js";
import type { SqliteValue } from "./driver.js";
import { keyOf } from "./lines.js";

/** How often the log of moves is cut. */
const CUT_EVERY = 1024;

/** Methods that write are called in a transaction. */
export class Names extends NameReader implements NameTable {
  readonly #connection: Connection;
  readonly #placeOf: (id: FactId) => Place;

  constructor(connection: Connection, placeOf: (id: FactId) => Place) {
    super(connection);
    this.#connection = connection;
    this.#placeOf = placeOf;
  }

  #log(name: string, before: FactId | null, head: FactId | null): number {
    const n = this.newestMove() + 1;
    this.#connection.run("INSERT INTO moves VALUES (?, ?, ?, ?, ?)", ...logRow({ n, name, head, before }));
    if (n % CUT_EVERY === 0) this.#connection.run("DELETE FROM moves WHERE n <= ?", n - LOGGED_MOVES);
    return n;
  }

  put({ name, head, epoch, owner, until }: Omit<NameRecord, "moved">): void {
    const stood = this.get(name) ?? { head: null, moved: 0 };
    const moved = stood.head === head ? stood.moved : this.#log(name, stood.head, head);
    const row = [name, head === null ? null : this.#placeOf(head), head, epoch, owner ?? null, until];
    this.#connection.run(
      "INSERT OR REPLACE INTO names (name, p, id, epoch, owner, until, moved, sum) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
      ...row,
      moved,
      sumOfRow(...row, moved),
    );
  }

  drop(name: string): void {
    const head = this.get(name)?.head ?? null;
    if (head !== null) this.#log(name, head, null);
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

/** The row of a move. */
export function logRow({ n, name, head, before }: MoveRecord): SqliteValue[] {
  const bytesOf = (id: FactId | null): Buffer | null => (id === null ? null : Buffer.from(id, "hex"));
  return [n, name, bytesOf(head), bytesOf(before), sumOfRow(n, name, head, before)];
}

/** A text that SQLite tells from any other: some drivers end it at a NUL, and UTF-8 has no lone surrogates. */
function exactly(text: string): string {
  return JSON.stringify(text);
}

/** The sum of a row: names and steps are covered by no id, and an altered one would repeat a step or let a stale writer in. */
export function sumOfRow(...values: readonly (SqliteValue | undefined)[]): number {
  return keyOf(digestOf(JSON.stringify(values)));
}
