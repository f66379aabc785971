import { setImmediate as turn, setTimeout as wait } from "node:timers/promises";
import { type Digest, digestOf, type FactId } from "../../session/index.js";
import type { Store } from "../../store/index.js";
import { type Connection, type Connections, emptied, isBusy, LOG_PAGES } from "./database.js";
import { type Come, Difference, Facts } from "./facts.js";
import { bytesOf, idOf } from "./fold.js";

export type SyncOptions = {
  /** How far it has come: facts read, then texts whose meaning was told; the total when it is known. */
  readonly progress?: (done: number, total: number | undefined) => void;
  readonly signal?: AbortSignal;
  /** False leaves the vectors for when they are needed. */
  readonly meaning?: false;
};

/** How long others of this process wait for their turn at most, about. */
const SLICE_MS = 10;
/** Facts from which on a way is long. */
const LONG = 2_000;
/** Facts after which memories are brought in line. */
const CHUNK = 32;
/** Facts that are taken out before it is cheaper to begin anew. */
const TAKEN_OUT = 2_000;
/** How long another process may hold the file; then an index in memory does. */
const PATIENCE_MS = 60_000;

/**
 * Brings an index to an id of the space: takes out the facts that are not in its past, puts in those that are, in one
 * transaction. So whoever reads finds it before or after, also when the process dies in between, and of two
 * processes that want the same the second finds it done. Says whether it was told to forget something.
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
    // Where it stands is asked again: another process may have brought it there meanwhile.
    if (!isThere(write, head, erasures)) {
      const work = new Bringing(write, space, new Difference(store, erased), options);
      forgotten = await work.to(head, erasures);
      long = work.done > LONG;
    }
    // The log of a long way is taken over by itself below, not as a part of this.
    if (long) write.exec("PRAGMA wal_autocheckpoint = 0");
    write.exec("COMMIT");
  } catch (error) {
    try {
      write.exec("ROLLBACK");
    } catch {
      // SQLite has rolled back by itself.
    }
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
  const state = write.state;
  return (
    state.head === head &&
    state.erasures === erasures &&
    write.get("SELECT 1 FROM blob WHERE absence = 1 LIMIT 1") === undefined
  );
}

class Bringing {
  readonly #write: Connection;
  readonly #space: string;
  readonly #difference: Difference;
  readonly #options: SyncOptions;
  #since = performance.now();
  /** Facts that were put in. */
  done = 0;

  constructor(write: Connection, space: string, difference: Difference, options: SyncOptions) {
    this.#write = write;
    this.#space = space;
    this.#difference = difference;
    this.#options = options;
  }

  /** Says whether content was erased since it stood where it stood. */
  async to(head: FactId, erasures: string): Promise<boolean> {
    let { head: from, stamp, erasures: before } = this.#write.state;
    let gone: readonly FactId[] = [];
    if (from !== undefined && from !== head) {
      const known = await this.#difference.gone(from, head, TAKEN_OUT);
      if (known === undefined) from = undefined;
      else gone = known;
    }
    if (from === undefined) {
      emptied(this.#write, this.#space);
      stamp = 0;
    }
    const facts = new Facts(this.#write, stamp + 1);
    // Children first: they came last.
    for (const id of gone.toReversed()) facts.remove(id);
    const forgotten = erasures !== before;
    await this.#renew(facts, forgotten);
    await this.#add(facts, from === head ? [] : this.#difference.come(head, from));
    facts.settle();
    this.#write.run("UPDATE state SET head = ?, stamp = ?, erasures = ?", head, stamp + 1, erasures);
    if (forgotten) {
      this.#write.run(
        "DELETE FROM vector WHERE digest NOT IN (SELECT digest FROM memory WHERE digest IS NOT NULL)",
      );
      this.#write.run("INSERT INTO words (words) VALUES ('optimize')");
    }
    return forgotten;
  }

  async #add(facts: Facts, come: AsyncIterable<Come> | Iterable<Come>): Promise<void> {
    // Read first and put in then: a short way is gone in one turn, and nobody finds it half gone.
    let waiting: Come[] = [];
    for await (const one of come) {
      waiting.push(one);
      if (waiting.length < CHUNK) continue;
      for (const fact of waiting) facts.add(fact);
      facts.settle();
      this.done += waiting.length;
      waiting = [];
      await this.#breath();
    }
    for (const fact of waiting) facts.add(fact);
    this.done += waiting.length;
    this.#options.progress?.(this.done, undefined);
  }

  /** Reads facts again whose content came, or was erased, since they were read. */
  async #renew(facts: Facts, erased: boolean): Promise<void> {
    const again = new Set<FactId>();
    const blobs = this.#write.all(
      `SELECT fact, digest, absence FROM blob ${erased ? "" : "WHERE absence = 1"}`,
    );
    for (const { fact, digest, absence } of blobs) {
      const here = absence === 0 && !this.#difference.isErased(digest as Digest);
      if (!here && (await this.#difference.absence(digest as Digest)) !== absence) again.add(idOf(fact));
    }
    for (const id of again) {
      const come = await this.#difference.again(id);
      if (come === undefined || this.#write.get("SELECT 1 FROM fact WHERE id = ?", bytesOf(id)) === undefined)
        continue;
      facts.remove(id);
      facts.add(come);
    }
  }

  async #breath(): Promise<void> {
    if (performance.now() - this.#since < SLICE_MS) return;
    this.#options.progress?.(this.done, undefined);
    await turn();
    this.#options.signal?.throwIfAborted();
    this.#since = performance.now();
  }
}

/** Tries again while another process is in the way. */
export async function patiently(act: () => unknown, signal: AbortSignal | undefined): Promise<void> {
  for (const until = performance.now() + PATIENCE_MS; ; ) {
    try {
      act();
      return;
    } catch (error) {
      if (!isBusy(error) || performance.now() > until) throw error;
      signal?.throwIfAborted();
      await wait(2 + Math.random() * 20);
    }
  }
}
