import type { Fact, Session } from "../session/index.js";

/**
 * How the run came out that a session stands at the end of. "waiting": for what `session.pending` says. "open": the
 * session is at the end of no run.
 */
export type Status = "finished" | "failed" | "cancelled" | "waiting" | "open";

export function statusOf(session: Session): Status {
  let newest = session;
  // Facts about the record do not change how the run came out.
  while (isAboutTheRecord(newest.fact) && newest.parents[0] !== undefined)
    [newest] = newest.parents as [Session];
  return statusIn(newest.fact);
}

/** Whether a fact is about the record and not about the work: somebody signed it, or erased content of it. */
export function isAboutTheRecord({ type }: Fact): boolean {
  return type === "head-sign" || type === "content-erase";
}

/** The same, of the newest fact alone. */
export function statusIn(fact: Fact): Status {
  if (fact.type === "run-suspend") return "waiting";
  if (fact.type !== "run-end") return "open";
  if (fact.error === undefined) return "finished";
  return fact.error.code === "cancelled" ? "cancelled" : "failed";
}
