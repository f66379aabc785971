import { type FactId, parentsOf } from "../../session/index.js";
import { removable } from "../care/removal.js";
import { keysOf, looseIn, type NewFact, revivedBy, stands } from "../commit.js";
import type { Change } from "../memory/names.js";
import { isFenced } from "../name/move.js";
import type { Commit, Committed, NameRecord, Removal } from "../shelf.js";
import type { Blobs } from "./blobs.js";
import { chainOf, type Place, placeIn } from "./chain.js";
import type { Connection } from "./connection.js";
import type { Facts } from "./facts.js";
import type { Names } from "./names.js";
import type { Puts } from "./puts.js";

/** All that a database holds. */
export type Tables = {
  readonly connection: Connection;
  readonly facts: Facts;
  readonly names: Names;
  readonly blobs: Blobs;
  readonly puts: Puts;
};

/** Makes a commit, inside of a transaction. The names that moved are added to `moved`. */
export function applyCommit(
  { facts, names, blobs, puts }: Tables,
  commit: Commit,
  moved: NameRecord[],
): Committed {
  const { move, also = [] } = commit;
  const record = move && names.get(move.name);
  if (move !== undefined) {
    if (isFenced(record, move)) {
      return { outcome: "fenced", record: record ?? { name: move.name, head: null, epoch: 0, until: 0 } };
    }
    const recorded = move.key === undefined ? undefined : names.step(move.name, move.key);
    if (recorded !== undefined) return { outcome: "replayed", head: recorded };
  }
  const fresh = new Map<FactId, NewFact>();
  for (const { id, line } of commit.facts) {
    if (fresh.has(id) || facts.place(id) !== undefined) continue;
    const parents = parentsOf(line);
    for (const parent of parents)
      if (!fresh.has(parent) && facts.place(parent) === undefined) return { outcome: "orphan", id, parent };
    fresh.set(id, { id, line, parents });
  }
  for (const { head } of move === undefined ? also : [move, ...also])
    if (head !== null && !fresh.has(head) && facts.place(head) === undefined)
      return { outcome: "orphan", id: head, parent: head };
  const reaches = (stored: readonly FactId[], ancestor: FactId): boolean =>
    facts.chains.descends(
      stored.map((id) => facts.place(id) as Place),
      facts.place(ancestor) as Place,
    );
  if (move !== undefined && !stands(move, record?.head ?? null, fresh, reaches))
    return { outcome: "conflict", record };
  for (const fact of fresh.values()) facts.add(fact.id, fact.line, fact.parents);
  // A process may still hold what was erased here: keys and content come back only with lines that are new.
  const keys = keysOf(commit, fresh);
  for (const key of commit.keys ?? []) {
    if (keys.has(key.id)) blobs.addKey(key.id, key.secret);
  }
  blobs.add(commit.blobs, revivedBy(commit, fresh));
  puts.add(looseIn(commit));
  for (const erasure of commit.erase ?? []) {
    blobs.addErasure(erasure);
    blobs.drop(erasure.digest);
  }
  const now = move && names.set(move.name, move.head, record);
  if (now !== undefined) moved.push(now);
  if (move?.key !== undefined) names.addStep(move.name, move.key, move.head);
  for (const { name, head } of also) {
    if (head === null) names.forget(name);
    else {
      const before = names.get(name);
      if (before?.head !== head) moved.push(names.set(name, head, before));
    }
  }
  return { outcome: "done", written: fresh.size, ...(now && { record: now }) };
}

/** Takes names, leases, steps and erasures over as they stand in another store. Their facts must be here. */
export function applyChanges({ names, blobs }: Tables, changes: Iterable<Change>): void {
  for (const change of changes) {
    if ("record" in change) names.put(change.record);
    else if ("forgotten" in change) names.put({ ...change.forgotten, head: null, until: 0 });
    else if ("step" in change) names.addStep(change.step.name, change.step.key, change.step.head);
    else if ("erased" in change) blobs.addErasure(change.erased);
  }
}

/** Removes facts, blobs and keys, inside of a transaction. */
export function applyRemoval(tables: Tables, what: Removal): void {
  const { connection, facts, names, blobs, puts } = tables;
  facts.lines.pack(true);
  const gone = stillLoose(tables, what.ids ?? []);
  facts.lines.remove(gone);
  for (const place of gone.keys()) {
    connection.run("DELETE FROM snapshots WHERE p = ?", place);
    connection.run("DELETE FROM merges WHERE child = ?", place);
    if (placeIn(place) === 0) connection.run("DELETE FROM chains WHERE chain = ?", chainOf(place));
  }
  names.dropSteps(new Set(gone.values()));
  const unused = removable(what, {
    lines: () => everyLine(facts),
    blob: (digest) => blobs.get(digest),
    isErased: (digest) => blobs.erased(digest) !== undefined,
    putSince: (since) => puts.since(since),
  });
  for (const digest of unused) blobs.drop(digest);
  for (const key of what.keys ?? []) blobs.dropKey(key);
  if (what.snapshots) connection.run("DELETE FROM snapshots");
  connection.run("UPDATE generation SET collected = collected + 1");
}

/** Of facts that nothing led to when they were counted, those that may still go: no name or newer fact came to them since. */
function stillLoose({ facts, names }: Tables, ids: readonly FactId[]): ReadonlyMap<Place, FactId> {
  const loose = new Map<Place, FactId>();
  for (const id of ids) {
    const place = facts.place(id);
    if (place !== undefined) loose.set(place, id);
  }
  const standing = [...names.places()];
  for (const place of loose.keys())
    for (const child of facts.childPlaces(place)) if (!loose.has(child)) standing.push(child);
  const past = facts.chains.reach(standing);
  for (const place of [...loose.keys()]) if (place <= (past.get(chainOf(place)) ?? -1)) loose.delete(place);
  return loose;
}

/** The lines that are there now. Only while nobody else writes. */
function* everyLine(facts: Facts): Generator<string> {
  for (const batch of facts.every()) for (const { line } of batch) yield line;
}
