import type { Digest, FactId } from "../../session/index.js";
import { looseIn, type NewFact } from "../commit.js";
import { NotFoundError } from "../error.js";
import { isFenced } from "../name/move.js";
import type {
  Blob,
  Capabilities,
  Commit,
  Committed,
  Erasure,
  Fence,
  Finding,
  NameRecord,
  Removal,
  Shelf,
  Tail,
} from "../shelf.js";
import { decide } from "./decide.js";
import type { FactIndex } from "./facts.js";
import type { Change, NameIndex } from "./names.js";

/** How many lines are handed out at once. */
const BATCH = 1000;

/** What one piece of work writes. Nothing of it is seen by others before all of it is. */
export interface Draft {
  fact(fact: NewFact): void;
  blob(blob: Blob): void;
  /** Blobs that come without a fact that refers to them, new or not. */
  put(digests: readonly Digest[]): void;
  key(id: string, secret: Uint8Array): void;
  change(change: Change): void;
}

/**
 * A shelf whose index is in memory: everything but where the bytes are. Reading looks first at what others
 * wrote (`refresh`); writing is work done on a draft (`transact`), so each rule about names is written once.
 */
export abstract class IndexShelf implements Shelf {
  abstract readonly url: string;
  abstract readonly capabilities: Capabilities;
  protected abstract readonly facts: FactIndex;
  protected abstract readonly book: NameIndex;
  readonly #listeners = new Set<(moved: readonly NameRecord[]) => void>();

  /** Takes in what others wrote. Throws when the shelf is closed. */
  protected abstract refresh(): void;
  /** The lines of rows of the present index. */
  protected abstract read(rows: ArrayLike<number>): string[];
  /** Runs work on a draft, after what others wrote and before what they write next; durable when it resolves. */
  protected abstract transact<Result>(work: (draft: Draft) => Result): Promise<Result>;
  protected abstract snapshots(): Iterable<FactId>;
  protected abstract snapshot(id: FactId): string | undefined;

  abstract saveSnapshot(id: FactId, snapshot: string): Promise<void>;
  abstract blob(digest: Digest): Uint8Array | undefined;
  abstract digests(): AsyncIterable<readonly Digest[]>;
  abstract putSince(since: number): Promise<Iterable<Digest>>;
  abstract key(id: string): Uint8Array | undefined;
  abstract remove(what: Removal): Promise<void>;
  abstract examine(): AsyncIterable<Finding>;
  abstract backup(path: string): Promise<void>;
  abstract close(): Promise<void>;

  async commit(commit: Commit): Promise<Committed> {
    // The commit may wait for the disk; what the caller does to its bytes meanwhile must not reach it.
    const blobs = commit.handedOver === true ? commit.blobs : commit.blobs.map(copyOf);
    const keys = (commit.keys ?? []).map(({ id, secret }) => ({ id, secret: Uint8Array.from(secret) }));
    return this.transact((draft) => {
      const decision = decide(this.facts, this.book, commit);
      if ("refused" in decision) return decision.refused;
      for (const { id, secret } of keys) if (decision.keys.has(id)) draft.key(id, secret);
      for (const fact of decision.facts) draft.fact(fact);
      for (const blob of blobs) if (decision.blobs.has(blob.digest)) draft.blob(blob);
      draft.put(looseIn(commit));
      for (const change of decision.changes) draft.change(change);
      return decision.answer;
    });
  }

  async lines(ids: readonly FactId[]): Promise<readonly (string | undefined)[]> {
    this.refresh();
    const rows = ids.map((id) => this.facts.row(id));
    const lines = this.read(rows.filter((row) => row >= 0));
    let next = 0;
    return rows.map((row) => (row < 0 ? undefined : lines[next++]));
  }

  async startingWith(prefix: string, most: number): Promise<readonly FactId[]> {
    this.refresh();
    return this.#ids(this.facts.startingWith(prefix, most));
  }

  async children(id: FactId): Promise<readonly FactId[]> {
    this.refresh();
    const row = this.facts.row(id);
    return row < 0 ? [] : this.#ids(this.facts.children(row));
  }

  async *history(
    heads: readonly FactId[],
    without: readonly FactId[] = [],
  ): AsyncIterable<readonly string[]> {
    yield* this.#history(heads, without);
  }

  *#history(heads: readonly FactId[], without: readonly FactId[]): Generator<readonly string[]> {
    this.refresh();
    const known = without.map((id) => this.facts.row(id)).filter((row) => row >= 0);
    yield* this.#batches(
      this.facts.history(
        heads.map((id) => this.#rowOrFail(id)),
        known,
      ),
    );
  }

  readonly past = {
    history: (head: FactId): Iterable<readonly string[]> => this.#history([head], []),
    tail: (head: FactId, most: number): Tail | undefined => this.#tail(head, most),
  };

  async count(id: FactId): Promise<number> {
    this.refresh();
    return this.facts.size(this.#rowOrFail(id));
  }

  async tail(head: FactId, most: number): Promise<Tail | undefined> {
    return this.#tail(head, most);
  }

  #tail(head: FactId, most: number): Tail | undefined {
    this.refresh();
    const places = new Set<number>();
    for (const id of this.snapshots()) places.add(this.facts.row(id));
    const rows = this.facts.tail(this.#rowOrFail(head), most, (row) => places.has(row));
    const snapshot = rows && this.snapshot(this.facts.id(rows[0] as number));
    return rows === undefined || snapshot === undefined ? undefined : { snapshot, lines: this.read(rows) };
  }

  async *every(): AsyncIterable<readonly string[]> {
    this.refresh();
    // Of all lines, those that are collected meanwhile are none any more.
    yield* this.#batches(
      Uint32Array.from({ length: this.facts.count }, (_, row) => row),
      (id) => this.facts.row(id),
    );
  }

  async name(name: string): Promise<NameRecord | undefined> {
    this.refresh();
    return this.book.names.get(name);
  }

  async names(under = ""): Promise<readonly NameRecord[]> {
    this.refresh();
    return [...this.book.names.values()]
      .filter(({ name }) => name.startsWith(under))
      .sort((one, other) => (one.name < other.name ? -1 : 1));
  }

  async forget(name: string, fence?: Fence): Promise<"done" | "fenced" | "unknown"> {
    return this.transact((draft) => {
      const record = this.book.names.get(name);
      if (record === undefined || record.head === null) return "unknown";
      if (fence !== undefined && isFenced(record, fence)) return "fenced";
      for (const change of this.book.settingTo(name, null)) draft.change(change);
      return "done";
    });
  }

  async acquire(name: string, owner: string, until: number, now: number): Promise<NameRecord | undefined> {
    return this.transact((draft) => {
      const record = this.book.names.get(name) ?? this.book.unused(name);
      if (record.owner !== undefined && record.owner !== owner && record.until > now) return undefined;
      const taken = { ...record, epoch: record.epoch + 1, owner, until };
      draft.change({ record: taken });
      return taken;
    });
  }

  async extend(name: string, epoch: number, until: number): Promise<boolean> {
    return this.transact((draft) => {
      const record = this.book.names.get(name);
      if (record === undefined || record.epoch !== epoch) return false;
      // Given back is given back: without an owner there is nothing to make longer.
      if (record.owner === undefined) return until === 0;
      const { owner, ...free } = record;
      // What was given back must not pass the fence any more.
      draft.change({
        record: until === 0 ? { ...free, epoch: epoch + 1, until } : { ...free, owner, until },
      });
      return true;
    });
  }

  erased(digest: Digest): Erasure | undefined {
    this.refresh();
    return this.book.erased.get(digest);
  }

  async erasures(): Promise<readonly Erasure[]> {
    this.refresh();
    return [...this.book.erased.values()];
  }

  listen(heard: (moved: readonly NameRecord[]) => void): () => void {
    // Wrapped, so that a function that listens twice is told twice and can stop once.
    const listener = (moved: readonly NameRecord[]): void => heard(moved);
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  }

  protected tell(moved: readonly NameRecord[]): void {
    if (moved.length === 0) return;
    for (const listener of [...this.#listeners]) {
      try {
        listener(moved);
      } catch (error) {
        // The commit is done whatever a listener thinks of it, and the next listener wants to hear too.
        queueMicrotask(() => {
          throw error;
        });
      }
    }
  }

  /** Reads rows in batches. A collection may renumber the rows between two batches, so ids lead on then. */
  *#batches(
    rows: Uint32Array,
    rowOf = (id: FactId): number => this.#rowOrFail(id),
  ): Generator<readonly string[]> {
    const facts = this.facts;
    for (let from = 0; from < rows.length; from += BATCH) {
      if (from > 0) this.refresh();
      const batch = rows.subarray(from, from + BATCH);
      yield this.read(
        facts === this.facts
          ? batch
          : Array.from(batch, (row) => rowOf(facts.id(row))).filter((row) => row >= 0),
      );
    }
  }

  #ids(rows: readonly number[]): FactId[] {
    return rows.map((row) => this.facts.id(row));
  }

  #rowOrFail(id: FactId): number {
    const row = this.facts.row(id);
    if (row >= 0) return row;
    throw new NotFoundError(
      `the session ${id}`,
      "it was collected while it was read; list what is there: await store.names()",
    );
  }
}

function copyOf(blob: Blob): Blob {
  return { digest: blob.digest, bytes: Uint8Array.from(blob.bytes) };
}
