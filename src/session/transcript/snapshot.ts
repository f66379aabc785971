import { digestOf } from "../blob.js";
import { asJson, frozenAs, type Json } from "../json.js";
import { List } from "../list.js";
import type { Session } from "../session.js";
import { type Asked, type Cut, type Entry, recentlyAsked, settle, type Transcript } from "./state.js";

/** A snapshot keeps the whole conversation up to this many characters of JSON, else the newest messages. */
const SNAPSHOT_CHARACTERS = 65_536;
const SNAPSHOT_MESSAGES = 50;
/** A snapshot keeps so many ids of hidden entries, the newest; a merge that needs the others cannot be answered. */
const SNAPSHOT_HIDDEN = 1_024;

/** The content of a snapshot: the whole conversation if it is small, else its end. */
export function saveTranscript(transcript: Transcript, session: Session): Json {
  const { settled, open } = transcript;
  // A request that waits is kept at any size: an outcome must find its request.
  const without = isSmall(transcript)
    ? 0
    : Math.max(0, settled.length - Math.max(0, SNAPSHOT_MESSAGES - open.length));
  const forgotten = Math.max(0, transcript.hidden.length - SNAPSHOT_HIDDEN);
  return asJson<Saved>({
    omitted: Number.isFinite(transcript.omitted) ? transcript.omitted + without : null,
    entries: [...settled.from(without), ...open],
    hidden: [...transcript.hidden.from(forgotten)],
    late: [...recentlyAsked(transcript)],
    cut: cutBefore(transcript, session, without, forgotten) ?? null,
  });
}

export function loadTranscript(saved: Json): Transcript {
  const { omitted, entries, hidden, late, cut } = frozenAs<Saved>(saved);
  return settle({
    omitted: omitted ?? Number.POSITIVE_INFINITY,
    settled: List.empty,
    open: entries,
    hidden: List.of(hidden ?? []),
    late: List.of(late ?? []),
    // A snapshot that does not say what was hidden is an older one.
    cut: hidden === undefined ? Object.freeze({ mark: "", forgot: true }) : (cut ?? undefined),
  });
}

type Saved = {
  readonly omitted: number | null;
  readonly entries: readonly Entry[];
  readonly hidden?: readonly string[];
  readonly late?: readonly Asked[];
  readonly cut?: Cut | null;
};

/** The unknown part when a snapshot of a session leaves out so many entries and hidden ids. */
function cutBefore(
  { cut }: Transcript,
  session: Session,
  entries: number,
  forgotten: number,
): Cut | undefined {
  if (entries === 0 && forgotten === 0) return cut;
  const forgot = forgotten > 0 || cut?.forgot === true;
  if (cut?.mark === "") return { mark: "", forgot };
  // The id stands for all that was said until then; to name what is left out would take longer with every snapshot.
  return { mark: digestOf([cut?.mark, session.id, entries, forgotten].join("\n")), forgot };
}

/** Whether a snapshot keeps the whole conversation. */
function isSmall({ omitted, settled, open }: Transcript): boolean {
  if (omitted > 0) return false;
  let characters = 0;
  for (const entries of [settled, open]) {
    for (const entry of entries) {
      characters += JSON.stringify(entry).length;
      if (characters > SNAPSHOT_CHARACTERS) return false;
    }
  }
  return true;
}
