import {
  type Digest,
  type Fact,
  type FactId,
  type Json,
  parentsOf,
  readFact,
  refsOf,
} from "../../session/index.js";
import type { Line, Store } from "../../store/index.js";
import type { Connection } from "../derived-file.js";
import { MEMORY_FACTS, memoriesOf, undoneBy } from "../state.js";
import { bytesOf, factIn, foldAgain, idOf } from "./fold.js";

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

const OTHERS: ReadonlySet<string> = new Set(["memory-space", "memory-rollback"] satisfies Fact["type"][]);
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
