/** Taken before the shell begins: it forbids what runs on its behalf to look at most of what there is. */
const now = performance.now.bind(performance);

/**
 * Ends a program of the shell from within. It runs on our thread, so while it computes no timer goes off; but it tells of
 * every step that it takes (`hit`), and there the time is looked at. Its own loops look at `maxExecutionTimeMs`; those of
 * awk and sed do not.
 */
export class Watch {
  readonly #end: number;
  readonly #signal: AbortSignal;

  /** @param milliseconds from now on */
  constructor(milliseconds: number, signal: AbortSignal) {
    this.#end = now() + milliseconds;
    this.#signal = signal;
  }

  get isLate(): boolean {
    return now() >= this.#end;
  }

  readonly hit = (): void => {
    if (this.#signal.aborted || this.isLate) throw new Error("it is ended");
  };
}
