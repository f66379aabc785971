import { forward, type Module } from "../../runtime/index.js";
import { adopted, type Session, type View } from "../../session/index.js";
import { showValue } from "../../util/index.js";
import {
  called,
  enter,
  type Known,
  type Parts,
  partsOf,
  type Rebuilds,
  rebuild,
  refusing,
  requireName,
  requireOptions,
} from "../../workflow/index.js";

export type SwarmOptions = {
  /** Default "swarm". */
  readonly name?: string;
  /** Agents that hand over to each other: `agent({ handoffs: () => [other] })`. */
  readonly members: readonly Module[] | Parts;
  /** Who begins, by name. Default: the first. */
  readonly start?: string;
};

const SWARM = "swarm";

/**
 * Agents that hand the conversation to each other. Whoever had it last is asked first at the next message.
 *
 * ```ts
 * const desk = swarm({ members: [triage, billing, refunds], start: "triage" });
 * let session = await rath.run(desk, rath.start("My bill is wrong."), { name: "talk" }); // triage hands over to billing
 * session = await rath.run(desk, session.say("And the one before, too."), { name: "talk" }); // billing goes on
 * ```
 */
export function swarm(options: SwarmOptions): Module & Rebuilds {
  const { name = SWARM } = (options ?? {}) as Partial<SwarmOptions>;
  requireName(name, SWARM, EXAMPLE);
  const where = called(SWARM, name);
  const refuse = refusing(where);
  requireOptions(options, refuse, EXAMPLE, OPTIONS);
  const parts = partsOf(options.members, where);
  const names = Object.keys(parts);
  const { start = names[0] } = options;
  if (start === undefined) throw refuse("it has no members", EXAMPLE);
  if (!names.includes(start))
    throw refuse(
      `it starts with ${showValue(start)}, who is no member`,
      `the members are ${names.join(", ")}`,
    );
  return made(name, parts, start);
}

const EXAMPLE = 'swarm({ members: [triage, billing], start: "triage" })';
const OPTIONS: Known<SwarmOptions> = { name: true, members: true, start: true };

function made(name: string, parts: Parts, start: string): Module & Rebuilds {
  const names = Object.keys(parts);
  const placeOf = (agent: string) => names.find((place) => parts[place]?.name === agent);
  const module: Module & Rebuilds = {
    name,
    kind: SWARM,
    parts,
    state: Object.freeze({ start }),
    forward: (given) =>
      forward(module, given, (entered) => {
        const last = activeIn(entered);
        const known = last === undefined ? undefined : placeOf(last);
        const first = known ?? start;
        const chosen = entered.append({
          type: "route-choose",
          selector: name,
          candidates: names.map((member) => ({ name: (parts[member] as Module).name })),
          chosen: (parts[first] as Module).name,
          why: known === undefined ? "it begins here" : "it was active last",
          chooser: SWARM,
          by: "runtime",
        });
        return enter(parts[first] as Module, chosen);
      }),
    [rebuild]: ({ start: other }, newParts) => swarm({ name, members: newParts, start: other as string }),
  };
  return Object.freeze(module);
}

/** Who has the conversation: the agent that it was handed to last, or with whom a swarm began. */
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
