import { LongTimer } from "../timer.js";

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
