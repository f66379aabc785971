import { descends } from "./ancestry.js";
import { Withheld } from "./blob.js";
import type { Content, Fact, FactId, Failure, Message } from "./fact.js";
import { frozen, type Json } from "./json.js";
import { List } from "./list.js";
import type { Session } from "./session.js";
import { adopted, type View } from "./view.js";

/**
 * The conversation of a session. `settled` only grows. From the first unanswered tool call on, entries wait
 * in `open`, so that an outcome stands where it was asked for, whatever order outcomes came in.
 */
export type Transcript = {
  /** Messages that a snapshot left out: the transcript is whole only when there are none. */
  readonly omitted: number;
  readonly settled: List<Entry>;
  readonly open: readonly Entry[];
  /** The ids of entries that were summed up or not adopted: they do not come back through another branch. */
  readonly hidden: List<string>;
};

/**
 * A message and the id of the fact that said it (`id#n` for the further messages of a fact that brings
 * several); a tool's entry waits until its request is answered.
 */
export type Entry = {
  readonly id: string;
  readonly message: Message;
  readonly waits?: boolean /** The fact that answered a tool's request. */;
  readonly outcome?: FactId;
};

/** More waiting entries than this are let go: a call that is never answered must not slow down all that follows. */
const OPEN_LIMIT = 256;
/** A snapshot keeps the whole conversation up to this many characters of JSON, else the newest messages. */
const SNAPSHOT_CHARACTERS = 65_536;
const SNAPSHOT_MESSAGES = 50;

export const transcriptView: View<Transcript> = {
  name: "transcript",
  start: Object.freeze({ omitted: 0, settled: List.empty, open: Object.freeze([]), hidden: List.empty }),
  step: stepTranscript,
  merge(sides, merge) {
    const side = adopted(merge.fact);
    if (side !== undefined) return sides.reduce(pass, sides[side] as Transcript);
    const [first] = merge.parents as [Session];
    return sides.reduce((ours, theirs, place) => {
      // A side that is ahead of us has dealt with all that we have.
      const ahead =
        place === 1 &&
        theirs.hidden.length > ours.hidden.length &&
        descends(merge.parents[1] as Session, first);
      return ahead ? theirs : join(ours, theirs);
    });
  },
  save(transcript) {
    const entries = [...transcript.settled, ...transcript.open];
    if (transcript.omitted === 0 && charactersOf(entries, SNAPSHOT_CHARACTERS) <= SNAPSHOT_CHARACTERS)
      return { omitted: 0, entries } as unknown as Json;
    const newest = entries.slice(-SNAPSHOT_MESSAGES);
    return {
      omitted: transcript.omitted + entries.length - newest.length,
      entries: newest,
    } as unknown as Json;
  },
  load(saved) {
    const { omitted, entries } = frozen(saved) as unknown as { omitted: number; entries: readonly Entry[] };
    return settle({ omitted, settled: List.empty, open: entries, hidden: List.empty });
  },
};

/** All messages in order. */
export function messagesOf(transcript: Transcript): readonly Message[] {
  return Object.freeze([...transcript.settled, ...transcript.open].map((entry) => entry.message));
}

function stepTranscript(transcript: Transcript, fact: Fact, session: Session): Transcript {
  switch (fact.type) {
    case "session-start":
      return fact.text === undefined
        ? transcript
        : add(transcript, session, { role: "user", content: words(fact.text) });
    case "session-detach":
      return state({
        omitted: 0,
        settled: List.of(
          listed(fact.messages).map((message, place) =>
            Object.freeze({ id: place === 0 ? session.id : `${session.id}#${place}`, message }),
          ),
        ),
        open: [],
        hidden: List.empty,
      });
    case "message-say":
      return add(transcript, session, { role: fact.role, content: words(fact.content) });
    case "model-reply":
      return add(transcript, session, { role: "assistant", content: words(fact.content) });
    case "tool-call":
      return add(transcript, session, { role: "tool", call: fact.call ?? session.id, name: fact.name }, true);
    case "tool-result":
      return answer(transcript, session, fact.of, { output: json(fact.output) });
    case "tool-failure":
      return answer(transcript, session, fact.of, { error: failure(fact.error) });
    case "context-compress":
      return compress(transcript, session, fact.from, fact.to, words(fact.summary));
    default:
      return transcript;
  }
}

function add(transcript: Transcript, session: Session, message: Message, waits = false): Transcript {
  const entry: Entry = Object.freeze(
    waits
      ? { id: session.id, message: Object.freeze(message), waits }
      : { id: session.id, message: Object.freeze(message) },
  );
  if (!waits && transcript.open.length === 0)
    return state({ ...transcript, settled: transcript.settled.push(entry) });
  return settle({ ...transcript, open: [...transcript.open, entry] });
}

function answer(
  transcript: Transcript,
  session: Session,
  of: FactId,
  outcome: { output: Json } | { error: Failure },
): Transcript {
  const place = transcript.open.findIndex((entry) => entry.id === of);
  const request = transcript.open[place];
  // An outcome whose request is not waiting here (it came long ago, or on another branch) still is part of the story.
  if (request === undefined)
    return add(transcript, session, { role: "tool", call: of, name: "", ...outcome });
  const open = transcript.open.with(
    place,
    Object.freeze({
      id: of,
      message: Object.freeze({ ...(request.message as Message & { role: "tool" }), ...outcome }),
      outcome: session.id,
    }),
  );
  return settle({ ...transcript, open });
}

/** Ours, and then what theirs has that ours has neither shown nor hidden. */
function join(ours: Transcript, theirs: Transcript): Transcript {
  const shared = ours.settled.sharedWith(theirs.settled);
  const added = new Map<string, Entry>();
  for (const entry of theirs.settled.from(shared)) added.set(entry.id, entry);
  for (const entry of theirs.open) added.set(entry.id, entry);
  if (added.size > 0) {
    for (const entry of ours.settled.from(shared)) added.delete(entry.id);
    for (const id of ours.hidden.from(ours.hidden.sharedWith(theirs.hidden))) added.delete(id);
  }
  const open = ours.open.map((entry) => {
    const other = added.get(entry.id);
    added.delete(entry.id);
    // Asked for before they parted, and answered on the other side.
    return entry.waits === true && other?.outcome !== undefined ? other : entry;
  });
  const hidden = hide(ours, theirs.hidden.from(ours.hidden.sharedWith(theirs.hidden)), shared);
  let joined = settle({
    omitted: Math.max(ours.omitted, theirs.omitted),
    settled: ours.settled,
    open,
    hidden,
  });
  for (const entry of added.values()) {
    if (entry.waits !== true && joined.open.length === 0)
      joined = state({ ...joined, settled: joined.settled.push(entry) });
    else joined = settle({ ...joined, open: [...joined.open, entry] });
  }
  return joined;
}

/** The adopted side, which from here on hides what another says. */
function pass(adopted: Transcript, other: Transcript): Transcript {
  if (other === adopted) return adopted;
  const shared = adopted.settled.sharedWith(other.settled);
  const ids = [...other.hidden.from(adopted.hidden.sharedWith(other.hidden))];
  for (const entry of other.settled.from(shared)) ids.push(entry.id);
  for (const entry of other.open) ids.push(entry.id);
  const hidden = hide(adopted, ids, shared);
  return hidden === adopted.hidden ? adopted : state({ ...adopted, hidden });
}

/** What a transcript hides, and these ids too unless it shows them from `place` on. */
function hide(transcript: Transcript, ids: Iterable<string>, place: number): List<string> {
  const more = new Set(ids);
  if (more.size === 0) return transcript.hidden;
  for (const entry of transcript.settled.from(place)) more.delete(entry.id);
  for (const entry of transcript.open) more.delete(entry.id);
  // A few are added as they are: looking whether they are there would cost more than having them twice.
  const known = more.size > 8 ? new Set(transcript.hidden) : undefined;
  let { hidden } = transcript;
  for (const id of more) if (known?.has(id) !== true) hidden = hidden.push(id);
  return hidden;
}

/** Moves what waits for nothing any more to the settled part. */
function settle(transcript: Transcript): Transcript {
  const waiting = transcript.open.findIndex((entry) => entry.waits === true);
  const ready =
    waiting === -1 ? transcript.open.length : Math.max(waiting, transcript.open.length - OPEN_LIMIT);
  if (ready === 0) return state(transcript);
  let { settled } = transcript;
  for (const entry of transcript.open.slice(0, ready)) settled = settled.push(entry);
  return state({ ...transcript, settled, open: transcript.open.slice(ready) });
}

function state(transcript: Transcript): Transcript {
  Object.freeze(transcript.open);
  return Object.freeze(transcript);
}

/** Shows the summary in place of what it covers. The record keeps everything; when the range is not found nothing is hidden. */
function compress(
  transcript: Transcript,
  session: Session,
  from: FactId,
  to: FactId,
  content: Content,
): Transcript {
  const entries = [...transcript.settled, ...transcript.open];
  const last = entries.findLastIndex((entry) => entry.id.startsWith(to) || entry.outcome === to);
  const found = entries.findIndex((entry) => entry.id === from || entry.outcome === from);
  const summary: Entry = Object.freeze({
    id: session.id,
    message: Object.freeze({ role: "system", content }),
  });
  // A range may begin before the loaded part; what was left out stays counted as left out.
  const first = found === -1 && transcript.omitted > 0 && last !== -1 ? 0 : found;
  if (first === -1 || last === -1 || last < first)
    return state({ ...transcript, settled: List.of(entries).push(summary), open: [] });
  const rest = [...entries.slice(0, first), summary, ...entries.slice(last + 1)];
  const shown = { ...transcript, settled: List.empty, open: rest };
  const covered = entries.slice(first, last + 1).map((entry) => entry.id);
  return settle({ ...shown, hidden: hide(shown, covered, 0) });
}

/** Content that was erased or not brought along shows as such, never as nothing. */
function words(content: Content | Withheld): Content {
  return content instanceof Withheld
    ? Object.freeze([
        Object.freeze({ type: "withheld" as const, reason: content.reason, digest: content.digest }),
      ])
    : content;
}

function listed(messages: readonly Message[] | Withheld): readonly Message[] {
  return messages instanceof Withheld
    ? [Object.freeze({ role: "system" as const, content: words(messages) })]
    : messages;
}

function json(output: Json | Withheld): Json {
  return output instanceof Withheld ? Object.freeze(output.toJSON()) : output;
}

function failure(error: Failure | Withheld): Failure {
  return error instanceof Withheld
    ? Object.freeze({
        name: "Withheld",
        message: `this failure was ${error.reason}`,
        data: Object.freeze(error.toJSON()),
      })
    : error;
}

function charactersOf(entries: readonly Entry[], enough: number): number {
  let characters = 0;
  for (const entry of entries) {
    characters += JSON.stringify(entry).length;
    if (characters > enough) break;
  }
  return characters;
}
