import { type Fact, type FactId, goesOnFrom, type Session } from "../../../session/index.js";
import type { Subject } from "../exchange.js";
import { shownOf } from "./shown.js";

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
