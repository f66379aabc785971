import { accessSync, closeSync, constants, openSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname } from "node:path";
import { RathError } from "../../session/index.js";
import { DamageError, StoreError } from "../error.js";
import type { SqlRow, SqlValue } from "../sql/rows.js";
import { TwinDatabase } from "./twin.js";

/** The part of the `node:sqlite` interface that we use. */
export interface SqliteDatabase {
  exec(sql: string): void;
  prepare(sql: string): SqliteStatement;
  close(): void;
}
export interface SqliteStatement {
  get(...values: SqliteValue[]): SqliteRow | undefined;
  all(...values: SqliteValue[]): SqliteRow[];
  iterate(...values: SqliteValue[]): IterableIterator<SqliteRow>;
  run(...values: SqliteValue[]): { readonly lastInsertRowid: number | bigint };
  setReadBigInts(on: boolean): void;
}
export type SqliteValue = SqlValue;
export type SqliteRow = SqlRow;

type Driver = { DatabaseSync: new (path: string, options?: { readOnly?: boolean }) => SqliteDatabase };

let driver: Driver | undefined;
let isTwin = false;

/** Opens a database file with whatever SQLite this Node has: its own, or the prebuilt twin from npm. */
export function openDatabase(path: string, options: { readOnly?: boolean } = {}): SqliteDatabase {
  driver ??= findDriver();
  // The two drivers disagree about an absent second argument, so it is always given.
  const database = new driver.DatabaseSync(path, { readOnly: options.readOnly ?? false });
  return isTwin ? new TwinDatabase(database) : database;
}

function findDriver(): Driver {
  const require = createRequire(import.meta.url);
  const emitWarning = process.emitWarning;
  try {
    // Node 22 warns that node:sqlite is experimental. Users of a store did not ask for it and can do nothing about it.
    process.emitWarning = () => {};
    return require("node:sqlite") as Driver;
  } catch {
    // Node 20 has none.
  } finally {
    process.emitWarning = emitWarning;
  }
  try {
    const twin = require("@photostructure/sqlite") as Driver;
    isTwin = true;
    return twin;
  } catch (cause) {
    throw new StoreError(
      "failed",
      "Cannot open a SQLite store: this Node has no node:sqlite and @photostructure/sqlite is not installed.",
      "npm install @photostructure/sqlite, or use Node 22.13 or newer",
      { cause },
    );
  }
}

/** SQLite's primary result code, or 0 when the error is not SQLite's. */
export function sqliteCode(error: unknown): number {
  const code = (error as { errcode?: unknown } | null)?.errcode;
  return typeof code === "number" ? code & 0xff : 0;
}

export const BUSY = 5;

/** The error for the user of a store behind a failure of SQLite. */
export function storeErrorOf(error: unknown, path: string): RathError {
  if (error instanceof RathError) return error;
  const message = error instanceof Error ? error.message : String(error);
  const failed = (...[reason, problem, hint]: ConstructorParameters<typeof StoreError>): StoreError =>
    new StoreError(reason, problem, hint, { data: { path, reason: message }, cause: error });
  switch (sqliteCode(error)) {
    case BUSY:
    case 6:
      return failed(
        "locked",
        `Cannot write to ${path}: another process is holding it.`,
        "try again; if the error stays, look for a stopped process that has the file open",
      );
    case 3:
    case 8:
    case 14:
      if (sqliteCode(error) === 14 && isOutOfHandles(path))
        return failed(
          "too-many-files",
          `Cannot open ${path}: too many files are open (EMFILE).`,
          "close stores that are no longer used: await store.close(); or raise the limit: ulimit -n 4096",
        );
      if (sqliteCode(error) === 14 && !isReadOnly(path))
        return failed(
          "not-a-store",
          `Cannot open ${path}: ${message}.`,
          "check that the folder exists and that the path is a file",
        );
      return failed(
        "read-only",
        `Cannot write to ${path}: it is read-only.`,
        "check the permissions of the file and of its folder",
      );
    case 11:
      return new DamageError(path, message, error);
    case 13:
      return failed(
        "full",
        `Cannot write to ${path}: the disk is full.`,
        "free disk space and save again; nothing was lost",
      );
    case 26:
      return failed(
        "not-a-store",
        `Cannot open ${path}: it is not a SQLite database.`,
        "check the path; if it was a store once, try recover(url, target)",
      );
    default:
      return failed(
        "failed",
        `SQLite failed on ${path}: ${message}.`,
        "reopen the store; everything acknowledged before is kept",
      );
  }
}

/** SQLite says "cannot open" of a database whose folder cannot be written, because its log would be there. */
function isReadOnly(path: string): boolean {
  try {
    accessSync(path, constants.R_OK);
    accessSync(dirname(path), constants.W_OK);
    return false;
  } catch (error) {
    return ["EROFS", "EACCES"].includes((error as { code: string }).code);
  }
}

/** SQLite says "cannot open" also where the process has no handle left for another file. */
function isOutOfHandles(path: string): boolean {
  try {
    closeSync(openSync(dirname(path), "r"));
    return false;
  } catch (error) {
    return ["EMFILE", "ENFILE"].includes((error as { code: string }).code);
  }
}
