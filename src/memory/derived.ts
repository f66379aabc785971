import type { FactId, Session } from "../session/index.js";
import { beforeClosing, type Store } from "../store/index.js";
import { defined } from "../util/index.js";
import type { Embedder } from "./embedding/embedder.js";
import { derivedFolderOf } from "./name.js";
import { SpaceIndex } from "./search/space-index.js";

/** The open indexes of the spaces of one store in this process. Each has one user at a time. */
class Derived {
  readonly #store: Store;
  readonly #open = new Map<string, SpaceIndex>();
  /** Indexes of earlier states, the least recently used first. */
  readonly #earlier = new Map<string, SpaceIndex>();
  readonly #turns = new Map<string, Promise<unknown>>();
  readonly ends = new Map<string, ChainEnd>();

  constructor(store: Store) {
    this.#store = store;
  }

  /** Uses the index of a space alone, as of where the space stands, or of `at`. */
  async use<Value>(
    { space, at, embedder, progress, signal }: UseOptions,
    act: (index: SpaceIndex) => Promise<Value>,
  ): Promise<Value> {
    const key = `${space}\0${embedder.name}${at === undefined ? "" : `\0${at}`}`;
    return this.alone(key, async () => {
      const head = at ?? (await this.#store.head(space));
      const index = at === undefined ? this.#present(key, space, embedder) : this.#past(key, space, embedder);
      try {
        // Synced also when it is there already: content may have been erased, or have come, since. Vectors are made on
        // demand: a caller that only writes does not wait for a model.
        if (head !== undefined)
          await index.sync(this.#store, head, { meaning: false, ...defined({ progress, signal }) });
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

  #present(key: string, space: string, embedder: Embedder): SpaceIndex {
    const folder = derivedFolderOf(this.#store);
    const index = this.#open.get(key) ?? new SpaceIndex({ folder, space, embedder });
    this.#open.set(key, index);
    return index;
  }

  /** Earlier states are read rarely, and then several times in a row. */
  #past(key: string, space: string, embedder: Embedder): SpaceIndex {
    const index = this.#earlier.get(key) ?? new SpaceIndex({ folder: undefined, space, embedder });
    this.#earlier.delete(key);
    this.#earlier.set(key, index);
    for (const [oldest, other] of this.#earlier) {
      if (this.#earlier.size <= EARLIER) break;
      // One that is in use, or waited for, stays.
      if (this.#turns.has(oldest)) continue;
      this.#earlier.delete(oldest);
      other.close();
    }
    return index;
  }

  close(): void {
    const all = [...this.#open.values(), ...this.#earlier.values()];
    this.#open.clear();
    this.#earlier.clear();
    for (const index of all) index.close();
  }
}

/** The end of a chain that this process has written to, and how deep it was when it was first held. */
export type ChainEnd = { readonly session: Session; readonly since: number };

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
  known.get(store)?.close();
}
