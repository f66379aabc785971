import { isUtf8 } from "node:buffer";
import { changedLines, entryAt, linesOf, namesOf, type Trees, takenParents } from "../../sandbox/index.js";
import type { Digest, FactId, Session, TreeEntry } from "../../session/index.js";
import { BeyondHorizonError, RathError } from "../../session/index.js";
import { defined, firstLine } from "../../util/index.js";

/** Where a line of a file comes from. */
export type BlamedLine = {
  /** Counted from 1. */
  readonly number: number;
  readonly text: string;
  /** The fact that made the line what it is; undefined where the record ends before it. */
  readonly fact?: FactId;
};

/** Why lines could not be followed further back. */
type Lost = { readonly at: FactId; readonly why: string };

export type Blame = { readonly lines: readonly BlamedLine[]; readonly lost: readonly Lost[] };

/** Lines that are still to be followed: at a session, those of its file that stand at these places of the last one. */
type Trail = {
  readonly node: Session;
  /** Places in the file at `node`, and where they stand in the end. */
  readonly lines: readonly { readonly here: number; readonly last: number }[];
};

type File = Extract<TreeEntry, { readonly kind: "file" | "parts" }>;

/** The fact that wrote each line of a file, followed through merges to the side that brought it. */
export async function blame(session: Session, trees: Trees, path: string): Promise<Blame | undefined> {
  const files = new Files(trees, namesOf(path).join("/"));
  const end = await files.lines(session.files.tree);
  if (end === undefined) return undefined;
  const facts = new Map<number, FactId>();
  const lost: Lost[] = [];
  const open: Trail[] = [{ node: session, lines: end.map((_, place) => ({ here: place, last: place })) }];
  for (let trail = open.pop(); trail !== undefined; trail = open.pop()) {
    try {
      open.push(...(await step(trail, files, facts)));
    } catch (error) {
      if (!(error instanceof RathError)) throw error;
      const why =
        error instanceof BeyondHorizonError ? "what lies before it was not loaded" : firstLine(error.message);
      lost.push({ at: trail.node.id, why });
    }
  }
  const lines = end.map((text, place) => {
    return { number: place + 1, text, ...defined({ fact: facts.get(place) }) };
  });
  return { lines, lost };
}

/** Goes back to the fact that changed the file last, and on from there with the lines that it did not write. */
async function step({ node: from, lines }: Trail, files: Files, facts: Map<number, FactId>) {
  let node = from;
  const now = await files.entry(node.files.tree);
  for (;;) {
    const before = await sameBefore(node, files, now);
    if (before === undefined) break;
    node = before;
  }
  const mine = (left: typeof lines): void => {
    for (const { last } of left) facts.set(last, node.id);
  };
  const after = await files.lines(node.files.tree);
  if (after === undefined) return [];
  const trails: Trail[] = [];
  let left = lines;
  for (const source of sourcesOf(node)) {
    const before = left.length === 0 ? undefined : await files.lines(source.files.tree);
    if (before === undefined) continue;
    const places = kept(before, after);
    const followed = left.flatMap(({ here, last }) => {
      const place = places.get(here);
      return place === undefined ? [] : [{ here: place, last }];
    });
    if (followed.length > 0) trails.push({ node: source, lines: followed });
    left = left.filter(({ here }) => !places.has(here));
  }
  mine(left);
  return trails;
}

/** A session before this one that has the file as it is here: nothing happened to it in between. */
async function sameBefore(node: Session, files: Files, now: File | undefined): Promise<Session | undefined> {
  for (const parent of takenParents(node)) {
    if (parent.files.tree === node.files.tree) return parent;
    const before = await files.entry(parent.files.tree);
    if (before?.digest === now?.digest && before?.kind === now?.kind) return parent;
  }
  return undefined;
}

/** The sessions whose files a change was made from: of a merge of files, both sides. */
function sourcesOf(node: Session): readonly Session[] {
  const { fact } = node;
  const before = takenParents(node);
  if (fact.type !== "workspace-merge") return before;
  const theirs = sideWith(node, fact.theirs);
  return theirs === undefined ? before : [...before, theirs];
}

/** How many sessions are looked at for the side of a merge. */
const SIDES = 100_000;

/** The newest session before this one that has these files. */
function sideWith(node: Session, tree: Digest): Session | undefined {
  const met = new Set<Session>(node.parents);
  for (const one of met) {
    if (one.files.tree === tree) return one;
    if (met.size > SIDES || one.atHorizon) continue;
    for (const parent of one.parents) met.add(parent);
  }
  return undefined;
}

/** Where each line of the new text stood in the old one, if it did. */
function kept(before: readonly string[], after: readonly string[]): ReadonlyMap<number, number> {
  const places = new Map<number, number>();
  let [old, now] = [0, 0];
  for (const { at, count, newAt, newCount } of changedLines(before, after)) {
    for (; now < newAt; now++, old++) places.set(now, old);
    old = at + count;
    now = newAt + newCount;
  }
  for (; now < after.length; now++, old++) places.set(now, old);
  return places;
}

/** One file of many trees. */
class Files {
  readonly #trees: Trees;
  readonly #path: string;

  constructor(trees: Trees, path: string) {
    this.#trees = trees;
    this.#path = path;
  }

  async entry(tree: Digest | null): Promise<File | undefined> {
    const entry = await entryAt(this.#trees, tree, this.#path);
    return entry?.kind === "file" || entry?.kind === "parts" ? entry : undefined;
  }

  /** The lines of the file; undefined when it is not there. A binary file is one line. */
  async lines(tree: Digest | null): Promise<readonly string[] | undefined> {
    const entry = await this.entry(tree);
    if (entry === undefined) return undefined;
    const pieces: Uint8Array[] = [];
    for await (const piece of this.#trees.pieces(entry)) pieces.push(piece);
    const bytes = Buffer.concat(pieces);
    return isUtf8(bytes) ? linesOf(bytes.toString("utf8")) : [`binary ${entry.digest}`];
  }
}
