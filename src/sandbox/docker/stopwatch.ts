import { LongTimer } from "../timer.js";

/** Calls something when a time has passed, not counting the time while it is stopped. */
export class Stopwatch {
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
