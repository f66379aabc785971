import { setImmediate as turn } from "node:timers/promises";
import { type Digest, digestOf, type FactId } from "../../session/index.js";
import type { Store } from "../../store/index.js";
import type { Connection } from "../derived-file.js";
import { patiently } from "../derived-file.js";
import { type Connections, emptied, LOG_PAGES, stateOf } from "./database.js";
import { type Come, Facts, factOfLine, isAbsent } from "./facts.js";

export type SyncOptions = {
  /** The progress: facts read, then texts embedded; the total when it is known. */
  readonly progress?: (done: number, total?: number) => void;
  readonly signal?: AbortSignal;
  /** False leaves the vectors for when they are needed. */
  readonly meaning?: false;
};

/** About the longest time that other work of this process waits. */
const SLICE_MS = 10;
/** A sync of more facts is long. */
const LONG = 2_000;
/** How many facts are added before memories are folded again. */
const CHUNK = 32;

/**
 * Brings an index to an id of the space in one transaction, so a reader finds it before or after, also when the process dies
 * in between, and of two processes that want the same the second finds it done. The index only grows: where its own id is
 * not in the past of the new one, or content came or was erased, it is made anew. Says whether it had to forget content.
 */
export async function bring(
  { write, path }: Connections,
  space: string,
  store: Store,
  head: FactId,
  options: SyncOptions,
): Promise<boolean> {
  const { signal } = options;
  const erased = new Set((await store.erasures()).map(({ digest }) => digest));
  const erasures = erased.size === 0 ? "" : digestOf([...erased].sort().join());
  signal?.throwIfAborted();
  if (isThere(write, head, erasures)) return false;
  await patiently(() => write.exec("BEGIN IMMEDIATE"), signal);
  let [forgotten, long] = [false, false];
  try {
    // Checked again: another process may have brought it there meanwhile.
    if (!isThere(write, head, erasures)) {
      const { head: from, stamp, erasures: before } = stateOf(write);
      forgotten = erasures !== before;
      const isUsable =
        from !== undefined &&
        !(await hasChangedContent(write, store, erased, forgotten)) &&
        (await store.has(from));
      const source = { store, erased, head };
      let next = stamp + 1;
      let done = isUsable ? await add(new Facts(write, next), source, from, options) : undefined;
      if (done === undefined) {
        emptied(write, space);
        next = 1;
        done = (await add(new Facts(write, next), source, undefined, options)) ?? 0;
      }
      write.run("UPDATE state SET head = ?, stamp = ?, erasures = ?", head, next, erasures);
      if (forgotten)
        write.run(
          "DELETE FROM vector WHERE digest NOT IN (SELECT digest FROM memory WHERE digest IS NOT NULL)",
        );
      long = done > LONG;
    }
    // The log of a long sync is written to the file by itself below, not as a part of this.
    if (long) write.exec("PRAGMA wal_autocheckpoint = 0");
    write.exec("COMMIT");
  } catch (error) {
    write.rollback();
    throw error;
  }
  if (long && path !== ":memory:") {
    await turn();
    write.all("PRAGMA wal_checkpoint(PASSIVE)");
    write.exec(`PRAGMA wal_autocheckpoint = ${LOG_PAGES}`);
  }
  return forgotten;
}

function isThere(write: Connection, head: FactId, erasures: string): boolean {
  const state = stateOf(write);
  return (
    state.head === head &&
    state.erasures === erasures &&
    write.get("SELECT 1 FROM blob WHERE absence = 1 LIMIT 1") === undefined
  );
}

/** Whether content came, or was erased, since the facts were read. */
async function hasChangedContent(
  write: Connection,
  store: Store,
  erased: ReadonlySet<Digest>,
  forgotten: boolean,
): Promise<boolean> {
  const blobs = write.all(
    `SELECT DISTINCT digest, absence FROM blob ${forgotten ? "" : "WHERE absence = 1"}`,
  );
  for (const { digest, absence } of blobs) {
    const isHere = absence === 0 && !erased.has(digest as Digest);
    if (isHere) continue;
    const bytes = await store.blob(digest as Digest);
    if (isAbsent(bytes, digest as Digest, erased) !== absence) return true;
  }
  return false;
}

type Source = { readonly store: Store; readonly erased: ReadonlySet<Digest>; readonly head: FactId };

/** Adds the facts since `from`, and returns how many. Undefined when `from` is not in the past of the new id. */
async function add(
  facts: Facts,
  { store, erased, head }: Source,
  from: FactId | undefined,
  { progress, signal }: SyncOptions,
): Promise<number | undefined> {
  let isPast = from === undefined || from === head;
  let since = performance.now();
  let done = 0;
  // Read first and added then: a short sync is done in one turn, and nobody finds it half done.
  let waiting: Come[] = [];
  const flush = (): void => {
    for (const fact of waiting) facts.add(fact);
    facts.settle();
    done += waiting.length;
    waiting = [];
  };
  if (from !== head)
    for await (const lines of store.lines(head, { without: from === undefined ? [] : [from] }))
      for (const line of lines) {
        const fact = await factOfLine(line, store, erased);
        isPast ||= fact.parents.includes(from as FactId);
        waiting.push(fact);
        if (waiting.length < CHUNK) continue;
        flush();
        if (performance.now() - since < SLICE_MS) continue;
        progress?.(done);
        await turn();
        signal?.throwIfAborted();
        since = performance.now();
      }
  if (!isPast) return undefined;
  flush();
  progress?.(done);
  return done;
}
