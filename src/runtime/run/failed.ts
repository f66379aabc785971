import type { Session } from "../../session/index.js";

const sessions = new WeakMap<object, Session>();

/** The session at which the body of a module failed with this error: its evidence up to there. */
export function failedAt(error: unknown): Session | undefined {
  return typeof error === "object" && error !== null ? sessions.get(error) : undefined;
}

/** Notes where an error was thrown, so that whoever catches it can keep the evidence. */
export function failAt(error: unknown, session: Session): void {
  if (typeof error === "object" && error !== null) sessions.set(error, session);
}
