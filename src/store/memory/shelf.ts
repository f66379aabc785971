import type { FactId } from "../../session/index.js";
import { removable } from "../care/collect.js";
import { applyCommit, Listeners } from "../commit.js";
import { closedError, noSession } from "../error.js";
import type { Blob, Commit, Committed, Finding, Part, Removal, Shelf, Tables, Tail } from "../shelf.js";
import { Blobs } from "./blobs.js";
import { Facts } from "./facts.js";
import { Names } from "./names.js";

/** How many lines are handed out at once. */
const BATCH = 1000;

/** Everything in the memory of one process, gone with it. For tests, notebooks and short runs. */
export class MemoryShelf implements Shelf {
  readonly url = "memory:";
  readonly capabilities = { durability: "memory", writers: "one-process" } as const;
  readonly #open = { facts: new Facts(), names: new Names(), blobs: new Blobs() };
  readonly #snapshots = new Map<FactId, string>();
  #lastOrder: { readonly facts: Facts; readonly key: string; readonly rows: readonly number[] } | undefined;
  readonly #listeners = new Listeners();
  #closed = false;

  /** The content. Throws when the shelf is closed. */
  get #held(): { facts: Facts; readonly names: Names; readonly blobs: Blobs } {
    if (!this.#closed) return this.#open;
    throw closedError(this.url, "its content is lost; open another store with openStore(url)");
  }

  get names(): Names {
    return this.#held.names;
  }

  get blobs(): Blobs {
    return this.#held.blobs;
  }

  async write<Result>(work: (tables: Tables, now: number) => Result): Promise<Result> {
    const result = work(this.#held, Date.now());
    this.#listeners.tell();
    return result;
  }

  /** Nothing can fail between here and the end of a commit, so it is made on the spot. */
  async commit(commit: Commit): Promise<Committed> {
    const blobs = commit.handedOver === true ? commit.blobs : commit.blobs.map(copyOf);
    const committed = applyCommit(this.#held, { ...commit, blobs });
    this.#listeners.tell();
    return committed;
  }

  lines(ids: readonly FactId[]): readonly (string | undefined)[] {
    const { facts } = this.#held;
    return ids.map((id) => (facts.has(id) ? facts.line(facts.row(id)) : undefined));
  }

  startingWith(prefix: string, most: number): readonly FactId[] {
    return this.#held.facts.startingWith(prefix, most);
  }

  children(id: FactId): readonly FactId[] {
    const { facts } = this.#held;
    return facts.has(id) ? facts.children(facts.row(id)).map((row) => facts.id(row)) : [];
  }

  *history(heads: readonly FactId[], without: readonly FactId[] = []): Generator<readonly string[]> {
    const { facts } = this.#held;
    const known = without.filter((id) => facts.has(id)).map((id) => facts.row(id));
    const rows = facts.history(
      heads.map((id) => this.#rowOf(id)),
      known,
    );
    yield* this.#batches(rows, (id) => [this.#rowOf(id)]);
  }

  part(head: FactId, without: readonly FactId[], from: number, to: number): Part {
    const { facts } = this.#held;
    const rows = this.#order(head, without);
    return { count: rows.length, lines: rows.slice(from, to).map((row) => facts.line(row)) };
  }

  placeIn(head: FactId, without: readonly FactId[], id: FactId): number | undefined {
    const place = this.#order(head, without).indexOf(this.#held.facts.row(id));
    return place < 0 ? undefined : place;
  }

  /** The rows of a history. The one that was asked for last is kept: its next page is asked for next. */
  #order(head: FactId, without: readonly FactId[]): readonly number[] {
    const { facts } = this.#held;
    const key = [head, ...without].join();
    if (this.#lastOrder?.facts !== facts || this.#lastOrder.key !== key) {
      const rows = facts.history(
        [this.#rowOf(head)],
        without.map((id) => this.#rowOf(id)),
      );
      this.#lastOrder = { facts, key, rows };
    }
    return this.#lastOrder.rows;
  }

  count(id: FactId): number {
    return this.#held.facts.size(this.#rowOf(id));
  }

  tail(head: FactId, most: number): Tail | undefined {
    const { facts } = this.#held;
    const rows = facts.tail(this.#rowOf(head), most, (id) => this.#snapshots.has(id));
    const [first] = rows ?? [];
    if (rows === undefined || first === undefined) return undefined;
    const snapshot = this.#snapshots.get(facts.id(first)) as string;
    return { snapshot, lines: rows.map((row) => facts.line(row)) };
  }

  async saveSnapshot(id: FactId, snapshot: string): Promise<void> {
    if (this.#held.facts.has(id)) this.#snapshots.set(id, snapshot);
  }

  *every(): Iterable<readonly string[]> {
    const { facts } = this.#held;
    const rows = Array.from({ length: facts.count }, (_, row) => row);
    // Those that are collected meanwhile are left out.
    yield* this.#batches(rows, (id) => (this.#held.facts.has(id) ? [this.#rowOf(id)] : []));
  }

  async remove(what: Removal): Promise<void> {
    const held = this.#held;
    const { names, blobs } = held;
    if ((what.ids ?? []).length > 0) {
      const heads = [...names.all.values()].flatMap(({ head }) => head ?? []);
      held.facts = held.facts.without(what.ids ?? [], heads);
      const isGone = (id: FactId): boolean => !held.facts.has(id);
      for (const id of this.#snapshots.keys()) if (isGone(id)) this.#snapshots.delete(id);
      names.dropSteps(isGone);
    }
    for (const digest of removable(what, () => held.facts.lines, blobs)) blobs.drop(digest);
    for (const key of what.keys ?? []) blobs.keys.delete(key);
    if (what.snapshots) this.#snapshots.clear();
  }

  listen(heard: () => void): () => void {
    return this.#listeners.add(heard);
  }

  /** There is nothing below the lines that could be damaged. */
  examine(): Iterable<Finding> {
    return [];
  }

  async backup(path: string): Promise<void> {
    const { facts, names, blobs } = this.#held;
    // Others go on writing while the copy is made, so it is made of what is here now.
    const rows = Array.from({ length: facts.count }, (_, row) => facts.fact(row));
    const content = [...blobs.bytes].map(([digest, bytes]) => ({ digest, bytes }));
    const keys = [...blobs.keys].map(([id, secret]) => ({ id, secret }));
    const erasures = blobs.erasures();
    const records = names.inOrderOfMoves();
    const steps = [...names.steps].flatMap(([name, of]) => [...of].map((step) => [name, ...step] as const));
    const snapshots = [...this.#snapshots];
    const { SqliteShelf } = await import("../sqlite/shelf.js");
    await SqliteShelf.create(path, async (copy) => {
      await copy.write((into) => {
        for (const fact of rows) into.facts.add(fact);
        into.blobs.add(content, new Set());
        for (const key of keys) into.blobs.addKey(key);
        for (const erasure of erasures) into.blobs.erase(erasure);
        for (const record of records) into.names.put(record);
        for (const step of steps) into.names.addStep(...step);
      });
      for (const [id, snapshot] of snapshots) await copy.saveSnapshot(id, snapshot);
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
  }

  /** Reads rows in batches. A collection may renumber the rows between two batches, so ids lead on then. */
  *#batches(
    rows: readonly number[],
    rowsOf: (id: FactId) => readonly number[],
  ): Generator<readonly string[]> {
    const { facts } = this.#held;
    for (let from = 0; from < rows.length; from += BATCH) {
      const now = this.#held.facts;
      const batch = rows.slice(from, from + BATCH);
      const here = now === facts ? batch : batch.flatMap((row) => rowsOf(facts.id(row)));
      yield here.map((row) => now.line(row));
    }
  }

  #rowOf(id: FactId): number {
    const row = this.#held.facts.row(id);
    if (row >= 0) return row;
    throw noSession(id, "it was collected while it was read; ");
  }
}

function copyOf({ digest, bytes }: Blob): Blob {
  return { digest, bytes: Uint8Array.from(bytes) };
}
