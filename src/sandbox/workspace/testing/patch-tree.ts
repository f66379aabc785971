import type { Digest, TreeEntry } from "../../../session/index.js";
import { FileError } from "../../error.js";
import type { Trees } from "../../trees.js";
import { type ApplyOptions, applyPatch, type PatchFiles, type PatchOutcome } from "../apply-patch.js";
import { sideOf } from "../conflict.js";
import { Deposit, edited, entriesOf, entryAt, type TreeEdit, withoutEmptyDirectories } from "../entries.js";

/** Applies a patch to a tree. Nothing is changed when it does not fit. */
export async function patchTree(
  trees: Trees,
  tree: Digest | null,
  patch: string | Uint8Array,
  options?: ApplyOptions,
): Promise<PatchOutcome & { readonly tree: Digest | null }> {
  const files = new TreeFiles(trees, tree);
  const outcome = await applyPatch(files, patch, options);
  return { ...outcome, tree: outcome.applied ? await files.finish() : tree };
}

/** The files of a tree as a patch sees them; its writes make another tree. */
class TreeFiles implements PatchFiles {
  readonly #trees: Trees;
  readonly #tree: Digest | null;
  readonly #deposit: Deposit;
  readonly #edits: TreeEdit[] = [];

  constructor(trees: Trees, tree: Digest | null) {
    this.#trees = trees;
    this.#tree = tree;
    this.#deposit = new Deposit(trees);
  }

  async read(path: string): Promise<Uint8Array | undefined> {
    const entry = await entryAt(this.#trees, this.#tree, path);
    if (entry === undefined || entry.kind === "tree") return undefined;
    if (entry.kind === "link") throw new FileError("not-a-file", path, "it is a link");
    return this.#trees.bytes(entry);
  }

  async mode(path: string): Promise<number | undefined> {
    const entry = await entryAt(this.#trees, this.#tree, path);
    return entry?.kind === "file" || entry?.kind === "parts" ? entry.mode : undefined;
  }

  async write(path: string, bytes: Uint8Array, mode?: number): Promise<void> {
    const kept = mode ?? (await this.mode(path)) ?? 0o644;
    this.#edits.push({ path, entry: sideOf(await this.#deposit.file("file", kept, bytes)) });
  }

  async remove(path: string): Promise<void> {
    this.#edits.push({ path, entry: null });
  }

  async below(path: string): Promise<readonly string[]> {
    const entry = await entryAt(this.#trees, this.#tree, path);
    const found: string[] = [];
    if (entry?.kind !== "tree") return found;
    for await (const one of entriesOf(this.#trees, entry.digest))
      if (one.entry.kind !== "tree") found.push(`${path}/${one.path}`);
    return found;
  }

  readonly links = {
    read: async (path: string): Promise<string | undefined> => {
      const entry: TreeEntry | undefined = await entryAt(this.#trees, this.#tree, path);
      return entry?.kind === "link" ? entry.target : undefined;
    },
    write: async (path: string, target: string): Promise<void> => {
      this.#edits.push({ path, entry: { kind: "link", target } });
    },
  };

  async finish(): Promise<Digest> {
    await this.#deposit.finish();
    const tree = await edited(this.#trees, this.#tree, this.#edits);
    const removed = this.#edits.filter(({ entry }) => entry === null).map(({ path }) => path);
    // As git does: a directory goes with its last file.
    return withoutEmptyDirectories(this.#trees, tree, removed, async () => true);
  }
}
