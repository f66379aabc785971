import type { Limits } from "../spec.js";
import type { Directory, Edit, FileNode, Node, Space } from "./space.js";
import { appended, entriesOf, file, WORKSPACE } from "./space.js";
import { type Change, copied, isFixed, moved, PathError, removed, walk, walkTo } from "./walk.js";

/** A space as the file system of one command, within its quota. Once closed, late writes change nothing. */
export class ShellFiles {
  readonly #space: Space;
  readonly #quota: Quota;
  #closed = false;

  constructor(space: Space, quota: Quota) {
    this.#space = space;
    this.#quota = quota;
  }

  close(): void {
    this.#closed = true;
  }

  async readFile(path: string, options?: EncodingOption): Promise<string> {
    const { buffer, byteOffset, length } = await this.readFileBuffer(path);
    return Buffer.from(buffer, byteOffset, length).toString(encodingOf(options));
  }

  async readFileBuffer(path: string): Promise<Uint8Array> {
    const node = await this.#see((root) => walkTo(root, path, "open", true).node);
    if (node.kind !== "file") throw new PathError("EISDIR", "read", path);
    return this.#space.bytes(node);
  }

  async writeFile(path: string, content: string | Uint8Array, options?: EncodingOption): Promise<void> {
    const bytes = bytesOf(content, encodingOf(options));
    this.#quota.checkFile(bytes.length, path);
    await this.#change((edit) => {
      // Every file system of this shell makes the directories that a new file needs, and the shell relies on it: what a
      // redirection throws would end the whole script.
      makeWay(edit, path.slice(0, path.lastIndexOf("/")));
      const { names, node } = fileAt(edit.root, path);
      if (isSink(names)) return;
      const after = file(bytes, node?.mode ?? 0o644, edit.now);
      this.#apply(edit, [{ names, before: node, after }], path);
    });
  }

  async appendFile(path: string, content: string | Uint8Array, options?: EncodingOption): Promise<void> {
    const more = bytesOf(content, encodingOf(options));
    for (;;) {
      const { node } = await this.#change((edit) => {
        makeWay(edit, path.slice(0, path.lastIndexOf("/")));
        return fileAt(edit.root, path);
      });
      const bytes = node === undefined ? new Uint8Array(0) : await this.#space.bytes(node);
      this.#quota.checkFile(bytes.length + more.length, path);
      const isDone = await this.#change((edit) => {
        const now = fileAt(edit.root, path);
        // Somebody else wrote it while it was read.
        if (now.node?.content !== node?.content) return false;
        if (isSink(now.names)) return true;
        const mode = node?.mode ?? 0o644;
        const after: FileNode = { kind: "file", mode, mtime: edit.now, content: appended(bytes, more) };
        this.#apply(edit, [{ names: now.names, before: node, after }], path);
        return true;
      });
      if (isDone) return;
    }
  }

  async exists(path: string): Promise<boolean> {
    try {
      return await this.#see((root) => walk(root, path, "access", true).node !== undefined);
    } catch (error) {
      if (error instanceof PathError) return false;
      throw error;
    }
  }

  stat(path: string): Promise<ShellStat> {
    return this.#see((root) => statOf(walkTo(root, path, "stat", true)));
  }

  lstat(path: string): Promise<ShellStat> {
    return this.#see((root) => statOf(walkTo(root, path, "lstat", false)));
  }

  mkdir(path: string, options: { readonly recursive?: boolean } = {}): Promise<void> {
    return this.#change((edit) => {
      if (options.recursive !== true) {
        const { names, node } = walk(edit.root, path, "mkdir", false);
        if (node !== undefined) throw new PathError("EEXIST", "mkdir", path);
        edit.put(names, edit.directory());
        return;
      }
      makeWay(edit, path);
    });
  }

  async readdir(path: string): Promise<string[]> {
    return (await this.readdirWithFileTypes(path)).map(({ name }) => name);
  }

  readdirWithFileTypes(path: string): Promise<(Kinds & { name: string })[]> {
    return this.#see((root) => {
      const { node } = walkTo(root, path, "scandir", true);
      if (node.kind !== "directory") throw new PathError("ENOTDIR", "scandir", path);
      return [...entriesOf(node)]
        .sort(([one], [other]) => (one < other ? -1 : 1))
        .map(([name, entry]) => ({ name, ...kindsOf(entry) }));
    });
  }

  rm(path: string, options: { readonly recursive?: boolean; readonly force?: boolean } = {}): Promise<void> {
    return this.#change((edit) => {
      const { recursive = false, force = false } = options;
      for (const changes of removed(edit.root, path, recursive, force)) this.#apply(edit, changes, path);
    });
  }

  cp(source: string, target: string, options: { readonly recursive?: boolean } = {}): Promise<void> {
    return this.#change((edit) => {
      const changes = copied(edit.root, source, target, options.recursive === true, edit.now);
      this.#apply(edit, changes, target);
      edit.share();
    });
  }

  mv(source: string, target: string): Promise<void> {
    return this.#change((edit) => this.#apply(edit, moved(edit.root, source, target), target));
  }

  resolvePath(base: string, path: string): string {
    const names: string[] = [];
    for (const name of `${path.startsWith("/") ? "" : base}/${path}`.split("/")) {
      if (name === "..") names.pop();
      else if (name !== "" && name !== ".") names.push(name);
    }
    return `/${names.join("/")}`;
  }

  /** The shell asks for this only where nothing matches a pattern; directories that were not read are unknown. */
  getAllPaths(): string[] {
    return [];
  }

  chmod(path: string, mode: number): Promise<void> {
    return this.#change((edit) => {
      const { names, node } = walkTo(edit.root, path, "chmod", true);
      if (node.kind === "file") edit.put(names, { ...node, mode: mode & 0o777 });
      else edit.adjust(names, { mode: mode & 0o777 });
    });
  }

  symlink(target: string, path: string): Promise<void> {
    return this.#change((edit) => {
      const { names, node } = walk(edit.root, path, "symlink", false);
      if (node !== undefined) throw new PathError("EEXIST", "symlink", path);
      if (target === "") throw new PathError("ENOENT", "symlink", path);
      edit.put(names, { kind: "link", target, mtime: edit.now });
    });
  }

  /** A second name for a file. From then on they are two files: a tree has no place for what they have in common. */
  link(source: string, path: string): Promise<void> {
    return this.#change((edit) => {
      const from = walkTo(edit.root, source, "link", false);
      const to = walk(edit.root, path, "link", false);
      if (from.node.kind !== "file") throw new PathError("EPERM", "link", source);
      if (to.node !== undefined) throw new PathError("EEXIST", "link", path);
      this.#apply(edit, [{ names: to.names, before: undefined, after: from.node }], path);
    });
  }

  readlink(path: string): Promise<string> {
    return this.#see((root) => {
      const { node } = walkTo(root, path, "readlink", false);
      if (node.kind !== "link") throw new PathError("EINVAL", "readlink", path);
      return node.target;
    });
  }

  realpath(path: string): Promise<string> {
    return this.#see((root) => `/${walkTo(root, path, "realpath", true).names.join("/")}`);
  }

  utimes(path: string, _accessed: Date, modified: Date): Promise<void> {
    return this.#change((edit) => {
      const { names, node } = walkTo(edit.root, path, "utimes", true);
      const mtime = modified.getTime();
      if (node.kind === "directory") edit.adjust(names, { mtime });
      else edit.put(names, { ...node, mtime });
    });
  }

  #see<Result>(step: (root: Directory) => Result): Promise<Result> {
    return this.#space.see(step);
  }

  #change<Result>(step: (edit: Edit) => Result): Promise<Result> {
    return this.#space.change((edit) => {
      if (this.#closed) throw new PathError("EPERM", "write", "/");
      return step(edit);
    });
  }

  #apply(edit: Edit, changes: readonly Change[], path: string): void {
    for (const { names, after } of changes) {
      if (isFixed(names)) throw new PathError("EBUSY", "write", path);
      if (after?.kind === "file") this.#quota.checkFile(after.content.size, path);
    }
    this.#quota.take(changes, path);
    for (const { names, after } of changes) {
      if (after === undefined) edit.remove(names);
      else edit.put(names, after);
    }
  }
}

function makeWay(edit: Edit, path: string): void {
  const wanted = path.split("/").filter((name) => name !== "");
  for (let length = 1; length <= wanted.length; length++) {
    const { names, node } = walk(edit.root, `/${wanted.slice(0, length).join("/")}`, "mkdir", true);
    if (node === undefined) edit.put(names, edit.directory());
    else if (node.kind !== "directory") throw new PathError("EEXIST", "mkdir", path);
  }
}

/** The file at a path, or the place for one, through links. */
function fileAt(
  root: Directory,
  path: string,
): { readonly names: readonly string[]; readonly node: FileNode | undefined } {
  const { names, node } = walk(root, path, "open", true);
  if (node !== undefined && node.kind !== "file") throw new PathError("EISDIR", "open", path);
  return { names, node };
}

/** `/dev/null` takes everything and keeps nothing. */
function isSink(names: readonly string[]): boolean {
  return names.length === 2 && names[0] === "dev" && names[1] === "null";
}

/** The shell's description of a path. */
type ShellStat = Kinds & { mode: number; size: number; mtime: Date; identity: string };

function statOf({ names, node }: ReturnType<typeof walkTo>): ShellStat {
  const { kind } = node;
  return {
    ...kindsOf(node),
    mode: kind === "link" ? 0o777 : node.mode,
    size: kind === "file" ? node.content.size : kind === "link" ? Buffer.byteLength(node.target) : 0,
    mtime: new Date(node.mtime),
    // Every file has one name here, so its name is what it is known by.
    identity: `/${names.join("/")}`,
  };
}

/** The kind of an entry, in the words of the shell. */
type Kinds = { isFile: boolean; isDirectory: boolean; isSymbolicLink: boolean };

function kindsOf({ kind }: Node): Kinds {
  return { isFile: kind === "file", isDirectory: kind === "directory", isSymbolicLink: kind === "link" };
}

type Encoding = "utf8" | "utf-8" | "ascii" | "binary" | "base64" | "hex" | "latin1";
export type EncodingOption = { readonly encoding?: Encoding | null } | Encoding | undefined;

export function encodingOf(options: EncodingOption): BufferEncoding {
  return (typeof options === "string" ? options : options?.encoding) ?? "utf8";
}

export function bytesOf(content: string | Uint8Array, encoding: BufferEncoding): Uint8Array {
  // A copy: what a command does with its buffer later is not written.
  return typeof content === "string" ? Buffer.from(content, encoding) : new Uint8Array(content);
}

/** How much is used outside of the workspace of a sandbox, by all its commands. */
export type Scratch = { used: number };

/** The bytes that one command may write. */
export class Quota {
  readonly #limits: Required<Limits>;
  readonly #scratch: Scratch;
  readonly #full: () => void;
  #grown = 0;

  /** @param full is told when the workspace may not grow */
  constructor(limits: Required<Limits>, scratch: Scratch, full: () => void) {
    this.#limits = limits;
    this.#scratch = scratch;
    this.#full = full;
  }

  /** Refuses a file that would become too long. */
  checkFile(size: number, path: string): void {
    if (size > this.#limits.file) throw new PathError("EFBIG", "write", path);
  }

  /** Counts changes that are made together, or refuses them. Called right before they are made. */
  take(changes: readonly Change[], path: string): void {
    let [inside, outside] = [0, 0];
    for (const { names, before, after } of changes) {
      const growth = weight(after) - weight(before);
      if (names[0] === WORKSPACE) inside += growth;
      else outside += growth;
    }
    if (inside > 0 && this.#grown + inside > this.#limits.disk) {
      this.#full();
      throw new PathError("ENOSPC", "write", path);
    }
    if (outside > 0 && this.#scratch.used + outside > this.#limits.scratch)
      throw new PathError("ENOSPC", "write", path);
    this.#grown += inside;
    this.#scratch.used = Math.max(0, this.#scratch.used + outside);
  }
}

/** The bytes of what is here. A directory that was not read takes no room, wherever it is put. */
function weight(node: Node | undefined): number {
  if (node === undefined || node.kind === "link") return 0;
  if (node.kind === "file") return node.content.size;
  let sum = 0;
  const todo: Node[] = [node];
  for (let one = todo.pop(); one !== undefined; one = todo.pop()) {
    if (one.kind === "file") sum += one.content.size;
    else if (one.kind === "directory") for (const child of one.entries?.values() ?? []) todo.push(child);
  }
  return sum;
}
