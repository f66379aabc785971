import type { Module } from "../../runtime/index.js";
import { adopted, type Session, type View } from "../../session/index.js";
import { defined, showValue } from "../../util/index.js";
import type { Parts, Rebuilds } from "../../workflow/index.js";
import { called, defineModule, enter, orderOf, partsOf } from "../../workflow/index.js";
import { elsewhere, withDefaults } from "../options.js";

export type SwarmOptions = {
  /** Default "swarm". */
  readonly name?: string;
  /** Agents that hand over to each other: `agent({ handoffs: () => [other] })`. */
  readonly members: readonly Module[] | Parts;
  /** The name of the member that begins. Default: the first. */
  readonly start?: string;
};

const SWARM = "swarm";

/**
 * Agents that hand the conversation to each other. The last one is asked first at the next message.
 *
 * ```ts
 * const desk = swarm({ members: [triage, billing, refunds], start: "triage" });
 * let session = await rath.run(desk, rath.start("My bill is wrong."), { name: "talk" }); // triage hands over to billing
 * session = await rath.run(desk, session.say("And the one before, too."), { name: "talk" }); // billing goes on
 * ```
 */
export function swarm(options: SwarmOptions): Module & Rebuilds {
  const { name = SWARM, members } = (options ?? {}) as Partial<SwarmOptions>;
  const own = partsOf(members as Parts, called(SWARM, name));
  const names = orderOf(members as Parts);
  return defineModule(
    {
      kind: SWARM,
      name,
      example: EXAMPLE,
      parts: own,
      options: withDefaults(options, { name, ...defined({ start: names[0] }) }),
      checks: elsewhere("name", "members", "start"),
      learnable: ["start"],
      check({ refuse, options: { start } }) {
        if (start === undefined) throw refuse("it has no members", EXAMPLE);
        if (!names.includes(start))
          throw refuse(
            `its \`start\` must be the name of a member; got ${showValue(start)}`,
            `the members are ${names.join(", ")}`,
          );
      },
    },
    (entered, { parts, options: { start } }) => {
      const last = activeIn(entered);
      const known = names.find((place) => parts[place]?.name === last);
      const first = parts[known ?? (start as string)] as Module;
      const chosen = entered.append({
        type: "route-choose",
        selector: name,
        candidates: names.map((member) => ({ name: (parts[member] as Module).name })),
        chosen: first.name,
        why: known === undefined ? "it begins here" : "it was active last",
        chooser: SWARM,
        by: "runtime",
      });
      return enter(first, chosen);
    },
  );
}

const EXAMPLE = 'swarm({ members: [triage, billing], start: "triage" })';

/** The agent that the conversation was handed to last, or that the swarm began with. */
export function activeIn(session: Session): string | undefined {
  return session.view(activeView);
}

const activeView: View<string | undefined> = {
  start: undefined,
  step(active, fact) {
    if (fact.type !== "route-choose" || fact.chosen === null) return active;
    // An agent that hands over chooses in its own name; a swarm says that it is one.
    return fact.chooser === SWARM || fact.by === `agent:${fact.selector}` ? fact.chosen : active;
  },
  merge: (sides, merge) => sides[adopted(merge) ?? 0],
};
