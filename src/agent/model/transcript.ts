import type { Entry, FactId, Message, Session, Transcript, View } from "../../session/index.js";
import { messagesOf, RathError, transcriptView, wordsOf } from "../../session/index.js";

/** The messages that a model may see: all, or those after `since`. They keep their identity between steps. */
export function transcriptFor(config: { readonly since?: FactId }, session: Session): readonly Message[] {
  if (config.since === undefined) return session.transcript;
  const before = pastOf(session, config.since).view(transcriptView);
  const now = session.view(transcriptView);
  // Where the same messages are left out of both, none of them is asked for.
  if (now.omitted !== before.omitted || !Number.isFinite(now.omitted)) return session.transcript;
  const shared = now.settled.sharedWith(before.settled);
  // Usually all that was there then still stands first.
  if (before.settled.length === shared && before.open.length === 0) return messagesOf(now).slice(shared);
  const known = new Set<string>();
  for (const entry of entriesFrom(before, shared)) known.add(entry.id);
  const messages: Message[] = [];
  for (const entry of entriesFrom(now, shared)) if (!known.has(entry.id)) messages.push(entry.message);
  return Object.freeze(messages);
}

function* entriesFrom(transcript: Transcript, place: number): Generator<Entry, void> {
  yield* transcript.settled.from(place);
  yield* transcript.open;
}

/** Where a session was found from; asked again from a session further on, only the way up to here is walked. */
const found = new WeakMap<Session, Session>();

export function pastOf(session: Session, id: FactId): Session {
  const seen = new Set<Session>();
  const open: Session[] = [session];
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    if (seen.has(node)) continue;
    seen.add(node);
    const earlier = found.get(node);
    const target = earlier?.id === id ? earlier : node.id === id ? node : undefined;
    if (target !== undefined) {
      found.set(session, target);
      return target;
    }
    const sole = node.soleParent;
    if (sole !== undefined) open.push(sole);
    else open.push(...node.parents.toReversed());
  }
  throw new RathError(
    "not-in-past",
    `There is no ${id.slice(0, 12)} in the past of ${session.id.slice(0, 12)}.`,
    { hint: "name a session that this one descends from", data: { session: session.id, missing: id } },
  );
}

type Turns = {
  readonly replies: { readonly [agent: string]: number };
  readonly open: { readonly [call: FactId]: string };
};

const turnView: View<Turns> = {
  start: { replies: {}, open: {} },
  step(state, fact, session) {
    const { replies, open } = state;
    switch (fact.type) {
      case "model-call":
        return { replies, open: { ...open, [session.id]: fact.agent ?? "" } };
      case "model-reply":
      case "model-failure": {
        const { [fact.of]: agent, ...rest } = open;
        if (agent === undefined) return state;
        if (fact.type === "model-failure") return { replies, open: rest };
        return { replies: { ...replies, [agent]: (replies[agent] ?? 0) + 1 }, open: rest };
      }
      default:
        return state;
    }
  },
};

/** How many replies an agent has had in the past of a session: the same in any process, and on each branch its own. */
export function turnOf(session: Session, agent: string): number {
  return session.view(turnView).replies[agent] ?? 0;
}

/** The last words of the user. */
export function saidLast(session: Session): string {
  const last = session.transcript.findLast(({ role }) => role === "user");
  return last?.role === "user" ? wordsOf(last.content) : "";
}
