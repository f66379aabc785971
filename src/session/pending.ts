import type { FactId, FactOf, FactType } from "./fact/index.js";
import { asJson, frozenAs } from "./json.js";
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
export type Requests = { readonly log: List<Noted>; readonly compact: number };

/** A request, one that is answered, or whether one is in doubt. Approvals are of a call, and say which. */
type Noted =
  | (Pending & { readonly of?: FactId })
  | FactId
  | { readonly id: FactId; readonly type?: never; readonly doubt: boolean };

/** Requests that are not settled: calls and steps without an outcome, approvals, signals and timers that are awaited. */
export const pendingView: View<Requests> = {
  name: "pending",
  start: Object.freeze({ log: List.empty, compact: 0 }),
  step(requests, fact, session) {
    const ask = (what: string, of?: { readonly of: FactId }): Requests =>
      noted(requests, Object.freeze({ id: session.id, type: fact.type, what, ...of }));
    switch (fact.type) {
      case "model-call":
        return ask(fact.model);
      case "tool-call":
      case "step-call":
      case "signal-await":
        return ask(fact.name);
      case "timer-set":
        return ask(dueOf(fact));
      case "approval-ask": {
        const what = fact.name ?? (typeof fact.what === "string" ? fact.what : fact.digest);
        return ask(what, fact.of === undefined ? undefined : { of: fact.of });
      }
      case "effect-start":
        return noted(requests, Object.freeze({ id: fact.of, doubt: true }));
      case "effect-fail":
        return noted(requests, Object.freeze({ id: fact.of, doubt: false }));
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
  save: (requests) => asJson(pendingOf(requests)),
  load: (saved) => compacted(frozenAs<readonly Pending[]>(saved)),
};

/** The requests that are open, oldest first. */
export function pendingOf(requests: Requests): readonly Pending[] {
  const open = new Map<FactId, Pending>();
  for (const one of requests.log) {
    if (typeof one === "string") open.delete(one);
    else if (one.type === undefined) doubt(open, one);
    else if (one.of === undefined) open.set(one.id, one);
    else {
      const { of, ...ask } = one;
      // An approval has the name of its call.
      open.set(one.id, Object.freeze({ ...ask, what: open.get(of)?.what ?? ask.what }));
    }
  }
  return Object.freeze([...open.values()]);
}

/** When a timer is due. */
export function dueOf(fact: FactOf<"timer-set">): string {
  return fact.until ?? new Date(Date.parse(fact.at) + (fact.milliseconds ?? 0)).toISOString();
}

function doubt(open: Map<FactId, Pending>, { id, doubt: is }: { id: FactId; doubt: boolean }): void {
  const found = open.get(id);
  if (found === undefined) return;
  const { type, what } = found;
  open.set(id, Object.freeze(is ? { id, type, what, doubt: is } : { id, type, what }));
}

function noted(requests: Requests, one: Noted): Requests {
  const next = { log: requests.log.push(one), compact: requests.compact };
  // Dropping what is settled costs as much as was noted since the last time.
  return next.log.length > 2 * next.compact + 64 ? compacted(pendingOf(next)) : Object.freeze(next);
}

function compacted(open: readonly Pending[]): Requests {
  return Object.freeze({ log: List.of(open), compact: open.length });
}
