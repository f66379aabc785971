import { RathError } from "../session/index.js";
import { StoreError } from "./error.js";

/** A sync that failed: what it was to write may be lost, and no later sync would say so. */
export class SyncFailure extends Error {
  constructor(cause: unknown) {
    super("fsync failed", { cause });
  }
}

export function errnoOf(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === "string" ? code : "";
}

/** What a failure of the file system means to the user of a store. */
export function fileError(error: unknown, path: string): RathError {
  if (error instanceof RathError) return error;
  const message = error instanceof Error ? error.message : String(error);
  const more = { data: { path, reason: message }, cause: error };
  if (error instanceof SyncFailure) {
    return new StoreError(
      "failed",
      `Writing to ${path} failed at the disk.`,
      "reopen the store; everything acknowledged before is kept",
      more,
    );
  }
  switch (errnoOf(error)) {
    case "ENOSPC":
    case "EDQUOT":
      return new StoreError(
        "full",
        `Cannot write to ${path}: the disk is full.`,
        "free some room and save again; nothing was lost",
        more,
      );
    case "EROFS":
    case "EACCES":
    case "EPERM":
      return new StoreError(
        "read-only",
        `Cannot write to ${path}: it is read-only.`,
        "check the permissions of the folder and of its files",
        more,
      );
    case "EMFILE":
    case "ENFILE":
      return tooManyFiles(path, more);
    case "ENOTDIR":
    case "EISDIR":
    case "EEXIST":
    case "ENOENT":
    case "ELOOP":
    case "ENAMETOOLONG":
      return new StoreError(
        "not-a-store",
        `Cannot use ${path} as a store: ${message}.`,
        "give the path of a folder that is a store, is empty, or does not exist",
        more,
      );
    default:
      return new StoreError(
        "failed",
        `Reading or writing ${path} failed: ${message}.`,
        "reopen the store; everything acknowledged before is kept",
        more,
      );
  }
}

/** Nothing is wrong with the store: the process, or the machine, may open no more files. */
export function tooManyFiles(
  path: string,
  more: { data: { path: string; reason: string }; cause: unknown },
): StoreError {
  return new StoreError(
    "too-many-files",
    `Cannot open ${path}: too many files are open (EMFILE).`,
    "close stores that are no longer used: await store.close(); or raise the limit: ulimit -n 4096",
    more,
  );
}
