import type { Clock } from "../../timer.js";

/** A clock that stands still until it is told to go on. */
export class ManualClock implements Clock {
  #now = Date.parse("2026-01-02T03:04:05.678Z");
  readonly #waiting = new Set<{ readonly at: number; readonly go: () => void }>();

  now(): number {
    return this.#now;
  }

  wait(milliseconds: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal.aborted) return resolve();
      const go = (): void => {
        this.#waiting.delete(one);
        resolve();
      };
      const one = { at: this.#now + Math.max(0, milliseconds), go };
      this.#waiting.add(one);
      signal.addEventListener("abort", go, { once: true });
    });
  }

  /** How long until the next one that waits is woken; undefined when none does. */
  get next(): number | undefined {
    const times = [...this.#waiting].map(({ at }) => at - this.#now);
    return times.length === 0 ? undefined : Math.max(0, Math.min(...times));
  }

  /** Goes on, and wakes who waits for a time that has come. What they do then is done when this resolves. */
  async pass(milliseconds: number): Promise<void> {
    const until = this.#now + milliseconds;
    for (;;) {
      const due = [...this.#waiting]
        .filter(({ at }) => at <= until)
        .sort((one, other) => one.at - other.at)[0];
      if (due === undefined) break;
      this.#now = Math.max(this.#now, due.at);
      due.go();
      await settled();
    }
    this.#now = until;
    await settled();
  }
}

/** Lets everything happen that can happen without time passing. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
}
