import type { FactId, FactType } from "./fact.js";
import { frozen, type Json } from "./json.js";
import { List } from "./list.js";
import type { View } from "./view.js";

/** A request that no outcome has answered yet. */
export type Pending = { readonly id: FactId; readonly type: FactType; readonly what: string };

/**
 * Requests, and the ids of those answered, as they came; `compact` is how many were open when the answered
 * ones were last dropped. Thousands may be open at once, so a step must not copy them all.
 */
export type Requests = { readonly log: List<Pending | FactId>; readonly compact: number };

/** What is asked for and not settled: tool and model calls without an outcome, approvals without an answer. */
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
      case "tool-result":
      case "tool-failure":
      case "model-reply":
      case "model-failure":
      case "approval-give":
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

function noted(requests: Requests, one: Pending | FactId): Requests {
  const next = { log: requests.log.push(one), compact: requests.compact };
  // Dropping what is settled costs as much as was noted since the last time.
  return next.log.length > 2 * next.compact + 64 ? compacted(pendingOf(next)) : Object.freeze(next);
}

function compacted(open: readonly Pending[]): Requests {
  return Object.freeze({ log: List.of(open), compact: open.length });
}
