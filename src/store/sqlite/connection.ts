import { statSync } from "node:fs";
import { resolve } from "node:path";
import { StoreError } from "../error.js";
import {
  BUSY,
  type SqliteDatabase,
  type SqliteRow,
  type SqliteStatement,
  type SqliteValue,
  sqliteCode,
  storeErrorOf,
} from "./driver.js";

/** How long a writer waits for other processes before it gives up. */
const PATIENCE_MS = 10_000;
/** SQLite's code for a failure of the disk. */
const IO_ERROR = 10;

/** A database and the ways to use it: statements by their text, transactions, and failures that have a name. */
export class Connection {
  readonly path: string;
  readonly database: SqliteDatabase;
  /** The files that commits go into: the database and its log, absolute, with device and inode once they are known. */
  readonly #files: Map<string, string | undefined>;
  readonly #statements = new Map<string, SqliteStatement>();
  /** Why nothing more may be written, or nothing at all once it is closed. */
  #dead: StoreError | undefined;

  constructor(path: string, database: SqliteDatabase, dead?: StoreError) {
    this.path = path;
    this.database = database;
    this.#dead = dead;
    const file = resolve(path);
    this.#files = new Map([
      [file, identityOf(file)],
      [`${file}-wal`, undefined],
    ]);
  }

  get dead(): StoreError | undefined {
    return this.#dead;
  }

  get(sql: string, ...values: SqliteValue[]): SqliteRow | undefined {
    return this.guard(() => this.#statement(sql).get(...values) as SqliteRow | undefined);
  }

  all(sql: string, ...values: SqliteValue[]): SqliteRow[] {
    return this.guard(() => this.#statement(sql).all(...values));
  }

  /** Writes. Only in a transaction, which gives a failure its name. */
  run(sql: string, ...values: SqliteValue[]): void {
    this.#statement(sql).run(...values);
  }

  /** A reading that fails becomes an error with a name; a closed store says that it is closed. */
  guard<Result>(read: () => Result): Result {
    if (this.#dead?.code === "store-closed") throw this.#dead;
    try {
      return read();
    } catch (error) {
      throw storeErrorOf(error, this.path);
    }
  }

  /** Several looks at the database as it is at one moment, whatever other processes write meanwhile. */
  atOnce<Result>(look: () => Result): Result {
    return this.guard(() => {
      this.database.exec("BEGIN");
      try {
        return look();
      } finally {
        this.database.exec("COMMIT");
      }
    });
  }

  /**
   * One transaction, durable when it resolves. From its beginning to its end no other code of this process
   * runs, or it would become a part of it: `work` must not wait for anything.
   */
  async transaction<Result>(work: () => Result, undone: () => void): Promise<Result> {
    return this.patiently(() => {
      if (this.#dead !== undefined) throw this.#dead;
      this.#requireFiles();
      this.database.exec("BEGIN IMMEDIATE");
      try {
        const result = work();
        this.database.exec("COMMIT");
        // Asked again: a caller who is told that it is kept must find it.
        this.#requireFiles();
        return result;
      } catch (error) {
        undone();
        this.#rollBack(error);
        throw storeErrorOf(error, this.path);
      }
    });
  }

  /** Tries again while other processes are in the way. SQLite itself waits only briefly, so that this process stays alive meanwhile. */
  async patiently<Result>(attempt: () => Result): Promise<Result> {
    for (const deadline = Date.now() + PATIENCE_MS; ; ) {
      try {
        return attempt();
      } catch (error) {
        if (sqliteCode(error) !== BUSY || Date.now() > deadline) throw storeErrorOf(error, this.path);
        await new Promise((done) => setTimeout(done, 2 + Math.random() * 20));
      }
    }
  }

  /** Ends the use of the database; `tidy` is done before, unless a sync had failed: then nothing more is written. */
  close(reason: StoreError, tidy: () => void): void {
    const failed = this.#dead !== undefined;
    this.#dead = reason;
    try {
      if (!failed) tidy();
    } catch {
      // Another process is at work; it will tidy up when it closes.
    }
    this.#statements.clear();
    this.database.close();
  }

  /**
   * An open database goes on in a file that nobody finds: one that was deleted, moved away or replaced by another. Whatever is
   * written there is lost when this process ends, so it must not be acknowledged.
   */
  #requireFiles(): void {
    for (const [file, known] of this.#files) {
      const now = identityOf(file);
      // The log is made by the first transaction; from then on it stays until the last process closes.
      if (known === undefined) this.#files.set(file, now);
      else if (now !== known) {
        this.#dead = new StoreError(
          "gone",
          `Cannot write to ${this.path}: ${now === undefined ? `${file} was deleted or moved away` : `another file was put in the place of ${file}`} while it was open.`,
          "put the file back where it was, or open the store that is there now: openStore(url); sessions in the memory of this process can be saved there",
          { data: { path: this.path, file } },
        );
        throw this.#dead;
      }
    }
  }

  #rollBack(reason: unknown): void {
    try {
      this.database.exec("ROLLBACK");
    } catch {
      // SQLite has already rolled back by itself after a failed write.
    }
    if (sqliteCode(reason) !== IO_ERROR) return;
    // A sync that failed may have dropped what it was to write, and the next one would not say so.
    this.#dead = new StoreError(
      "failed",
      `Writing to ${this.path} failed at the disk.`,
      "reopen the store; everything acknowledged before is kept",
      { cause: reason },
    );
  }

  #statement(sql: string): SqliteStatement {
    let statement = this.#statements.get(sql);
    if (statement === undefined) {
      statement = this.database.prepare(sql);
      this.#statements.set(sql, statement);
    }
    return statement;
  }
}

/** Device and inode: another file under the same name has others. */
function identityOf(file: string): string | undefined {
  const stats = statSync(file, { bigint: true, throwIfNoEntry: false });
  return stats && `${stats.dev}:${stats.ino}`;
}
