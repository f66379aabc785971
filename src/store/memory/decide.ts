import { type Digest, type FactId, parentsOf } from "../../session/index.js";
import { keysOf, type NewFact, revivedBy, stands } from "../commit.js";
import { isFenced } from "../name/move.js";
import type { Commit, Committed } from "../shelf.js";
import type { FactIndex } from "./facts.js";
import type { Change, NameIndex } from "./names.js";

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
  const { move, also = [] } = commit;
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
  for (const { head } of move === undefined ? also : [move, ...also]) {
    if (head !== null && !fresh.has(head) && facts.row(head) < 0)
      return { refused: { outcome: "orphan", id: head, parent: head } };
  }
  const reaches = (stored: readonly FactId[], ancestor: FactId): boolean =>
    facts.reaches(
      stored.map((id) => facts.row(id)),
      facts.row(ancestor),
    );
  if (move !== undefined && !stands(move, record?.head ?? null, fresh, reaches))
    return { refused: { outcome: "conflict", record } };

  const changes: Change[] = [];
  const revived = revivedBy(commit, fresh);
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
  const moved = move && { ...(record ?? names.unused(move.name)), head: move.head };
  if (moved !== undefined) changes.push({ record: moved, ...(move?.key !== undefined && { key: move.key }) });
  for (const { name, head } of also) changes.push(...names.settingTo(name, head));
  return {
    facts: [...fresh.values()],
    blobs,
    keys: keysOf(commit, fresh),
    changes,
    answer: { outcome: "done", written: fresh.size, ...(moved && { record: moved }) },
  };
}
