import { posix } from "node:path";
import { type Digest, RecordError } from "../../session/index.js";
import { ByteReader } from "../byte-reader.js";
import { ArchiveError } from "../error.js";
import { bytesOfName, textOfName } from "../path.js";
import type { Snapshot } from "../sandbox.js";
import type { Trees } from "../trees.js";
import { DEEPEST } from "../workspace/capture.js";
import type { FileEntry, OpenTree } from "../workspace/entries.js";
import { closeTree, Deposit, entriesOf, isOpenTree, openAt, openTree } from "../workspace/entries.js";
import { Exclude } from "../workspace/exclude.js";
import type { Owner } from "./launch.js";
import { WORKSPACE } from "./script.js";
import { fillOf, type ReadEntry, TAR_END, tarHeader } from "./tar.js";

/** The tree of an archive, kept in the blob space file by file, so memory does not grow with the archive. */
export async function readTree(
  entries: AsyncIterable<ReadEntry>,
  trees: Trees,
  exclude: readonly string[] = [],
): Promise<Snapshot> {
  const reader = new TreeReader(trees, exclude);
  for await (const entry of entries) await reader.take(entry);
  return reader.finish();
}

class TreeReader {
  readonly #deposit: Deposit;
  readonly #exclude: Exclude;
  readonly #root: OpenTree;
  readonly #skipped: { path: string; why: string }[] = [];
  #files = 0;
  #bytes = 0;

  constructor(trees: Trees, exclude: readonly string[]) {
    this.#deposit = new Deposit(trees);
    this.#exclude = new Exclude(exclude);
    this.#root = openTree({ entries: [], ...(exclude.length > 0 && { exclude }) });
  }

  async take(entry: ReadEntry): Promise<void> {
    const names = partsOf(entry.name);
    const name = names.at(-1);
    if (name === undefined) return;
    const way = names.slice(0, -1);
    if (way.length > DEEPEST || this.#isExcluded(way, name, entry.kind === "directory")) return;
    if (way.length === DEEPEST && entry.kind === "directory")
      return this.#skip(names, `it is more than ${DEEPEST} directories deep`);
    const { entries } = this.#directory(way);
    if (entry.kind === "directory") {
      const there = entries.get(name);
      const open = there !== undefined && isOpenTree(there) ? there : openTree();
      entries.set(name, { ...open, mode: entry.mode & 0o777 });
    } else if (entry.kind === "link") {
      this.#count(0);
      entries.set(name, { kind: "link", name, target: textOfName(entry.target) });
    } else if (entry.kind === "hard-link") {
      const file = this.#find(partsOf(entry.target));
      if (file === undefined) return this.#skip(names, "it is another name of a file that is left out");
      this.#count(file.size);
      entries.set(name, { ...file, name });
    } else if (entry.kind === "file") {
      this.#count(entry.size);
      const bytes = new ByteReader(entry.body(), () => new ArchiveError("it ends before its end"));
      const take = (size: number): Promise<Buffer> => bytes.take(size);
      entries.set(name, await this.#deposit.read(name, entry.mode & 0o777, entry.size, take));
    } else this.#skip(names, "it is neither file, directory nor link");
  }

  async finish(): Promise<Snapshot> {
    const tree = await closeTree(this.#deposit, this.#root);
    await this.#deposit.finish();
    const skipped = this.#skipped.sort((one, other) => (one.path < other.path ? -1 : 1));
    return { tree, files: this.#files, bytes: this.#bytes, skipped };
  }

  #skip(names: readonly string[], why: string): void {
    this.#skipped.push({ path: names.join("/"), why });
  }

  #count(bytes: number): void {
    this.#files += 1;
    this.#bytes += bytes;
  }

  #isExcluded(way: readonly string[], name: string, directory: boolean): boolean {
    if (this.#exclude.patterns.length === 0) return false;
    return (
      way.some((each, place) => this.#exclude.has(way.slice(0, place), each, true)) ||
      this.#exclude.has(way, name, directory)
    );
  }

  /** The directory of some names. It comes before what is in it, but nothing relies on that. */
  #directory(names: readonly string[]): OpenTree {
    let found = this.#root;
    for (const name of names) {
      const next = found.entries.get(name) ?? openTree();
      if (!isOpenTree(next))
        throw new ArchiveError(`an entry goes through ${JSON.stringify(name)}, which is not a directory`);
      found.entries.set(name, next);
      found = next;
    }
    return found;
  }

  #find(names: readonly string[]): FileEntry | undefined {
    const found = openAt(this.#root, names.slice(0, -1))?.entries.get(names.at(-1) ?? "");
    if (found === undefined || isOpenTree(found)) return undefined;
    return found.kind === "file" || found.kind === "parts" ? found : undefined;
  }
}

/** The names on the way to an entry. */
export function partsOf(name: Buffer): readonly string[] {
  const names = textOfName(name)
    .split("/")
    .filter((part) => part !== "");
  if (names.includes("..")) throw new ArchiveError("a name in it leads out of its directory");
  return names.filter((part) => part !== ".");
}

export type TreeArchive = {
  readonly tree: Digest | null;
  readonly trees: Trees;
  readonly owner: Owner;
  /** The name of the directory that everything is put into, written first; "" for none. */
  readonly under: string;
};

const NOTHING = Buffer.alloc(0);

/** The archive of a tree: directories before what is in them, everything owned by one. */
export async function* writeTree({
  tree,
  trees,
  owner,
  under,
}: TreeArchive): AsyncGenerator<Uint8Array, void, void> {
  const common = { ...owner, mtime: Math.floor(Date.now() / 1000), target: NOTHING, size: 0 };
  const root = Buffer.from(under);
  if (root.length > 0) yield tarHeader({ ...common, kind: "directory", name: root, mode: 0o755 });
  for await (const { path, entry } of entriesOf(trees, tree)) {
    const own = bytesOfName(path);
    const name = root.length === 0 ? own : Buffer.concat([root, Buffer.from("/"), own]);
    if (entry.kind === "tree") yield tarHeader({ ...common, kind: "directory", name, mode: entry.mode });
    else if (entry.kind === "link") {
      yield tarHeader({ ...common, kind: "link", name, mode: 0o777, target: bytesOfName(entry.target) });
    } else {
      yield tarHeader({ ...common, kind: "file", name, mode: entry.mode, size: entry.size });
      let left = entry.size;
      for await (const piece of trees.pieces(entry)) {
        left -= piece.length;
        yield piece;
      }
      // Every name that follows would be read from the wrong place.
      if (left !== 0)
        throw new RecordError(`the file ${JSON.stringify(entry.name)} is not as long as its tree says`);
      yield fillOf(entry.size);
    }
  }
  yield TAR_END;
}

/** Whether a tree has links out of the workspace. Engines refuse to unpack these except at the root. */
export async function leadsOut(tree: Digest | null, trees: Trees): Promise<boolean> {
  for await (const { path, entry } of entriesOf(trees, tree)) {
    if (entry.kind !== "link") continue;
    const end = posix.join(WORKSPACE, posix.dirname(path), entry.target);
    if (end !== WORKSPACE && !end.startsWith(`${WORKSPACE}/`)) return true;
  }
  return false;
}
