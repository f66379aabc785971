import {
  checkLine,
  type Digest,
  digestOf,
  EMPTY_TREE,
  type FactId,
  parentsOf,
  RecordError,
  refsOf,
} from "../../session/index.js";
import { breath, TURN } from "../commit.js";
import { problemOf } from "../error.js";
import type { Finding, Shelf } from "../shelf.js";
import type { Checked } from "../store.js";
import { type TreeNode, TreeWalk, treesIn } from "./tree-walk.js";

/** Reads every line and every blob and says what is not as it was written. */
export async function checkStore(
  shelf: Shelf,
  progress: ((facts: number) => void) | undefined,
): Promise<Checked> {
  const findings: Finding[] = [...shelf.examine()];
  const report: Report = (place, problem) => void findings.push({ place, problem });
  const facts = new Set<FactId>();
  const awaited = new Map<FactId, FactId>();
  const blobs = new Map<Digest, Needed>();
  const trees = new Map<Digest, FactId>();
  try {
    for (const lines of shelf.every()) {
      for (const line of lines) {
        const id = digestOf(line);
        facts.add(id);
        awaited.delete(id);
        try {
          checkLine(line);
        } catch (error) {
          report(`fact ${id}`, problemOf(error));
          continue;
        }
        for (const parent of parentsOf(line)) if (!facts.has(parent)) awaited.set(parent, id);
        for (const ref of Object.values(refsOf(line))) blobs.set(ref.digest, { size: ref.size, fact: id });
        for (const tree of treesIn(line)) trees.set(tree, id);
      }
      progress?.(facts.size);
    }
  } catch (error) {
    report(shelf.url, `reading stopped: ${problemOf(error)}`);
  }
  // Others may have written while this was reading, so what seems to be missing is asked for once more.
  const isGone = (id: FactId): boolean => shelf.lines([id])[0] === undefined;
  const isHere = (id: FactId): boolean => facts.has(id) || !isGone(id);
  for (const [parent, child] of awaited) {
    if (!isHere(parent) && !isGone(child))
      report(`fact ${parent}`, `it is missing or altered, and ${child} comes from it`);
  }
  const long = await needOf(shelf, trees, blobs, report);
  const lengths = new Map<Digest, number>([...long.values()].flat().map((digest) => [digest, 0]));
  let erased = 0;
  let count = 0;
  for (const [digest, needed] of blobs) {
    if (++count % TURN === 0) await breath();
    let bytes: Uint8Array | undefined;
    try {
      bytes = shelf.blobs.get(digest);
    } catch (error) {
      report(`blob ${digest}`, `${problemOf(error)}${whereOf(needed)}`);
      continue;
    }
    if (lengths.has(digest)) lengths.set(digest, bytes?.length ?? Number.NaN);
    if (bytes === undefined) {
      if (shelf.blobs.erased(digest) !== undefined) erased += 1;
      else if (!isGone(needed.fact))
        report(`blob ${digest}`, `it is missing, and ${needed.fact} refers to it${whereOf(needed)}`);
    } else if (digestOf(bytes) !== digest || bytes.length !== (needed.size ?? bytes.length))
      report(`blob ${digest}`, `its bytes are not those that were written${whereOf(needed)}`);
  }
  for (const [needed, pieces] of long) {
    const length = pieces.reduce((sum, digest) => sum + (lengths.get(digest) ?? 0), 0);
    // Pieces that are missing are told already, and make this no number.
    if (!Number.isNaN(length) && length !== needed.whole)
      report(
        `fact ${needed.fact}`,
        `the pieces of a file have ${length} bytes, and its tree says ${needed.whole}${whereOf(needed)}`,
      );
  }
  try {
    for (const { name, head } of shelf.names.under("")) {
      if (head !== null && !isHere(head))
        report(`name ${JSON.stringify(name)}`, `it leads to ${head}, which is missing`);
    }
  } catch (error) {
    report(shelf.url, `the names cannot be read: ${problemOf(error)}`);
  }
  return { facts: facts.size, blobs: blobs.size - erased, erased, findings };
}

type Report = (place: string, problem: string) => void;

/** Why a blob must be here: the fact that leads to it, and where it lies in the tree that the fact names. */
type Needed = {
  readonly fact: FactId;
  readonly size?: number;
  /** The length of a file whose pieces this lists. */
  readonly whole?: number;
  readonly tree?: Digest;
  readonly path?: string;
};

function whereOf({ fact, tree, path }: Needed): string {
  if (tree === undefined) return "";
  return ` (${path === "" ? "the tree" : `${JSON.stringify(path)} in the tree`} ${tree} of the fact ${fact})`;
}

/** Adds what trees need, each blob with the first place that needs it. Answers which blobs list the pieces of a file. */
async function needOf(
  shelf: Shelf,
  trees: ReadonlyMap<Digest, FactId>,
  blobs: Map<Digest, Needed>,
  report: Report,
): Promise<ReadonlyMap<Needed, readonly Digest[]>> {
  const walk = new TreeWalk();
  const long = new Map<Needed, readonly Digest[]>();
  let count = 0;
  for (const [tree, fact] of trees) {
    if (!walk.add(tree)) continue;
    const need = ({ digest, path, kind, size }: TreeNode): void => {
      const needed: Needed = {
        fact,
        tree,
        path,
        ...(size !== undefined && (kind === "parts" ? { whole: size } : { size })),
      };
      const before = blobs.get(digest);
      if (before === undefined) blobs.set(digest, needed);
      else if (kind === "file" && before.size !== undefined && before.size !== size)
        report(`blob ${digest}`, `it has ${before.size} bytes elsewhere, and here ${size}${whereOf(needed)}`);
      else if (kind === "parts" && before.whole === undefined) blobs.set(digest, needed);
    };
    // The empty tree is known to everybody, so nobody need keep it.
    if (tree !== EMPTY_TREE) need({ kind: "tree", digest: tree, path: "" });
    for (let node = walk.next(); node !== undefined; node = walk.next()) {
      if (++count % TURN === 0) await breath();
      try {
        const bytes = shelf.blobs.get(node.digest);
        // Blobs that are missing or altered are reported when all blobs are read.
        if (bytes === undefined || digestOf(bytes) !== node.digest) continue;
        const named = walk.enter(node, bytes);
        for (const one of named) if (one.digest !== EMPTY_TREE) need(one);
        const list = blobs.get(node.digest);
        if (node.kind === "parts" && list !== undefined)
          long.set(
            list,
            named.map(({ digest }) => digest),
          );
      } catch (error) {
        // So is what cannot be read.
        if (error instanceof RecordError)
          report(
            `blob ${node.digest}`,
            `${String(error.data.reason)}${whereOf({ fact, tree, path: node.path })}`,
          );
      }
    }
  }
  return long;
}
