import { randomUUID } from "node:crypto";

/** Where time, chance and names come from. Bodies ask the runtime for them, so that a replay asks nobody. */
export interface Services {
  /** Milliseconds since 1970. */
  now(): number;
  /** The time as the record writes it. */
  time(): string;
  /** A number from 0 to 1. */
  random(): number;
  uuid(): string;
  /** Timers that are due within so many milliseconds are waited for; longer ones suspend the run. */
  readonly patience: number;
}

export type ServiceOptions = {
  readonly clock?: () => number;
  readonly random?: () => number;
  readonly uuid?: () => string;
  readonly patience?: number;
};

const PATIENCE = 1_000;

export function services(options: ServiceOptions = {}): Services {
  const { clock = Date.now, random = Math.random, uuid = randomUUID, patience = PATIENCE } = options;
  let last = Number.NaN;
  let text = "";
  return Object.freeze({
    now: clock,
    time() {
      const now = clock();
      // One millisecond is formatted once: a step makes several facts.
      if (now !== last) {
        last = now;
        text = new Date(now).toISOString();
      }
      return text;
    },
    random,
    uuid,
    patience,
  });
}
