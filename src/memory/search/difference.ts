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
import type { Absence, Come } from "./facts.js";

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
