import { drafted, type FactOf, Session } from "../../session/index.js";
import { BudgetError } from "../error.js";
import type { Wait } from "../request/pending-request.js";
import type { Request } from "../request/request.js";
import type { Scope } from "./scope.js";

/** Stops before a call that would exceed a budget. What the record decided is not decided again. */
export function requireAffordable(
  scope: Scope,
  session: Session,
  requests: readonly (Request | Wait)[],
): void {
  const { ledger, run } = scope;
  if (ledger === undefined) return;
  const spend = { steps: 0, tokens: 0, money: 0 };
  for (const request of requests) {
    if (!("spend" in request) || request.spend === undefined) continue;
    spend.steps += request.spend.steps ?? 0;
    spend.tokens += request.spend.tokens ?? 0;
    spend.money += request.spend.money ?? 0;
  }
  const realm = Session.realmOf(session);
  const tape = run.tape.after(session);
  const [first] = requests as readonly [Request];
  const asked = tape?.find([session], drafted(first.fact), realm);
  const recorded = tape?.typed(session, "budget-stop");
  // Of two that asked on one session, time may have run out in between.
  if (recorded !== undefined && recorded.seq < (asked?.seq ?? Number.POSITIVE_INFINITY)) {
    const stopped = run.recorder.adopt(recorded, [session], realm);
    scope.made(stopped);
    throw new BudgetError(stopped, stopped.fact as FactOf<"budget-stop">);
  }
  if (asked !== undefined) return;
  const excess = ledger.excess(spend, run.services.now());
  if (excess === undefined) return;
  throw new BudgetError(scope.next([session], drafted({ type: "budget-stop", ...excess }), realm), excess);
}
