import {
  type Digest,
  type Json,
  RecordError,
  readTree,
  type TreeEntry,
  writeTree,
} from "../../session/index.js";
import type { Trees } from "../trees.js";
import { entryAt } from "./entries.js";

/**
 * A path that two sides changed in ways that do not go together. Plain JSON, so that a fact can hold it. A side that has
 * nothing there is left out.
 */
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

/** What a side has at a path: an entry of a tree without its name. */
export type Side = Unnamed<TreeEntry>;
type Unnamed<Entry> = Entry extends TreeEntry ? Omit<Entry, "name"> : never;

/** What a side has there. */
export function sideOf(entry: TreeEntry): Side {
  const { name: _name, ...side } = entry;
  return side;
}

/** The side as an entry of a directory. */
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
    text = writeTree({ entries: [entryOf(value as unknown as Side, "one")] });
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
