import { mkdir, mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import type { Digest, TreeEntry } from "../../session/index.js";
import type { ByteReader } from "../byte-reader.js";
import { GitError } from "../error.js";
import { textOfName } from "../path.js";
import { PIECE_BYTES, type Trees } from "../trees.js";
import { closeTree, Deposit, type OpenTree, openAt, openTree } from "./entries.js";
import type { GitOptions, Repository } from "./git.js";
import { commitOf, isRefusedByGit, readerOf, repositoryAt, runGit, startGit } from "./git.js";
import { quoted } from "./patch.js";

export type ImportedGit = {
  readonly tree: Digest;
  readonly commit: string;
  readonly files: number;
  readonly bytes: number;
  /** Paths of the commit that the tree has not, and why. */
  readonly skipped: readonly { readonly path: string; readonly why: string }[];
};

const LONGEST_TARGET = 4096;

/** Imports the files of a commit as git keeps them, without filters. Nothing in the repository is run. */
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
    const reader = new CommitReader(trees, attempt, { ...room, ...options });
    const tree = await reader.read(id);
    return { tree, commit: id, files: reader.files, bytes: reader.bytes, skipped: reader.skipped };
  });
}

/** For a git that sees the objects of a repository, and none of its configuration. */
type Room = GitOptions & { readonly args: readonly string[] };

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
  readonly #deposit: Deposit;
  readonly #root = openTree();
  /** Where the bytes of each object go. */
  readonly #objects = new Map<string, Leaf[]>();

  constructor(trees: Trees, attempt: string, room: Room) {
    this.#attempt = attempt;
    this.#room = room;
    this.#deposit = new Deposit(trees);
  }

  async read(commit: string): Promise<Digest> {
    const { args } = this.#room;
    const list = [...args, "ls-tree", "-r", "-t", "-z", "--full-tree", commit];
    const listing = await runGit(list, this.#room);
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
    const git = startGit([...this.#room.args, "cat-file", "--batch", "--buffer"], this.#room);
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

  /** Reads an object once, for all the files and links that it is. */
  async #object(output: ByteReader, size: number, leaves: readonly Leaf[]): Promise<void> {
    // A long one is kept as it comes; no link leads that far.
    const bytes = size <= PIECE_BYTES ? await output.take(size) : undefined;
    const take = async (count: number): Promise<Buffer> => bytes ?? output.take(count);
    const isKept = bytes === undefined || leaves.some(({ mode }) => mode !== "link");
    const file = isKept ? await this.#deposit.read("", 0o644, size, take) : undefined;
    for (const leaf of leaves) {
      const { name, mode } = leaf;
      if (mode !== "link" && file !== undefined)
        this.#set(leaf, { ...file, name, mode: mode === "program" ? 0o755 : 0o644 }, size);
      else if (bytes === undefined || size === 0 || size > LONGEST_TARGET || bytes.includes(0))
        this.#drop(leaf);
      else this.#set(leaf, { kind: "link", name, target: textOfName(bytes) }, 0);
    }
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
}
