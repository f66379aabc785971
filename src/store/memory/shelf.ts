import type { Digest, FactId } from "../../session/index.js";
import { removable } from "../care/removal.js";
import { UNDER_WAY_MS } from "../commit.js";
import { StoreError } from "../error.js";
import type { Finding, NameRecord, Removal } from "../shelf.js";
import { FactIndex } from "./facts.js";
import { type Draft, IndexShelf } from "./index-shelf.js";
import { NameIndex } from "./names.js";

/** Everything in the memory of one process, gone with it. For tests, notebooks and short runs. */
export class MemoryShelf extends IndexShelf {
  readonly url: string;
  readonly capabilities = { durability: "memory", writers: "one-process" } as const;
  protected facts = new FactIndex();
  protected readonly book = new NameIndex();
  #lines: string[] = [];
  readonly #blobs = new Map<Digest, Uint8Array>();
  /** When blobs came without a fact that refers to them. */
  readonly #puts = new Map<Digest, number>();
  readonly #keys = new Map<string, Uint8Array>();
  readonly #snapshots = new Map<FactId, string>();
  #closed = false;

  private constructor(url: string) {
    super();
    this.url = url;
  }

  static open(url = "memory:"): MemoryShelf {
    return new MemoryShelf(url);
  }

  protected refresh(): void {
    if (this.#closed)
      throw new StoreError(
        "closed",
        `The store ${this.url} is closed.`,
        "what was in it is gone; open another with openStore(url)",
      );
  }

  protected read(rows: ArrayLike<number>): string[] {
    return Array.from(rows, (row) => this.#lines[row] as string);
  }

  /** Nothing can fail between here and the end of the work, so it is done on the spot. */
  protected async transact<Result>(work: (draft: Draft) => Result): Promise<Result> {
    this.refresh();
    const moved: NameRecord[] = [];
    const result = work({
      fact: ({ id, line, parents }) => this.#add(id, line, parents),
      blob: ({ digest, bytes }) => {
        if (!this.#blobs.has(digest)) this.#blobs.set(digest, bytes);
      },
      put: (digests) => {
        for (const digest of digests) this.#put(digest, Date.now());
      },
      key: (id, secret) => {
        if (!this.#keys.has(id)) this.#keys.set(id, secret);
      },
      change: (change) => {
        if (
          "record" in change &&
          change.record.head !== (this.book.names.get(change.record.name)?.head ?? null)
        )
          moved.push(change.record);
        if ("erased" in change) this.#blobs.delete(change.erased.digest);
        this.book.apply(change);
      },
    });
    this.tell(moved);
    return result;
  }

  async saveSnapshot(id: FactId, snapshot: string): Promise<void> {
    this.refresh();
    if (this.facts.row(id) >= 0) this.#snapshots.set(id, snapshot);
  }

  protected snapshots(): Iterable<FactId> {
    return this.#snapshots.keys();
  }

  protected snapshot(id: FactId): string | undefined {
    return this.#snapshots.get(id);
  }

  blob(digest: Digest): Uint8Array | undefined {
    this.refresh();
    const bytes = this.#blobs.get(digest);
    return bytes && Uint8Array.from(bytes);
  }

  async *digests(): AsyncIterable<readonly Digest[]> {
    this.refresh();
    if (this.#blobs.size > 0) yield [...this.#blobs.keys()];
  }

  async putSince(since: number): Promise<Iterable<Digest>> {
    this.refresh();
    return this.#putSince(since);
  }

  #put(digest: Digest, now: number): void {
    // Taken out first, so that the oldest are in front and what is as good as waste is forgotten from there.
    this.#puts.delete(digest);
    this.#puts.set(digest, now);
    for (const [oldest, at] of this.#puts) {
      if (at >= now - UNDER_WAY_MS) return;
      this.#puts.delete(oldest);
    }
  }

  *#putSince(since: number): Generator<Digest, void> {
    for (const [digest, at] of this.#puts) if (at >= since) yield digest;
  }

  key(id: string): Uint8Array | undefined {
    this.refresh();
    const secret = this.#keys.get(id);
    return secret && Uint8Array.from(secret);
  }

  async remove(what: Removal): Promise<void> {
    this.refresh();
    this.#removeFacts(what.ids ?? []);
    const unused = removable(what, {
      lines: () => this.#lines,
      blob: (digest) => this.#blobs.get(digest),
      isErased: (digest) => this.book.erased.has(digest),
      putSince: (since) => this.#putSince(since),
    });
    for (const digest of unused) {
      this.#blobs.delete(digest);
      this.#puts.delete(digest);
    }
    for (const key of what.keys ?? []) this.#keys.delete(key);
    if (what.snapshots) this.#snapshots.clear();
  }

  async *examine(): AsyncIterable<Finding> {
    this.refresh();
    // There is nothing below the lines that could be damaged.
    yield* [];
  }

  async backup(path: string): Promise<void> {
    this.refresh();
    // Others go on writing while the copy is made, so it is made of what is here now.
    const facts = this.#lines.map((line, row) => ({ id: this.facts.id(row), line }));
    const blobs = [...this.#blobs].map(([digest, bytes]) => ({ digest, bytes }));
    const keys = [...this.#keys].map(([id, secret]) => ({ id, secret }));
    const [snapshots, changes] = [[...this.#snapshots], [...this.book.changes()]];
    const { SqliteShelf } = await import("../sqlite/shelf.js");
    await SqliteShelf.create(path, async (copy) => {
      // With the facts in one commit, so that every key comes with the beginning that names it.
      await copy.commit({ facts, blobs, keys, handedOver: true });
      await copy.adopt(changes);
      for (const [id, snapshot] of snapshots) await copy.saveSnapshot(id, snapshot);
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
  }

  #add(id: FactId, line: string, parents: readonly FactId[]): void {
    this.facts.add(
      Buffer.from(id, "hex"),
      parents.map((parent) => this.facts.row(parent)),
    );
    this.#lines.push(line);
  }

  #removeFacts(ids: readonly FactId[]): void {
    if (ids.length === 0) return;
    const before = this.facts;
    const rowsOf = (some: Iterable<FactId | null>): number[] =>
      [...some].map((id) => (id === null ? -1 : before.row(id))).filter((row) => row >= 0);
    const goes = before.removable(
      rowsOf(ids),
      rowsOf([...this.book.names.values()].map((record) => record.head)),
    );
    const lines = this.#lines;
    this.facts = new FactIndex();
    this.#lines = [];
    for (const [row, line] of lines.entries()) {
      if (goes[row] === 0)
        this.#add(
          before.id(row),
          line,
          Array.from(before.parents(row), (parent) => before.id(parent)),
        );
      else this.#snapshots.delete(before.id(row));
    }
    this.book.dropSteps((head) => this.facts.row(head) < 0);
  }
}
