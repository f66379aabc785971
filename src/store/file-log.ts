import { closeSync, fstatSync, ftruncateSync, openSync, readSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { errnoOf } from "./file-error.js";
import { identityOf, replaceFile, syncFile, syncFolder, writeAll } from "./file-folder.js";

/** An open file that only grows. `size` is how much of it is known to be good; what lies behind is not ours yet. */
export class LogFile {
  readonly path: string;
  readonly fd: number;
  readonly writable: boolean;
  readonly #inode: bigint;
  size = 0;

  /** Opens for writing where that is allowed, else for reading. Creates the file when it may. */
  constructor(path: string, writable: boolean) {
    this.path = path;
    this.fd = openSync(path, writable ? "r+" : "r");
    this.writable = writable;
    this.#inode = fstatSync(this.fd, { bigint: true }).ino;
  }

  static create(path: string): void {
    try {
      closeSync(openSync(path, "wx"));
      syncFolder(dirname(path));
    } catch (error) {
      if (errnoOf(error) !== "EEXIST") throw error;
    }
  }

  get name(): string {
    return basename(this.path);
  }

  /** How the path looks now. `replaced`: another file; the open one keeps its number, so numbers cannot be mixed up. */
  look(): { readonly size: number; readonly replaced: boolean } {
    const { size, inode } = identityOf(this.path);
    return { size, replaced: inode !== this.#inode };
  }

  get replaced(): boolean {
    return this.look().replaced;
  }

  get actualSize(): number {
    return fstatSync(this.fd).size;
  }

  /** Adds bytes and makes them durable. When the disk is full, what was written of them is taken back. */
  append(bytes: Uint8Array): void {
    try {
      writeAll(this.fd, bytes, this.size);
    } catch (error) {
      ftruncateSync(this.fd, this.size);
      throw error;
    }
    syncFile(this.fd);
    this.size += bytes.length;
  }

  /** Goes back to an earlier size: what was appended since belongs to a commit that failed. */
  takeBack(size: number): void {
    if (this.size === size) return;
    ftruncateSync(this.fd, size);
    this.size = size;
  }

  /** Cuts off what a crash left behind the good part. It is moved aside, not thrown away. */
  cut(): void {
    const torn = Buffer.alloc(this.actualSize - this.size);
    for (let done = 0; done < torn.length; ) {
      const length = readSync(this.fd, torn, done, torn.length - done, this.size + done);
      if (length === 0) break;
      done += length;
    }
    const stamp = `${new Date().toISOString().replace(/[:.]/g, "-")}-${process.hrtime.bigint()}`;
    replaceFile(join(dirname(this.path), `torn-${stamp}.txt`), [torn]);
    ftruncateSync(this.fd, this.size);
    syncFile(this.fd);
  }

  close(): void {
    closeSync(this.fd);
  }
}
