import type { FactId } from "../session/index.js";
import type { Store } from "../store/index.js";
import { derivedOf, type Progress } from "./derived.js";
import type { Embedder } from "./embedding/embedder.js";
import type { Filter, Found, SpaceIndex } from "./search/space-index.js";
import type { Memory, Status } from "./state.js";

/** The name that a space has in its store. */
export function storeNameOf(space: string): string {
  return `memory/${space}`;
}

export type ListOptions = Filter & { readonly statuses?: readonly Status[] };

export type FindOptions = Filter & {
  /** How many at most. Default 5. */
  readonly limit?: number;
  /** The score that a memory must have at least, from 0 to 1. */
  readonly threshold?: number;
  /** The time by which is told what has expired. Default: now. */
  readonly now?: string;
  /** What counts: words, meaning, or both (the default). */
  readonly mode?: "fused" | "words" | "meaning";
  readonly signal?: AbortSignal;
  readonly progress?: Progress;
};

/** What was found, and where the space stood then: the same question as of that id has the same answer. */
export type FoundIn = {
  readonly head: FactId | undefined;
  readonly now: string;
  readonly limit: number;
  readonly threshold: number;
  readonly found: readonly Found[];
};

export const LIMIT = 5;
/** Where the best answers to unrelated questions end, and most right ones begin (`search/find.ts` says how scores are made). */
export const THRESHOLD = 0.25;

/** A memory space to be read: as it is, or as it was at one id of it. */
export class SpaceView {
  readonly name: string;
  readonly store: Store;
  readonly embedder: Embedder;
  readonly #at: FactId | undefined;

  constructor(store: Store, name: string, embedder: Embedder, at?: FactId) {
    this.store = store;
    this.name = name;
    this.embedder = embedder;
    this.#at = at;
  }

  /** Where it stands; undefined when nothing was ever written to it. */
  async head(): Promise<FactId | undefined> {
    return this.#at ?? this.store.head(storeNameOf(this.name));
  }

  /** A memory, whatever became of it; undefined when it is not in the space. */
  async get(id: FactId): Promise<Memory | undefined> {
    return this.use(async (index) => index.get(id));
  }

  /** All memories that are live, or of other states, in the order in which they were written. */
  async list(options: ListOptions = {}): Promise<readonly Memory[]> {
    return this.use(async (index) => [...index.list(options)]);
  }

  async find(query: string, options: FindOptions = {}): Promise<FoundIn> {
    const {
      limit = LIMIT,
      threshold = THRESHOLD,
      now = new Date().toISOString(),
      progress,
      ...rest
    } = options;
    return this.use(
      async (index) => ({
        head: index.head,
        now,
        limit,
        threshold,
        found: await index.find(query, { ...rest, limit, threshold, now }),
      }),
      { progress, signal: options.signal },
    );
  }

  /** Makes the index now and not at the first question, and says how far it has come. */
  async prepare(progress?: Progress): Promise<void> {
    await this.use(async () => {}, { progress });
  }

  protected async use<Value>(
    act: (index: SpaceIndex) => Promise<Value>,
    options: { readonly progress?: Progress | undefined; readonly signal?: AbortSignal | undefined } = {},
  ): Promise<Value> {
    const space = storeNameOf(this.name);
    return derivedOf(this.store).use({ ...options, space, at: this.#at, embedder: this.embedder }, act);
  }
}
