import { Withheld } from "../blob.js";
import type { Content, Edited, Fact, FactId, Failure, Message } from "../fact/index.js";
import type { Json } from "../json.js";
import { List } from "../list.js";
import { agentIn } from "../principal.js";
import type { Session } from "../session.js";
import { adopted, type View } from "../view.js";
import { compress, DROP_OUTPUTS, drop } from "./compress.js";
import { isAhead, join, pass } from "./merge.js";
import { loadTranscript, saveTranscript } from "./snapshot.js";
import { askedBy, type Entry, recentlyAsked, settle, state, type Transcript, unknown } from "./state.js";

const NOTHING: Transcript = state({
  omitted: 0,
  settled: List.empty,
  open: [],
  hidden: List.empty,
  late: List.empty,
  cut: undefined,
});

export const transcriptView: View<Transcript> = {
  name: "transcript",
  start: NOTHING,
  step: stepTranscript,
  merge(sides, merge) {
    const side = adopted(merge);
    if (side !== undefined) return sides.reduce(pass, sides[side] as Transcript);
    return sides.reduce((joined, theirs, place) => {
      const ahead = place === 1 ? isAhead(theirs, merge.parents) : false;
      if (ahead === "unknown") return unknown(joined);
      return ahead ? theirs : join(joined, theirs);
    });
  },
  save: saveTranscript,
  load: loadTranscript,
  isPartial: ({ omitted }) => omitted > 0,
};

/** Weakly: an agent asks at every step, and the history that it makes must not hold an array for each. */
const arrays = new WeakMap<Transcript, WeakRef<readonly Message[]>>();

/** All messages in order, in one frozen array. */
export function messagesOf(transcript: Transcript): readonly Message[] {
  const known = arrays.get(transcript)?.deref();
  if (known !== undefined) return known;
  const entries = transcript.settled.toArray();
  const messages = new Array<Message>(entries.length + transcript.open.length);
  let place = 0;
  for (const entry of entries) messages[place++] = entry.message;
  for (const entry of transcript.open) messages[place++] = entry.message;
  arrays.set(transcript, new WeakRef(Object.freeze(messages)));
  return messages;
}

/** The newest messages, without reading the others. */
export function newestOf(transcript: Transcript, count: number): readonly Message[] {
  const { settled, open } = transcript;
  const before = Math.max(0, settled.length - Math.max(0, count - open.length));
  const newest = [...settled.from(before), ...open].map((entry) => entry.message);
  return Object.freeze(newest.length > count ? newest.slice(newest.length - count) : newest);
}

/** Whether the newest messages, up to `count`, are not all known. */
export function lacks({ omitted, settled, open }: Transcript, count: number): boolean {
  return omitted > 0 && settled.length + open.length < count;
}

function stepTranscript(transcript: Transcript, fact: Fact, session: Session): Transcript {
  switch (fact.type) {
    case "session-start":
      return fact.text === undefined
        ? transcript
        : add(transcript, session, { role: "user", content: words(fact.text) });
    case "session-detach":
      return state({
        ...NOTHING,
        settled: List.of(
          listed(fact.messages).map((message, place) =>
            Object.freeze({ id: place === 0 ? session.id : `${session.id}#${place}`, message }),
          ),
        ),
      });
    case "message-say":
      return add(transcript, session, {
        role: fact.role,
        content: words(fact.content),
        ...(fact.role === "assistant" && authoredBy(agentIn(fact.by))),
      });
    case "model-reply":
      return add(transcript, session, {
        role: "assistant",
        content: words(fact.content),
        ...authoredBy(fact.agent),
      });
    case "tool-call": {
      const { call = session.id, name, by } = fact;
      return add(transcript, session, { role: "tool", call, name, ...authoredBy(agentIn(by)) }, true);
    }
    case "tool-result":
      return answer(transcript, session, fact.of, { output: json(fact.output), ...changedBy(fact.edited) });
    case "tool-failure":
      return answer(transcript, session, fact.of, { error: failure(fact.error), ...changedBy(fact.edited) });
    case "context-compress":
      return fact.policy === DROP_OUTPUTS
        ? drop(transcript, session, fact)
        : compress(transcript, session, fact, words(fact.summary));
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
  outcome: ({ output: Json } | { error: Failure }) & { edited?: Edited },
): Transcript {
  const place = transcript.open.findIndex((entry) => entry.id === of && entry.waits === true);
  const request = transcript.open[place];
  if (request === undefined) {
    // Among the messages that are not known the request may still wait, and then nothing is told at the end.
    if (transcript.omitted === Number.POSITIVE_INFINITY) return unknown(transcript);
    // An outcome whose request is not waiting here (it came long ago, or on another branch) still is part of the story.
    const { call, name } = recentlyAsked(transcript).findLast((asked) => asked.id === of) ?? {
      call: of,
      name: "",
    };
    return add(transcript, session, { role: "tool", call, name, ...outcome });
  }
  const open = transcript.open.with(
    place,
    Object.freeze({
      id: of,
      message: Object.freeze(Object.assign({}, request.message as Message & { role: "tool" }, outcome)),
      outcome: session.id,
    }),
  );
  return settle({ ...transcript, open, late: transcript.late.push(askedBy(request)) });
}

function authoredBy(author: string | undefined): { readonly author?: string } {
  return author === undefined || author === "" ? {} : { author };
}

/** Arguments that are gone are not told; that others were used than were asked for is only in the record then. */
function changedBy(edited: Edited | Withheld | undefined): { readonly edited?: Edited } {
  return edited === undefined || edited instanceof Withheld ? {} : { edited };
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
