import { contentOf, modeOf } from "../check-call.js";
import { FileError, PathRefusedError } from "../error.js";
import { bytesOfName, namesOf, textOfName } from "../path.js";
import type { FileEntry, SandboxFiles } from "../sandbox.js";
import type { Archive } from "./archive.js";
import { moveOf, removalOf, WORKSPACE } from "./script.js";
import { fillOf, TAR_END, tarHeader } from "./tar-write.js";
import type { Owner } from "./user.js";

/** Longer files are read in parts by anyone who needs them; a file can pretend any length. */
const READ_BYTES = 512 * 1024 ** 2;

/** What work on files needs of the container they are in. */
export interface FileHost {
  readonly archive: Archive;
  readonly owner: Owner;
  /** Does something while no process of the container runs, so that nothing changes between a look and what follows. */
  still<Value>(work: () => Promise<Value>): Promise<Value>;
  /** Looks at something while the container may go on. */
  look<Value>(work: () => Promise<Value>): Promise<Value>;
  /** Runs a script in the container, as its commands run, and gives what it says. */
  script(words: readonly string[]): Promise<string>;
}

/**
 * The files of a container. The engine reads and writes them with its own power, and follows links on the way; so the
 * container stands still meanwhile, and each step of a path is looked at first.
 */
export class ContainerFiles implements SandboxFiles {
  readonly #host: FileHost;

  constructor(host: FileHost) {
    this.#host = host;
  }

  async read(path: string): Promise<Uint8Array> {
    const names = namesOf(path);
    return this.#host.still(async () => {
      const there = await this.#walk(path, names);
      if (there === undefined) throw missing(path);
      if (there.kind === "link") throw new PathRefusedError(path, "it is a link, and links are not followed");
      if (there.kind !== "file")
        throw new FileError(
          "not-a-file",
          path,
          there.kind === "directory" ? "it is a directory" : "it is not a regular file",
        );
      if (there.size > READ_BYTES)
        throw new FileError("failed", path, `it has ${there.size} bytes, too many to read at once`);
      for await (const { kind, body } of this.#host.archive.read(placeOf(names))) {
        if (kind !== "file")
          throw new FileError(
            "failed",
            path,
            "it is another name of a file, and can be read by that one only",
          );
        const chunks: Buffer[] = [];
        for await (const chunk of body()) chunks.push(chunk);
        return Buffer.concat(chunks);
      }
      throw missing(path);
    });
  }

  async write(path: string, bytes: Uint8Array | string, options?: { readonly mode?: number }): Promise<void> {
    const names = namesOf(path);
    const content = Buffer.from(contentOf(path, bytes));
    const asked = modeOf(path, options);
    await this.#host.still(async () => {
      const last = names.at(-1);
      const there = last === undefined ? undefined : await this.#walk(path, names);
      if (last === undefined || there?.kind === "directory")
        throw new FileError("not-a-file", path, "it is a directory");
      const mode = asked ?? (there?.kind === "file" ? there.mode : 0o644);
      await this.#put(path, names.slice(0, -1), { name: bytesOfName(last), content, mode: mode & 0o777 });
    });
  }

  async list(path = ""): Promise<readonly FileEntry[]> {
    const names = namesOf(path);
    return this.#host.still(async () => {
      const there = await this.#walk(path, names);
      if (there === undefined) throw missing(path);
      if (there.kind === "link")
        throw new PathRefusedError(path, `${JSON.stringify(names.at(-1))} is a link`);
      if (there.kind !== "directory") throw new FileError("not-a-directory", path, "it is not a directory");
      const entries: FileEntry[] = [];
      const sizes = new Map<string, number>();
      // The engine has no way to show one directory alone: its archive holds all that is below it too.
      for await (const { name, kind, size, mode, target } of this.#host.archive.read(placeOf(names))) {
        const own = ownName(name);
        if (kind === "file") sizes.set(name.toString("latin1"), size);
        if (own === undefined) continue;
        const hard = kind === "hard-link" ? sizes.get(target.toString("latin1")) : undefined;
        entries.push({
          name: own,
          kind: kind === "hard-link" ? "file" : kind,
          size: kind === "link" ? target.length : (hard ?? size),
          mode: mode & 0o777,
        });
      }
      return entries.sort((one, other) => (one.name < other.name ? -1 : 1));
    });
  }

  async stat(path: string): Promise<FileEntry | undefined> {
    const names = namesOf(path);
    return this.#host.look(() =>
      this.#walk(path, names).catch((error: unknown) => {
        if (error instanceof FileError && error.code === "file-not-a-directory") return undefined;
        throw error;
      }),
    );
  }

  async link(path: string): Promise<string> {
    const names = namesOf(path);
    return this.#host.still(async () => {
      const there = await this.#walk(path, names);
      if (there === undefined) throw missing(path);
      if (there.kind !== "link") throw new FileError("failed", path, "it is not a link");
      const target = await this.#host.archive.target(placeOf(names));
      if (target === undefined) throw missing(path);
      return textOfName(target);
    });
  }

  async make(path: string): Promise<void> {
    const names = namesOf(path);
    await this.#host.still(() => this.#put(path, names));
  }

  async remove(path: string): Promise<void> {
    const names = namesOf(path);
    if (names.length === 0) throw new PathRefusedError(path, "it is the workspace itself");
    const said = await this.#host.script(removalOf(names.map(bytesOfName)));
    if (said !== "missing" && said !== "not-a-directory") refuse(said, path);
  }

  async move(from: string, to: string): Promise<void> {
    const [here, there] = [namesOf(from), namesOf(to)];
    for (const [path, names] of [[from, here] as const, [to, there] as const])
      if (names.length === 0) throw new PathRefusedError(path, "it is the workspace itself");
    if (here.join("/") === there.join("/") && (await this.stat(from)) !== undefined) return;
    const said = await this.#host.script(moveOf(here.map(bytesOfName), there.map(bytesOfName)));
    const [side = "", word = ""] = said.split(" ");
    refuse(word === "" ? side : word, side === "to" ? to : from);
  }

  /** What is at the end of a path, each step of it looked at; undefined when something on the way is missing. */
  async #walk(path: string, names: readonly string[]): Promise<FileEntry | undefined> {
    let there: FileEntry | undefined = { name: "", kind: "directory", size: 0, mode: 0o755 };
    for (let length = 1; length <= names.length; length++) {
      if (there.kind === "link")
        throw new PathRefusedError(path, `${JSON.stringify(names[length - 2])} is a link`);
      if (there.kind !== "directory")
        throw new FileError(
          "not-a-directory",
          path,
          `${JSON.stringify(names[length - 2])} is not a directory`,
        );
      there = await this.#host.archive.look(placeOf(names.slice(0, length)));
      if (there === undefined) return undefined;
      there = { ...there, name: names[length - 1] ?? "" };
    }
    return there;
  }

  /** Makes the directories on the way that are not there, and a file in the last of them. */
  async #put(
    path: string,
    names: readonly string[],
    file?: { readonly name: Buffer; readonly content: Buffer; readonly mode: number },
  ): Promise<void> {
    let present = 0;
    while (present < names.length) {
      const there = await this.#host.archive.look(placeOf(names.slice(0, present + 1)));
      if (there === undefined) break;
      const name = JSON.stringify(names[present]);
      if (there.kind === "link") throw new PathRefusedError(path, `${name} is a link`);
      if (there.kind !== "directory")
        throw new FileError("not-a-directory", path, `${name} is not a directory`);
      present += 1;
    }
    if (file === undefined && present === names.length) return;
    const { archive, owner } = this.#host;
    const common = { ...owner, mtime: Math.floor(Date.now() / 1000), target: Buffer.alloc(0), size: 0 };
    const parts: Uint8Array[] = [];
    for (let length = present + 1; length <= names.length; length++)
      parts.push(
        tarHeader({ ...common, kind: "directory", name: joined(names.slice(present, length)), mode: 0o755 }),
      );
    if (file !== undefined) {
      const under = names.slice(present);
      const name =
        under.length === 0 ? file.name : Buffer.concat([joined(under), Buffer.from("/"), file.name]);
      const { mode, content } = file;
      parts.push(tarHeader({ ...common, kind: "file", name, mode, size: content.length }), content);
      parts.push(fillOf(content.length));
    }
    await archive.write(placeOf(names.slice(0, present)), [...parts, TAR_END]);
  }
}

/** A path of the workspace as one of the container. */
function placeOf(names: readonly string[]): Buffer {
  return names.length === 0
    ? Buffer.from(WORKSPACE)
    : Buffer.concat([Buffer.from(`${WORKSPACE}/`), joined(names)]);
}

function joined(names: readonly string[]): Buffer {
  return bytesOfName(names.join("/"));
}

/** The name of an entry directly in the directory that an archive is of. */
function ownName(name: Buffer): string | undefined {
  return name.length === 0 || name.includes(0x2f) ? undefined : textOfName(name);
}

function missing(path: string): FileError {
  return new FileError("missing", path, "nothing is there");
}

/** What a script says when it did not do what it should. */
function refuse(said: string, path: string): void {
  if (said === "ok") return;
  if (said === "link") throw new PathRefusedError(path, "a part of it is a link");
  if (said === "missing") throw missing(path);
  if (said === "not-a-directory")
    throw new FileError("not-a-directory", path, "a part of it is not a directory");
  if (said === "not-a-file") throw new FileError("not-a-file", path, "there is a directory already");
  throw new FileError("failed", path, `the container says ${said === "" ? "nothing" : JSON.stringify(said)}`);
}
