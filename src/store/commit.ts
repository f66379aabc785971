import { type Digest, digestsOf, type FactId } from "../session/index.js";
import type { Commit, Move } from "./shelf.js";

/** A line that a commit brings and that was not there before. */
export type NewFact = { readonly id: FactId; readonly line: string; readonly parents: readonly FactId[] };

/**
 * Whether a name that is at `head` stands where its mover expects it. `reaches` says whether an id is one of some
 * stored ones or in their past.
 */
export function stands(
  move: Move,
  head: FactId | null,
  fresh: ReadonlyMap<FactId, NewFact>,
  reaches: (stored: readonly FactId[], ancestor: FactId) => boolean,
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
  return reaches(stored, head as FactId);
}

/** Erased content comes back with new lines that refer to it, or when it is put here by itself; never with old lines. */
export function revivedBy(commit: Commit, fresh: ReadonlyMap<FactId, NewFact>): ReadonlySet<Digest> {
  const revived = new Set<Digest>();
  if (commit.revive !== true || commit.blobs.length === 0) return revived;
  if (commit.facts.length === 0) for (const { digest } of commit.blobs) revived.add(digest);
  for (const { line } of fresh.values()) for (const digest of digestsOf(line)) revived.add(digest);
  return revived;
}

/** How many blobs or trees are looked at before others of this process get a turn. */
export const TURN = 256;

/** Long work lets others of this process go on in between. */
export function breath(): Promise<void> {
  return new Promise((done) => setImmediate(done));
}

/** How much is written of many blobs before others get a turn; what a blob costs beside its bytes counts too. */
export const BLOB_BYTES_PER_COMMIT = 8 * 1024 * 1024;
export const BLOB_COST = 4096;

/**
 * How long blobs that were put by themselves are spared by a collection. Files are put before the fact that names them, by
 * any process, and in between nothing but this tells them from waste. A lease of a run would not do: whoever puts need not
 * have one, and where one is always held nothing would ever be collected. A process that is known to live would do no
 * better than a time, since one that serves lives for months. A day outlasts an import of any size and a night's sleep of the machine,
 * and all it costs is a day's room.
 */
export const UNDER_WAY_MS = 24 * 60 * 60 * 1000;

/** The blobs of a commit that none of its facts refers to: put for a fact that is still to come, maybe by way of a tree. */
export function looseIn({ facts, blobs }: Pick<Commit, "facts" | "blobs">): readonly Digest[] {
  if (blobs.length === 0) return [];
  const told = new Set(facts.flatMap(({ line }) => digestsOf(line)));
  return blobs.flatMap(({ digest }) => (told.has(digest) ? [] : [digest]));
}

/** A key comes with the beginning that names it. Later it would only bring back what someone made to be forgotten. */
export function keysOf(commit: Commit, fresh: ReadonlyMap<FactId, NewFact>): ReadonlySet<string> {
  const keys = new Set<string>();
  for (const { id } of commit.keys ?? []) {
    const named = `"key":${JSON.stringify(id)}`;
    for (const { parents, line } of fresh.values())
      if (parents.length === 0 && line.includes(named)) keys.add(id);
  }
  return keys;
}
