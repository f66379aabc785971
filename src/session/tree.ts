import { compareText, isObject, isSize, parseJson } from "../util/index.js";
import { digestOf, isDigest } from "./blob.js";
import { RecordError } from "./error.js";
import type { Digest, Fact } from "./fact/index.js";

/**
 * One entry of a directory. `parts` is a file too long for one blob: its digest is that of a JSON list of the digests of
 * its pieces. A byte of a name or a target that is not UTF-8 stands as the lone surrogate U+DC00 + byte, as in Python.
 */
export type TreeEntry =
  | {
      readonly kind: "file" | "parts";
      readonly name: string;
      readonly mode: number;
      readonly size: number;
      readonly digest: Digest;
    }
  | { readonly kind: "link"; readonly name: string; readonly target: string }
  | { readonly kind: "tree"; readonly name: string; readonly mode: number; readonly digest: Digest };

/**
 * A directory as a value: its entries by name, and what was left out on purpose. The digest of its text is its id, and
 * covers every byte below it.
 */
export type Tree = {
  readonly entries: readonly TreeEntry[];
  /** The patterns that were not looked at, on the root of a workspace that has any. */
  readonly exclude?: readonly string[];
};

/** The text of a tree: `{"tree":1,"entries":[…]}`, one list per entry, in the order of their names. */
export function writeTree({ entries, exclude }: Tree): string {
  const sorted = [...entries].sort((one, other) => compareText(one.name, other.name));
  const rows = sorted.map((entry) =>
    entry.kind === "link"
      ? [entry.name, "link", entry.target]
      : entry.kind === "tree"
        ? [entry.name, "tree", entry.mode.toString(8), entry.digest]
        : [entry.name, entry.kind, entry.mode.toString(8), entry.size, entry.digest],
  );
  return JSON.stringify({ tree: 1, ...(exclude !== undefined && { exclude }), entries: rows });
}

/** The id of the directory with nothing in it. */
export const EMPTY_TREE: Digest = digestOf(writeTree({ entries: [] }));

/**
 * The tree of a text, or a `RecordError`: no name may lead out of its directory and none may stand
 * there twice.
 */
export function readTree(text: string): Tree {
  const value = parseJson(text);
  if (value === undefined) throw new RecordError("a tree is not JSON");
  if (!isObject(value) || value.tree !== 1 || !Array.isArray(value.entries))
    throw new RecordError("it is not a tree of format 1");
  const { exclude } = value;
  if (exclude !== undefined && !(Array.isArray(exclude) && exclude.every((one) => typeof one === "string")))
    throw new RecordError("what a tree excludes is not a list of texts");
  let last: string | undefined;
  const entries = value.entries.map((row: unknown) => {
    const entry = entryOf(row);
    if (last !== undefined && entry.name <= last)
      throw new RecordError("the names of a tree are not in order, each once");
    last = entry.name;
    return entry;
  });
  const tree = { entries, ...(exclude !== undefined && { exclude: exclude as string[] }) };
  // The id is that of the text: a tree that could be written in two ways would differ from itself.
  if (writeTree(tree) !== text) throw new RecordError("a tree is not in its one normal form");
  return tree;
}

/** The trees that a fact refers to: a store that keeps the fact keeps them. */
export function treesOf(fact: Fact): readonly Digest[] {
  switch (fact.type) {
    case "workspace-import":
    case "workspace-resolve":
      return [fact.after];
    case "workspace-change":
      return present(fact.before, fact.after);
    case "workspace-merge":
      return present(fact.base, fact.ours, fact.theirs, fact.after);
    // A detached session has no past that would name its files.
    case "session-detach":
    case "sandbox-open":
    case "workspace-read":
      return present(fact.tree ?? null);
    default:
      return [];
  }
}

function present(...trees: readonly (Digest | null)[]): readonly Digest[] {
  return trees.filter((tree) => tree !== null);
}

const octal = /^[0-7]{1,3}$/;

function entryOf(row: unknown): TreeEntry {
  if (!Array.isArray(row)) throw new RecordError("an entry of a tree is not a list");
  const [name, kind, ...rest] = row as unknown[];
  if (typeof name !== "string" || name === "" || name === "." || name === ".." || /[/\0]/.test(name))
    throw new RecordError("a name of a tree leads out of its directory");
  if (kind === "link") {
    const [target] = rest;
    if (rest.length === 1 && typeof target === "string" && target !== "" && !target.includes("\0"))
      return { kind, name, target };
  } else if (kind === "tree") {
    const [mode, digest] = rest;
    if (rest.length === 2 && isMode(mode) && isDigest(digest))
      return { kind, name, mode: Number.parseInt(mode, 8), digest };
  } else if (kind === "file" || kind === "parts") {
    const [mode, size, digest] = rest;
    if (rest.length === 3 && isMode(mode) && isDigest(digest) && isSize(size))
      return { kind, name, mode: Number.parseInt(mode, 8), size, digest };
  }
  throw new RecordError(`the entry ${JSON.stringify(name)} of a tree is not described properly`);
}

function isMode(value: unknown): value is string {
  return typeof value === "string" && octal.test(value);
}
