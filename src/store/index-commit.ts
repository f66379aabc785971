import { type Digest, digestsOf, type FactId, parentsOf } from "../session/index.js";
import type { FactIndex } from "./index-facts.js";
import type { Change, NameIndex } from "./index-names.js";
import { isFenced } from "./move.js";
import type { Commit, Committed, Move, NameRecord } from "./shelf.js";

export type NewFact = { readonly id: FactId; readonly line: string; readonly parents: readonly FactId[] };
/** What a commit comes to: refused, or what there is to write and the answer for when it is written. */
export type Decision =
  | { readonly refused: Committed }
  | {
      readonly facts: readonly NewFact[];
      readonly blobs: ReadonlySet<Digest>;
      readonly keys: ReadonlySet<string>;
      readonly changes: readonly Change[];
      readonly answer: Committed;
    };

/** Decides a commit without writing anything: fence, then step key, then parents and head. */
export function decide(facts: FactIndex, names: NameIndex, commit: Commit): Decision {
  const { move } = commit;
  const record = move && names.names.get(move.name);
  if (move !== undefined) {
    if (isFenced(record, move))
      return { refused: { outcome: "fenced", record: record ?? names.unused(move.name) } };
    const recorded = move.key === undefined ? undefined : names.steps.get(move.name)?.get(move.key);
    if (recorded !== undefined) return { refused: { outcome: "replayed", head: recorded } };
  }

  const fresh = new Map<FactId, NewFact>();
  for (const { id, line } of commit.facts) {
    if (fresh.has(id) || facts.row(id) >= 0) continue;
    const parents = parentsOf(line);
    for (const parent of parents) {
      if (!fresh.has(parent) && facts.row(parent) < 0) return { refused: { outcome: "orphan", id, parent } };
    }
    fresh.set(id, { id, line, parents });
  }
  if (move !== undefined) {
    if (!fresh.has(move.head) && facts.row(move.head) < 0)
      return { refused: { outcome: "orphan", id: move.head, parent: move.head } };
    if (!stands(facts, record?.head ?? null, move, fresh))
      return { refused: { outcome: "conflict", record } };
  }

  const added = [...fresh.values()];
  const changes: Change[] = [];
  const revived = revivedBy(commit, added);
  const blobs = new Set<Digest>();
  for (const { digest } of commit.blobs) {
    if (!names.erased.has(digest)) blobs.add(digest);
    else if (revived.has(digest)) {
      blobs.add(digest);
      changes.push({ revived: digest });
    }
  }
  for (const erased of commit.erase ?? []) {
    if (!names.erased.has(erased.digest) || revived.has(erased.digest)) changes.push({ erased });
  }
  const plan = { facts: added, blobs, keys: keysOf(commit, added), changes };
  const done = { outcome: "done", written: fresh.size } as const;
  if (move === undefined) return { ...plan, answer: done };
  const moved: NameRecord = { ...(record ?? names.unused(move.name)), head: move.head };
  changes.push({ record: moved, ...(move.key !== undefined && { key: move.key }) });
  return { ...plan, answer: { ...done, record: moved } };
}

/** Whether the name stands where its mover expects it. */
function stands(
  facts: FactIndex,
  head: FactId | null,
  move: Move,
  fresh: ReadonlyMap<FactId, NewFact>,
): boolean {
  if (move.expect === "any" || (move.expect === "past" && head === null)) return true;
  if (move.expect !== "past") return head === move.expect;
  // Back through what is new to what is stored; from there the index knows.
  const stored: number[] = [];
  const seen = new Set<FactId>([move.head]);
  for (const id of seen) {
    if (id === head) return true;
    const fact = fresh.get(id);
    if (fact === undefined) stored.push(facts.row(id));
    else for (const parent of fact.parents) seen.add(parent);
  }
  return facts.reaches(stored, facts.row(head as FactId));
}

/** Erased content comes back with new lines that refer to it, or when it is put here by itself; never with old lines. */
function revivedBy(commit: Commit, added: readonly NewFact[]): ReadonlySet<Digest> {
  if (commit.revive !== true || commit.blobs.length === 0) return new Set();
  if (commit.facts.length === 0) return new Set(commit.blobs.map(({ digest }) => digest));
  return new Set(added.flatMap(({ line }) => digestsOf(line)));
}

/** A key comes with the beginning that names it. Later it would only bring back what someone made to be forgotten. */
function keysOf(commit: Commit, added: readonly NewFact[]): ReadonlySet<string> {
  const named = (id: string): boolean =>
    added.some(({ parents, line }) => parents.length === 0 && line.includes(`"key":${JSON.stringify(id)}`));
  return new Set((commit.keys ?? []).map(({ id }) => id).filter(named));
}
