import { setTimeout as after } from "node:timers/promises";
import type { Effect, FactOf, Json, Session } from "../../session/index.js";
import type { Attempt, Outcome, Request } from "../index.js";

/** How an effect of a test goes. */
export type Going = Partial<Omit<Request, "fact" | "act" | "effect" | "failed">> & {
  readonly effect?: Effect;
  readonly input?: Json;
  readonly key?: string;
  /** What it gives, or how it comes to it. Default: its name. */
  readonly give?: Json | ((attempt: Attempt) => unknown);
  /** Milliseconds it takes. */
  readonly takes?: number;
};

/**
 * The world outside of the record: it counts what is really done to it, so that a test need not believe the runtime.
 * It lives as long as the test, whatever process or runtime crashes meanwhile.
 */
export class World {
  /** The names of the effects that were begun, in order. */
  readonly calls: string[] = [];
  readonly keys: string[] = [];
  readonly signals: AbortSignal[] = [];

  /** How often an effect was begun. */
  count(name: string): number {
    return this.calls.filter((call) => call === name).length;
  }

  /** A request for an effect that counts itself. */
  step(name: string, going: Going = {}): Request {
    const { effect = "read", input, key, give = name, takes, ...rest } = going;
    return {
      ...rest,
      fact: {
        type: "step-call",
        name,
        effect,
        ...(input !== undefined && { input }),
        ...(key !== undefined && { key }),
      },
      effect,
      act: async (attempt) => {
        this.calls.push(name);
        this.keys.push(attempt.key);
        this.signals.push(attempt.signal);
        if (takes !== undefined) await after(takes, undefined, { signal: attempt.signal });
        const value = typeof give === "function" ? await give(attempt) : give;
        return { type: "step-result", value } as Outcome;
      },
      failed: (error) => ({ type: "step-failure", error }),
    };
  }
}

/** What a step gave. */
export function valueIn(session: Session): Json {
  const { fact } = session;
  if (fact.type !== "step-result") throw new Error(`${fact.type} instead of a result`);
  return fact.value;
}

/** How a step failed. */
export function errorIn(session: Session): FactOf<"step-failure">["error"] {
  const { fact } = session;
  if (fact.type !== "step-failure") throw new Error(`${fact.type} instead of a failure`);
  return fact.error;
}

/** The value of the signal that was just taken in. */
export function signalIn(session: Session): Json {
  const fact = session.parents[1]?.fact;
  if (fact?.type !== "signal-give") throw new Error(`${fact?.type} instead of a signal`);
  return fact.value;
}

/** Resolves when it is told to, for effects that a test holds in its hands. */
export function gate<Value = void>(): {
  readonly passed: Promise<Value>;
  open(value: Value): void;
  refuse(error: unknown): void;
} {
  let open!: (value: Value) => void;
  let refuse!: (error: unknown) => void;
  const passed = new Promise<Value>((resolve, reject) => {
    open = resolve;
    refuse = reject;
  });
  passed.catch(() => {});
  return { passed, open, refuse };
}

/** Waits until something has come about, and gives up where it never will: an endless wait would hold the whole run of the tests. */
export async function until(condition: () => boolean): Promise<void> {
  for (let turn = 0; turn < 10_000; turn++) {
    if (condition()) return;
    await after(turn < 100 ? 0 : 1);
  }
  throw new Error(`it never came about: ${condition}`);
}
