import {
  type Entry,
  type FactId,
  type Message,
  messagesOf,
  type Session,
  type Transcript,
  transcriptView,
} from "../../session/index.js";
import { pastOf } from "./past.js";

/**
 * The messages that a configuration lets its model see: all of the conversation, or with `since` what is shown now
 * and was not there yet at that session. Messages keep their identity from one step to the next.
 */
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
