import { type Digest, digestsOf, type FactId, parentsOf } from "../session/index.js";
import { isFenced } from "./name/move.js";
import type { Commit, Committed, Fence, Move, NameRecord, NameTable, NewFact, Tables } from "./shelf.js";

/** Leases end by the clock of the store, whatever that of a process says. */
export function inClockOfStore(commit: Commit, now: number): Commit {
  return commit.move === undefined ? commit : { ...commit, move: { ...commit.move, now } };
}

/** Makes a commit: fence, then step key, then parents and head, then what it writes. */
export function applyCommit(tables: Tables, commit: Commit): Committed {
  const { facts, names, blobs } = tables;
  const { move, also = [] } = commit;
  const record = move && names.get(move.name);
  if (move !== undefined) {
    if (isFenced(record, move)) return { outcome: "fenced", record: record ?? unused(move.name) };
    const recorded = move.key === undefined ? undefined : names.step(move.name, move.key);
    if (recorded !== undefined) return { outcome: "replayed", head: recorded };
  }
  const fresh = new Map<FactId, NewFact>();
  const isHere = (id: FactId): boolean => fresh.has(id) || facts.has(id);
  for (const { id, line } of commit.facts) {
    if (isHere(id)) continue;
    const parents = parentsOf(line);
    for (const parent of parents) if (!isHere(parent)) return { outcome: "orphan", id, parent };
    fresh.set(id, { id, line, parents });
  }
  for (const { head } of move === undefined ? also : [move, ...also])
    if (head !== null && !isHere(head)) return { outcome: "orphan", id: head, parent: head };
  if (move !== undefined && !stands(move, record?.head ?? null, fresh, facts))
    return { outcome: "conflict", record };
  for (const fact of fresh.values()) facts.add(fact);
  // A process may still hold what was erased here: keys and content come back only with lines that are new.
  for (const key of commit.keys ?? []) if (isNamed(key.id, fresh)) blobs.addKey(key);
  blobs.add(commit.blobs, revivedBy(commit, fresh));
  blobs.put(looseIn(commit));
  for (const erasure of commit.erase ?? []) blobs.erase(erasure);
  const set = (name: string, head: FactId, before: NameRecord | undefined): NameRecord => {
    const now = { ...(before ?? unused(name)), head };
    names.put(now);
    return now;
  };
  const now = move && set(move.name, move.head, record);
  if (move?.key !== undefined) names.addStep(move.name, move.key, move.head);
  for (const { name, head } of also) {
    if (head === null) forget(names, name);
    else set(name, head, names.get(name));
  }
  return { outcome: "done", written: fresh.size, ...(now && { record: now }) };
}

/** The record of a name that was never used. */
function unused(name: string): NameRecord {
  return { name, head: null, epoch: 0, until: 0, moved: 0 };
}

/**
 * Takes a name and its steps away, if the fence lets pass; without a fence in any case. A name that stands nowhere is unknown,
 * and stays as it is. The epoch stays and rises: should the name come again, a lease of before must not hold.
 */
export function forget(names: NameTable, name: string, fence?: Fence): "done" | "fenced" | "unknown" {
  const record = names.get(name);
  if (record === undefined || record.head === null) return "unknown";
  if (fence !== undefined && isFenced(record, fence)) return "fenced";
  names.drop(name);
  // One that nobody ever leased has no lease to guard against, and leaves nothing behind.
  if (record.epoch > 0) names.put({ ...unused(name), epoch: record.epoch + 1 });
  return "done";
}

/** Takes or renews the lease of a name. Undefined when someone else holds it. Every taking raises the epoch. */
export function acquire(
  names: NameTable,
  name: string,
  owner: string,
  until: number,
  now: number,
): NameRecord | undefined {
  const record = names.get(name) ?? unused(name);
  if (record.owner !== undefined && record.owner !== owner && record.until > now) return undefined;
  const taken = { ...record, epoch: record.epoch + 1, owner, until };
  names.put(taken);
  return taken;
}

/**
 * Sets when the lease ends; false when it is no longer this epoch's. `until` 0 gives it back and raises the epoch, so that
 * what was given back passes no fence.
 */
export function extend(names: NameTable, name: string, epoch: number, until: number): boolean {
  const record = names.get(name);
  if (record?.epoch !== epoch) return false;
  // Given back is given back: without an owner there is nothing to make longer.
  if (record.owner === undefined) return until === 0;
  // A lease that was given back must not pass the fence again.
  names.put(until === 0 ? { name, head: record.head, epoch: epoch + 1, until } : { ...record, until });
  return true;
}

/** Whether a name that is at `head` stands where its mover expects it. */
function stands(
  move: Move,
  head: FactId | null,
  fresh: ReadonlyMap<FactId, NewFact>,
  facts: Tables["facts"],
): boolean {
  if (move.expect === "any" || (move.expect === "past" && head === null)) return true;
  if (move.expect !== "past") return head === move.expect;
  // Back through what is new to what is stored, from this head alone: a commit may bring more than its past.
  const stored: FactId[] = [];
  const seen = new Set<FactId>([move.head]);
  for (const id of seen) {
    if (id === head) return true;
    const fact = fresh.get(id);
    if (fact === undefined) stored.push(id);
    else for (const parent of fact.parents) seen.add(parent);
  }
  return facts.descends(stored, head as FactId);
}

/** Erased content comes back with new lines that refer to it, or when it is put here by itself; never with old lines. */
function revivedBy(commit: Commit, fresh: ReadonlyMap<FactId, NewFact>): ReadonlySet<Digest> {
  const revived = new Set<Digest>();
  if (commit.revive !== true || commit.blobs.length === 0) return revived;
  if (commit.facts.length === 0) for (const { digest } of commit.blobs) revived.add(digest);
  for (const { line } of fresh.values()) for (const digest of digestsOf(line)) revived.add(digest);
  return revived;
}

/** The blobs of a commit that none of its facts refers to: put for a fact that is still to come, maybe by way of a tree. */
function looseIn({ facts, blobs }: Commit): readonly Digest[] {
  if (blobs.length === 0) return [];
  const named = new Set(facts.flatMap(({ line }) => digestsOf(line)));
  return blobs.flatMap(({ digest }) => (named.has(digest) ? [] : [digest]));
}

/** A key comes with the beginning that names it. Later it would only bring back what someone made to be forgotten. */
function isNamed(key: string, fresh: ReadonlyMap<FactId, NewFact>): boolean {
  const named = `"key":${JSON.stringify(key)}`;
  for (const { parents, line } of fresh.values())
    if (parents.length === 0 && line.includes(named)) return true;
  return false;
}

/** How many moves of names are kept at least, for those who watch them. */
export const LOGGED_MOVES = 65_536;

/** Those who want to hear that names moved. */
export class Listeners {
  readonly #listeners = new Set<() => void>();

  get size(): number {
    return this.#listeners.size;
  }

  /** Returns the way to stop. */
  add(heard: () => void): () => void {
    // Wrapped, so that a function that listens twice is told twice and can stop once.
    const listener = (): void => heard();
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  }

  tell(): void {
    for (const listener of [...this.#listeners]) {
      try {
        listener();
      } catch (error) {
        // The commit is done whatever a listener thinks of it, and the next listener wants to hear too.
        queueMicrotask(() => {
          throw error;
        });
      }
    }
  }
}

/** How many blobs or trees are looked at before others of this process get a turn. */
export const TURN = 256;

/** Long work lets others of this process go on in between. */
export function breath(): Promise<void> {
  return new Promise((done) => setImmediate(done));
}

/** How much is written of many blobs before others get a turn; the cost of a blob beside its bytes counts too. */
export const BLOB_BYTES_PER_COMMIT = 8 * 1024 * 1024;
export const BLOB_COST = 4096;

/**
 * How long blobs that were put by themselves are spared by a collection. Files are put before the fact that names them, by
 * any process, and in between nothing but this tells them from waste. A lease of a run would not do: a writer of files need not
 * have one, and where one is always held nothing would ever be collected. A process that is known to live would do no
 * better than a time, since one that serves lives for months. A day outlasts an import of any size and a night's sleep of the machine,
 * and all it costs is a day's room.
 */
export const UNDER_WAY_MS = 24 * 60 * 60 * 1000;
