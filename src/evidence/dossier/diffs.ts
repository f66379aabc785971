import { diffTrees, patchOf, type Trees } from "../../sandbox/index.js";
import type { Digest, PathChange } from "../../session/index.js";
import { RathError } from "../../session/index.js";
import type { ChangeDraft } from "./changes.js";
import type { Change, FileDiff, Listed, Patch } from "./dossier.js";
import type { Words } from "./words.js";

/** How many files of one change are shown with their diff. */
const FILES = 60;
/** And of all changes together. */
const ALL_FILES = 2_000;

/** Diffs of files, made from the trees that the facts name. */
export class Diffs {
  readonly #trees: Trees;
  readonly #words: Words;
  #left = ALL_FILES;

  constructor(trees: Trees, words: Words) {
    this.#trees = trees;
    this.#words = words;
  }

  async change({ paths, ...draft }: ChangeDraft): Promise<Change> {
    // What came in from outside is named by its source: a diff of it would be the files once more.
    if (draft.kind === "import") return { ...draft, files: { items: [], total: 0 } };
    // A decision names no tree that it began with, so only the paths are told.
    const files =
      draft.kind === "resolve"
        ? listed(paths.map(untold), paths.length)
        : await this.#files(draft.before, draft.after, paths);
    return { ...draft, files };
  }

  /** All that changed between two trees. */
  async patch(from: Digest | null, to: Digest, facts: readonly string[]): Promise<Patch> {
    try {
      const paths = await diffTrees(this.#trees, from, to);
      const files = await this.#files(from, to, paths);
      const sum = (count: (file: FileDiff) => number): number =>
        files.items.reduce((total, file) => total + count(file), 0);
      return {
        from,
        to,
        files,
        added: sum(({ added }) => added),
        removed: sum(({ removed }) => removed),
        facts,
      };
    } catch (error) {
      const file: FileDiff = { path: "", change: "modify", added: 0, removed: 0, note: noteOf(error) };
      return { from, to, files: { items: [file], total: 1 }, added: 0, removed: 0, facts };
    }
  }

  async #files(
    before: Digest | null,
    after: Digest,
    paths: readonly PathChange[],
  ): Promise<Listed<FileDiff>> {
    const files: FileDiff[] = [];
    for (const one of paths.slice(0, FILES))
      files.push(this.#left-- > 0 ? await this.#file(before, after, one) : untold(one));
    return listed(files, paths.length);
  }

  async #file(before: Digest | null, after: Digest, { path, change }: PathChange): Promise<FileDiff> {
    try {
      const patch = await patchOf(this.#trees, before, after, { paths: [path] });
      const diff = ownSection(patch);
      if (diff === "") return { ...untold({ path, change }), note: "nothing that a diff can show" };
      const [added, removed] = countsOf(diff);
      return { path, change, added, removed, diff: this.#words.tell(diff) };
    } catch (error) {
      return { ...untold({ path, change }), note: noteOf(error) };
    }
  }
}

function listed(items: readonly FileDiff[], total: number): Listed<FileDiff> {
  return { items, total, ...(items.length < total && { gap: items.length }) };
}

function untold({ path, change }: PathChange): FileDiff {
  return { path, change, added: 0, removed: 0 };
}

/** The first file of a patch: a path that became a directory brings what is below it along. */
function ownSection(patch: string): string {
  const next = patch.indexOf("\ndiff --git ");
  return next === -1 ? patch : patch.slice(0, next + 1);
}

function countsOf(diff: string): readonly [added: number, removed: number] {
  let [added, removed] = [0, 0];
  // What stands before the first hunk are the names of the files.
  for (const line of diff.slice(Math.max(0, diff.indexOf("\n@@ "))).split("\n")) {
    if (line.startsWith("+")) added += 1;
    else if (line.startsWith("-")) removed += 1;
  }
  return diff.includes("\n@@ ") ? [added, removed] : [0, 0];
}

/** Why there is no diff, in words: files may be erased, not brought along, or no trees at all. */
function noteOf(error: unknown): string {
  return error instanceof RathError ? (error.message.split("\n")[0] ?? "") : "its files cannot be read";
}
