import { LONGEST_TIMER } from "../request/timeout.js";

/**
 * Whose turn it is in a run. Each turn is a macrotask of its own, so that everything that one outcome sets in motion has
 * happened before the next one is told; jobs that are ready wait in line for it.
 */
export class Turns {
  readonly #turn: () => void;
  readonly #failed: (error: unknown) => void;
  readonly #ready: (() => void)[] = [];
  readonly #timers = new Set<NodeJS.Timeout>();
  #busy = 0;
  #held = 0;
  #woken = false;
  #closed = false;

  /** @param turn called for each turn; `failed` gets its errors */
  constructor(turn: () => void, failed: (error: unknown) => void) {
    this.#turn = turn;
    this.#failed = failed;
  }

  get busy(): boolean {
    return this.#busy > 0;
  }

  get idle(): boolean {
    return this.#ready.length === 0 && this.#busy === 0;
  }

  /** Whether more is under way than so many that wait for good, or is to be told. */
  isBusyBeside(parked: number): boolean {
    return this.#ready.length > 0 || this.#busy > parked;
  }

  /** Takes a turn soon, however often it is asked for. */
  wake(): void {
    if (this.#woken || this.#closed) return;
    this.#woken = true;
    setImmediate(() => {
      this.#woken = false;
      if (this.#closed) return;
      try {
        if (this.#held === 0) this.#turn();
      } catch (error) {
        this.#failed(error);
      }
    });
  }

  /** Does something in a turn of its own, after everything that is ready already. */
  soon(job: () => void): void {
    if (this.#closed) return;
    this.#ready.push(job);
    this.wake();
  }

  next(): (() => void) | undefined {
    return this.#ready.shift();
  }

  /** Does something after a while; until then the run is busy. Returns the way to let it be. */
  later(milliseconds: number, job: () => void): () => void {
    const done = this.occupy();
    let stop: () => void;
    const set = (left: number): void => {
      const step = Math.min(left, LONGEST_TIMER);
      stop = this.ring(step, () => {
        if (left > step) {
          set(left - step);
          return;
        }
        done();
        this.soon(job);
      });
    };
    set(milliseconds);
    return () => {
      stop();
      done();
    };
  }

  /** Does something after a while, though nobody waits for it. Returns the way to let it be. */
  ring(milliseconds: number, job: () => void, quietly = false): () => void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      job();
    }, milliseconds);
    if (quietly) timer.unref();
    this.#timers.add(timer);
    return () => {
      clearTimeout(timer);
      this.#timers.delete(timer);
    };
  }

  /** Something is under way, until what is returned is called. */
  occupy(): () => void {
    this.#busy += 1;
    let open = true;
    return () => {
      if (!open) return;
      open = false;
      this.#busy -= 1;
      this.wake();
    };
  }

  /**
   * Waits for something that asks nothing of the world, such as a check that is written asynchronously. Until it is
   * there nobody is told anything, so that it makes no difference how long it takes.
   */
  async hold<Value>(work: () => Promise<Value>): Promise<Value> {
    this.#held += 1;
    try {
      return await work();
    } finally {
      this.#held -= 1;
      this.wake();
    }
  }

  close(): void {
    this.#closed = true;
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
    this.#ready.length = 0;
  }
}
