import { isUtf8 } from "node:buffer";
import { buffer } from "node:stream/consumers";
import { contentOf, modeOf } from "../check.js";
import {
  ArchiveError,
  EngineError,
  FileError,
  missingFile,
  PathRefusedError,
  requireDirectory,
  requireFile,
} from "../error.js";
import { bytesOfName, namesOf, textOfName } from "../path.js";
import type { FileEntry, SandboxFiles } from "../sandbox.js";
import type { ContainerSandbox } from "./container.js";
import type { Engine } from "./engine.js";
import { moveOf, removalOf, WORKSPACE } from "./script.js";
import { fillOf, type ReadEntry, readTar, TAR_END, tarHeader } from "./tar.js";

/** The files of a container. It is frozen and each step checked, because the engine follows links. */
export class ContainerFiles implements SandboxFiles {
  readonly #host: ContainerSandbox;

  constructor(host: ContainerSandbox) {
    this.#host = host;
  }

  async read(path: string): Promise<Uint8Array> {
    const names = namesOf(path);
    return this.#host.still(async () => {
      requireFile(await this.#walk(path, names), path);
      for await (const { kind, body } of this.#host.archive.read(placeOf(names))) {
        const why = "it is another name of a file, and can be read by that one only";
        if (kind !== "file") throw new FileError("failed", path, why);
        return buffer(body());
      }
      throw missingFile(path);
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
      if (there === undefined) throw missingFile(path);
      requireDirectory(there, path, names.at(-1));
      const entries: FileEntry[] = [];
      const sizes = new Map<string, number>();
      // The engine has no way to show one directory alone: its archive holds all that is below it too.
      for await (const entry of this.#host.archive.read(placeOf(names))) {
        if (entry.kind === "file") sizes.set(entry.name.toString("latin1"), entry.size);
        const own = ownName(entry.name);
        if (own !== undefined) entries.push(shownEntry(own, entry, sizes));
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
      if (there === undefined) throw missingFile(path);
      if (there.kind !== "link") throw new FileError("failed", path, "it is not a link");
      const target = await this.#host.archive.target(placeOf(names));
      if (target === undefined) throw missingFile(path);
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

  /** The entry at a path, each step of it looked at; undefined when something on the way is missing. */
  async #walk(path: string, names: readonly string[]): Promise<FileEntry | undefined> {
    let there: FileEntry | undefined = { name: "", kind: "directory", size: 0, mode: 0o755 };
    for (let length = 1; length <= names.length; length++) {
      requireDirectory(there, path, names[length - 2]);
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
      requireDirectory(there, path, names[present]);
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

/** An entry of an archive as callers see it: a hard link is a file, as long as the entry that it names. */
function shownEntry(
  name: string,
  entry: ReadEntry,
  sizes: ReadonlyMap<string, number> = new Map(),
): FileEntry {
  const { kind, target, size, mode } = entry;
  if (kind === "link") return { name, kind, size: target.length, mode: mode & 0o777 };
  if (kind !== "hard-link") return { name, kind, size, mode: mode & 0o777 };
  return { name, kind: "file", size: sizes.get(target.toString("latin1")) ?? size, mode: mode & 0o777 };
}

/** Turns the answer of a script into an error. */
function refuse(said: string, path: string): void {
  if (said === "ok") return;
  if (said === "link") throw new PathRefusedError(path, "a part of it is a link");
  if (said === "missing") throw missingFile(path);
  if (said === "not-a-directory")
    throw new FileError("not-a-directory", path, "a part of it is not a directory");
  if (said === "not-a-file") throw new FileError("not-a-file", path, "there is a directory already");
  throw new FileError("failed", path, `the container says ${said === "" ? "nothing" : JSON.stringify(said)}`);
}

/** The files of a container as archives. The engine follows links: callers check a path's steps first. */
export class Archive {
  readonly #engine: Engine;
  readonly #container: string;

  constructor(engine: Engine, container: string) {
    this.#engine = engine;
    this.#container = container;
  }

  /** The entry at a path that goes through no link, itself and not its target; undefined when nothing is there. */
  async look(path: Buffer): Promise<FileEntry | undefined> {
    if (!this.#canName(split(path)[1])) return this.#find(path);
    let said: string | undefined;
    try {
      said = await this.#engine.head(this.#path, { query: { path: encoded(path) } }, STAT);
    } catch (error) {
      if (!(error instanceof EngineError) || error.status === null) throw error;
      // The engine looks where a link leads, and has no answer for one that leads to itself.
      return this.#find(path);
    }
    if (said === undefined) return undefined;
    const stat = JSON.parse(Buffer.from(said, "base64").toString("utf8")) as Stat;
    const kind = kindOf(stat.mode);
    return { name: stat.name, kind, size: kind === "directory" ? 0 : stat.size, mode: stat.mode & 0o777 };
  }

  /** Where the link at a path leads. */
  async target(path: Buffer): Promise<Buffer | undefined> {
    if (this.#isPodman) return (await this.#entry(path))?.target;
    for await (const { target } of this.read(path)) return target;
    return undefined;
  }

  /** The archive of a path, of a directory with all that is below it. Names in it are relative to it, its own is empty. */
  async *read(path: Buffer): AsyncGenerator<ReadEntry, void, void> {
    const [above, name] = split(path);
    if (this.#canName(name)) {
      yield* relative(readTar(this.#engine.read(this.#path, { query: { path: encoded(path) } })));
      return;
    }
    // Then the directory that holds it is packed.
    for await (const entry of this.read(above)) {
      const own = below(entry.name, name);
      if (own !== undefined)
        yield {
          ...entry,
          name: own,
          target: entry.kind === "hard-link" ? (below(entry.target, name) ?? entry.target) : entry.target,
        };
    }
  }

  /** Unpacks an archive into a directory that is there. Anything in the way of an entry is replaced. */
  async write(directory: Buffer, bytes: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<void> {
    await this.#engine.send(this.#path, bytes, { query: { path: encoded(directory) } });
  }

  /** A small text file; undefined when it does not exist. */
  async text(path: string): Promise<string | undefined> {
    try {
      for await (const entry of this.read(Buffer.from(path))) {
        if (entry.kind !== "file") return undefined;
        return (await buffer(entry.body())).toString("utf8");
      }
    } catch (error) {
      if (!(error instanceof EngineError) || error.status !== 404) throw error;
    }
    return undefined;
  }

  async #find(path: Buffer): Promise<FileEntry | undefined> {
    const entry = await this.#entry(path);
    return entry === undefined ? undefined : shownEntry("", entry);
  }

  /** An entry as the archive of the directory shows it that it is in. */
  async #entry(path: Buffer): Promise<ReadEntry | undefined> {
    const [above, name] = split(path);
    try {
      const sizes = new Map<string, number>();
      for await (const entry of this.read(above)) {
        if (entry.kind === "file") sizes.set(entry.name.toString("latin1"), entry.size);
        if (entry.name.equals(name))
          return { ...entry, size: sizes.get(entry.target.toString("latin1")) ?? entry.size };
      }
    } catch (error) {
      if (!(error instanceof EngineError) || error.status !== 404) throw error;
    }
    return undefined;
  }

  /** Docker loses a name that is not text on its way to where it packs; Podman takes it for a pattern. */
  #canName(name: Buffer): boolean {
    return isUtf8(name) && !(this.#isPodman && /[*?[\]\\]/.test(name.toString("utf8")));
  }

  get #isPodman(): boolean {
    return this.#engine.about.name === "podman";
  }

  get #path(): string {
    return `/containers/${this.#container}/archive`;
  }
}

/** Entries with relative names. The first shows how this engine begins names: base, "." or "/". */
export async function* relative(entries: AsyncIterable<ReadEntry>): AsyncGenerator<ReadEntry, void, void> {
  let base: Buffer | undefined;
  for await (const entry of entries) {
    const name = trimmed(entry.name);
    base ??= name;
    const own = below(name, base);
    if (own === undefined) throw new ArchiveError("an entry is not in the directory that it is of");
    const target = entry.kind === "hard-link" ? below(trimmed(entry.target), base) : entry.target;
    yield { ...entry, name: own, target: target ?? entry.target };
  }
}

const SLASH = 0x2f;
const STAT = "x-docker-container-path-stat";
type Stat = { readonly name: string; readonly size: number; readonly mode: number };

/** The engine writes modes as Go does, with bits of its own for what is not a file. */
function kindOf(mode: number): FileEntry["kind"] {
  if (mode >>> 31 === 1) return "directory";
  if ((mode & (1 << 27)) !== 0) return "link";
  const others = (1 << 26) | (1 << 25) | (1 << 24) | (1 << 21) | (1 << 19);
  return (mode & others) !== 0 ? "other" : "file";
}

/** A path and its last name. */
function split(path: Buffer): readonly [Buffer, Buffer] {
  const slash = path.lastIndexOf(SLASH);
  return [path.subarray(0, Math.max(0, slash)), path.subarray(slash + 1)];
}

/** A name without what stands before and after it: "./a/" and "/a" are "a". */
function trimmed(name: Buffer): Buffer {
  let [from, to] = [0, name.length];
  while (name[from] === SLASH || (name[from] === 0x2e && (from + 1 === to || name[from + 1] === SLASH)))
    from += 1;
  while (to > from && name[to - 1] === SLASH) to -= 1;
  return name.subarray(from, to);
}

/** A name relative to one above it; undefined when it is not below that. */
function below(name: Buffer, above: Buffer): Buffer | undefined {
  if (above.length === 0) return name;
  if (!name.subarray(0, above.length).equals(above)) return undefined;
  if (name.length === above.length) return name.subarray(above.length);
  return name[above.length] === SLASH ? name.subarray(above.length + 1) : undefined;
}

/** Bytes as part of an address: names need not be text. */
function encoded(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += `%${byte.toString(16).padStart(2, "0")}`;
  return text;
}
