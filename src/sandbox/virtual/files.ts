import { contentOf, modeOf } from "../check.js";
import { FileError, PathRefusedError } from "../error.js";
import { namesOf } from "../path.js";
import type { FileEntry, SandboxFiles } from "../sandbox.js";
import { type Directory, type Edit, entriesOf, file, type Node, type Space, WORKSPACE } from "./space.js";
import { isWithin } from "./walk.js";

/** The files of a virtual workspace, seen from the host. */
export class VirtualFiles implements SandboxFiles {
  readonly #space: Space;
  readonly #check: () => void;

  /** @param check throws when the sandbox is gone */
  constructor(space: Space, check: () => void) {
    this.#space = space;
    this.#check = check;
  }

  async read(path: string): Promise<Uint8Array> {
    const names = namesOf(path);
    const node = await this.#see((workspace) => must(nodeAt(workspace, names, path), path));
    if (node.kind === "link") throw throughLink(path);
    if (node.kind === "directory") throw new FileError("not-a-file", path, "it is a directory");
    // A copy: what the caller does with it is not written.
    return new Uint8Array(await this.#space.bytes(node));
  }

  async write(
    path: string,
    content: Uint8Array | string,
    options?: { readonly mode?: number },
  ): Promise<void> {
    const names = namesOf(path);
    const bytes = new Uint8Array(contentOf(path, content));
    const given = modeOf(path, options);
    await this.#change((edit, workspace) => {
      const there = nodeAt(workspace, names, path);
      if (there?.kind === "directory") throw new FileError("not-a-file", path, "it is a directory");
      makeWay(edit, workspace, names.slice(0, -1));
      const mode = given ?? (there?.kind === "file" ? there.mode : 0o644);
      edit.put([WORKSPACE, ...names], file(bytes, mode & 0o777, edit.now));
    });
  }

  async list(path = ""): Promise<readonly FileEntry[]> {
    const names = namesOf(path);
    return this.#see((workspace) => {
      const node = must(nodeAt(workspace, names, path), path);
      if (node.kind === "link") throw throughLink(path);
      if (node.kind !== "directory") throw new FileError("not-a-directory", path, "it is a file");
      return [...entriesOf(node)]
        .sort(([one], [other]) => (one < other ? -1 : 1))
        .map(([name, child]) => entryOf(name, child));
    });
  }

  async stat(path: string): Promise<FileEntry | undefined> {
    const names = namesOf(path);
    return this.#see((workspace) => {
      const node = nodeAt(workspace, names, path);
      return node === undefined ? undefined : entryOf(names.at(-1) ?? "", node);
    });
  }

  async link(path: string): Promise<string> {
    const names = namesOf(path);
    const node = await this.#see((workspace) => must(nodeAt(workspace, names, path), path));
    if (node.kind !== "link") throw new FileError("failed", path, "it is not a link");
    return node.target;
  }

  async make(path: string): Promise<void> {
    const names = namesOf(path);
    await this.#change((edit, workspace) => {
      const there = nodeAt(workspace, names, path);
      if (there?.kind === "link") throw throughLink(path);
      if (there?.kind === "file") throw new FileError("not-a-directory", path, "there is a file");
      makeWay(edit, workspace, names);
    });
  }

  async remove(path: string): Promise<void> {
    const names = namesOf(path);
    if (names.length === 0) throw new FileError("failed", path, "it is the workspace itself");
    await this.#change((edit, workspace) => {
      if (nodeAt(workspace, names, path) !== undefined) edit.remove([WORKSPACE, ...names]);
    });
  }

  async move(from: string, to: string): Promise<void> {
    const [source, target] = [namesOf(from), namesOf(to)];
    if (source.length === 0) throw new FileError("failed", from, "it is the workspace itself");
    await this.#change((edit, workspace) => {
      const node = must(nodeAt(workspace, source, from), from);
      const there = nodeAt(workspace, target, to);
      if (source.length === target.length && isWithin(source, target)) return;
      if (there?.kind === "directory") throw new FileError("not-a-file", to, "it is a directory");
      if (isWithin(source, target)) throw new FileError("failed", to, `it lies in ${JSON.stringify(from)}`);
      makeWay(edit, workspace, target.slice(0, -1));
      edit.remove([WORKSPACE, ...source]);
      edit.put([WORKSPACE, ...target], node);
    });
  }

  async #see<Result>(step: (workspace: Directory) => Result): Promise<Result> {
    this.#check();
    return this.#space.seeWorkspace(step);
  }

  async #change<Result>(step: (edit: Edit, workspace: Directory) => Result): Promise<Result> {
    this.#check();
    return this.#space.change((edit) => step(edit, edit.root.entries?.get(WORKSPACE) as Directory));
  }
}

/** The entry at a path; no link is followed. All entries on the way must be directories, or missing. */
function nodeAt(workspace: Directory, names: readonly string[], path: string): Node | undefined {
  let node: Node | undefined = workspace;
  for (const name of names) {
    if (node?.kind === "link") throw throughLink(path);
    if (node?.kind === "file") throw new FileError("not-a-directory", path, "it goes through a file");
    node = node && entriesOf(node).get(name);
  }
  return node;
}

function must(node: Node | undefined, path: string): Node {
  if (node === undefined) throw new FileError("missing", path, "there is nothing");
  return node;
}

/** Makes the directories on the way that are missing. */
function makeWay(edit: Edit, workspace: Directory, names: readonly string[]): void {
  let directory: Directory | undefined = workspace;
  names.forEach((name, place) => {
    const next: Node | undefined = directory?.entries?.get(name);
    directory = next?.kind === "directory" ? next : undefined;
    if (directory === undefined) edit.put([WORKSPACE, ...names.slice(0, place + 1)], edit.directory());
  });
}

function entryOf(name: string, node: Node): FileEntry {
  switch (node.kind) {
    case "file":
      return { name, kind: "file", size: node.content.size, mode: node.mode };
    case "directory":
      return { name, kind: "directory", size: 0, mode: node.mode };
    case "link":
      return { name, kind: "link", size: Buffer.byteLength(node.target), mode: 0o777 };
  }
}

function throughLink(path: string): PathRefusedError {
  return new PathRefusedError(path, "it leads through a link");
}
