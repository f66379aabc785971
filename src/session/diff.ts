import { parting } from "./ancestry.js";
import { requireSession, type Session } from "./session.js";

/** The last sessions that two sessions share, and those that only one of them has, in the order of its history. */
export type Difference = {
  /** The nearest common ancestors: one normally, several after a criss-cross, none for unrelated histories. */
  readonly base: readonly Session[];
  readonly ours: readonly Session[];
  readonly theirs: readonly Session[];
};

export function diff(ours: Session, theirs: Session): Difference {
  const sides = parting(requireSession(ours, "diff"), requireSession(theirs, "diff"));
  return Object.freeze({
    base: Object.freeze([...sides.base]),
    ours: Object.freeze([...sides.ours]),
    theirs: Object.freeze([...sides.theirs]),
  });
}
