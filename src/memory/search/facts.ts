import {
  type Digest,
  type Fact,
  type FactId,
  type Json,
  parentsOf,
  readFact,
  refsOf,
} from "../../session/index.js";
import { type Line, NotFoundError, type Store } from "../../store/index.js";
import { MEMORY_FACTS, memoriesOf, undoneBy } from "../state.js";
import type { Connection } from "./database.js";
import { bytesOf, Fold, factIn, idOf } from "./fold.js";

/** A fact that came, with what it refers to. */
export type Come = {
  readonly id: FactId;
  readonly parents: readonly FactId[];
  readonly fact: Fact;
  readonly blobs: readonly { readonly digest: Digest; readonly absence: Absence }[];
};

/** Whether content is here (0), is not here (1), or was erased (2). */
export type Absence = 0 | 1 | 2;

/**
 * The facts in an index, put in and taken out; `settle` brings the memories in line with them. It must be called before a
 * transaction ends, and can be called in between: any facts with all that they came from are a state.
 */
export class Facts {
  readonly #connection: Connection;
  readonly #fold: Fold;
  #touched = new Set<FactId>();
  #rollbacks = false;
  #lastDepth: { readonly id: FactId; readonly depth: number } | undefined;

  constructor(connection: Connection, stamp: number) {
    this.#connection = connection;
    this.#fold = new Fold(connection, stamp);
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

  remove(id: FactId): void {
    const bytes = bytesOf(id);
    const row = this.#connection.get("SELECT row, id, depth, type, body, text FROM fact WHERE id = ?", bytes);
    if (row === undefined) return;
    this.#connection.run("DELETE FROM fact WHERE row = ?", row.row as number);
    if (this.#lastDepth?.id === id) this.#lastDepth = undefined;
    if (row.type === null) return;
    const { fact } = factIn(row);
    for (const memory of memoriesOf(id, fact)) {
      this.#touched.add(memory);
      this.#connection.run(
        "DELETE FROM about WHERE memory = ? AND fact = ?",
        bytesOf(memory),
        row.row as number,
      );
    }
    this.#connection.run("DELETE FROM blob WHERE fact = ?", bytes);
    if (fact.type === "memory-rollback") this.#rollbacks = true;
  }

  settle(): void {
    if (this.#rollbacks) this.#undo();
    this.#rollbacks = false;
    const touched = this.#touched;
    this.#touched = new Set();
    this.#fold.again(touched);
  }

  /** What rollbacks took back, told again from all of them; what changed by it is folded again. */
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

const OTHERS: ReadonlySet<string> = new Set(["memory-space", "memory-rollback"] satisfies Fact["type"][]);
const HEX = /^[0-9a-f]{64}$/;

/** Facts of a space read from its store, with the content that lies beside them. */
export class Difference {
  readonly #store: Store;
  readonly #erased: ReadonlySet<Digest>;

  constructor(store: Store, erased: ReadonlySet<Digest>) {
    this.#store = store;
    this.#erased = erased;
  }

  /** What is in the past of one id and not of another, parents first. */
  async *come(to: FactId, from: FactId | undefined): AsyncGenerator<Come> {
    for await (const lines of this.#store.lines(to, { without: from === undefined ? [] : [from] }))
      for (const line of lines) yield this.#plain(line) ?? (await this.read(line));
  }

  /**
   * What is to be taken out to come from one id to another: what is in the past of the first and not of the second. Undefined
   * when that is not known any more, or more than it is worth.
   */
  async gone(from: FactId, to: FactId, most: number): Promise<readonly FactId[] | undefined> {
    const gone: FactId[] = [];
    try {
      for await (const lines of this.#store.lines(from, { without: [to] })) {
        for (const { id } of lines) gone.push(id);
        if (gone.length > most) return undefined;
      }
    } catch (error) {
      // It was collected since.
      if (error instanceof NotFoundError && !(await this.#store.has(from))) return undefined;
      throw error;
    }
    return gone;
  }

  async again(id: FactId): Promise<Come | undefined> {
    const line = await this.#store.line(id);
    return line === undefined ? undefined : this.read({ id, line });
  }

  isErased(digest: Digest): boolean {
    return this.#erased.has(digest);
  }

  async absence(digest: Digest): Promise<Absence> {
    if (this.isErased(digest)) return 2;
    return (await this.#store.blob(digest)) === undefined ? 1 : 0;
  }

  async read({ id, line }: Line): Promise<Come> {
    const { type } = readFact(line, undefined);
    const contents = new Map<Digest, Uint8Array>();
    const blobs: { digest: Digest; absence: Absence }[] = [];
    // Of facts that are no memory's, nothing is needed but where they stand.
    const refs = type.startsWith("memory-") ? Object.values(refsOf(line)) : [];
    for (const { digest } of refs) {
      const bytes = await this.#store.blob(digest);
      if (bytes !== undefined) contents.set(digest, bytes);
      blobs.push({ digest, absence: bytes !== undefined ? 0 : this.isErased(digest) ? 2 : 1 });
    }
    const fact = readFact(line, { read: (digest) => contents.get(digest) });
    return { id, parents: parentsOf(line), fact, blobs };
  }

  /** Most lines hold all of their content, and are read several times as quickly. */
  #plain({ id, line }: Line): Come | undefined {
    const { parents, fact, blobs } = JSON.parse(line) as {
      readonly parents: readonly FactId[];
      readonly fact: Fact;
      readonly blobs?: Json;
    };
    return blobs === undefined ? { id, parents, fact, blobs: [] } : undefined;
  }
}
