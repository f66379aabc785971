import { setImmediate as turn } from "node:timers/promises";

const LONG_MS = 12;

/** Long work on files is done with synchronous calls, which are several times as quick; now and then others get a turn. */
export class Pace {
  readonly #signal: AbortSignal | undefined;
  #since = performance.now();

  constructor(signal?: AbortSignal) {
    this.#signal = signal;
  }

  /** Whether it has gone on for so long that others should have a turn. */
  get long(): boolean {
    return performance.now() - this.#since > LONG_MS;
  }

  async rest(): Promise<void> {
    await turn();
    this.#signal?.throwIfAborted();
    this.#since = performance.now();
  }
}

/** Calls that wait for each other: the next begins when the last has ended, well or badly. */
export class Turns {
  #last: Promise<unknown> = Promise.resolve();

  take<Value>(work: () => Promise<Value>): Promise<Value> {
    const next = this.#last.then(work, work);
    this.#last = next.catch(() => undefined);
    return next;
  }
}
