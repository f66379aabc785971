import {
  chmodSync,
  chownSync,
  closeSync,
  constants,
  type Dirent,
  existsSync,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  type Stats,
  statSync,
} from "node:fs";
import { join } from "node:path";
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

/**
 * A directory held open. Whatever happens to the path it was found by, its entries are those of this one directory, and
 * no link is followed on the way to them. Anyone who opens it closes it.
 */
export class Directory {
  readonly #fd: number | undefined;
  /** What its entries are reached through. */
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

  /** A directory in this one; an error of the system when there is none, or something else, such as a link. */
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

  /** What the system says of an entry; undefined when there is none. */
  look(name: string): Stats | undefined {
    return lstatSync(this.to(name), { throwIfNoEntry: false });
  }

  /** What the system says of this directory itself. */
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

/** What the host makes as root belongs to the owner of the workspace: those inside are often someone else. */
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
