import { createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { readFact, Session } from "../session/index.js";
import { ConflictError, type Store } from "../store/index.js";
import { isObject, optionNames, showValue } from "../util/index.js";
import { RefusedError, requireKnown } from "./given.js";

/** The limits of a provider for all processes on one store together, in any minute. */
export type Rate = { readonly requestsPerMinute?: number; readonly tokensPerMinute?: number };

/** By provider ("openai"), or by provider and API as the model names them ("openai.responses"). */
export type Rates = { readonly [provider: string]: Rate };

const RATE = optionNames<Rate>()("requestsPerMinute tokensPerMinute");
const MINUTE_MS = 60_000;
/** A tenth of a minute's allowance may be used at once; the rest comes evenly, so that no minute has more than its limit. */
const AT_ONCE = 0.1;

/** A call that wants to begin. */
type Caller = {
  readonly tokens: number;
  readonly admit: (wait: number) => void;
  readonly fail: (error: unknown) => void;
};
/** When the allowance that was given out until now is used up, in milliseconds since 1970. */
type Until = { readonly requests: number; readonly tokens: number };

/**
 * Keeps the calls of all processes on a store within the limits of their providers. The store has one small fact for each provider,
 * which every process moves on by compare-and-swap before its calls begin: calls that come together share a commit.
 */
export class RateLimiter {
  readonly #open: () => Promise<Store>;
  readonly #rates: Rates;
  readonly #lines = new Map<string, { readonly callers: Caller[]; debt: number; busy: boolean }>();

  constructor(open: () => Promise<Store>, rates: unknown = {}) {
    this.#open = open;
    this.#rates = requireRates(rates);
  }

  /**
   * Waits until a call to this provider may begin. Resolves with a function for the tokens that it took in the end: the estimate is
   * corrected by them.
   */
  async admit(provider: string, tokens: number, signal?: AbortSignal): Promise<(taken: number) => void> {
    const key = provider in this.#rates ? provider : (provider.split(".", 1)[0] as string);
    const rate = Object.hasOwn(this.#rates, key) ? this.#rates[key] : undefined;
    if (rate === undefined) return () => {};
    const line = this.#lines.get(key) ?? { callers: [], debt: 0, busy: false };
    this.#lines.set(key, line);
    const wait = await new Promise<number>((admit, fail) => {
      line.callers.push({ tokens, admit, fail });
      if (!line.busy) void this.#serve(key, rate, line);
    });
    if (wait > 0) await sleep(wait, undefined, { ...(signal && { signal }) });
    return (taken) => {
      // A provider may count wrongly: then the estimate stays.
      if (Number.isFinite(taken)) line.debt += taken - tokens;
    };
  }

  async #serve(
    key: string,
    rate: Rate,
    line: { callers: Caller[]; debt: number; busy: boolean },
  ): Promise<void> {
    line.busy = true;
    while (line.callers.length > 0) {
      const callers = line.callers.splice(0);
      const debt = line.debt;
      line.debt = 0;
      try {
        const waits = await this.#reserve(key, rate, callers, debt);
        for (const [index, { admit }] of callers.entries()) admit(waits[index] as number);
      } catch (error) {
        line.debt += debt;
        for (const { fail } of callers) fail(error);
      }
    }
    line.busy = false;
  }

  /** Takes the allowance of these calls from that of all processes, and tells how long each of them waits. */
  async #reserve(
    key: string,
    rate: Rate,
    callers: readonly Caller[],
    debt: number,
  ): Promise<readonly number[]> {
    const store = await this.#open();
    const name = `.rate/${createHash("sha256").update(key).digest("hex").slice(0, 16)}`;
    for (;;) {
      const head = await store.head(name);
      const now = await store.time();
      const known = await untilAt(store, head);
      const before = { ...known, tokens: known.tokens + debt * msOf(rate.tokensPerMinute) };
      const { until, waits } = reserve(
        rate,
        before,
        now,
        callers.map(({ tokens }) => tokens),
      );
      const at = new Date(now).toISOString();
      const fact = {
        type: "note",
        kind: "provider-rate",
        provider: key,
        ...until,
        at,
        by: "runtime",
      } as const;
      try {
        await store.save(Session.start(undefined, { at, by: "runtime" }).append(fact), {
          name,
          expect: head ?? null,
        });
        return waits;
      } catch (error) {
        // Another process was first.
        if (!(error instanceof ConflictError)) throw error;
      }
    }
  }
}

/** Gives calls their share of a rate: how long each waits, and until when the rate is used up then. */
export function reserve(
  { requestsPerMinute, tokensPerMinute }: Rate,
  before: Until,
  now: number,
  calls: readonly number[],
): { readonly until: Until; readonly waits: readonly number[] } {
  let { requests, tokens } = before;
  const waits = calls.map((needed) => {
    const start = Math.max(
      now,
      startOf(requests, 1, requestsPerMinute),
      startOf(tokens, needed, tokensPerMinute),
    );
    requests = Math.max(requests, start) + msOf(requestsPerMinute);
    tokens = Math.max(tokens, start) + needed * msOf(tokensPerMinute);
    return start - now;
  });
  return { until: { requests, tokens }, waits };
}

async function untilAt(store: Store, head: string | undefined): Promise<Until> {
  const line = head === undefined ? undefined : await store.line(head);
  const fact = line === undefined ? undefined : (readFact(line, undefined) as unknown as Until);
  return { requests: fact?.requests ?? 0, tokens: fact?.tokens ?? 0 };
}

/** How long the allowance of one unit takes to come. */
function msOf(limit: number | undefined): number {
  return limit === undefined ? 0 : MINUTE_MS / (limit - burstOf(limit) || limit);
}

/** When so many units may be used, where the rate is used up until a time: some of it may be used before it comes. */
function startOf(until: number, units: number, limit: number | undefined): number {
  return limit === undefined ? 0 : Math.ceil(until + (units - burstOf(limit)) * msOf(limit));
}

function burstOf(limit: number): number {
  return Math.min(limit, Math.max(1, Math.floor(limit * AT_ONCE)));
}

function requireRates(rates: unknown): Rates {
  const use = "open a runtime";
  const example = "rates: { openai: { requestsPerMinute: 500, tokensPerMinute: 200_000 } }";
  if (!isObject(rates))
    throw new RefusedError(use, `\`rates\` is ${showValue(rates)}`, `give limits by provider: ${example}`);
  for (const [provider, rate] of Object.entries(rates)) {
    if (!isObject(rate))
      throw new RefusedError(use, `\`rates\` of ${provider} is ${showValue(rate)}`, example);
    requireKnown(rate, RATE, use);
    for (const limit of Object.values(rate))
      if (limit !== undefined && !(typeof limit === "number" && Number.isFinite(limit) && limit >= 1))
        throw new RefusedError(
          use,
          `a limit of ${provider} is ${showValue(limit)}`,
          `give a number of at least 1: ${example}`,
        );
  }
  return rates as Rates;
}
