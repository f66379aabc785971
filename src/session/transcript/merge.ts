import { descends } from "../ancestry.js";
import { BeyondHorizonError } from "../error.js";
import type { List } from "../list.js";
import type { Session } from "../session.js";
import {
  type Asked,
  type Cut,
  type Entry,
  recentlyAsked,
  settle,
  state,
  type Transcript,
  unknown,
} from "./state.js";

/** Whether the second parent goes on from the first: then it has dealt with all that the first has. */
export function isAhead(theirs: Transcript, parents: readonly Session[]): boolean | "unknown" {
  // One that hides nothing adds to ours what it has, ahead or not.
  if (theirs.hidden.length === 0 && theirs.cut?.forgot !== true) return false;
  try {
    const ahead = descends(parents[1] as Session, parents[0] as Session);
    // Where it is not known what is shown, what is noted as hidden may be shown: then it may hide nothing after all.
    return ahead && theirs.cut?.mark === "" ? "unknown" : ahead;
  } catch (error) {
    if (error instanceof BeyondHorizonError) return "unknown";
    throw error;
  }
}

/** Ours, and then what theirs has that ours has neither shown nor hidden. */
export function join(ours: Transcript, theirs: Transcript): Transcript {
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
  const late = lateOf(ours, theirs);
  let joined: Transcript = { ...ours, open, hidden, late };
  if (!alike(ours.cut, theirs.cut)) {
    // The part that ours does not know may show or hide it already, so whether theirs adds it is not known either.
    if (ours.cut !== undefined && (added.size > 0 || theirs.omitted > 0)) return unknown(joined);
    const forgot = ours.cut?.forgot === true || theirs.cut?.forgot === true;
    joined = { ...joined, cut: Object.freeze({ mark: "", forgot }) };
    // The part that theirs does not know comes after all of ours and before what theirs does know.
    if (theirs.omitted > 0) joined = unknown(joined);
  }
  joined = settle(joined);
  for (const entry of added.values()) {
    if (entry.waits !== true && joined.open.length === 0)
      joined = state({ ...joined, settled: joined.settled.push(entry) });
    else joined = settle({ ...joined, open: [...joined.open, entry] });
  }
  return joined;
}

/** The adopted side, which from here on hides what another says. */
export function pass(adopted: Transcript, other: Transcript): Transcript {
  if (other === adopted) return adopted;
  const shared = adopted.settled.sharedWith(other.settled);
  const ids = [...other.hidden.from(adopted.hidden.sharedWith(other.hidden))];
  for (const entry of other.settled.from(shared)) ids.push(entry.id);
  for (const entry of other.open) ids.push(entry.id);
  const hidden = hide(adopted, ids, shared);
  const late = lateOf(adopted, other);
  // The part that the other side does not know is hidden too, and cannot be named.
  const forgot = adopted.cut?.forgot === true || other.cut !== undefined;
  const cut = alike(adopted.cut, other.cut) ? adopted.cut : Object.freeze({ mark: "", forgot });
  if (hidden === adopted.hidden && late === adopted.late && cut === adopted.cut) return adopted;
  return state({ ...adopted, hidden, late, cut });
}

/** Whether two transcripts do not know the same things. */
function alike(one: Cut | undefined, other: Cut | undefined): boolean {
  if (one === other) return true;
  return one !== undefined && other !== undefined && one.mark !== "" && one.mark === other.mark;
}

/** The ids that a transcript hides, and these too unless it shows them from `place` on. */
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

/** The requests of either side. */
function lateOf(ours: Transcript, theirs: Transcript): List<Asked> {
  if (theirs.late.length === 0 || ours.late.sharedWith(theirs.late) === theirs.late.length) return ours.late;
  const known = new Set(recentlyAsked(ours).map((asked) => asked.id));
  let { late } = ours;
  for (const asked of recentlyAsked(theirs)) if (!known.has(asked.id)) late = late.push(asked);
  return late;
}
