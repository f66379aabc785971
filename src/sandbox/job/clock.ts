/** Where a job has its time from; another one is given in tests. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
  /** Resolves when the time has passed, or at once when it is aborted. A program need not go on for `idle` waiting alone. */
  wait(milliseconds: number, signal: AbortSignal, idle?: boolean): Promise<void>;
}

const LONGEST = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  wait: (milliseconds, signal, idle = false) =>
    new Promise((resolve) => {
      if (signal.aborted) return resolve();
      const done = (): void => {
        clearTimeout(timer);
        signal.removeEventListener("abort", done);
        resolve();
      };
      const timer = setTimeout(done, Math.min(LONGEST, Math.max(0, milliseconds)));
      if (idle) timer.unref();
      signal.addEventListener("abort", done, { once: true });
    }),
};
