import type { FactId, FactInput, Json, Session, Stamped } from "../../session/index.js";
import type { Ledger, Place } from "./ledger.js";
import { checkpointNote, type Put, type PutWrites, THREAD, unknownIn, writesNote } from "./note.js";
import { keyOfTold, messagesIn, say, type Told } from "./said.js";
import type { Spot, Tip } from "./spot.js";

/** The clock and the author of what LangGraph does, where nobody says otherwise. */
const BY = "runtime:langgraph";

/** Writes what LangGraph does into sessions: checkpoints and writes as notes, and what was said as what was said. */
export class Scribe {
  readonly ledger: Ledger;
  readonly #sessions = new Map<FactId, Session>();
  readonly #load: (id: FactId) => Promise<Session>;

  constructor(ledger: Ledger, load: (id: FactId) => Promise<Session>) {
    this.ledger = ledger;
    this.#load = load;
  }

  /** Takes in a session that begins a thread. */
  begin(session: Session): void {
    for (const step of session.history()) this.ledger.add(step.id, step.parentIds, step.fact);
    this.#sessions.set(session.id, session);
  }

  async session(id: FactId): Promise<Session> {
    const known = this.#sessions.get(id);
    if (known !== undefined) return known;
    const loaded = await this.#load(id);
    this.#sessions.set(id, loaded);
    return loaded;
  }

  /** Keeps a checkpoint; answers with the end of the branch it is on, and whether that is a new branch. */
  async put(put: Put, stamp: Stamped = {}): Promise<Written | undefined> {
    const there = this.ledger.spot(put.namespace, put.id);
    if (there !== undefined && isSame(there, put)) return undefined;
    // On leaving, LangGraph puts a checkpoint that it went on from once more, as its own parent.
    const place =
      this.ledger.placeOfCopy(put) ??
      this.ledger.place(put.namespace, there === undefined ? put.parent : put.id, put.root);
    const { tip, fork, session } = await this.#at(place, put.parent, stamp);
    const asked = unknownIn(put, tip);
    const dumps = new Map(
      await Promise.all(asked.map(async (channel) => [channel, await put.dump(channel)] as const)),
    );
    const { note, fresh } = checkpointNote(put, tip, dumps, (channel, version) =>
      this.ledger.ofVersion(put.namespace, channel, version),
    );
    const heard =
      put.namespace === "" ? this.#say(session, fresh, [...tip.input, ...tip.said], tip, stamp) : session;
    const before = this.#tipAt(heard, tip);
    const after = this.#append(heard, note(before.pool), stamp);
    const spot = this.ledger.spot(put.namespace, put.id);
    for (const [channel, dumped] of put.values)
      if (dumped !== null && !dumped.binary) spot?.values.get(channel)?.warm(dumped.text);
    return { session: after, branch: tip.branch, ...(fork !== undefined && { fork }) };
  }

  /** Keeps what a task wrote; undefined when all of it is there already. */
  async putWrites(put: PutWrites, stamp: Stamped = {}): Promise<Written | undefined> {
    const place = this.ledger.place(put.namespace, put.id, put.root);
    if (place !== undefined && place.fork === undefined && writesNote(put, place.tip) === undefined)
      return undefined;
    const { tip, fork, session } = await this.#at(place, put.id, stamp);
    const made = writesNote(put, tip);
    if (made === undefined) return undefined;
    const heard = put.namespace === "" ? this.#say(session, made.fresh, [...tip.input], tip, stamp) : session;
    const after = this.#append(heard, made.note(this.#tipAt(heard, tip).pool), stamp);
    return { session: after, branch: tip.branch, ...(fork !== undefined && { fork }) };
  }

  /** The session to go on from: the end of a branch, or a new branch. */
  async #at(
    place: Place | undefined,
    checkpoint: string | undefined,
    stamp: Stamped,
  ): Promise<{ readonly tip: Tip; readonly session: Session; readonly fork?: string }> {
    if (place === undefined) throw new Error("a thread that has not begun");
    const kept = await this.session(place.tip.at);
    const session = this.#goOn(kept, stamp);
    if (place.fork === undefined)
      return { tip: session === kept ? place.tip : this.#tipAt(session, place.tip), session };
    const why =
      checkpoint === undefined ? "it has no checkpoint before it" : `goes on from checkpoint ${checkpoint}`;
    const forked = this.#append(session, { type: "branch-fork", name: place.fork, why }, stamp);
    return { tip: this.#tipAt(forked, place.tip), session: forked, fork: place.fork };
  }

  /** An imported thread that waited waits no longer: LangGraph has the answer, and its writes say which it is. */
  #goOn(session: Session, stamp: Stamped): Session {
    if (session.fact.type !== "run-suspend") return session;
    let next = session;
    for (const of of session.fact.waiting)
      next = this.#append(next, { type: "wait-cancel", of, why: "the thread went on" }, stamp);
    return next;
  }

  /** Says the messages among new values that were not said already. */
  #say(session: Session, values: readonly Json[], said: string[], tip: Tip, stamp: Stamped): Session {
    const now = new Set<string>();
    let heard = session;
    for (const told of values.flatMap((value) => messagesIn(value))) {
      const key = keyOfTold(told);
      const before = said.indexOf(key);
      if (before >= 0) said.splice(before, 1);
      else if (isKnown(told, tip)) continue;
      else if (!now.has(`${key} ${told.fields.id}`)) {
        const start = heard;
        heard = say(heard, told, this.ledger.calls, stamp);
        this.#learn(start, heard);
      }
      now.add(`${key} ${told.fields.id}`);
    }
    return heard;
  }

  #append(session: Session, fact: FactInput, stamp: Stamped): Session {
    const next = session.append({ by: BY, ...stamp, ...fact } as FactInput);
    this.#learn(session, next);
    return next;
  }

  /** Tells the ledger of facts that were added to a session, one after the other. */
  #learn(before: Session, after: Session): void {
    const steps: Session[] = [];
    for (let step = after; step !== before; step = step.soleParent as Session) steps.push(step);
    for (const step of steps.reverse()) this.ledger.add(step.id, step.parentIds, step.fact);
    // A session that branches go on from may be needed once more.
    const isStart = before.fact.type === "note" && before.fact.kind === THREAD;
    if (steps.length > 0 && !isStart) this.#sessions.delete(before.id);
    this.#sessions.set(after.id, after);
  }

  #tipAt(session: Session, otherwise: Tip): Tip {
    return this.ledger.tip(session.id) ?? otherwise;
  }
}

export type Written = {
  readonly session: Session;
  readonly branch: string;
  /** The name of the branch that this began. */
  readonly fork?: string;
};

/** Whether the state has a message already: subgraphs give back all that they were given. */
function isKnown({ fields: { id } }: Told, { latest }: Tip): boolean {
  if (typeof id !== "string" || id === "") return false;
  const mark = `"id":${JSON.stringify(id)}`;
  return [...(latest.get("")?.values.values() ?? [])].some(
    (held) => !held.binary && held.text.includes(mark),
  );
}

/** Whether a checkpoint that is put again is the one that is there. */
function isSame(spot: Spot, put: Put): boolean {
  return (
    (put.parent === put.id || spot.parent === put.parent) &&
    spot.metadata.same(put.metadata) &&
    JSON.stringify([spot.head, spot.versions, spot.seen]) ===
      JSON.stringify([put.head, put.versions, put.seen]) &&
    [...put.values].every(([channel, dumped]) => dumped === null || spot.values.get(channel)?.same(dumped)) &&
    [...spot.values.keys()].every((channel) => put.values.has(channel))
  );
}
