import { StoreError } from "./error.js";
import { BUSY, openDatabase, type SqliteDatabase, sqliteCode, storeErrorOf } from "./sqlite-driver.js";

/**
 * One writer at a time, among all processes of a machine. Node has no file locks, SQLite has: an empty
 * database is held with BEGIN IMMEDIATE, and the kernel lets go when its holder dies. Nothing else may ever
 * open the file: closing any descriptor of it would drop this process's lock.
 */
export class FileLock {
  readonly #path: string;
  readonly #patience: number;
  #database: SqliteDatabase | undefined;

  constructor(path: string, patience: number) {
    this.#path = path;
    this.#patience = patience;
  }

  /** Waits without blocking the process. Whoever gets it must let go in the same tick as the work is done. */
  async take(): Promise<void> {
    const deadline = Date.now() + this.#patience;
    for (;;) {
      try {
        this.#database ??= this.#open();
        this.#database.exec("BEGIN IMMEDIATE");
        return;
      } catch (error) {
        if (sqliteCode(error) !== BUSY) throw storeErrorOf(error, this.#path);
        if (Date.now() >= deadline) {
          throw new StoreError(
            "locked",
            `Cannot write: another process has held ${this.#path} for ${this.#patience} ms.`,
            "try again; if it stays, look for a stopped process that uses this store",
            {
              data: { path: this.#path, milliseconds: this.#patience },
              cause: error,
            },
          );
        }
        // Random, so that waiting processes do not knock in step.
        await new Promise((done) => setTimeout(done, 1 + Math.random() * 10));
      }
    }
  }

  release(): void {
    this.#database?.exec("ROLLBACK");
  }

  close(): void {
    this.#database?.close();
    this.#database = undefined;
  }

  #open(): SqliteDatabase {
    const database = openDatabase(this.#path);
    database.exec("PRAGMA busy_timeout = 0");
    return database;
  }
}
