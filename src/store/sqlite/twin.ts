import type { SqliteDatabase, SqliteRow, SqliteStatement, SqliteValue } from "./driver.js";

/** After so long without another closing, what was closed is collected. */
const QUIET_MS = 50;
/** A collection waits so many times as long as the last one took: a program with much in memory has better things to do. */
const REST = 50;
/** It never waits longer than this: a closed file must not stay open for minutes where collections are slow. */
const MOST_MS = 5_000;
/** So many closed databases are collected at once. Each holds three files. */
const MANY = 32;

/**
 * A database of the npm twin of `node:sqlite`. The twin closes a database only when the garbage collector has been at its
 * statements, and the collector sees no need: a statement is a few bytes to it. So opening and closing stores runs out of
 * handles. Statements are therefore dropped when the database is closed, and the collector is asked to look.
 */
export class TwinDatabase implements SqliteDatabase {
  readonly #database: SqliteDatabase;
  #statements = new WeakMap<SqliteStatement, SqliteStatement>();

  constructor(database: SqliteDatabase) {
    this.#database = database;
  }

  exec(sql: string): void {
    this.#database.exec(sql);
  }

  prepare(sql: string): SqliteStatement {
    const inner = this.#database.prepare(sql);
    const of = (statement: SqliteStatement): SqliteStatement => {
      const found = this.#statements.get(statement);
      if (found === undefined) throw new Error("the database is closed");
      return found;
    };
    const statement: SqliteStatement = {
      get: (...values: SqliteValue[]): SqliteRow | undefined => of(statement).get(...values),
      all: (...values: SqliteValue[]): SqliteRow[] => of(statement).all(...values),
      iterate: (...values: SqliteValue[]): IterableIterator<SqliteRow> => of(statement).iterate(...values),
      run: (...values: SqliteValue[]) => of(statement).run(...values),
      setReadBigInts: (on: boolean) => of(statement).setReadBigInts(on),
    };
    this.#statements.set(statement, inner);
    return statement;
  }

  close(): void {
    this.#statements = new WeakMap();
    this.#database.close();
    collectSoon();
  }
}

let closed = 0;
let quiet = QUIET_MS;
let timer: NodeJS.Timeout | undefined;

/** A collection looks at everything that the program has in memory, so many closings share one. */
function collectSoon(): void {
  closed += 1;
  collectIn(closed >= MANY ? 0 : quiet, () => closed === 0 && collectIn(quiet));
}

/** A first collection can come while the last call still holds a statement; the second one finds it free. */
function collectIn(ms: number, then?: () => unknown): void {
  clearTimeout(timer);
  timer = setTimeout(() => void collect().then(then), ms);
  timer.unref();
}

async function collect(): Promise<void> {
  closed = 0;
  const start = performance.now();
  try {
    const { Session } = await import("node:inspector");
    const session = new Session();
    session.connect();
    await new Promise<void>((done) => session.post("HeapProfiler.collectGarbage", () => done()));
    quiet = Math.min(Math.max(QUIET_MS, REST * (performance.now() - start)), MOST_MS);
    // Not before it has answered: inside of its answer, this would wait for itself.
    session.disconnect();
  } catch {
    // A Node without an inspector collects when it sees fit.
  }
}
