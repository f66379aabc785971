import type { NameRecord } from "../shelf.js";
import type { Name } from "../store.js";

/** How many moves wait for a reader before only the newest of each name are kept. */
const MOST = 1000;
/** A timer may not be longer; it only has to be there. */
const LONG_MS = 2 ** 31 - 1;

export type WatchOptions = { readonly name?: string; readonly signal?: AbortSignal };

/** The moves of names, one after the other. It hears from the moment it is made until it is ended. */
export class Watch implements AsyncIterableIterator<Name> {
  readonly #options: WatchOptions;
  readonly #stop: () => void;
  #heard: Name[] = [];
  #room = MOST;
  readonly #readers: ((result: IteratorResult<Name, undefined>) => void)[] = [];
  #awake: NodeJS.Timeout | undefined;
  #ended = false;

  /** `listen` gives the way to stop listening; `left` is called once, when the watch is over. */
  constructor(
    options: WatchOptions,
    listen: (heard: (moved: readonly NameRecord[]) => void) => () => void,
    left: (watch: Watch) => void,
  ) {
    this.#options = options;
    const stopListening = listen((moved) => this.#hear(moved));
    this.#stop = () => {
      stopListening();
      options.signal?.removeEventListener("abort", this.end);
      left(this);
    };
    if (options.signal?.aborted) this.end();
    else options.signal?.addEventListener("abort", this.end, { once: true });
  }

  next(): Promise<IteratorResult<Name, undefined>> {
    const value = this.#heard.shift();
    if (value !== undefined) return Promise.resolve({ done: false, value });
    if (this.#ended) return Promise.resolve({ done: true, value: undefined });
    // Someone waits to hear: a program that does nothing else must not come to its end.
    this.#awake ??= setInterval(() => {}, LONG_MS);
    return new Promise((resolve) => this.#readers.push(resolve));
  }

  async return(): Promise<IteratorResult<Name, undefined>> {
    this.end();
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** Ends the watch at once, also for readers that wait; moves that were not read yet are dropped. */
  readonly end = (): void => {
    if (this.#ended) return;
    this.#ended = true;
    this.#heard = [];
    this.#stop();
    for (const resolve of this.#readers.splice(0)) resolve({ done: true, value: undefined });
    this.#rest();
  };

  #hear(moved: readonly NameRecord[]): void {
    if (this.#ended) return;
    for (const record of moved) {
      if (this.#options.name !== undefined && record.name !== this.#options.name) continue;
      for (const value of nameOf(record)) {
        const resolve = this.#readers.shift();
        if (resolve === undefined) this.#heard.push(value);
        else resolve({ done: false, value });
      }
    }
    this.#rest();
    if (this.#heard.length <= this.#room) return;
    // Nobody has read for long. Where a name stands now is what a late reader needs to know.
    const newest = new Map<string, Name>();
    for (const value of this.#heard) {
      newest.delete(value.name);
      newest.set(value.name, value);
    }
    this.#heard = [...newest.values()];
    this.#room = Math.max(MOST, 2 * this.#heard.length);
  }

  #rest(): void {
    if (this.#readers.length > 0) return;
    clearInterval(this.#awake);
    this.#awake = undefined;
  }
}

/** The entry of a name for watchers; none while it stands nowhere. */
export function nameOf({ name, head, epoch, owner }: NameRecord): readonly Name[] {
  return head === null ? [] : [{ name, id: head, epoch, ...(owner !== undefined && { owner }) }];
}
