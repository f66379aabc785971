import { isUtf8 } from "node:buffer";
import type { FileEntry } from "../sandbox.js";
import type { Engine } from "./engine.js";
import { EngineError } from "./error.js";
import { type ReadEntry, readTar } from "./tar-read.js";

/**
 * The files of a container as the engine shows them: archives in, archives out, and a look at a single path. The engine
 * follows links on the way to a path, so whoever must not be led astray looks at every step of it first.
 */
export class Archive {
  readonly #engine: Engine;
  readonly #container: string;

  constructor(engine: Engine, container: string) {
    this.#engine = engine;
    this.#container = container;
  }

  /** What is at a path, itself and not where it leads; undefined when nothing is. */
  async look(path: Buffer): Promise<FileEntry | undefined> {
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

  /** The archive of a path, of a directory with all that is below it. Names in it begin with the last one of the path. */
  async *read(path: Buffer): AsyncGenerator<ReadEntry, void, void> {
    const [above, name] = split(path);
    if (isUtf8(name)) {
      yield* readTar(this.#engine.read(this.#path, { query: { path: encoded(path) } }));
      return;
    }
    // Docker loses a name that is no text on its way to where it packs; so what it is in is packed.
    const [, parent] = split(above);
    const begin = Buffer.concat([parent, SLASH]);
    const inside = Buffer.concat([begin, name, SLASH]);
    for await (const entry of this.read(above)) {
      const padded = entry.kind === "directory" ? entry.name : Buffer.concat([entry.name, SLASH]);
      if (padded.subarray(0, inside.length).equals(inside))
        yield { ...entry, name: entry.name.subarray(begin.length), target: withoutBegin(entry, begin) };
    }
  }

  async #find(path: Buffer): Promise<FileEntry | undefined> {
    const [above, name] = split(path);
    const [, parent] = split(above);
    const wanted = Buffer.concat([parent, SLASH, name]);
    for await (const entry of this.read(above))
      if (entry.name.equals(wanted) && entry.kind === "link")
        return { name: "", kind: "link", size: entry.target.length, mode: entry.mode & 0o777 };
    return undefined;
  }

  /** Unpacks an archive into a directory that is there. What is in the way of an entry is replaced. */
  async write(directory: Uint8Array, bytes: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<void> {
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

  get #path(): string {
    return `/containers/${this.#container}/archive`;
  }
}

const SLASH = Buffer.from("/");
const STAT = "x-docker-container-path-stat";
type Stat = { readonly name: string; readonly size: number; readonly mode: number };

/** The engine writes modes as Go does, with bits of its own for what is no file. */
function kindOf(mode: number): FileEntry["kind"] {
  if (mode >>> 31 === 1) return "directory";
  if ((mode & (1 << 27)) !== 0) return "link";
  const others = (1 << 26) | (1 << 25) | (1 << 24) | (1 << 21) | (1 << 19);
  return (mode & others) !== 0 ? "other" : "file";
}

/** A path and its last name. */
function split(path: Buffer): readonly [Buffer, Buffer] {
  const slash = path.lastIndexOf(0x2f);
  return [path.subarray(0, Math.max(0, slash)), path.subarray(slash + 1)];
}

/** A hard link names another entry of the archive; the target of any other link is its own affair. */
function withoutBegin({ kind, target }: ReadEntry, begin: Buffer): Buffer {
  return kind === "hard-link" && target.subarray(0, begin.length).equals(begin)
    ? target.subarray(begin.length)
    : target;
}

/** Bytes as part of an address: names need not be text. */
function encoded(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += `%${byte.toString(16).padStart(2, "0")}`;
  return text;
}
