/** Calls something when a time has passed, not counting the time while it is stopped. */
export class Stopwatch {
  readonly #ring: () => void;
  #left: number;
  #since = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(milliseconds: number, ring: () => void) {
    this.#left = milliseconds;
    this.#ring = ring;
  }

  start(): void {
    if (this.#timer !== undefined) return;
    this.#since = performance.now();
    this.#timer = setTimeout(this.#ring, Math.max(1, Math.min(this.#left, 2 ** 31 - 1)));
  }

  stop(): void {
    if (this.#timer === undefined) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#left -= performance.now() - this.#since;
  }
}
