import {
  adopted,
  backFrom,
  type Fact,
  type FactId,
  frozen,
  isPerson,
  isWorkflow,
  type Json,
  type Message,
  type Session,
  type View,
  Withheld,
} from "../../session/index.js";
import { pastOf, transcriptFor } from "./transcript.js";

type Recalled = {
  readonly space: string;
  /** Which of several things that are shown of one space. */
  readonly part: string;
  readonly read: FactId;
  readonly message: Message;
};

/**
 * What was recalled for the turn that is under way: of each part of each space the last reading that was to be shown. With the next
 * words of a person it is over, so that nothing piles up from turn to turn.
 */
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
  save: (state) => state as Json,
  load: (saved) => frozen(saved) as readonly Recalled[],
};

/**
 * The messages that a model is told: those of the conversation and, before what a person said last, what was recalled for
 * it. It is told as something that is known of, never with the authority of instructions.
 */
export function messagesFor(config: { readonly since?: FactId }, session: Session): readonly Message[] {
  const messages = transcriptFor(config, session);
  const all = session.view(recalledView);
  // Whoever begins in the middle, an agent as a tool, was told nothing of what was recalled before.
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

/** A fact with which a turn begins: what was recalled before is not shown any more. */
export function beginsTurn(fact: Fact): boolean {
  if (fact.type === "session-start") return fact.text !== undefined;
  if (fact.type === "session-detach") return true;
  // What the runtime or another agent puts in belongs to the turn that is under way; what a body asks begins one.
  return fact.type === "message-say" && fact.role === "user" && (isPerson(fact.by) || isWorkflow(fact.by));
}

function messageOf(shown: string | Withheld): Message {
  if (!(shown instanceof Withheld)) return { role: "user", content: [{ type: "text", text: shown }] };
  const { reason, digest } = shown;
  return { role: "user", content: [{ type: "withheld", reason, digest }] };
}
