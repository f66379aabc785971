import type { Connection } from "../../memory/index.js";
import type { Awaited } from "../../runtime/index.js";
import type { FactId } from "../../session/index.js";
import type { Store } from "../../store/index.js";
import { RowReader } from "../page/row.js";
import { cursorOf, limitOf, placeOf } from "./cursor.js";
import { listSessions, type SessionsOptions } from "./sessions.js";

/** How many sessions that wait one page looks at, at most: each is read anew, so that an answer given since is seen. */
const SESSIONS = 20;

export type PendingOptions = {
  /** Go on after a page: its `next`. It keeps the person. */
  readonly after?: string;
  /** How many sessions at most, up to 20. */
  readonly limit?: number;
  /**
   * False: show what the catalogue has, without taking in what is new first. "soon": take in as much as is done quickly, and the
   * rest after the page, which then says `indexing`.
   */
  readonly fresh?: boolean | "soon";
  /** Only requests that this person may answer: those that name the person, and those that name nobody. */
  readonly person?: string;
  /** Only of sessions whose names fit one of these: a name, or the beginning of names and "*". A cursor does not keep them. */
  readonly within?: readonly string[];
};

/** A request that somebody is to answer. */
export type PendingRow = Awaited & {
  readonly name: string;
  readonly session: FactId;
  readonly kind: "approval" | "question" | "signal" | "doubt" | "timer";
  readonly since: string;
};
export type PendingPage = {
  readonly items: readonly PendingRow[];
  readonly next: string | null;
  /** Something that is new is not taken in yet. */
  readonly indexing?: true;
};

/** The part of a `Rath` that tells what one session waits for. */
export type Pendings = { pending(nameOrId: string): Promise<readonly Awaited[]> };

export async function listPending(
  file: Connection,
  store: Store,
  rath: Pendings,
  options: PendingOptions,
): Promise<PendingPage> {
  const limit = Math.min(limitOf(options.limit, SESSIONS), SESSIONS);
  const { place, filter } = placeOf(options, [Number.MAX_SAFE_INTEGER, 0]);
  const waiting: SessionsOptions = { state: "waiting" };
  const { within = ["*"] } = options;
  const sessions = await listSessions(file, store, { after: cursorOf(place, waiting), limit, within });
  const reader = new RowReader(store);
  const items: PendingRow[] = [];
  for (const { name, head } of sessions.items)
    for (const one of await rath.pending(name)) {
      const isTheirs =
        filter.person === undefined || one.to === undefined || one.to.includes(filter.person as never);
      if (one.answered || !isTheirs) continue;
      const since = (await reader.fact(one.id))?.fact.at ?? "";
      items.push({ ...one, name, session: head, kind: kindOf(one), since });
    }
  const next =
    sessions.next === null ? null : cursorOf(placeOf({ after: sessions.next }, [0, 0]).place, filter);
  return { items, next };
}

/** The kind of answer that a request waits for. */
function kindOf(one: Awaited): PendingRow["kind"] {
  if (one.doubt === true) return "doubt";
  if (one.type === "timer-set") return "timer";
  if (one.type === "signal-await") return "signal";
  return one.answer === undefined ? "approval" : "question";
}
