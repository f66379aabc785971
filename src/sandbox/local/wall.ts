import { LongTimer } from "../timer.js";

/** The time that a command may take. It does not pass while the sandbox is suspended. */
export class Wall {
  readonly total: number;
  readonly #over: () => void;
  #left: number;
  #since = 0;
  #timer: LongTimer | undefined;

  constructor(total: number, over: () => void) {
    this.total = total;
    this.#left = total;
    this.#over = over;
  }

  start(): void {
    if (this.#timer !== undefined) return;
    this.#since = performance.now();
    this.#timer = new LongTimer(Math.max(1, this.#left), this.#over);
  }

  stop(): void {
    if (this.#timer === undefined) return;
    this.#timer.clear();
    this.#timer = undefined;
    this.#left -= performance.now() - this.#since;
  }
}
