import { randomBytes } from "node:crypto";
import type { Dirent, Stats } from "node:fs";
import {
  chmodSync,
  chownSync,
  closeSync,
  constants,
  existsSync,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmdirSync,
  statSync,
  unlinkSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import { FileError, missingFile, requireDirectory } from "../error.js";
import { bytesOfName, textOfName } from "../path.js";

/**
 * Whether a directory can be held open and its entries be reached through it. Elsewhere (macOS, Windows) they are
 * reached by path, each directory on the way looked at first: that is as good while nothing else is running in the
 * workspace, but anyone who swaps a directory for a link between the look and the use gets the use. So nothing that runs
 * untrusted programs on a directory of the host may claim isolation there.
 */
const HOLDS = process.platform === "linux" && existsSync("/proc/self/fd");
/** Linux: a place in the file system and no more, so that opening it does nothing to what is there. Node has no name for it. */
const O_PATH = 0o10000000;
const DIRECTORY = HOLDS ? O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW : 0;

export type Kind = "file" | "directory" | "link" | "other";
export type Named = { readonly name: string; readonly kind: Kind | "unknown" };

/** A directory held open: its entries stay those of this directory whatever happens to its path. Close it. */
export class Directory {
  readonly #fd: number | undefined;
  /** The path through which its entries are reached. */
  readonly path: string;

  private constructor(fd: number | undefined, path: string) {
    this.#fd = fd;
    this.path = path;
  }

  /** The directory that the host names. Its path is the host's own, so links in it are followed. */
  static at(path: string): Directory {
    return HOLDS ? Directory.#held(path, O_PATH | constants.O_DIRECTORY) : Directory.alone(path);
  }

  /** A directory in which nobody else can change anything: it is reached by its path, which is quicker. */
  static alone(path: string): Directory {
    if (!statSync(path).isDirectory()) throw notADirectory();
    return new Directory(undefined, path);
  }

  /** A directory in this one; an error of the system when it is missing, or something else, such as a link. */
  open(name: string): Directory {
    const path = this.to(name);
    if (this.#fd !== undefined || (HOLDS && typeof path !== "string"))
      return Directory.#held(path, DIRECTORY);
    if (!lstatSync(path).isDirectory()) throw notADirectory();
    return new Directory(undefined, join(this.path, name));
  }

  static #held(path: string | Buffer, flags: number): Directory {
    const fd = openSync(path, flags);
    return new Directory(fd, `/proc/self/fd/${fd}`);
  }

  /** The path of an entry, for a call that does not follow a link at the end. Good while this is open. */
  to(name: string): string | Buffer {
    if (name.isWellFormed()) return `${this.path}/${name}`;
    return Buffer.concat([Buffer.from(`${this.path}/`), bytesOfName(name)]);
  }

  /** The system's description of an entry; undefined when it does not exist. */
  look(name: string): Stats | undefined {
    return lstatSync(this.to(name), { throwIfNoEntry: false });
  }

  /** The system's description of this directory itself. */
  stat(): Stats {
    return this.#fd === undefined ? lstatSync(this.path) : fstatSync(this.#fd);
  }

  chmod(mode: number): void {
    chmodSync(this.path, mode);
  }

  own(like: Pick<Stats, "uid" | "gid">): void {
    belong(like, (uid, gid) => chownSync(this.path, uid, gid));
  }

  /** Lets its owner into a directory that was closed to them. */
  unlock(): void {
    const { mode } = this.stat();
    if ((mode & 0o700) !== 0o700) this.chmod((mode & 0o7777) | 0o700);
  }

  /** Its entries, in no order, with what the system says they are without a closer look. */
  entries(): readonly Named[] {
    const found = readdirSync(this.path, { withFileTypes: true });
    // A name that is not UTF-8 comes with marks in place of its bytes: those directories are read again, exactly.
    if (!found.some(({ name }) => name.includes("\ufffd")))
      return found.map((entry) => ({ name: entry.name, kind: kindOf(entry) }));
    return this.names().map((name) => ({ name, kind: "unknown" }));
  }

  names(): readonly string[] {
    return readdirSync(this.path, { encoding: "buffer" }).map(textOfName);
  }

  close(): void {
    if (this.#fd !== undefined) closeSync(this.#fd);
  }
}

/** Opens the file of an entry and nothing else: no link, no pipe that waits for its other end. Anyone who asks looks at what it is. */
export const READ_FLAGS: number =
  constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0) | (constants.O_NOCTTY ?? 0);
/** Makes a file where nothing is. */
export const CREATE_FLAGS: number =
  constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | (constants.O_NOFOLLOW ?? 0);

export function kindOf(entry: Dirent | Stats): Kind | "unknown" {
  if (entry.isFile()) return "file";
  if (entry.isDirectory()) return "directory";
  if (entry.isSymbolicLink()) return "link";
  if (entry.isFIFO() || entry.isSocket() || entry.isCharacterDevice() || entry.isBlockDevice())
    return "other";
  // Some file systems do not say in the listing.
  return "unknown";
}

/** Files that root makes on the host are given to the owner of the workspace: those inside are often someone else. */
export function belong(like: Pick<Stats, "uid" | "gid">, chown: (uid: number, gid: number) => void): void {
  if ((like.uid !== 0 || like.gid !== 0) && process.geteuid?.() === 0) chown(like.uid, like.gid);
}

/** The system's word for what went wrong, if it was the system. */
export function codeOf(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === "string" && /^E[A-Z0-9]+$/.test(code) ? code : undefined;
}

function notADirectory(): Error {
  return Object.assign(new Error("not a directory"), { code: "ENOTDIR" });
}

export const DIRECTORY_MODE = 0o755;
/** How often something that changes under our hands is tried again. */
export const ATTEMPTS = 20;

/** A directory on the way, or what stands in the way. */
export function entered(parent: Directory, name: string, path: string): Directory {
  try {
    return parent.open(name);
  } catch (error) {
    const there = parent.look(name);
    if (there === undefined) throw missingFile(path, name);
    requireDirectory({ kind: kindOf(there) }, path, name);
    throw error;
  }
}

/** A directory on the way, made when it is not there. */
export function made(parent: Directory, name: string, path: string): Directory {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    try {
      return entered(parent, name, path);
    } catch (error) {
      if (!(error instanceof FileError) || error.code !== "file-missing") throw error;
    }
    try {
      mkdirSync(parent.to(name), { mode: DIRECTORY_MODE });
    } catch (error) {
      if (codeOf(error) === "EEXIST") continue;
      throw error;
    }
    const directory = entered(parent, name, path);
    try {
      directory.own(parent.stat());
      // Whatever the mask of this process is.
      directory.chmod(DIRECTORY_MODE);
    } catch (error) {
      directory.close();
      throw error;
    }
    return directory;
  }
  throw new FileError("failed", path, `${JSON.stringify(name)} comes and goes`);
}

/** A directory to look into; undefined when it is there no more, or why it cannot be looked into. */
export function opened(parent: Directory, name: string): Directory | { readonly why: string } | undefined {
  try {
    return parent.open(name);
  } catch (error) {
    return unlisted(error);
  }
}

/** The reason why a directory cannot be listed; undefined when it does not exist. */
export function unlisted(error: unknown): { readonly why: string } | undefined {
  const code = codeOf(error);
  if (code === "ENOENT" || code === "ENOTDIR" || code === "ELOOP") return undefined;
  if (code === "EACCES" || code === "EPERM" || code === "EIO" || code === "ESTALE")
    return { why: `it cannot be listed (${code})` };
  throw error;
}

/** How many directories are held open one in another. Deeper ones are moved up first: there is no limit to how deep they can be made. */
const DEEP = 64;
const PATIENCE_MS = 60_000;

/** A name that nothing in a workspace has. */
export function spareName(): string {
  return `.openrath-${randomBytes(9).toString("hex")}`;
}

/** Removes an entry recursively, following no link. A directory that keeps being filled is a `FileError`. */
export async function removeEntry(parent: Directory, name: string): Promise<void> {
  if (unlinked(parent, name)) return;
  const pace = new Pace();
  const until = performance.now() + PATIENCE_MS;
  const moved = [name];
  for (let next = moved.pop(); next !== undefined; next = moved.pop()) {
    while (!(await emptied(parent, next, 0))) {
      if (performance.now() > until)
        throw new FileError("failed", name, "something goes on filling it while it is removed");
    }
  }

  /** One attempt; false when something came in meanwhile. */
  async function emptied(directory: Directory, entry: string, depth: number): Promise<boolean> {
    let inside: Directory;
    try {
      inside = directory.open(entry);
    } catch (error) {
      if (codeOf(error) === "ENOENT") return true;
      // It was swapped for something that is not a directory.
      if (codeOf(error) === "ENOTDIR" || codeOf(error) === "ELOOP") return unlinked(directory, entry);
      throw error;
    }
    try {
      inside.unlock();
      for (const each of inside.names()) {
        if (pace.long) await pace.rest();
        if (performance.now() > until) return false;
        if (unlinked(inside, each)) continue;
        if (depth < DEEP) await emptied(inside, each, depth + 1);
        else moved.push(raised(inside, each));
      }
    } finally {
      inside.close();
    }
    try {
      rmdirSync(directory.to(entry));
    } catch (error) {
      const code = codeOf(error);
      if (code === "ENOENT") return true;
      if (code === "ENOTEMPTY" || code === "EEXIST" || code === "ENOTDIR") return false;
      throw error;
    }
    return true;
  }

  function raised(directory: Directory, entry: string): string {
    const spare = spareName();
    try {
      unlockEntry(directory, entry);
      renameSync(directory.to(entry), parent.to(spare));
    } catch (error) {
      if (codeOf(error) !== "ENOENT") throw error;
    }
    return spare;
  }
}

/** The same for a path that the host names. */
export async function removePath(path: string): Promise<void> {
  const parent = Directory.at(dirname(path));
  try {
    await removeEntry(parent, basename(path));
  } finally {
    parent.close();
  }
}

/** A directory that its owner may not write to cannot be moved either: it holds the way up. */
function unlockEntry(directory: Directory, name: string): void {
  const inside = directory.open(name);
  try {
    inside.unlock();
  } finally {
    inside.close();
  }
}

/** Whether nothing is there; false for a directory. */
function unlinked(directory: Directory, name: string): boolean {
  for (let attempt = 0; ; attempt++) {
    try {
      unlinkSync(directory.to(name));
      return true;
    } catch (error) {
      const code = codeOf(error);
      if (code === "ENOENT") return true;
      if (code === "EISDIR" || (code === "EPERM" && directory.look(name)?.isDirectory() === true))
        return false;
      if (attempt > 0 || code !== "EACCES") throw error;
      directory.unlock();
    }
  }
}

const LONG_MS = 12;

/** Long work on files is done with synchronous calls, which are several times as quick; now and then others get a turn. */
export class Pace {
  readonly #signal: AbortSignal | undefined;
  #since = performance.now();

  constructor(signal?: AbortSignal) {
    this.#signal = signal;
  }

  /** Whether it has gone on for so long that others should have a turn. */
  get long(): boolean {
    return performance.now() - this.#since > LONG_MS;
  }

  async rest(): Promise<void> {
    await turn();
    this.#signal?.throwIfAborted();
    this.#since = performance.now();
  }
}

/** Calls that wait for each other: the next begins when the last has ended, well or badly. */
export class Turns {
  #last: Promise<unknown> = Promise.resolve();

  take<Value>(work: () => Promise<Value>): Promise<Value> {
    const next = this.#last.then(work, work);
    this.#last = next.catch(() => undefined);
    return next;
  }
}
