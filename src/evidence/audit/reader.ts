import { beginsTurn } from "../../agent/model/index.js";
import {
  type BlobSource,
  type Digest,
  type FactId,
  type FactOf,
  factTypes,
  parentsOf,
  readFact,
  refsOf,
  typeOf,
} from "../../session/index.js";
import { type Erasure, lineBefore, type Recorded, type Store } from "../../store/index.js";

/** How far back the fork that a fact's branch began with is looked for. */
const BACK = 5_000;

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
const TURN = 10_000;

/**
 * The readings of the turn that a session is in, oldest first: what a model may have been told of what is remembered. Where
 * branches came together and both go on, ours is the newer one.
 */
export async function turnReadings(reader: Reader, from: FactId): Promise<readonly Read[]> {
  const found: Read[] = [];
  const met = new Set<FactId>();
  const open = [from];
  for (let id = open.pop(); id !== undefined && met.size < TURN; id = open.pop()) {
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
  return found.reverse();
}

/** The types that can begin a turn: others need not be read for it. */
const BEGINS: ReadonlySet<string> = factTypes("session-start session-detach message-say");

const OUTCOME = /^(?:tool|step)-(?:result|failure)$/;

/** The readings that a call did, in the history of a session. */
export async function readingsOf(reader: Reader, head: FactId, call: FactId): Promise<readonly Read[]> {
  const found: Read[] = [];
  for await (const lines of reader.store.lines(head))
    for (const { id, line } of lines) {
      const type = typeOf(line);
      // Facts of a call stand before its outcome.
      if (OUTCOME.test(type) && line.includes(`"of":"${call}"`)) return found;
      if (type !== "memory-read") continue;
      const { fact } = await reader.read(id, line);
      if (fact.type === "memory-read" && fact.of === call) found.push({ id, fact });
    }
  return found;
}
