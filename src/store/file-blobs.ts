import {
  closeSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  unlinkSync,
} from "node:fs";
import { dirname, join } from "node:path";
import type { Digest } from "../session/index.js";
import { errnoOf } from "./file-error.js";
import { makeFolder, syncFile, syncFolder, writeAll } from "./file-folder.js";
import type { Blob } from "./shelf.js";

const DIGEST = /^[0-9a-f]{64}$/;

/** Blobs as files that are named by their digest: `blobs/ab/abcd…`. A file is there whole or not at all. */
export class BlobFolder {
  readonly path: string;

  constructor(path: string) {
    this.path = path;
  }

  read(digest: Digest): Uint8Array | undefined {
    if (!DIGEST.test(digest)) return undefined;
    try {
      return readFileSync(this.#file(digest));
    } catch (error) {
      if (errnoOf(error) === "ENOENT" || errnoOf(error) === "ENOTDIR") return undefined;
      throw error;
    }
  }

  /** Writes blobs that are not there yet, durable when it returns. */
  write(blobs: readonly Blob[]): void {
    const folders = new Set<string>();
    for (const { digest, bytes } of blobs) {
      const file = this.#file(digest);
      // A file of another length is damaged; the right bytes are at hand.
      if (statSync(file, { throwIfNoEntry: false })?.size === bytes.length) continue;
      makeFolder(dirname(file));
      const fresh = join(this.path, "blob.tmp");
      const fd = openSync(fresh, "w");
      try {
        writeAll(fd, bytes, 0);
        syncFile(fd);
      } catch (error) {
        rmSync(fresh, { force: true });
        throw error;
      } finally {
        closeSync(fd);
      }
      renameSync(fresh, file);
      folders.add(dirname(file));
    }
    for (const folder of folders) syncFolder(folder);
  }

  drop(digests: Iterable<Digest>): void {
    const folders = new Set<string>();
    for (const digest of digests) {
      if (!DIGEST.test(digest)) continue;
      try {
        unlinkSync(this.#file(digest));
        folders.add(dirname(this.#file(digest)));
      } catch (error) {
        if (errnoOf(error) !== "ENOENT") throw error;
      }
    }
    for (const folder of folders) syncFolder(folder);
  }

  /** Every file there is, folder by folder, with its digest or without when its name is none. */
  *files(): Generator<readonly { readonly name: string; readonly digest: Digest | undefined }[], void> {
    for (const folder of namesIn(this.path)) {
      const whole = /^[0-9a-f]{2}$/.test(folder);
      if (!whole) {
        yield [{ name: folder, digest: undefined }];
        continue;
      }
      yield namesIn(join(this.path, folder)).map((name) => ({
        name: `${folder}/${name}`,
        digest: DIGEST.test(name) && name.startsWith(folder) ? name : undefined,
      }));
    }
  }

  #file(digest: Digest): string {
    if (!DIGEST.test(digest)) throw new TypeError(`not a digest: ${digest}`);
    return join(this.path, digest.slice(0, 2), digest);
  }
}

/** The entries of a folder in a fixed order; none when it is not there. */
export function namesIn(path: string): string[] {
  try {
    return readdirSync(path).sort();
  } catch (error) {
    if (errnoOf(error) === "ENOENT" || errnoOf(error) === "ENOTDIR") return [];
    throw error;
  }
}
