import { isUtf8 } from "node:buffer";
import type { FileEntry } from "../sandbox.js";
import type { Engine } from "./engine.js";
import { ArchiveError, EngineError } from "./error.js";
import { type ReadEntry, readTar } from "./tar-read.js";

/**
 * The files of a container as the engine shows them: archives in, archives out, and a look at a single path. The engine
 * follows links on the way to a path, so anyone who must not be led astray looks at every step of it first.
 */
export class Archive {
  readonly #engine: Engine;
  readonly #container: string;

  constructor(engine: Engine, container: string) {
    this.#engine = engine;
    this.#container = container;
  }

  /** What is at a path that goes through no link, itself and not where it leads; undefined when nothing is. */
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
    // What it is in is packed, then.
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

  /** Unpacks an archive into a directory that is there. What is in the way of an entry is replaced. */
  async write(directory: Buffer, bytes: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<void> {
    await this.#engine.send(this.#path, bytes, { query: { path: encoded(directory) } });
  }

  /** A small text file; undefined when there is none. */
  async text(path: string): Promise<string | undefined> {
    try {
      for await (const entry of this.read(Buffer.from(path))) {
        if (entry.kind !== "file") return undefined;
        const chunks: Buffer[] = [];
        for await (const chunk of entry.body()) chunks.push(chunk);
        return Buffer.concat(chunks).toString("utf8");
      }
    } catch (error) {
      if (!(error instanceof EngineError) || error.status !== 404) throw error;
    }
    return undefined;
  }

  async #find(path: Buffer): Promise<FileEntry | undefined> {
    const entry = await this.#entry(path);
    if (entry === undefined) return undefined;
    const { kind, target, size, mode } = entry;
    return {
      name: "",
      kind: kind === "hard-link" ? "file" : kind,
      size: kind === "link" ? target.length : size,
      mode: mode & 0o777,
    };
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

/**
 * Entries with names relative to what the archive is of. Engines begin names with the last one of the path, with a dot,
 * or with nothing but a slash; the first entry is the thing itself and shows which.
 */
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
