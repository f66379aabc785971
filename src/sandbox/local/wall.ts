/** The time that a command may take. It does not pass while the sandbox is suspended. */
export class Wall {
  readonly total: number;
  readonly #over: () => void;
  #left: number;
  #since = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(total: number, over: () => void) {
    this.total = total;
    this.#left = total;
    this.#over = over;
  }

  start(): void {
    if (this.#timer !== undefined) return;
    this.#since = performance.now();
    this.#timer = setTimeout(this.#over, Math.max(1, this.#left));
  }

  stop(): void {
    if (this.#timer === undefined) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#left -= performance.now() - this.#since;
  }
}
