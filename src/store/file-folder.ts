import {
  closeSync,
  fdatasyncSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { dirname, join, resolve } from "node:path";
import { DamageError, StoreError } from "./error.js";
import { errnoOf, SyncFailure } from "./file-error.js";

/** The version of the folder's layout. */
export const VERSION = 1;

/** Flushes what was written to an open file. A failure is never tried again: the second try would claim success. */
export function syncFile(fd: number): void {
  try {
    fdatasyncSync(fd);
  } catch (error) {
    throw new SyncFailure(error);
  }
}

/** Makes the entries of a folder durable: a new file without this may be gone after a power loss. */
export function syncFolder(path: string): void {
  // Windows cannot open folders, and keeps entries in order without it.
  if (process.platform === "win32") return;
  const fd = openSync(path, "r");
  try {
    fsyncSync(fd);
  } catch (error) {
    throw new SyncFailure(error);
  } finally {
    closeSync(fd);
  }
}

/** Writes all bytes at a place; a full disk may take only some of them at a time. */
export function writeAll(fd: number, bytes: Uint8Array, position: number): void {
  for (let done = 0; done < bytes.length; )
    done += writeSync(fd, bytes, done, bytes.length - done, position + done);
}

/** Replaces a file as a whole: readers see the old content or the new one. Only for holders of the lock. */
export function replaceFile(path: string, chunks: Iterable<Uint8Array>, mode = 0o666): void {
  const fresh = `${path}.tmp`;
  writeFile(fresh, chunks, mode);
  moveFile(fresh, path);
}

/** Writes a whole file, durable but for its entry in the folder. */
export function writeFile(path: string, chunks: Iterable<Uint8Array>, mode = 0o666): void {
  const fd = openSync(path, "w", mode);
  try {
    let size = 0;
    for (const chunk of together(chunks)) {
      writeAll(fd, chunk, size);
      size += chunk.length;
    }
    syncFile(fd);
  } catch (error) {
    rmSync(path, { force: true });
    throw error;
  } finally {
    closeSync(fd);
  }
}

/** Puts a file in the place of another, durably. */
export function moveFile(from: string, to: string): void {
  renameSync(from, to);
  syncFolder(dirname(to));
}

/** The same bytes in fewer pieces: a call to the kernel for every line would take longer than the disk. */
export function* together(chunks: Iterable<Uint8Array>): Generator<Uint8Array, void> {
  let waiting: Uint8Array[] = [];
  let size = 0;
  for (const chunk of chunks) {
    waiting.push(chunk);
    size += chunk.length;
    if (size < 1 << 20) continue;
    yield Buffer.concat(waiting);
    waiting = [];
    size = 0;
  }
  if (size > 0) yield Buffer.concat(waiting);
}

/** Creates folders that are missing, so that they are still there after a power loss. */
export function makeFolder(path: string): void {
  let first: string | undefined;
  try {
    first = mkdirSync(path, { recursive: true });
  } catch (error) {
    // On a read-only medium the recursive kind says that something is missing; the plain kind says why.
    if (errnoOf(error) !== "ENOENT") throw error;
    mkdirSync(path);
  }
  if (first === undefined) return;
  const top = dirname(resolve(first));
  for (let folder = dirname(resolve(path)); folder.length >= top.length; folder = dirname(folder)) {
    syncFolder(folder);
    if (folder === dirname(folder)) break;
  }
}

/** What is at a path: a store, room for one, or something that must not be touched (an error). */
export function whatIsAt(path: string): "store" | "room" {
  let entries: string[];
  try {
    entries = readdirSync(path);
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return "room";
    throw error;
  }
  if (!entries.includes("store.json")) {
    // Another process may just be making the store; everything but its first steps is somebody else's.
    if (entries.every((entry) => /^(lock(-journal)?|store\.json\.tmp)$/.test(entry))) return "room";
    throw new StoreError(
      "not-a-store",
      `Cannot use ${path} as a store: it has files, but no store.json.`,
      "give the path of a folder that is a store, is empty, or does not exist",
      { data: { path } },
    );
  }
  checkVersion(join(path, "store.json"));
  return "store";
}

export function markAsStore(path: string): void {
  replaceFile(join(path, "store.json"), [
    Buffer.from(`${JSON.stringify({ openrath: "store", version: VERSION })}\n`),
  ]);
}

/** Which file a path leads to now: another one after it was replaced. */
export function identityOf(path: string): {
  readonly size: number;
  readonly inode: bigint;
  readonly changed: bigint;
} {
  const { size, ino, mtimeNs } = statSync(path, { bigint: true });
  return { size: Number(size), inode: ino, changed: mtimeNs };
}

function checkVersion(file: string): void {
  let mark: { openrath?: unknown; version?: unknown } | null;
  try {
    mark = JSON.parse(readFileSync(file, "utf8"));
  } catch (error) {
    if (error instanceof SyntaxError) throw new DamageError("store.json", "it is not JSON", error);
    throw error;
  }
  if (mark?.openrath !== "store" || typeof mark.version !== "number")
    throw new DamageError("store.json", "it does not say what it is");
  if (mark.version > VERSION) {
    throw new StoreError(
      "newer",
      `Cannot open the store: its layout is version ${mark.version}, this program knows ${VERSION}.`,
      "install a newer version of openrath",
      {
        data: { version: mark.version, known: VERSION },
      },
    );
  }
}
