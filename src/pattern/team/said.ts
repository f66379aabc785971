import { callsOf } from "../../agent/model/index.js";
import { adopted, type Fact, type FactId, List, type Session, type View } from "../../session/index.js";
import { plainText } from "../reason/found.js";
import { joinLists } from "../selector/bandit.js";

/** Something that was said in a conversation, and who said it: the name of an agent, else who it was on the record. */
export type Said = { readonly id: FactId; readonly by: string; readonly text: string };

/** The messages on the way to a session, oldest first, without calls and unadopted branches. */
export const saidView: View<List<Said>> = {
  start: List.empty,
  step(said, fact, session) {
    const text = wordsOf(fact);
    return text === ""
      ? said
      : said.push(Object.freeze({ id: session.id, by: speakerOf(fact, session), text }));
  },
  merge(sides, merge) {
    const place = adopted(merge);
    return place === undefined ? joinLists(sides, ({ id }) => id) : (sides[place] ?? List.empty);
  },
};

/** The messages since an earlier session of the same conversation, oldest first. */
export function saidSince(session: Session, since: Session): readonly Said[] {
  return [...session.view(saidView).from(since.view(saidView).length)];
}

export function lastSaid(session: Session, since: Session): Said | undefined {
  return saidSince(session, since).at(-1);
}

/** The agent behind a fact that says something. */
export function speakerOf(fact: Fact, session: Session): string {
  if (fact.type === "model-reply") {
    const call = session.soleParent?.fact;
    return fact.agent ?? (call?.type === "model-call" ? call.agent : undefined) ?? fact.by;
  }
  return fact.by.replace(/^agent:/, "");
}

function wordsOf(fact: Fact): string {
  switch (fact.type) {
    case "session-start":
      return fact.text === undefined ? "" : plainText(fact.text);
    case "message-say":
      return fact.by === "runtime" ? "" : plainText(fact.content);
    case "model-reply":
      return Array.isArray(fact.content) && callsOf(fact.content).length > 0 ? "" : plainText(fact.content);
    default:
      return "";
  }
}
