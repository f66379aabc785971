import { StoreError } from "../error.js";

type Waiting<Item, Result> = {
  readonly item: Item;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
};

/** Commits that share one transaction and one sync: everything that was asked for while the last one was made. */
export class GroupCommit<Item, Result> {
  readonly #commit: (items: readonly Item[]) => Promise<readonly Result[]>;
  /** Why nothing more can be written. */
  readonly #dead: () => Error | undefined;
  /** How many bytes an item brings, about, and how many a group may bring. */
  readonly #size: (item: Item) => number;
  readonly #queue: Waiting<Item, Result>[] = [];
  #flushing: Promise<void> | undefined;

  constructor(
    commit: (items: readonly Item[]) => Promise<readonly Result[]>,
    dead: () => Error | undefined,
    size: (item: Item) => number = () => 0,
  ) {
    this.#commit = commit;
    this.#dead = dead;
    this.#size = size;
  }

  add(item: Item): Promise<Result> {
    const dead = this.#dead();
    if (dead !== undefined) return Promise.reject(dead);
    return new Promise((resolve, reject) => {
      this.#queue.push({ item, resolve, reject });
      this.#flushing ??= this.#flushSoon();
    });
  }

  /** Resolves when nothing waits. */
  async settled(): Promise<void> {
    while (this.#flushing !== undefined) await this.#flushing;
  }

  #flushSoon(): Promise<void> {
    return new Promise<void>((done) => setImmediate(done)).then(() => this.#flush());
  }

  async #flush(): Promise<void> {
    const group = this.#next();
    try {
      await this.#make(group);
    } catch (error) {
      // One commit that cannot be made must not take its neighbours with it; a disk that fails fails them all, and so does a
      // server that is away: it may have made them before, and each would wait for it as long again.
      const isAway = error instanceof StoreError && error.data.retry === true;
      const alone = group.length > 1 && this.#dead() === undefined && !isAway;
      for (const one of group) {
        if (alone) await this.#make([one]).catch(one.reject);
        else one.reject(error);
      }
    } finally {
      this.#flushing = this.#queue.length > 0 ? this.#flushSoon() : undefined;
    }
  }

  #next(): readonly Waiting<Item, Result>[] {
    let [count, size] = [0, 0];
    for (const { item } of this.#queue) {
      size += this.#size(item);
      if (count > 0 && size > GROUP_BYTES) break;
      count += 1;
    }
    return this.#queue.splice(0, count);
  }

  async #make(group: readonly Waiting<Item, Result>[]): Promise<void> {
    const results = await this.#commit(group.map(({ item }) => item));
    for (const [index, result] of results.entries()) group[index]?.resolve(result);
  }
}

const GROUP_BYTES = 16 * 1024 * 1024;
