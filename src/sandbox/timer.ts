/** The longest that a timer of Node waits, 24 days: one that is asked for more rings at once. */
const LONGEST_TIMER = 2 ** 31 - 1;

/** Calls something when a time has passed, of any length: it is waited for in parts. */
export class LongTimer {
  readonly #ring: () => void;
  #left: number;
  #isHeld = true;
  #timer: NodeJS.Timeout;

  constructor(milliseconds: number, ring: () => void) {
    this.#left = milliseconds;
    this.#ring = ring;
    this.#timer = this.#set();
  }

  /** A program that is done need not go on for it. */
  unref(): this {
    this.#isHeld = false;
    this.#timer.unref();
    return this;
  }

  clear(): void {
    clearTimeout(this.#timer);
  }

  #set(): NodeJS.Timeout {
    const part = Math.min(LONGEST_TIMER, Math.max(0, this.#left));
    const timer = setTimeout(() => {
      this.#left -= part;
      if (this.#left > 0) this.#timer = this.#set();
      else this.#ring();
    }, part);
    if (!this.#isHeld) timer.unref();
    return timer;
  }
}

/** Calls something when a time has passed, not counting the time while it is stopped. */
export class WallTimer {
  readonly #ring: () => void;
  #left: number;
  #since = 0;
  #timer: LongTimer | undefined;

  constructor(milliseconds: number, ring: () => void) {
    this.#left = milliseconds;
    this.#ring = ring;
  }

  start(): void {
    if (this.#timer !== undefined) return;
    this.#since = performance.now();
    this.#timer = new LongTimer(this.#left, this.#ring);
  }

  stop(): void {
    if (this.#timer === undefined) return;
    this.#timer.clear();
    this.#timer = undefined;
    this.#left -= performance.now() - this.#since;
  }
}

/** Where a job has its time from; another one is given in tests. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
  /** Resolves when the time has passed, or at once when it is aborted. A program need not go on for `idle` waiting alone. */
  wait(milliseconds: number, signal: AbortSignal, idle?: boolean): Promise<void>;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  wait: (milliseconds, signal, idle = false) =>
    new Promise((resolve) => {
      if (signal.aborted) return resolve();
      const done = (): void => {
        timer.clear();
        signal.removeEventListener("abort", done);
        resolve();
      };
      const timer = new LongTimer(milliseconds, done);
      if (idle) timer.unref();
      signal.addEventListener("abort", done, { once: true });
    }),
};
