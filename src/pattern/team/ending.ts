import { adopted, type Session, type View } from "../../session/index.js";
import {
  refusing,
  requireCount,
  requireFunction,
  requireMilliseconds,
  requireName,
  wrong,
} from "../../workflow/index.js";
import { saidSince } from "./said.js";

/** What an ending may want to know beside the session: where the chat began, and how many turns it has had. */
export type Chatting = { readonly since: Session; readonly turn: number };

/**
 * Whether a chat ends here: no, yes, or yes and why. Asked after each turn, of the record alone. What holds once holds
 * for the rest of the chat, so that several can be put together.
 */
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

/** Ends when somebody in the chat has said this. What was asked before the chat does not count. */
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

/** Why an ending holds; undefined when it does not. */
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

/** How often agents have handed the conversation to whom. */
const handoffs: View<{ readonly [name: string]: number }> = {
  start: {},
  step: (counts, fact) =>
    fact.type === "route-choose" && fact.chosen !== null && fact.by === `agent:${fact.selector}`
      ? { ...counts, [fact.chosen]: (counts[fact.chosen] ?? 0) + 1 }
      : counts,
  merge: (sides, merge) => sides[adopted(merge) ?? 0] ?? {},
};
