import { randomBytes } from "node:crypto";
import {
  closeSync,
  existsSync,
  fsyncSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { dirname } from "node:path";

/** Writes a file whole or not at all: durable when it comes back. */
export function replaceFile(path: string, text: string, mode = 0o600): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const draft = `${path}.${randomBytes(8).toString("hex")}.draft`;
  const fd = openSync(draft, "wx", mode);
  try {
    writeWhole(fd, Buffer.from(text), 0);
    fsyncSync(fd);
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  } finally {
    closeSync(fd);
  }
  renameSync(draft, path);
  syncFolder(dirname(path));
}

/** Adds bytes at a place, and nothing stays behind them. Durable when it comes back. */
export function appendAt(path: string, bytes: Uint8Array, place: number): void {
  const fd = openSync(path, existsSync(path) ? "r+" : "w", 0o600);
  try {
    ftruncateSync(fd, place);
    writeWhole(fd, bytes, place);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
  if (place === 0) syncFolder(dirname(path));
}

/** How many bytes a file has; none when it is not there. */
export function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

/** The text of a file, or undefined if it is missing. */
export function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

function writeWhole(fd: number, bytes: Uint8Array, place: number): void {
  for (let done = 0; done < bytes.length; )
    done += writeSync(fd, bytes, done, bytes.length - done, place + done);
}

function syncFolder(path: string): void {
  const fd = openSync(path, "r");
  try {
    fsyncSync(fd);
  } catch {
    // Some systems cannot sync a folder.
  } finally {
    closeSync(fd);
  }
}
