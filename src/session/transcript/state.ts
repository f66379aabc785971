import type { FactId, Message } from "../fact/index.js";
import { List } from "../list.js";

/**
 * The conversation of a session. `settled` only grows. From the first unanswered tool call on, entries wait
 * in `open`, so that an outcome stands where it was asked for, whatever order outcomes came in.
 */
export type Transcript = {
  /**
   * Messages before these that are not known here, because a snapshot left them out; Infinity when it is not
   * even known how many. The transcript is whole only when this is 0.
   */
  readonly omitted: number;
  readonly settled: List<Entry>;
  readonly open: readonly Entry[];
  /** The ids of entries that were summed up or not adopted: they do not come back through another branch. */
  readonly hidden: List<string>;
  /** Tool requests that wait no more, newest last: an outcome that comes late still says what was asked. */
  readonly late: List<Asked>;
  /** The part that is not known here; undefined when everything is known. */
  readonly cut: Cut | undefined;
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
  /** It sums up others. */
  readonly summary?: true;
};

/** The request to a tool: enough to tell an outcome that comes late. */
export type Asked = { readonly id: FactId; readonly call: string; readonly name: string };

/**
 * The part of a transcript that is not known here. Two transcripts with one cut do not know the same things,
 * so what they do know says how they differ. `mark` tells what was left out, "" when that is not known.
 */
export type Cut = {
  readonly mark: string;
  /** Whether some ids of hidden entries are left out as well. */
  readonly forgot: boolean;
};

/** More waiting entries than this are let go: a call that is never answered must not slow down all that follows. */
const OPEN_LIMIT = 256;
/** So many requests that wait no more are looked at when an outcome comes late. */
const LATE_LIMIT = 256;

/** Moves entries that no longer wait to the settled part, and gives up those that have waited for too long. */
export function settle(transcript: Transcript): Transcript {
  const { open } = transcript;
  let { settled, late } = transcript;
  let ready = Math.max(0, open.length - OPEN_LIMIT);
  while (ready < open.length && open[ready]?.waits !== true) ready += 1;
  if (ready === 0) return state(transcript);
  for (const entry of open.slice(0, ready)) {
    if (entry.waits === true) late = late.push(askedBy(entry));
    settled = settled.push(letGo(entry));
  }
  return state({ ...transcript, settled, late, open: open.slice(ready) });
}

/** The entry as it stands when nothing is waited for. */
export function letGo(entry: Entry): Entry {
  return entry.waits === true ? Object.freeze({ id: entry.id, message: entry.message }) : entry;
}

export function state(transcript: Transcript): Transcript {
  Object.freeze(transcript.open);
  return Object.freeze(transcript);
}

/** A transcript of which nothing is certain but what will be said from here on. */
export function unknown(transcript: Transcript): Transcript {
  return state({
    ...transcript,
    omitted: Number.POSITIVE_INFINITY,
    settled: List.empty,
    open: [],
    cut: Object.freeze({ mark: "", forgot: true }),
  });
}

export function askedBy(request: Entry): Asked {
  const { call, name } = request.message as Message & { role: "tool" };
  return Object.freeze({ id: request.id, call, name });
}

export function recentlyAsked({ late }: Transcript): readonly Asked[] {
  return [...late.from(Math.max(0, late.length - LATE_LIMIT))];
}
