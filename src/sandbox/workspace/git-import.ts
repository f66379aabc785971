import { mkdir, mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import type { Digest, TreeEntry } from "../../session/index.js";
import type { ByteReader } from "../byte-reader.js";
import { GitError } from "../error.js";
import { textOfName } from "../path.js";
import { PIECE_BYTES, type Trees } from "../trees.js";
import { closeTree, Deposit, type OpenTree, openAt, openTree } from "./entries.js";
import {
  commitOf,
  isRefusedByGit,
  type Repository,
  readerOf,
  repositoryAt,
  runGit,
  startGit,
} from "./git.js";
import { quoted } from "./patch.js";

export type ImportedGit = {
  readonly tree: Digest;
  /** The id of the commit. */
  readonly commit: string;
  readonly files: number;
  readonly bytes: number;
  /** Paths of the commit that the tree has not, and why. */
  readonly skipped: readonly { readonly path: string; readonly why: string }[];
};

const LONGEST_TARGET = 4096;

/**
 * Takes the files of a commit in a repository of this machine into a tree, as git keeps them: without filters, without
 * line ends being changed. Nothing in the repository is run, whatever its configuration says.
 */
export async function importGit(
  trees: Trees,
  repository: string,
  commit = "HEAD",
  options: { readonly signal?: AbortSignal } = {},
): Promise<ImportedGit> {
  const attempt = `import ${JSON.stringify(commit)} from ${basename(resolve(repository))}`;
  const isThere = (await stat(repository).catch(() => undefined))?.isDirectory() === true;
  const found = isThere ? await repositoryAt(repository) : undefined;
  if (found === undefined)
    throw new GitError(attempt, "there is no git repository", "make one with git init, or give another path");
  const id = await commitOf(found, commit);
  if (id === undefined)
    throw new GitError(
      attempt,
      "there is no such commit in it",
      `look for it: git -C ${basename(found.path)} log --oneline`,
    );
  return inCleanRoom(found, async (room) => {
    const reader = new CommitReader(trees, attempt, room, options.signal);
    const tree = await reader.read(id);
    return { tree, commit: id, files: reader.files, bytes: reader.bytes, skipped: reader.skipped };
  });
}

/** Arguments and environment for a git that sees the objects of a repository, and none of its configuration. */
type Room = { readonly args: readonly string[]; readonly env: { readonly [name: string]: string } };

async function inCleanRoom<Value>(
  repository: Repository,
  work: (room: Room) => Promise<Value>,
): Promise<Value> {
  const room = await mkdtemp(join(tmpdir(), "openrath-git-"));
  try {
    await mkdir(join(room, "objects"));
    await mkdir(join(room, "refs"));
    await writeFile(join(room, "HEAD"), "ref: refs/heads/none\n");
    const format = repository.format === "sha256" ? "[extensions]\nobjectFormat = sha256\n" : "";
    await writeFile(join(room, "config"), `[core]\nrepositoryFormatVersion = 1\nbare = true\n${format}`);
    const objects = quoted(Buffer.from(repository.objects), { always: true });
    return await work({ args: [`--git-dir=${room}`], env: { GIT_ALTERNATE_OBJECT_DIRECTORIES: objects } });
  } finally {
    await rm(room, { recursive: true, force: true });
  }
}

/** A file of the commit, and where it goes. */
type Leaf = {
  readonly path: string;
  readonly directory: OpenTree;
  readonly name: string;
  readonly mode: "file" | "program" | "link";
};

class CommitReader {
  files = 0;
  bytes = 0;
  readonly skipped: { readonly path: string; readonly why: string }[] = [];
  readonly #attempt: string;
  readonly #room: Room;
  readonly #signal: AbortSignal | undefined;
  readonly #deposit: Deposit;
  readonly #root = openTree();
  /** Where the bytes of each object go. */
  readonly #objects = new Map<string, Leaf[]>();

  constructor(trees: Trees, attempt: string, room: Room, signal: AbortSignal | undefined) {
    this.#attempt = attempt;
    this.#room = room;
    this.#signal = signal;
    this.#deposit = new Deposit(trees);
  }

  async read(commit: string): Promise<Digest> {
    const listing = await runGit(
      [...this.#room.args, "ls-tree", "-r", "-t", "-z", "--full-tree", commit],
      this.#options(),
    );
    if (listing.code !== 0) throw new GitError(this.#attempt, listing.complaint || "git could not list it");
    for (let from = 0; from < listing.output.length; ) {
      const end = listing.output.indexOf(0, from);
      this.#plan(listing.output.subarray(from, end));
      from = end + 1;
    }
    await this.#readObjects();
    const tree = await closeTree(this.#deposit, this.#root);
    await this.#deposit.finish();
    return tree;
  }

  /** One line of the listing: mode, kind, id, and a path of bytes. */
  #plan(line: Buffer): void {
    const tab = line.indexOf(9);
    const [mode = "", , id = ""] = line.toString("latin1", 0, tab).split(" ");
    const path = textOfName(line.subarray(tab + 1));
    const names = path.split("/");
    const refused = names.findIndex(
      (name) => name === "" || name === "." || name === ".." || isRefusedByGit(name),
    );
    // Files in a skipped directory are not listed on their own.
    if (refused >= 0 && refused < names.length - 1) return;
    const name = names.pop() as string;
    const directory = openAt(this.#root, names);
    const isTaken = directory === undefined || directory.entries.has(name);
    if (refused >= 0 || isTaken || mode === "160000") {
      const taken = isTaken ? "something else has this name" : `it is a submodule, at commit ${id}`;
      this.skipped.push({ path, why: refused >= 0 ? "git itself would refuse this name" : taken });
      return;
    }
    if (mode === "040000") {
      directory.entries.set(name, openTree());
      return;
    }
    // The name is taken from here on; the entry comes with the bytes.
    directory.entries.set(name, { kind: "file", name, mode: 0, size: 0, digest: "" });
    const kind = mode === "120000" ? "link" : mode === "100755" ? "program" : "file";
    const leaf: Leaf = { path, directory, name, mode: kind };
    const leaves = this.#objects.get(id);
    if (leaves === undefined) this.#objects.set(id, [leaf]);
    else leaves.push(leaf);
  }

  async #readObjects(): Promise<void> {
    if (this.#objects.size === 0) return;
    const git = startGit([...this.#room.args, "cat-file", "--batch", "--buffer"], this.#options());
    try {
      git.child.stdin.end([...this.#objects.keys(), ""].join("\n"));
      const output = readerOf(git);
      for (const [id, leaves] of this.#objects) {
        const [, kind, size] = ((await output.line()) ?? "").split(" ");
        if (kind !== "blob")
          throw new GitError(this.#attempt, `the object ${id} is missing in the repository`);
        await this.#object(output, Number(size), leaves);
        await output.take(1);
      }
    } catch (error) {
      git.child.kill("SIGKILL");
      // Where there is no git, or it was cancelled, that is what went wrong.
      await git.ended;
      throw error;
    }
    await git.ended;
  }

  async #object(output: ByteReader, size: number, leaves: readonly Leaf[]): Promise<void> {
    if (size <= PIECE_BYTES) {
      const bytes = await output.take(size);
      for (const leaf of leaves) await this.#put(leaf, size, bytes);
      return;
    }
    const parts: Digest[] = [];
    for (let left = size; left > 0; left -= PIECE_BYTES)
      parts.push(await this.#deposit.piece(await output.take(Math.min(left, PIECE_BYTES))));
    for (const leaf of leaves)
      if (leaf.mode === "link") this.#drop(leaf);
      else this.#set(leaf, await this.#deposit.parts(leaf.name, modeOf(leaf), size, parts), size);
  }

  async #put(leaf: Leaf, size: number, bytes: Buffer): Promise<void> {
    if (leaf.mode !== "link")
      return this.#set(leaf, await this.#deposit.file(leaf.name, modeOf(leaf), bytes), size);
    if (size === 0 || size > LONGEST_TARGET || bytes.includes(0)) return this.#drop(leaf);
    this.#set(leaf, { kind: "link", name: leaf.name, target: textOfName(bytes) }, 0);
  }

  #set({ directory, name }: Leaf, entry: TreeEntry, size: number): void {
    directory.entries.set(name, entry);
    this.files += 1;
    this.bytes += size;
  }

  #drop({ path, directory, name }: Leaf): void {
    directory.entries.delete(name);
    this.skipped.push({ path, why: "it is a link that leads nowhere" });
  }

  #options(): { env: Room["env"]; signal?: AbortSignal } {
    return { env: this.#room.env, ...(this.#signal && { signal: this.#signal }) };
  }
}

function modeOf(leaf: Leaf): number {
  return leaf.mode === "program" ? 0o755 : 0o644;
}
