import { approversOf, type Digest, type FactId, mayAgree, type Principal } from "../../session/index.js";
import { defined } from "../../util/index.js";
import {
  callerOf,
  groundOf,
  isCoveredBy,
  type StandingApproval,
  standingIn,
  type Wanted,
} from "../policy/index.js";
import { standingName } from "../run/names.js";
import type { Agreeing, Standing } from "./consent.js";
import type { PendingRequest } from "./pending-request.js";
import type { Request } from "./request.js";

/** Where a call stands with its agreement, given who agrees to it without being asked. */
type StandingWith = (wanted: readonly Wanted[], agreeing: Agreeing) => Standing;

/** The people whose standing approvals a call relies on, for a rule: as the record says, and only where its past bears that out. */
export function reliedOn(item: PendingRequest, digest: Digest): Agreeing {
  const { uses } = item.consent;
  if (uses.length === 0) return () => [];
  const known = standingIn(item.batch.chain.tip);
  return (rule) => {
    const call = callAs(item, digest, rule);
    return uses.flatMap(({ approval, from, at, digest: used, rule: satisfied = "" }) => {
      const given = known.find(({ id }) => id === approval);
      const holds = satisfied === rule && used === digest && given?.by === from && call !== undefined;
      return holds && given !== undefined && isCoveredBy(given, call, Date.parse(at)) ? [from] : [];
    });
  };
}

/**
 * The standing approvals that a call may rely on now, for each rule that asks. Undefined while the store is asked whether they
 * were revoked; the request then goes on by itself.
 */
export function heldFor(
  item: PendingRequest,
  request: Request,
  wanted: readonly Wanted[],
  digest: Digest,
): ReadonlyMap<string, readonly StandingApproval[]> | undefined {
  const now = item.batch.run.services.now();
  const fitting = new Map<string, readonly StandingApproval[]>();
  // Somebody looks at each change of the arguments, and at each second execution.
  const mayRely = request.answer === undefined && request.asks !== true && !item.state.edited;
  const known = mayRely && !item.consent.isSecond ? standingIn(item.batch.chain.tip) : [];
  if (known.length > 0)
    for (const terms of wanted) {
      const call = callAs(item, digest, terms.rule);
      const to = approversOf(terms);
      const covering = known.filter(
        (one) => call !== undefined && isCoveredBy(one, call, now) && mayAgree({ to }, one.by),
      );
      if (covering.length > 0) fitting.set(terms.rule, covering);
    }
  if (fitting.size === 0) return fitting;
  const { held } = item;
  if (held === "asking") return undefined;
  if (held === undefined) {
    item.held = "asking";
    item.batch.run.watch(check(item, [...new Set([...fitting.values()].flat().map(({ id }) => id))]));
    return undefined;
  }
  // Used once: a later question asks the store again.
  item.held = undefined;
  return new Map([...fitting].map(([rule, all]) => [rule, all.filter(({ id }) => held.has(id))]));
}

/** Asks the store which of them were given here and not revoked: a record from elsewhere gives nobody a right here. */
async function check(item: PendingRequest, ids: readonly FactId[]): Promise<void> {
  const { turns, options } = item.batch.run;
  const done = turns.occupy();
  try {
    const held = new Set<FactId>();
    for (const id of ids) if ((await options.store?.head(standingName(id))) === id) held.add(id);
    item.soon(() => {
      item.held = held;
      item.letGo();
    });
  } finally {
    done();
  }
}

/** Records the standing approvals that the call relies on: no more than it takes. */
export function relyOn(
  item: PendingRequest,
  wanted: readonly Wanted[],
  digest: Digest,
  held: ReadonlyMap<string, readonly StandingApproval[]>,
  standingWith: StandingWith,
): void {
  for (const terms of wanted) {
    const { rule } = terms;
    const people: Principal[] = [];
    for (const { id: approval, by: from } of held.get(rule) ?? []) {
      if (people.includes(from)) continue;
      if (standingWith([terms], () => people).state === "agreed") break;
      people.push(from);
      const to = approversOf(terms);
      const asking = defined({ rule: rule === "" ? undefined : rule, to: to.length > 0 ? to : undefined });
      item.append({ type: "approval-use", of: item.asked.id, approval, from, digest, ...asking });
    }
  }
}

function callAs(item: PendingRequest, digest: Digest, rule: string) {
  const caller = callerOf(item.asked);
  return caller === undefined
    ? undefined
    : { digest, rule, caller, ground: groundOf(rule, item.state.verdict) };
}
