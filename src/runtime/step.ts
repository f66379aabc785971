import type { WorkspaceFiles } from "../sandbox/index.js";
import { backFrom, type Fact, type FactOf, type Session } from "../session/index.js";

/** A fact of a recorded run, and what was known there. */
export type Step = {
  readonly session: Session;
  readonly fact: Fact;
  /** The memories that had been recalled on the way to this fact, the newest last. */
  readonly recalled: readonly FactOf<"memory-read">[];
  /** The files at this fact. */
  files(): Promise<WorkspaceFiles>;
};

/** The facts of a run, in the order in which they were recorded. */
export function* stepsOf(
  head: Session,
  run: string | undefined,
  filesAt: (session: Session) => Promise<WorkspaceFiles>,
): Generator<Step, void> {
  const sessions = [...head.history()].filter(({ fact }) => fact.run === run);
  sessions.sort((one, other) => (one.fact.seq ?? 0) - (other.fact.seq ?? 0));
  for (const session of sessions)
    yield {
      session,
      fact: session.fact,
      get recalled() {
        return [...backFrom(session)]
          .flatMap(({ fact }) => (fact.type === "memory-read" ? [fact] : []))
          .reverse();
      },
      files: () => filesAt(session),
    };
}
