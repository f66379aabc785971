import { beginsTurn } from "../../agent/model/index.js";
import type { BlobSource, Digest, FactId, FactOf } from "../../session/index.js";
import { factTypes, parentsOf, readFact, refsOf, typeOf } from "../../session/index.js";
import {
  type Erasure,
  type Line,
  lineBefore,
  type Recorded,
  type Store,
  StoreError,
} from "../../store/index.js";

type FactsPage = Awaited<ReturnType<Store["facts"]>>;

/** How far back the fork that a fact's branch began with is looked for. */
const BACK = 3_000;

/** Reads single facts of a store: their content, their branch, and what became of content that is gone. */
export class Reader {
  readonly store: Store;
  /** The branches that facts are on; undefined where the fork is too far back. */
  readonly #branches = new Map<FactId, string | undefined>();
  #erasures: Map<Digest, Erasure> | undefined;

  constructor(store: Store) {
    this.store = store;
  }

  /** A fact with its content; undefined when it is not here. */
  async fact(id: FactId): Promise<Recorded | undefined> {
    const line = await this.store.line(id);
    return line === undefined ? undefined : this.read(id, line);
  }

  /** The fact of a line, its content brought back from the blobs; withheld content reads as `Withheld`. */
  async read(id: FactId, line: string): Promise<Recorded> {
    const blobs = new Map<Digest, Uint8Array | "erased">();
    for (const { digest } of Object.values(refsOf(line))) {
      // Damage is for `verify` to tell; here the content is as good as gone.
      const bytes = await this.store.blob(digest).catch(() => undefined);
      if (bytes !== undefined) blobs.set(digest, bytes);
      else if ((await this.erasure(digest)) !== undefined) blobs.set(digest, "erased");
    }
    const source: BlobSource = { read: (digest) => blobs.get(digest) };
    return { id, parents: parentsOf(line), line, fact: readFact(line, source) };
  }

  /** The erasure of some content: its author, time and reason. */
  async erasure(digest: Digest): Promise<Erasure | undefined> {
    return (await this.erasures()).get(digest);
  }

  async erasures(): Promise<ReadonlyMap<Digest, Erasure>> {
    this.#erasures ??= new Map((await this.store.erasures()).map((one) => [one.digest, one]));
    return this.#erasures;
  }

  /** The branch that a fact stands on; undefined where its fork is too far back to be looked for. */
  async branch(id: FactId): Promise<string | undefined> {
    const way: FactId[] = [];
    let found: string | undefined;
    for (let at: FactId | undefined = id; at !== undefined && way.length < BACK; ) {
      if (this.#branches.has(at)) {
        found = this.#branches.get(at);
        break;
      }
      const line: string | undefined = await this.store.line(at);
      if (line === undefined) break;
      way.push(at);
      const parents = parentsOf(line);
      const fork = line.includes('"type":"branch-fork"') ? readFact(line, undefined) : undefined;
      if (fork?.type === "branch-fork") found = fork.name;
      else if (parents.length === 0) found = "main";
      if (found !== undefined) break;
      at = await lineBefore(this.store, at, line);
    }
    for (const one of way) this.#branches.set(one, found);
    return found;
  }
}

/** A reading of a memory, on the record of who read. */
export type Read = { readonly id: FactId; readonly fact: FactOf<"memory-read"> };

/** How many facts of a turn are looked at. */
export const TURN = 3_000;

/** The memory readings of a turn, and whether it has more facts than were looked at. */
type TurnReadings = { readonly readings: readonly Read[]; readonly isCut: boolean };

/** The memory readings of a session's turn, oldest first. At a merge of both, ours are newer. */
export async function turnReadings(reader: Reader, from: FactId): Promise<TurnReadings> {
  const found: Read[] = [];
  const met = new Set<FactId>();
  const open = [from];
  for (let id = open.pop(); id !== undefined; id = open.pop()) {
    if (met.size >= TURN) return { readings: found.reverse(), isCut: true };
    const line = met.has(id) ? undefined : await reader.store.line(id);
    if (line === undefined) continue;
    met.add(id);
    const type = typeOf(line);
    if (type === "memory-read") {
      const { fact } = await reader.read(id, line);
      if (fact.type === "memory-read") found.push({ id, fact });
    }
    const parents = parentsOf(line);
    const decides = parents.length > 1 || BEGINS.has(type);
    const fact = decides ? (await reader.read(id, line)).fact : undefined;
    if (fact !== undefined && beginsTurn(fact)) continue;
    // Of both, ours is taken from the end first.
    if (fact?.type === "branch-merge" && fact.adopt === "both") open.push(...parents.toReversed());
    else {
      const on = await lineBefore(reader.store, id, line);
      if (on !== undefined) open.push(on);
    }
  }
  return { readings: found.reverse(), isCut: false };
}

/** The types that can begin a turn: others need not be read for it. */
const BEGINS: ReadonlySet<string> = factTypes("session-start session-detach message-say");

const OUTCOME = /^(?:tool|step)-(?:result|failure)$/;

/** The readings that a call did, in the history of a session. */
export async function readingsOf(reader: Reader, head: FactId, call: FactId): Promise<readonly Read[]> {
  const found: Read[] = [];
  for await (const { id, line } of linesAfter(reader.store, head, call)) {
    const type = typeOf(line);
    // Facts of a call stand before its outcome.
    if (OUTCOME.test(type) && line.includes(`"of":"${call}"`)) return found;
    if (type !== "memory-read") continue;
    const { fact } = await reader.read(id, line);
    if (fact.type === "memory-read" && fact.of === call) found.push({ id, fact });
  }
  return found;
}

/** So many facts after a call are looked at for what is about it. */
const FOLLOWED = 50_000;

/** The lines after a fact in a history, without those before it; none where the history does not have the fact. */
export async function* linesAfter(store: Store, head: FactId, fact: FactId): AsyncGenerator<Line> {
  if ((await placeIn(store, head, fact)) === undefined) return;
  let after: string | null = fact;
  for (let read = 0; after !== null && read < FOLLOWED; ) {
    const page: FactsPage = await store.facts(head, { after, limit: read === 0 ? 100 : 1000 });
    yield* page.items;
    read += page.items.length;
    after = page.next;
  }
}

/** How many facts a history has up to one of its facts; undefined where it does not have it. */
export async function placeIn(store: Store, head: FactId, fact: FactId): Promise<number | undefined> {
  try {
    const { items, count } = await store.facts(head, { after: fact, limit: 1 });
    return items[0]?.index ?? count;
  } catch (error) {
    if (error instanceof StoreError) return undefined;
    throw error;
  }
}
