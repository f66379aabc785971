import type { Digest, Json, PathChange, TreeEntry } from "../../session/index.js";
import { RathError, RecordError, readTree, writeTree } from "../../session/index.js";
import { ConflictChoiceError, UnresolvedConflictsError } from "../error.js";
import type { Side, Trees } from "../trees.js";
import { Deposit, diffTrees, edited, entryAt, type TreeEdit, withoutEmptyDirectories } from "./entries.js";
import type { MergedTree } from "./merge.js";

/** A path that two sides changed incompatibly, as plain JSON. A side without anything there is left out. */
export type Conflict = {
  readonly path: string;
  readonly kind: ConflictKind;
  readonly base?: Side;
  readonly ours?: Side;
  readonly theirs?: Side;
};

/**
 * - `content`: both changed the same lines of a text; the tree holds them between markers.
 * - `binary`: both changed a file that is not text, or too long to be merged.
 * - `mode`: both changed the mode, of a file or a directory.
 * - `delete-modify`: ours deleted what theirs changed; `modify-delete` is the other way round.
 * - `add-add`: both added a file there, not the same.
 * - `kind`: a file on one side, a link or a directory on the other.
 * - `link`: both point a link elsewhere.
 */
export type ConflictKind = (typeof KINDS)[number];

const KINDS = [
  "content",
  "binary",
  "mode",
  "delete-modify",
  "modify-delete",
  "add-add",
  "kind",
  "link",
] as const;

export function sideOf(entry: TreeEntry): Side {
  const { name: _name, ...side } = entry;
  return side;
}

export function entryOf(side: Side, name: string): TreeEntry {
  return { ...side, name };
}

/** The conflicts that a `workspace-merge` fact tells of, or a `RecordError`: a record may come from anywhere. */
export function conflictsOf(value: Json): readonly Conflict[] {
  if (!Array.isArray(value)) throw new RecordError("the conflicts of a merge are not a list");
  return value.map((one: Json) => {
    const { path, kind, ...sides } = Object(one) as { [field: string]: Json };
    if (typeof path !== "string" || !KINDS.includes(kind as ConflictKind))
      throw new RecordError("a conflict of a merge has no path or no kind");
    const conflict: { -readonly [Field in keyof Conflict]: Conflict[Field] } = {
      path,
      kind: kind as ConflictKind,
    };
    for (const side of ["base", "ours", "theirs"] as const)
      if (sides[side] !== undefined) conflict[side] = checkedSide(sides[side]);
    return conflict;
  });
}

function checkedSide(value: Json): Side {
  let text: string;
  try {
    text = writeTree({ entries: [entryOf(Object(value) as Side, "one")] });
  } catch {
    throw new RecordError("a side of a conflict is not described properly");
  }
  const [entry] = readTree(text).entries;
  return sideOf(entry as TreeEntry);
}

/** Of the paths that were in conflict, those whose text still has the marks of it. */
export async function markedPaths(
  trees: Trees,
  tree: Digest,
  conflicts: readonly Conflict[],
): Promise<readonly string[]> {
  const marked: string[] = [];
  for (const { path, kind } of conflicts) {
    const entry = kind === "content" || kind === "add-add" ? await entryAt(trees, tree, path) : undefined;
    if (entry?.kind !== "file") continue;
    const text = Buffer.from(await trees.blob(entry.digest)).toString("latin1");
    if (/^(<{7}|>{7}|\|{7}) /m.test(text)) marked.push(path);
  }
  return marked;
}

/** The decision for a path in conflict: the entry of a side, nothing, or new content. */
export type Choice =
  | "ours"
  | "theirs"
  | "base"
  | "delete"
  | { readonly text: string; readonly mode?: number }
  | { readonly bytes: Uint8Array; readonly mode?: number }
  /** An entry whose bytes are kept already. */
  | { readonly entry: Side };

/** A choice for each path in conflict, or one word for all. */
export type Choices = "ours" | "theirs" | "base" | "delete" | { readonly [path: string]: Choice };

export type ResolvedTree = {
  readonly tree: Digest;
  /** The changes from the merged tree. */
  readonly paths: readonly PathChange[];
  /** The choices as a fact holds them: given bytes are named by what they became in the tree. */
  readonly choices: Json;
};

/** The tree of a merge with every conflict settled by a choice. A directory's choice sets its mode only. */
export async function resolveTree(
  trees: Trees,
  merged: Pick<MergedTree, "tree" | "conflicts" | "sides">,
  choices: Choices,
): Promise<ResolvedTree> {
  const chosen = chosenFor(merged.conflicts, choices);
  const deposit = new Deposit(trees);
  const edits: TreeEdit[] = [];
  const noted: { [path: string]: Json } = {};
  const gone: string[] = [];
  for (const { conflict, choice } of chosen) {
    const { path } = conflict;
    const side = await settled(trees, deposit, merged.tree, conflict, choice);
    Object.defineProperty(noted, path, {
      value: typeof choice === "string" ? choice : side,
      enumerable: true,
    });
    // Paths in a removed directory need no choice of their own.
    if (gone.some((above) => path.startsWith(`${above}/`))) continue;
    if (side === null) gone.push(path);
    edits.push({ path, entry: side });
  }
  await deposit.finish();
  const { ours, theirs } = merged.sides;
  const emptied = edits.filter(({ entry }) => entry === null).map(({ path }) => path);
  // Directories that only a conflict kept, and that a side had deleted.
  const tree = await withoutEmptyDirectories(
    trees,
    await edited(trees, merged.tree, edits),
    emptied,
    async (above) => {
      const sides = [await entryAt(trees, ours, above), await entryAt(trees, theirs, above)];
      return sides.some((side) => side?.kind !== "tree");
    },
  );
  return { tree, paths: await diffTrees(trees, merged.tree, tree), choices: noted };
}

/** The conflicts with their choices, directories before what is in them. */
function chosenFor(
  conflicts: readonly Conflict[],
  choices: Choices,
): readonly { readonly conflict: Conflict; readonly choice: Choice }[] {
  const sorted = [...conflicts].sort((one, other) => (one.path < other.path ? -1 : 1));
  if (typeof choices === "string") return sorted.map((conflict) => ({ conflict, choice: choices }));
  if (typeof choices !== "object" || choices === null)
    throw new RathError("option-refused", `Cannot resolve conflicts with ${String(choices)}.`, {
      hint: 'pass one word for all of them, such as "ours", or { [path]: choice }',
    });
  const paths = new Set(sorted.map(({ path }) => path));
  const unknown = Object.keys(choices).filter((path) => !paths.has(path));
  if (unknown.length > 0)
    throw new ConflictChoiceError(
      unknown,
      "there is no conflict",
      `choose for ${[...paths].join(", ") || "none"}`,
    );
  const open = sorted.filter(({ path }) => !Object.hasOwn(choices, path) || choices[path] === undefined);
  if (open.length > 0) throw new UnresolvedConflictsError(open);
  return sorted.map((conflict) => ({ conflict, choice: choices[conflict.path] as Choice }));
}

/** The entry that a choice puts there; null for nothing. */
async function settled(
  trees: Trees,
  deposit: Deposit,
  tree: Digest,
  conflict: Conflict,
  choice: Choice,
): Promise<Side | null> {
  const { path, kind, ours, theirs, base } = conflict;
  const isDirectoryMode = kind === "mode" && ours?.kind === "tree";
  if (choice === "delete") return null;
  if (choice === "ours" || choice === "theirs" || choice === "base") {
    const side = { ours, theirs, base }[choice];
    if (!isDirectoryMode || side?.kind !== "tree") return side ?? null;
    const now = await entryAt(trees, tree, path);
    return now?.kind === "tree" ? { ...side, digest: now.digest } : side;
  }
  if (isDirectoryMode)
    throw new ConflictChoiceError(
      [path],
      "it is a directory, and only its mode is open",
      'choose "ours" or "theirs"',
    );
  if (typeof choice === "object" && choice !== null) {
    if ("entry" in choice) return choice.entry;
    const bytes = "text" in choice ? Buffer.from(choice.text, "utf8") : choice.bytes;
    if (bytes instanceof Uint8Array)
      return sideOf(await deposit.file("file", choice.mode ?? modeOf(conflict), Uint8Array.from(bytes)));
  }
  throw new ConflictChoiceError(
    [path],
    "nobody knows this choice",
    'choose "ours", "theirs", "base", "delete", { text } or { bytes }',
  );
}

function modeOf({ ours, theirs, base }: Conflict): number {
  const file = [ours, theirs, base].find((side) => side?.kind === "file" || side?.kind === "parts");
  return file !== undefined && file.kind !== "link" ? file.mode : 0o644;
}
