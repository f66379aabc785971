import { setImmediate as turn } from "node:timers/promises";
import type { Digest, Fact, FactId, Json } from "../../session/index.js";
import { digestOf, factTypes, parentsOf, readFact, refsOf } from "../../session/index.js";
import type { Line, Store } from "../../store/index.js";
import { bytesOf, type Connection, patiently } from "../derived-file.js";
import { MEMORY_FACTS, memoriesOf, undoneBy } from "../state.js";
import { type Connections, emptied, LOG_PAGES, stateOf } from "./database.js";
import { factIn, foldAgain, idOf } from "./fold.js";

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
 * Brings an index to an id of the space in one transaction, safe against crashes and other processes. It only
 * grows; when its own id is not an ancestor, or content came or was erased, it is rebuilt. Says whether it
 * had to forget content.
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

/** A fact to be added, with the content that it refers to. */
export type Come = {
  readonly id: FactId;
  readonly parents: readonly FactId[];
  readonly fact: Fact;
  readonly blobs: readonly { readonly digest: Digest; readonly absence: Absence }[];
};

/** Whether content is here (0), is not here (1), or was erased (2). */
export type Absence = 0 | 1 | 2;

/** Adds facts to an index. `settle` brings the memories in line with them, and must be called before a transaction ends. */
export class Facts {
  readonly #connection: Connection;
  readonly #stamp: number;
  #touched = new Set<FactId>();
  #rollbacks = false;
  #lastDepth: { readonly id: FactId; readonly depth: number } | undefined;

  constructor(connection: Connection, stamp: number) {
    this.#connection = connection;
    this.#stamp = stamp;
  }

  add({ id, parents, fact, blobs }: Come): void {
    let depth = 0;
    for (const parent of parents) depth = Math.max(depth, this.#depthOf(parent));
    depth += 1;
    this.#lastDepth = { id, depth };
    const kept = MEMORY_FACTS.has(fact.type) || OTHERS.has(fact.type);
    const { text, ...rest } = fact as { readonly text?: unknown };
    const row = this.#connection.run(
      "INSERT INTO fact (id, depth, type, body, text) VALUES (?, ?, ?, ?, ?)",
      bytesOf(id),
      depth,
      kept ? fact.type : null,
      kept ? JSON.stringify(rest) : null,
      kept && typeof text === "string" ? JSON.stringify(text) : null,
    );
    if (!kept) return;
    for (const { digest, absence } of blobs)
      this.#connection.run("INSERT OR REPLACE INTO blob VALUES (?, ?, ?)", bytesOf(id), digest, absence);
    for (const memory of new Set(memoriesOf(id, fact))) {
      this.#touched.add(memory);
      if (memory !== id)
        this.#connection.run("INSERT OR IGNORE INTO about VALUES (?, ?)", bytesOf(memory), row);
    }
    if (fact.type === "memory-rollback") this.#rollbacks = true;
  }

  settle(): void {
    if (this.#rollbacks) this.#undo();
    this.#rollbacks = false;
    const touched = this.#touched;
    this.#touched = new Set();
    foldAgain(this.#connection, this.#stamp, touched);
  }

  /** Computes what all rollbacks have undone. Memories that this changes are folded again. */
  #undo(): void {
    const rollbacks = this.#connection
      .all("SELECT id, depth, body, text FROM fact WHERE type = 'memory-rollback'")
      .map(factIn);
    const undone = undoneBy(rollbacks);
    const before = new Set(this.#connection.all("SELECT id FROM undone").map(({ id }) => idOf(id)));
    for (const id of before)
      if (!undone.has(id)) {
        this.#connection.run("DELETE FROM undone WHERE id = ?", bytesOf(id));
        this.#touch(id);
      }
    for (const id of undone)
      if (!before.has(id) && HEX.test(id)) {
        this.#connection.run("INSERT OR IGNORE INTO undone VALUES (?)", bytesOf(id));
        this.#touch(id);
      }
  }

  #touch(id: FactId): void {
    const row = this.#connection.get(
      "SELECT id, depth, body, text FROM fact WHERE id = ? AND body IS NOT NULL",
      bytesOf(id),
    );
    if (row === undefined) return;
    for (const memory of memoriesOf(id, factIn(row).fact)) this.#touched.add(memory);
  }

  #depthOf(id: FactId): number {
    if (this.#lastDepth?.id === id) return this.#lastDepth.depth;
    return (this.#connection.get("SELECT depth FROM fact WHERE id = ?", bytesOf(id))?.depth as number) ?? 0;
  }
}

const OTHERS: ReadonlySet<string> = factTypes("memory-space memory-rollback");
const HEX = /^[0-9a-f]{64}$/;

/** Reads a fact with the content that is kept beside its line. */
export async function factOfLine(
  { id, line }: Line,
  store: Store,
  erased: ReadonlySet<Digest>,
): Promise<Come> {
  const plain = JSON.parse(line) as Pick<Come, "parents" | "fact"> & { readonly blobs?: Json };
  // Most lines hold all of their content, and are read several times as quickly.
  if (plain.blobs === undefined) return { id, parents: plain.parents, fact: plain.fact, blobs: [] };
  const contents = new Map<Digest, Uint8Array>();
  const blobs: { digest: Digest; absence: Absence }[] = [];
  // Of facts that are not about memories, only the depth is needed.
  const refs = plain.fact.type.startsWith("memory-") ? Object.values(refsOf(line)) : [];
  for (const { digest } of refs) {
    const bytes = await store.blob(digest);
    if (bytes !== undefined) contents.set(digest, bytes);
    blobs.push({ digest, absence: isAbsent(bytes, digest, erased) });
  }
  const fact = readFact(line, { read: (digest) => contents.get(digest) });
  return { id, parents: parentsOf(line), fact, blobs };
}

export function isAbsent(
  bytes: Uint8Array | undefined,
  digest: Digest,
  erased: ReadonlySet<Digest>,
): Absence {
  return bytes !== undefined ? 0 : erased.has(digest) ? 2 : 1;
}
