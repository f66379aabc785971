import { isUtf8 } from "node:buffer";
import { mkdir, readdir } from "node:fs/promises";
import type { Digest, PathChange, Session, TreeEntry } from "../../session/index.js";
import { EMPTY_TREE, RathError, requireSession } from "../../session/index.js";
import { FileError, PathRefusedError, UnmergedFilesError } from "../error.js";
import { Lazy } from "../lazy.js";
import { bytesOfName } from "../path.js";
import type { FileEntry } from "../sandbox.js";
import { type BlobSpace, Trees } from "../trees.js";
import { checkout } from "./checkout.js";
import { diffTrees, entriesOf, entryAt } from "./entries.js";
import { mergeTrees } from "./merge.js";
import { type PatchOptions, patchOf } from "./patch.js";
import { StatCache } from "./stat-cache.js";
import { type ChangedBy, type WhoChangedOptions, whoChanged } from "./step.js";

/** The files of a session, to be read: now, later, without a sandbox, whatever became of the session since. */
export interface WorkspaceFiles {
  /** The tree of the files. Branches that came together are merged when it is asked for. */
  tree(): Promise<Digest>;
  /** The entries of a directory, sorted by name; "" or "." is the workspace. */
  list(path?: string): Promise<readonly FileEntry[]>;
  read(path: string): Promise<Uint8Array>;
  /** The text of a file in UTF-8. */
  text(path: string): Promise<string>;
  /** Where a link leads. */
  link(path: string): Promise<string>;
  has(path: string): Promise<boolean>;
  /** All files and links, sorted. */
  paths(): Promise<readonly string[]>;
  /** Makes a directory of the host hold these files and nothing else. Without `replace`, it must be empty or not there. */
  checkout(
    directory: string,
    options?: { readonly replace?: boolean; readonly signal?: AbortSignal },
  ): Promise<void>;
  /** The changes from another session to this one. */
  changesSince(other: Session): Promise<readonly PathChange[]>;
  patchSince(other: Session, options?: PatchOptions): Promise<string>;
  /** Which facts changed a path, newest first. */
  whoChanged(path: string, options?: Omit<WhoChangedOptions, "trees">): Promise<readonly ChangedBy[]>;
}

/** The files of any session (maybe none). Branches with unmerged files are an `UnmergedFilesError`. */
export function filesAt(session: Session, blobs: BlobSpace | Trees): WorkspaceFiles {
  return new FilesAt(requireSession(session, "filesAt"), blobs instanceof Trees ? blobs : new Trees(blobs));
}

class FilesAt implements WorkspaceFiles {
  readonly #session: Session;
  readonly #trees: Trees;
  // A file that is missing may come: the next call tries again.
  readonly #tree = new Lazy(() => treeOf(this.#session, this.#trees));

  constructor(session: Session, trees: Trees) {
    this.#session = session;
    this.#trees = trees;
  }

  tree(): Promise<Digest> {
    return this.#tree.get();
  }

  async list(path = ""): Promise<readonly FileEntry[]> {
    const entry = await this.#found(path);
    if (entry.kind !== "tree") throw new FileError("not-a-directory", path, "it is not a directory");
    const { entries } = await this.#trees.tree(entry.digest);
    return entries.map(shown);
  }

  async read(path: string): Promise<Uint8Array> {
    const entry = await this.#found(path);
    if (entry.kind === "tree") throw new FileError("not-a-file", path, "it is a directory");
    if (entry.kind === "link") throw new FileError("not-a-file", path, "it is a link");
    return this.#trees.bytes(entry);
  }

  async text(path: string): Promise<string> {
    const bytes = await this.read(path);
    if (!isUtf8(bytes)) throw new FileError("failed", path, "it is not text in UTF-8");
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8");
  }

  async link(path: string): Promise<string> {
    const entry = await this.#found(path);
    if (entry.kind !== "link") throw new FileError("not-a-file", path, "it is not a link");
    return entry.target;
  }

  async has(path: string): Promise<boolean> {
    return (await this.#entry(path)) !== undefined;
  }

  async paths(): Promise<readonly string[]> {
    const paths: string[] = [];
    for await (const { path, entry } of entriesOf(this.#trees, await this.tree()))
      if (entry.kind !== "tree") paths.push(path);
    return paths.sort();
  }

  async checkout(
    directory: string,
    options: { replace?: boolean; signal?: AbortSignal } = {},
  ): Promise<void> {
    const tree = await this.tree();
    await mkdir(directory, { recursive: true });
    if (options.replace !== true && (await readdir(directory)).length > 0)
      throw new RathError("directory-not-empty", `Cannot put files into ${directory}: it is not empty.`, {
        hint: "give another directory, or let what is there go: checkout(directory, { replace: true })",
        data: { directory },
      });
    const { signal } = options;
    await checkout(directory, this.#trees, tree, { cache: new StatCache(), ...(signal && { signal }) });
  }

  async changesSince(other: Session): Promise<readonly PathChange[]> {
    return diffTrees(
      this.#trees,
      await treeOf(requireSession(other, "changesSince"), this.#trees),
      await this.tree(),
    );
  }

  async patchSince(other: Session, options?: PatchOptions): Promise<string> {
    const before = await treeOf(requireSession(other, "patchSince"), this.#trees);
    return patchOf(this.#trees, before, await this.tree(), options);
  }

  whoChanged(path: string, options?: Omit<WhoChangedOptions, "trees">): Promise<readonly ChangedBy[]> {
    return whoChanged(this.#session, path, { ...options, trees: this.#trees });
  }

  async #found(path: string): Promise<TreeEntry> {
    const entry = await this.#entry(path);
    if (entry === undefined) throw new FileError("missing", path, "there is nothing");
    return entry;
  }

  async #entry(path: string): Promise<TreeEntry | undefined> {
    return entryAt(this.#trees, await this.tree(), path, () => {
      throw new PathRefusedError(path, "it goes through a link");
    });
  }
}

/** The tree of a session, its sides merged. */
async function treeOf(session: Session, trees: Trees): Promise<Digest> {
  const { tree, unmerged = [] } = session.files;
  let merged = tree ?? EMPTY_TREE;
  for (const { base, theirs } of unmerged) {
    const merge = await mergeTrees(trees, { base, ours: merged, theirs });
    if (merge.conflicts.length > 0) throw new UnmergedFilesError(session.id, merge.conflicts);
    merged = merge.tree;
  }
  return merged;
}

function shown(entry: TreeEntry): FileEntry {
  const { name } = entry;
  if (entry.kind === "link")
    return { name, kind: "link", size: bytesOfName(entry.target).length, mode: 0o777 };
  if (entry.kind === "tree") return { name, kind: "directory", size: 0, mode: entry.mode };
  return { name, kind: "file", size: entry.size, mode: entry.mode };
}
