import type { Json, Session } from "../../../session/index.js";
import { type Fields, isFields, without } from "../fields.js";
import { restored } from "../trajectory/kept.js";
import type { Told } from "../trajectory/line.js";
import { NOTES } from "./sample.js";

/** What of a session came from a log: the log without samples, the sample, and the facts that came after it. */
export type Restored = {
  readonly log: Fields;
  readonly sample: Fields;
  readonly rest: readonly Told[];
};

/** Reads the notes of an imported sample; undefined when the session is not from a log. */
export function logIn(line: readonly Told[], session: Session): Restored | undefined {
  let [log, sample]: (Fields | undefined)[] = [];
  const end = line.findLastIndex(({ fact }) => fact.type === "note" && fact.what === NOTES.sample);
  if (end === -1) return undefined;
  const events = new Map<number, Json>();
  for (const node of session.history()) {
    const { fact } = node;
    if (fact.type !== "note" || fact.kind !== "import-rest") continue;
    const value = (): Fields => restored(node, fact.value as Json) as Fields;
    if (fact.what === NOTES.log) log = value();
    else if (fact.what === NOTES.sample) sample = value();
    else if (fact.what === NOTES.event) {
      const { index, event } = value();
      events.set(index as number, event as Json);
    }
  }
  if (log === undefined || sample === undefined) return undefined;
  const ordered = [...events].sort(([one], [other]) => one - other).map(([, event]) => event);
  const { transcript } = sample;
  const whole = isFields(transcript)
    ? { ...without(sample, "transcript"), transcript: { ...transcript, events: ordered } }
    : ordered.length > 0 || !isOld(sample)
      ? { ...sample, events: ordered }
      : sample;
  return { log, sample: whole, rest: line.slice(end + 1) };
}

/** Logs from before there were events have no place for them. */
function isOld(sample: Fields): boolean {
  return sample.attachments === undefined;
}
