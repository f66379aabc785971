import { stopAt, stopOf } from "../../agent/index.js";
import type { Module } from "../../runtime/index.js";
import { adopted, type Session, type View } from "../../session/index.js";
import type { Checks, Given, Parts, Rebuilds } from "../../workflow/index.js";
import {
  called,
  defineModule,
  enter,
  functionLike,
  refusing,
  requireCount,
  requireFunction,
  requireMilliseconds,
  requireName,
  wrong,
} from "../../workflow/index.js";
import { withDefaults } from "../options.js";
import { lastSaid, saidSince } from "./said.js";

export type ChatOptions = {
  /** When the chat ends, checked after each turn: `mentions("DONE")`, `anyOf(…)`, or a function of the session. */
  readonly until?: Ending;
  /** Maximum number of turns. The chat then ends with a `budget-stop`. Default 50. */
  readonly maxTurns?: number;
};

/**
 * Two or more agents that take turns in one conversation. At its end a `route-choose` of nobody is recorded,
 * so `routeOf(session, name)` is null. Without turns or budget left, it ends with a `budget-stop`.
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

export type Talk = Required<ChatOptions>;

export const TALK: Talk = { until: () => false, maxTurns: 50 };
export const TALKS: Checks<Talk> = {
  until: functionLike('until: mentions("DONE"), or (session) => true or false'),
  maxTurns: requireCount,
};

/** One turn of a talk: the member speaks, and tells whether that was the last turn. */
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
    if (stopOf(session) !== undefined && lastSaid(session, before) === undefined) return session;
  }
  return stopAt(session, "turns", maxTurns);
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

/** Information for an ending beside the session: the begin of the chat, and the number of turns so far. */
export type Chatting = { readonly since: Session; readonly turn: number };

/** Whether a chat ends here, and why. Asked after each turn, of the record alone. */
export type Ending = (session: Session, chat: Chatting) => boolean | string;

/** Ends when any of these does. */
export function anyOf(...endings: readonly Ending[]): Ending {
  requireEndings(endings, "anyOf");
  return (session, chat) => {
    for (const ending of endings) {
      const why = reasonOf(ending, session, chat, "anyOf");
      if (why !== undefined) return why;
    }
    return false;
  };
}

/** Ends when all of these do. */
export function allOf(...endings: readonly Ending[]): Ending {
  requireEndings(endings, "allOf");
  return (session, chat) => {
    const whys = endings.map((ending) => reasonOf(ending, session, chat, "allOf"));
    return whys.every((why) => why !== undefined) && whys.join(" and ");
  };
}

/** Ends when so many messages were said in the chat. */
export function maxMessages(count: number): Ending {
  requireCount(count, "count", refusing("an ending"), 1, "maxMessages(12)");
  return (session, { since }) => saidSince(session, since).length >= count && `${count} messages were said`;
}

/** Ends when a member of the chat has said this. The question before the chat does not count. */
export function mentions(text: string): Ending {
  requireName(text, "mention", 'mentions("DONE")');
  return (session, { since }) => {
    const said = saidSince(session, since).find((one) => one.text.includes(text));
    return said !== undefined && `${said.by} said ${JSON.stringify(text)}`;
  };
}

/** Ends when the models of the chat have used so many tokens, in and out, on all its branches. */
export function tokens(count: number): Ending {
  requireCount(count, "count", refusing("an ending"), 1, "tokens(20_000)");
  return (session, { since }) => {
    const used = session.usage.input + session.usage.output - since.usage.input - since.usage.output;
    return used >= count && `${used} tokens were used, of ${count}`;
  };
}

/** Ends when an agent of the chat has handed over to this one, who has gone on by then. */
export function handedOver(name: string): Ending {
  requireName(name, "handoff", 'handedOver("person")');
  return (session, { since }) =>
    (session.view(handoffs)[name] ?? 0) > (since.view(handoffs)[name] ?? 0) &&
    `it was handed over to ${name}`;
}

/** Ends when the chat has lasted so many milliseconds by the times on the record: a replay ends it at the same turn. */
export function lasted(milliseconds: number): Ending {
  requireMilliseconds(milliseconds, "milliseconds", refusing("an ending"));
  return (session, { since }) => {
    const took = Date.parse(session.fact.at) - Date.parse(since.fact.at);
    return took >= milliseconds && `it lasted ${took} ms, of ${milliseconds}`;
  };
}

export function reasonOf(
  ending: Ending,
  session: Session,
  chat: Chatting,
  where: string,
): string | undefined {
  const answer: unknown = ending(session, chat);
  if (answer === false) return undefined;
  // A function that was written down in the options is called after its option.
  if (answer === true) return ["", "until"].includes(ending.name) ? "its condition holds" : ending.name;
  if (typeof answer === "string" && answer !== "") return answer;
  throw wrong(answer, "until", where, "true, false or a reason");
}

function requireEndings(endings: readonly unknown[], what: string): void {
  const refuse = refusing("an ending");
  if (endings.length === 0)
    throw refuse(`\`${what}\` has nothing to ask`, `${what}(mentions("DONE"), maxMessages(20))`);
  for (const ending of endings)
    requireFunction(ending, what, refuse, `${what}(mentions("DONE"), (session) => true or false)`);
}

/** How often agents have handed the conversation over, by target. */
const handoffs: View<{ readonly [name: string]: number }> = {
  start: {},
  step: (counts, fact) =>
    fact.type === "route-choose" && fact.chosen !== null && fact.by === `agent:${fact.selector}`
      ? { ...counts, [fact.chosen]: (counts[fact.chosen] ?? 0) + 1 }
      : counts,
  merge: (sides, merge) => sides[adopted(merge) ?? 0] ?? {},
};
