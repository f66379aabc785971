import type { Digest, Fact, FactId } from "../../../session/index.js";
import { digestsOf, goesOnFrom, INLINE_BYTES, Session } from "../../../session/index.js";
import type { Subject } from "../exchange.js";

/** A fact of a line, and the session that it made. */
export type Told = { readonly id: FactId; readonly session: Session; readonly fact: Fact };

/** A line of sessions that another one took in: a branch, or what ran inside a call. `base` is where it left. */
export type Side = {
  readonly head: Session;
  readonly line: readonly Told[];
  readonly base: Session | undefined;
};

/** The history of a session as lines: the one whose conversation goes on, and those that it took in. */
export class Lines {
  /** The session as it may be shown. */
  readonly head: Session;
  readonly main: readonly Told[];
  readonly #owned = new Set<FactId>();

  private constructor(head: Session) {
    this.head = head;
    this.main = this.#lineTo(head).line;
  }

  static async of(subject: Subject): Promise<Lines> {
    return new Lines(await shownOf(subject));
  }

  /** The lines that a session took in besides the one that it goes on from. Each is told once. */
  sidesOf(session: Session): readonly Side[] {
    if (session.parents.length < 2) return [];
    const goesOn = goesOnFrom(session);
    const sides: Side[] = [];
    for (const head of session.parents)
      if (head !== goesOn && !this.#owned.has(head.id)) sides.push({ head, ...this.#lineTo(head) });
    return sides;
  }

  /** From the oldest session that is on no line yet to this one. */
  #lineTo(head: Session): Pick<Side, "line" | "base"> {
    const line: Told[] = [];
    let node: Session | undefined = head;
    for (; node !== undefined && !this.#owned.has(node.id); node = goesOnFrom(node)) {
      this.#owned.add(node.id);
      line.push({ id: node.id, session: node, fact: node.fact });
    }
    return { line: line.reverse(), base: node };
  }
}

/** The session with content erased in the store withheld, also where memory still holds it. */
export async function shownOf({ session, store }: Pick<Subject, "session" | "store">): Promise<Session> {
  const erased = new Set((await store.erasures()).map(({ digest }) => digest));
  const history = [...session.history()];
  for (const { fact } of history)
    if (fact.type === "content-erase" && Array.isArray(fact.digests))
      for (const digest of fact.digests) erased.add(digest);
  if (erased.size === 0 || !history.some((node) => holds(node, erased))) return session;
  const shown = new Map<FactId, Session>();
  for (const node of history) {
    const parents = node.parents.map(({ id }) => shown.get(id) as Session);
    const blobs = new Map([...node.blobs()].map(({ ref, bytes }) => [ref.digest, bytes]));
    const read = (digest: Digest): Uint8Array | "erased" | undefined =>
      erased.has(digest) ? "erased" : blobs.get(digest);
    shown.set(
      node.id,
      Session.restore(node.line, parents, { inline: INLINE_BYTES, blobs: { read } }, { id: node.id }),
    );
  }
  return shown.get(session.id) as Session;
}

function holds({ line }: Session, erased: ReadonlySet<Digest>): boolean {
  return line.includes('"blobs":{') && digestsOf(line).some((digest) => erased.has(digest));
}
