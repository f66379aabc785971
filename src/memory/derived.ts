import type { FactId } from "../session/index.js";
import type { Store } from "../store/index.js";
import { beforeClosing } from "../store/index.js";
import { defined } from "../util/index.js";
import type { Embedder } from "./embedding/embedder.js";
import { derivedFolderOf } from "./name.js";
import { SpaceIndex } from "./search/space-index.js";

/** What a process holds of the spaces of one store: indexes that are open, each used by one at a time. */
class Derived {
  readonly #store: Store;
  readonly #open = new Map<string, Promise<SpaceIndex>>();
  /** Indexes of earlier states, the one that was used last at the end. */
  readonly #earlier = new Map<string, Promise<SpaceIndex>>();
  readonly #turns = new Map<string, Promise<unknown>>();

  constructor(store: Store) {
    this.#store = store;
  }

  /** Uses the index of a space, brought to where the space stands (or stood at `at`), alone. */
  async use<Value>(
    { space, at, embedder, progress, signal }: UseOptions,
    act: (index: SpaceIndex) => Promise<Value>,
  ): Promise<Value> {
    const key = `${space}\0${embedder.name}${at === undefined ? "" : `\0${at}`}`;
    return this.alone(key, async () => {
      const head = at ?? (await this.#store.head(space));
      const index = await (at === undefined
        ? this.#present(key, space, embedder)
        : this.#past(key, space, embedder));
      try {
        // Also where it stands there already: content may have been erased, or have come, since. Vectors are made when they
        // are asked for: a caller that only writes does not wait for a model.
        if (head !== undefined)
          await index.sync(this.#store, head, {
            meaning: false,
            ...defined({ progress, signal }),
          });
        return await act(index);
      } finally {
        index.rest();
      }
    });
  }

  /** One after the other, whatever became of the one before. */
  async alone<Value>(key: string, act: () => Promise<Value>): Promise<Value> {
    const before = this.#turns.get(key) ?? Promise.resolve();
    const turn = before.then(act, act);
    const over = turn.catch(() => {});
    this.#turns.set(key, over);
    try {
      return await turn;
    } finally {
      if (this.#turns.get(key) === over) this.#turns.delete(key);
    }
  }

  #present(key: string, space: string, embedder: Embedder): Promise<SpaceIndex> {
    return this.#opened(this.#open, key, { folder: derivedFolderOf(this.#store), space, embedder });
  }

  /** Earlier states are asked for rarely, and several times in a row then. */
  #past(key: string, space: string, embedder: Embedder): Promise<SpaceIndex> {
    const known = this.#earlier.get(key);
    this.#earlier.delete(key);
    if (known !== undefined) this.#earlier.set(key, known);
    for (const [oldest, index] of this.#earlier) {
      if (this.#earlier.size < EARLIER || oldest === key) break;
      // One that is in use, or waited for, stays.
      if (this.#turns.has(oldest)) continue;
      this.#earlier.delete(oldest);
      void index.then((one) => one.close()).catch(() => {});
    }
    return this.#opened(this.#earlier, key, { folder: undefined, space, embedder });
  }

  #opened(
    where: Map<string, Promise<SpaceIndex>>,
    key: string,
    options: Parameters<typeof SpaceIndex.open>[0],
  ): Promise<SpaceIndex> {
    let index = where.get(key);
    if (index === undefined) {
      index = SpaceIndex.open(options);
      where.set(key, index);
      index.catch(() => where.delete(key));
    }
    return index;
  }

  async close(): Promise<void> {
    const all = [...this.#open.values(), ...this.#earlier.values()];
    this.#open.clear();
    this.#earlier.clear();
    for (const index of await Promise.allSettled(all)) if (index.status === "fulfilled") index.value.close();
  }
}

const EARLIER = 4;

export type UseOptions = {
  /** The name that the space has in the store. */
  readonly space: string;
  readonly at?: FactId | undefined;
  readonly embedder: Embedder;
  readonly progress?: Progress | undefined;
  readonly signal?: AbortSignal | undefined;
};

/** How far the making of an index has come. */
export type Progress = (done: number, total?: number) => void;

const known = new WeakMap<Store, Derived>();

export function derivedOf(store: Store): Derived {
  let derived = known.get(store);
  if (derived === undefined) {
    derived = new Derived(store);
    known.set(store, derived);
    beforeClosing(store, () => closeIndexes(store));
  }
  return derived;
}

/** Closes the index files of a store. They are opened again when they are needed. */
export async function closeIndexes(store: Store): Promise<void> {
  await known.get(store)?.close();
}
