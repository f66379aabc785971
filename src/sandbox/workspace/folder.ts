import { fchmodSync, fchownSync, readlinkSync, renameSync, type Stats } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { contentOf, modeOf } from "../check.js";
import { FileError, linkRefused, missingFile, PathRefusedError, requireFile } from "../error.js";
import { namesOf, textOfName } from "../path.js";
import type { FileEntry, SandboxFiles } from "../sandbox.js";
import {
  belong,
  CREATE_FLAGS,
  codeOf,
  Directory,
  entered,
  kindOf,
  made,
  Pace,
  READ_FLAGS,
  removeEntry,
  spareName,
  Turns,
} from "./directory.js";

const FILE_MODE = 0o644;

/**
 * The files of a host directory in which anything may run: each step is taken from an open directory, no link
 * is followed, and files are replaced, not written through.
 */
export class Folder implements SandboxFiles {
  readonly #root: string;
  readonly #turns = new Turns();

  constructor(root: string) {
    this.#root = root;
  }

  read(path: string): Promise<Uint8Array> {
    return this.#at(path, {}, async (directory, name) => {
      if (name === undefined) throw new FileError("not-a-file", path, "it is a directory");
      requireFile(entryOf(name, directory.look(name)), path);
      const file = await open(directory.to(name), READ_FLAGS);
      try {
        // The file may have been replaced since the look: the open one counts.
        const { size } = requireFile(entryOf(name, await file.stat()), path);
        return await filled(file, size);
      } finally {
        await file.close();
      }
    });
  }

  async write(
    path: string,
    content: Uint8Array | string,
    options?: { readonly mode?: number },
  ): Promise<void> {
    namesOf(path);
    // Before anything is made on the way to it.
    const [bytes, given] = [contentOf(path, content), modeOf(path, options)];
    return this.#at(path, { make: true }, async (directory, name) => {
      if (name === undefined) throw new FileError("not-a-file", path, "it is a directory");
      const there = directory.look(name);
      if (there?.isDirectory() === true) throw new FileError("not-a-file", path, "it is a directory");
      const kept = there?.isFile() === true ? there : undefined;
      const mode = given ?? kept?.mode ?? FILE_MODE;
      const spare = spareName();
      const file = await open(directory.to(spare), CREATE_FLAGS, 0o600);
      try {
        try {
          await file.writeFile(bytes);
          belong(kept ?? directory.stat(), (uid, gid) => fchownSync(file.fd, uid, gid));
          fchmodSync(file.fd, mode & 0o777);
        } finally {
          await file.close();
        }
        renameSync(directory.to(spare), directory.to(name));
      } catch (error) {
        await removeEntry(directory, spare);
        throw error;
      }
    });
  }

  list(path = ""): Promise<readonly FileEntry[]> {
    return this.#at(path, {}, async (parent, name) => {
      const directory = name === undefined ? parent : entered(parent, name, path);
      try {
        const pace = new Pace();
        const found: FileEntry[] = [];
        for (const each of directory.names()) {
          if (pace.long) await pace.rest();
          const entry = entryOf(each, directory.look(each));
          if (entry !== undefined) found.push(entry);
        }
        return found.sort((one, other) => (one.name < other.name ? -1 : 1));
      } finally {
        if (directory !== parent) directory.close();
      }
    });
  }

  stat(path: string): Promise<FileEntry | undefined> {
    return this.#at(path, { absent: undefined }, async (directory, name) =>
      name === undefined ? entryOf("", directory.stat()) : entryOf(name, directory.look(name)),
    );
  }

  link(path: string): Promise<string> {
    return this.#at(path, {}, async (directory, name) => {
      const there = name === undefined ? directory.stat() : directory.look(name);
      if (there === undefined) throw missingFile(path);
      if (name === undefined || !there.isSymbolicLink())
        throw new FileError("failed", path, "it is not a link");
      return textOfName(readlinkSync(directory.to(name), { encoding: "buffer" }));
    });
  }

  make(path: string): Promise<void> {
    return this.#at(path, { make: true, whole: true }, async () => undefined);
  }

  remove(path: string): Promise<void> {
    return this.#at(path, { absent: undefined }, async (directory, name) => {
      if (name === undefined) throw new PathRefusedError(path, "it is the workspace itself");
      await removeEntry(directory, name);
    });
  }

  move(from: string, to: string): Promise<void> {
    return this.#at(from, {}, async (source, name) => {
      if (name === undefined) throw new PathRefusedError(from, "it is the workspace itself");
      if (source.look(name) === undefined) throw missingFile(from);
      const names = namesOf(to);
      const last = names.at(-1);
      if (last === undefined) throw new PathRefusedError(to, "it is the workspace itself");
      const target = await this.#walk(to, names.slice(0, -1), false);
      try {
        if (target.look(last)?.isDirectory() === true)
          throw new FileError("failed", to, "there is a directory already");
        renameSync(source.to(name), target.to(last));
      } finally {
        target.close();
      }
    });
  }

  /** Does something in the directory of a path. With `whole`, the path is that of the directory. */
  #at<Value>(
    path: string,
    options: { readonly make?: boolean; readonly whole?: boolean; readonly absent?: Value },
    work: (directory: Directory, name: string | undefined) => Promise<Value>,
  ): Promise<Value> {
    return this.#turns.take(async () => {
      const names = namesOf(path);
      const name = options.whole === true ? undefined : names.at(-1);
      try {
        const way = name === undefined ? names : names.slice(0, -1);
        const directory = await this.#walk(path, way, options.make === true);
        try {
          return await work(directory, name);
        } finally {
          directory.close();
        }
      } catch (error) {
        if ("absent" in options && error instanceof FileError && isAbsence(error))
          return options.absent as Value;
        throw translated(error, path);
      }
    });
  }

  async #walk(path: string, names: readonly string[], make: boolean): Promise<Directory> {
    const pace = new Pace();
    let directory: Directory;
    try {
      directory = Directory.at(this.#root);
    } catch (error) {
      throw new FileError("failed", path, "the workspace is not there", error);
    }
    for (const name of names) {
      const parent = directory;
      try {
        if (pace.long) await pace.rest();
        directory = make ? made(parent, name, path) : entered(parent, name, path);
      } finally {
        parent.close();
      }
    }
    return directory;
  }
}

/** As many bytes as there were when it was opened, or those that are there by now. Bytes added meanwhile are not read. */
async function filled(file: FileHandle, size: number): Promise<Uint8Array> {
  const bytes = new Uint8Array(size);
  let length = 0;
  while (length < size) {
    const { bytesRead } = await file.read(bytes, length, size - length, length);
    if (bytesRead === 0) break;
    length += bytesRead;
  }
  return bytes.subarray(0, length);
}

function entryOf(name: string, there: Stats | undefined): FileEntry | undefined {
  if (there === undefined) return undefined;
  const kind = kindOf(there);
  return { name, kind: kind === "unknown" ? "other" : kind, size: there.size, mode: there.mode & 0o777 };
}

function isAbsence(error: FileError): boolean {
  return error.code === "file-missing" || error.code === "file-not-a-directory";
}

/** An error of the system as one of ours. Programming errors stay what they are. */
function translated(error: unknown, path: string): unknown {
  const code = codeOf(error);
  if (code === undefined) return error;
  if (code === "ENOENT") return missingFile(path);
  if (code === "ELOOP") return linkRefused(path);
  if (code === "ENOTDIR")
    return new FileError("not-a-directory", path, "a part of it is not a directory", error);
  if (code === "EISDIR") return new FileError("not-a-file", path, "it is a directory", error);
  return new FileError("failed", path, `the system says ${code}`, error);
}
