import { createHash } from "node:crypto";
import type { Json } from "openrath";
import type { Attempt } from "openrath/workflow";
import type { Doing } from "./program.js";

/** What the world answered, or will: nobody but the world knows after a crash. */
export type Fate = { readonly value: Json } | { readonly error: string } | undefined;

/** What a program can do to the world. Each process has a hand of its own, which goes limp when the process dies. */
export interface Hand {
  act(doing: Doing, key: string, attempt: Attempt): Promise<unknown>;
  /** Looks whether something happened. */
  fateOf(key: string): Fate;
}

/** The outside of all processes: counts what really happened, and notices what must not. */
export class World {
  /** What is wrong, in words. */
  readonly wrongs: string[] = [];
  /** Whose outcome is durable: must not be called again. */
  readonly #finished = new Set<string>();
  readonly #fates = new Map<string, { readonly value: Json } | { readonly error: string }>();
  readonly #applied = new Map<string, number>();
  readonly #keys = new Map<string, Set<string>>();
  readonly #requests = new Map<string, string>();
  readonly #wanted = new Map<string, number>();
  readonly #watchers: (() => void)[] = [];
  #calls = 0;
  #inFlight = 0;

  /** A process's access. */
  hand(): Hand & { alive: boolean } {
    const hand = {
      alive: true,
      act: (doing: Doing, key: string, attempt: Attempt) => this.#act(hand, doing, key, attempt),
      fateOf: (key: string) => this.#fates.get(key),
    };
    return hand;
  }

  get calls(): number {
    return this.#calls;
  }

  /** The logical effect of a request, once it was called. */
  keyOf(request: string): string | undefined {
    return this.#requests.get(request);
  }

  fateOf(key: string): Fate {
    return this.#fates.get(key);
  }

  onCall(watcher: () => void): void {
    this.#watchers.push(watcher);
  }

  /** An outcome of this request is durable. */
  finish(request: string): void {
    const key = this.#requests.get(request);
    if (key !== undefined) this.#finished.add(key);
  }

  /** An effect with an outcome that was recorded before this world was there: it must not be called either. */
  expect(key: string): void {
    this.#finished.add(key);
  }

  /** How often somebody wanted it done again: what never has the time for it would be tried for ever. */
  wanted(request: string): number {
    const times = (this.#wanted.get(request) ?? 0) + 1;
    this.#wanted.set(request, times);
    return times;
  }

  /** Resolves when nothing is under way. */
  async rests(): Promise<void> {
    while (this.#inFlight > 0) await pause(1);
  }

  async #act(
    hand: { readonly alive: boolean },
    doing: Doing,
    key: string,
    attempt: Attempt,
  ): Promise<unknown> {
    this.#calls += 1;
    for (const watcher of this.#watchers) watcher();
    if (this.#finished.has(key) && !isTwin(key))
      this.wrongs.push(`${doing.effect} ${key} was called after it was finished`);
    this.#requests.set(attempt.request.id, key);
    const keys = this.#keys.get(key) ?? new Set();
    this.#keys.set(key, keys.add(attempt.key));
    const kept = doing.effect === "idempotent" || doing.effect === "write";
    if (kept && keys.size > 1 && !isTwin(key))
      this.wrongs.push(`${doing.effect} ${key} was called with other keys: ${[...keys].join(" ")}`);
    if (doing.approval === "reject") this.wrongs.push(`${key} was called and had been rejected`);
    this.#inFlight += 1;
    try {
      await pause(doing.delay, doing.deaf ? undefined : attempt.signal);
      if (!hand.alive) throw new Error("the process is dead");
      if (attempt.number <= doing.refused) throw new Error(`refused ${key}`);
      const times = (this.#applied.get(key) ?? 0) + 1;
      this.#applied.set(key, times);
      if (doing.effect === "write" && times > 1 && !isTwin(key))
        this.wrongs.push(`write ${key} was done ${times} times`);
      if (doing.gives === "error") this.#fates.set(key, { error: `broken ${key}` });
      else this.#fates.set(key, { value: answerOf(doing, key, times) });
      await pause(doing.lag, doing.deaf ? undefined : attempt.signal);
      if (!hand.alive) throw new Error("the process is dead");
    } finally {
      this.#inFlight -= 1;
    }
    if (doing.gives === "error") throw new Error(`broken ${key}`);
    if (doing.gives === "unfit") return { key, no: () => "JSON" };
    return (this.#fates.get(key) as { value: Json }).value;
  }
}

/** A hand for replays: whoever calls it is caught. */
export function deadHand(caught: string[]): Hand {
  const refuse = (what: string): never => {
    caught.push(what);
    throw new Error(`a replay called the world: ${what}`);
  };
  return {
    act: async (doing, key) => refuse(`${doing.effect} ${key}`),
    fateOf: (key) => refuse(`fate of ${key}`),
  };
}

/** Two identical calls are one logical effect, made twice. */
function isTwin(key: string): boolean {
  return key.includes("same");
}

function answerOf({ gives }: Doing, key: string, times: number): Json {
  if (gives === "nothing") return null;
  if (gives === "much") return `${key} ${"long ".repeat(1200)}`;
  // What two identical calls give shows which of them it was.
  return isTwin(key) ? { key, times } : { key, number: numberOf(key) };
}

function numberOf(key: string): number {
  return createHash("sha256").update(key).digest().readUInt16BE(0);
}

async function pause(milliseconds: number, signal?: AbortSignal): Promise<void> {
  signal?.throwIfAborted();
  if (milliseconds === 0) return;
  await new Promise<void>((resolve, reject) => {
    const stop = (): void => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, milliseconds);
    signal?.addEventListener("abort", stop, { once: true });
  });
}
