import type { Module } from "../../runtime/index.js";
import type { Session } from "../../session/index.js";
import {
  type Checks,
  called,
  defineModule,
  enter,
  functionLike,
  type Given,
  type Parts,
  type Rebuilds,
  requireCount,
} from "../../workflow/index.js";
import { withDefaults } from "../options.js";
import { type Ending, reasonOf } from "./ending.js";
import { isStopped, lastSaid } from "./said.js";

export type ChatOptions = {
  /** When the chat ends, checked after each turn: `mentions("DONE")`, `anyOf(…)`, or a function of the session. */
  readonly until?: Ending;
  /** Maximum number of turns. The chat then ends with a `budget-stop`. Default 50. */
  readonly maxTurns?: number;
};

/**
 * Two agents or more that talk in turns, in one conversation on one branch. When it is enough nobody goes on, and why is on
 * the record: a `route-choose` of nobody, so that `routeOf(session, name)` is null. A chat that has used up its turns ends with
 * a `budget-stop`, and so does one in which nobody has anything left to spend.
 *
 * ```ts
 * const review = chat("review", [writer, critic], { until: anyOf(mentions("APPROVE"), maxMessages(10)), maxTurns: 20 });
 * ```
 */
export function chat(
  name: string,
  members: readonly Module[] | Parts,
  options: ChatOptions = {},
): Module & Rebuilds {
  return defineModule<Talk>(
    {
      kind: "chat",
      name,
      example: EXAMPLE,
      parts: members,
      options: withDefaults(options, TALK),
      checks: TALKS,
      learnable: ["maxTurns"],
      check: (given) => requireMembers(given, EXAMPLE),
    },
    (entered, { parts, order, options: talk }) =>
      converse(name, entered, order, talk, async (session, turn) => ({
        session: await enter(parts[order[(turn - 1) % order.length] as string] as Module, session),
        over: false,
      })),
  );
}

const EXAMPLE = 'chat("review", [writer, critic], { until: mentions("DONE"), maxTurns: 10 })';

/** When a talk ends. */
export type Talk = Required<ChatOptions>;

export const TALK: Talk = { until: () => false, maxTurns: 50 };
export const TALKS: Checks<Talk> = {
  until: functionLike('until: mentions("DONE"), or (session) => true or false'),
  maxTurns: requireCount,
};

/** One turn of a talk: whoever it is says something, and whether that was the last of it. */
export type Take = (
  session: Session,
  turn: number,
) => Promise<{ readonly session: Session; readonly over: boolean }>;

/** Turn after turn until it is enough; how it ended is on the record. */
export async function converse(
  name: string,
  entered: Session,
  order: readonly string[],
  { until, maxTurns }: Talk,
  take: Take,
): Promise<Session> {
  let session = entered;
  for (let turn = 1; turn <= maxTurns; turn++) {
    const before = session;
    const taken = await take(session, turn);
    session = taken.session;
    if (taken.over) return session;
    const why = reasonOf(until, session, { since: entered, turn }, called("chat", name));
    if (why !== undefined)
      return session.append({
        type: "route-choose",
        selector: name,
        candidates: order.map((member) => ({ name: member })),
        chosen: null,
        why,
        chooser: "until",
        by: "runtime",
      });
    // A limit that leaves somebody speechless leaves everybody so, or the same again at each turn.
    if (isStopped(session) && lastSaid(session, before) === undefined) return session;
  }
  return session.append({
    type: "budget-stop",
    limit: "turns",
    allowed: maxTurns,
    spent: maxTurns,
    asked: 1,
  });
}

/** Refuses fewer than two members, and two of one name: what is said is by the name of who says it. */
export function requireMembers(
  { parts, order, refuse }: Pick<Given<object>, "parts" | "order" | "refuse">,
  example: string,
): void {
  if (order.length < 2) throw refuse(`it has ${order.length} members, and a talk takes two`, example);
  const names = order.map((member) => parts[member]?.name);
  const twice = names.find((one, place) => names.indexOf(one) !== place);
  if (twice !== undefined)
    throw refuse(`two of its members are called "${twice}"`, 'give one another name: agent({ name: "…" })');
}
