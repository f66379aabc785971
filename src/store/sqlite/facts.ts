import type { FactTable, NewFact } from "../shelf.js";
import { Chains, type ChainTables, chainOf, firstOf, isLastPlace, type Place } from "../sql/chain.js";
import { FactReader } from "../sql/facts.js";
import type { Connection } from "./connection.js";
import type { SqliteDatabase } from "./driver.js";
import { Lines } from "./lines.js";

/** The facts of a database file, which it can also write. */
export class Facts extends FactReader<Lines> implements FactTable {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    super(connection, new Lines(connection.database), new Chains(chainTables(connection.database)));
    this.#connection = connection;
  }

  /** Runs work that writes, all of it or nothing. */
  async transaction<Result>(work: () => Result): Promise<Result> {
    const whole = (): Result => {
      try {
        this.#noticeCollection();
        this.lines.begin();
        const result = work();
        this.lines.pack();
        return result;
      } finally {
        this.lines.end();
      }
    };
    return this.#connection.transaction(whole, () => this.forget());
  }

  atOnce<Result>(look: () => Result): Result {
    return this.#connection.atOnce(() => {
      this.#noticeCollection();
      return look();
    });
  }

  #noticeCollection(): void {
    this.noticeCollection(this.#connection.get("SELECT collected FROM generation")?.collected as number);
  }

  add({ id, line, parents }: NewFact): void {
    const [first, ...others] = parents.map((parent) => this.place(parent) as Place);
    let place =
      first === undefined || isLastPlace(first) || this.lines.has(first + 1) ? undefined : first + 1;
    if (place === undefined) {
      const last = this.#connection.get("SELECT max(chain) AS chain FROM chains")?.chain as number | null;
      place = firstOf((last ?? 0) + 1);
      this.#connection.run("INSERT INTO chains VALUES (?, ?)", chainOf(place), first ?? null);
    }
    this.lines.add(id, place, line);
    for (const [index, parent] of others.entries())
      this.#connection.run("INSERT INTO merges VALUES (?, ?, ?)", place, index + 1, parent);
    this.remember(id, place);
  }
}

function chainTables(database: SqliteDatabase): ChainTables {
  const base = database.prepare("SELECT base FROM chains WHERE chain = ?");
  const mergesIn = database.prepare(
    "SELECT child, parent FROM merges WHERE child BETWEEN ? AND ? ORDER BY child, place",
  );
  return {
    base: (chain) => (base.get(chain)?.base ?? null) as Place | null,
    mergesIn: ({ from, to }) => mergesIn.all(from, to) as unknown as { child: Place; parent: Place }[],
  };
}
