import {
  adopted,
  type Fact,
  frozen,
  keepInSnapshots,
  type Principal,
  type Session,
  type View,
} from "../../session/index.js";

/** The principals on whose behalf things are done, and the one who asked last. */
type Delegation = {
  readonly chain: readonly Principal[];
  readonly asker: Principal | null;
  /** The agent that made the call that this session is: its inside runs for the agent. */
  readonly caller: Principal | null;
};

/**
 * The principals on whose behalf something is done now: the person or service that began the run, then each agent that let
 * another work for it, as a tool or by handing over. It follows from the record.
 */
export function delegationOf(session: Session): readonly Principal[] {
  return session.view(delegationView).chain;
}

/** The principal on whose behalf a run acts: the one who begins it, else the person or service that spoke last. */
export function behalfOf(session: Session, by?: Principal): Principal {
  if (by !== undefined && isOutside(by)) return by;
  // Where nobody asked, the program acts for the user who started it.
  return session.view(delegationView).asker ?? by ?? "runtime";
}

export const delegationView: View<Delegation> = keepInSnapshots<Delegation>({
  name: "delegation",
  start: Object.freeze({ chain: Object.freeze([]), asker: null, caller: null }),
  step: (given, fact) => {
    const next = nextDelegation(given, fact);
    return next === given ? given : Object.freeze({ ...next, chain: Object.freeze(next.chain) });
  },
  merge: (sides, merge) => sides[adopted(merge) ?? 0] as Delegation,
  save: (delegation) => delegation,
  load: (saved) => frozen(saved) as Delegation,
});

function nextDelegation(given: Delegation, fact: Fact): Delegation {
  const { chain, asker, caller } = given;
  switch (fact.type) {
    case "session-start":
    case "message-say":
      return isOutside(fact.by) ? { chain, asker: fact.by, caller: null } : withoutCaller(given);
    case "run-start": {
      const given = fact.for ?? fact.by;
      const first = isOutside(given) ? given : asker;
      return { chain: first === null ? [] : [first], asker, caller: null };
    }
    case "tool-call":
    case "step-call":
      return { chain, asker, caller: fact.by.startsWith("agent:") ? fact.by : null };
    case "branch-fork":
      return caller === null ? given : { chain: withOne(chain, caller), asker, caller: null };
    case "route-choose":
      // Somebody who goes on in place of an agent does so on its word.
      return fact.by === `agent:${fact.selector}` && fact.chosen !== null
        ? { chain: afterHandoff(chain, fact.by, `agent:${fact.chosen}`), asker, caller: null }
        : withoutCaller(given);
    default:
      return withoutCaller(given);
  }
}

function withOne(chain: readonly Principal[], one: Principal): readonly Principal[] {
  return chain.includes(one) ? chain : [...chain, one];
}

/** An agent that gets a task back works again for those who gave it the task. */
function afterHandoff(chain: readonly Principal[], from: Principal, to: Principal): readonly Principal[] {
  const back = chain.indexOf(to);
  return back < 0 ? withOne(chain, from) : chain.slice(0, back);
}

function withoutCaller(given: Delegation): Delegation {
  return given.caller === null ? given : { ...given, caller: null };
}

/** Whether it is one who begins things, and not one who works for others. */
function isOutside(by: Principal): boolean {
  return by === "user" || by.startsWith("user:") || by === "service" || by.startsWith("service:");
}
