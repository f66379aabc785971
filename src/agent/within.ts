import type { FactId, Session, View } from "../session/index.js";

/** The fork on which a module works as a tool, or undefined. It is read from the record. */
export function within(session: Session): FactId | undefined {
  return session.view(withinView);
}

const withinView: View<FactId | undefined> = {
  start: undefined,
  step(fork, fact, session) {
    if (fact.type !== "branch-fork") return fork;
    return session.soleParent?.fact.type === "tool-call" ? session.id : fork;
  },
  // Where a branch comes back, the one it comes back to goes on.
  merge: ([ours]) => ours,
};

/** How often agents have handed the session on in this run. */
export function handoffsIn(session: Session): number {
  return session.view(handoffView);
}

const handoffView: View<number> = {
  start: 0,
  step(count, fact) {
    if (fact.type === "run-start") return 0;
    return fact.type === "route-choose" && fact.by.startsWith("agent:") ? count + 1 : count;
  },
  merge: (counts) => Math.max(...counts),
};
