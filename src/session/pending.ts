import type { FactId, FactOf, FactType } from "./fact.js";
import { frozen, type Json } from "./json.js";
import { List } from "./list.js";
import type { View } from "./view.js";

/** A request that no outcome has answered yet. */
export type Pending = {
  readonly id: FactId;
  readonly type: FactType;
  readonly what: string;
  /** Set when a `write` was started and nobody recorded how it ended, unless it is under way right now. */
  readonly doubt?: true;
};

/**
 * Requests, and the ids of those answered, as they came; `compact` is how many were open when the answered
 * ones were last dropped. Thousands may be open at once, so a step must not copy them all.
 */
export type Requests = { readonly log: List<Pending | FactId>; readonly compact: number };

/** What is asked for and not settled: calls and steps without an outcome, approvals, signals and timers that are awaited. */
export const pendingView: View<Requests> = {
  name: "pending",
  start: Object.freeze({ log: List.empty, compact: 0 }),
  step(requests, fact, session) {
    switch (fact.type) {
      case "tool-call":
        return noted(requests, Object.freeze({ id: session.id, type: fact.type, what: fact.name }));
      case "model-call":
        return noted(requests, Object.freeze({ id: session.id, type: fact.type, what: fact.model }));
      case "approval-ask":
        return noted(
          requests,
          Object.freeze({ id: session.id, type: fact.type, what: fact.of ?? fact.digest }),
        );
      case "step-call":
      case "signal-await":
        return noted(requests, Object.freeze({ id: session.id, type: fact.type, what: fact.name }));
      case "timer-set":
        return noted(requests, Object.freeze({ id: session.id, type: fact.type, what: dueOf(fact) }));
      case "effect-start":
        return doubted(requests, fact.of, true);
      case "effect-fail":
        return doubted(requests, fact.of, false);
      case "tool-result":
      case "tool-failure":
      case "model-reply":
      case "model-failure":
      case "step-result":
      case "step-failure":
      case "timer-fire":
      case "wait-cancel":
      case "approval-give":
      case "signal-give":
        return noted(requests, fact.of);
      default:
        return requests;
    }
  },
  save: (requests) => pendingOf(requests) as unknown as Json,
  load: (saved) => compacted(frozen(saved) as unknown as readonly Pending[]),
};

/** The requests that are open, oldest first. */
export function pendingOf(requests: Requests): readonly Pending[] {
  const open = new Map<FactId, Pending>();
  for (const one of requests.log) {
    if (typeof one === "string") open.delete(one);
    else open.set(one.id, one);
  }
  return Object.freeze([...open.values()]);
}

/** When a timer is due. */
export function dueOf(fact: FactOf<"timer-set">): string {
  return fact.until ?? new Date(Date.parse(fact.at) + (fact.milliseconds ?? 0)).toISOString();
}

function doubted(requests: Requests, id: FactId, doubt: boolean): Requests {
  const found = pendingOf(requests).find((one) => one.id === id);
  if (found === undefined) return requests;
  const { type, what } = found;
  return noted(requests, Object.freeze(doubt ? { id, type, what, doubt } : { id, type, what }));
}

function noted(requests: Requests, one: Pending | FactId): Requests {
  const next = { log: requests.log.push(one), compact: requests.compact };
  // Dropping what is settled costs as much as was noted since the last time.
  return next.log.length > 2 * next.compact + 64 ? compacted(pendingOf(next)) : Object.freeze(next);
}

function compacted(open: readonly Pending[]): Requests {
  return Object.freeze({ log: List.of(open), compact: open.length });
}
