import type { Fact, FactId, Message, Session, View } from "../../session/index.js";
import {
  adopted,
  backFrom,
  frozen,
  isPerson,
  isWorkflow,
  savedAsJson,
  Withheld,
} from "../../session/index.js";
import { pastOf, transcriptFor } from "./transcript.js";

type Recalled = {
  readonly space: string;
  /** The part of a space that is shown. */
  readonly part: string;
  readonly read: FactId;
  readonly message: Message;
};

/** Recalls for this turn: the last shown reading of each part of each space. New words end it. */
const recalledView: View<readonly Recalled[]> = {
  name: "recalled",
  start: Object.freeze([]),
  step(state, fact, session) {
    if (beginsTurn(fact)) return state.length === 0 ? state : Object.freeze([]);
    if (fact.type !== "memory-read") return state;
    const { space, shown, settings } = fact;
    const { part = "", show } = (settings ?? {}) as { readonly part?: string; readonly show?: boolean };
    // One that only looks changes nothing; one that was to be shown and found nothing takes away what was found before.
    if (shown === undefined && show !== true) return state;
    const others = state.filter((one) => one.space !== space || one.part !== part);
    if (shown === undefined) return others.length === state.length ? state : Object.freeze(others);
    return Object.freeze([...others, frozen({ space, part, read: session.id, message: messageOf(shown) })]);
  },
  merge(sides, merge) {
    const side = adopted(merge);
    if (side !== undefined) return sides[side] ?? [];
    const all = new Map<string, Recalled>();
    for (const one of sides.flat()) {
      const key = JSON.stringify([one.space, one.part]);
      if (!all.has(key)) all.set(key, one);
    }
    return Object.freeze([...all.values()]);
  },
  ...savedAsJson<readonly Recalled[]>(),
};

/** The messages for a model. Recalled notes stand before the person's last words, never as instructions. */
export function messagesFor(config: { readonly since?: FactId }, session: Session): readonly Message[] {
  const messages = transcriptFor(config, session);
  const all = session.view(recalledView);
  // An agent that works as a tool was not told about earlier recalls.
  const before =
    config.since === undefined || all.length === 0 ? [] : pastOf(session, config.since).view(recalledView);
  const known = new Set(before.map(({ read }) => read));
  const recalled = all.filter(({ read }) => !known.has(read));
  if (recalled.length === 0) return messages;
  const last = messages.findLastIndex(({ role, author }) => role === "user" && author === undefined);
  const place = Math.max(0, last);
  return Object.freeze([
    ...messages.slice(0, place),
    ...recalled.map(({ message }) => message),
    ...messages.slice(place),
  ]);
}

/** The id of the message that something recalled now stands before: what a person said last. */
export function askedLast(session: Session): string | undefined {
  for (const { id, fact } of backFrom(session)) if (beginsTurn(fact)) return id;
  return undefined;
}

/** A fact with which a turn begins: earlier recalls are no longer shown. */
export function beginsTurn(fact: Fact): boolean {
  if (fact.type === "session-start") return fact.text !== undefined;
  if (fact.type === "session-detach") return true;
  // Messages from the runtime or other agents belong to the current turn; a person's begins one.
  return fact.type === "message-say" && fact.role === "user" && (isPerson(fact.by) || isWorkflow(fact.by));
}

function messageOf(shown: string | Withheld): Message {
  if (!(shown instanceof Withheld)) return { role: "user", content: [{ type: "text", text: shown }] };
  const { reason, digest } = shown;
  return { role: "user", content: [{ type: "withheld", reason, digest }] };
}
