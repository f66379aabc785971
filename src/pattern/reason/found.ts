import { stopOf } from "../../agent/index.js";
import { textOf } from "../../agent/model/index.js";
import { BudgetError, CancelledError, failureOf, type Module } from "../../runtime/index.js";
import type { Content, FactOf, Failure, Json, Session } from "../../session/index.js";
import { diff } from "../../session/index.js";
import { enter, restAt } from "../../workflow/index.js";

/** Enters a module on a fork. Its failure is a result, unless the whole run is cancelled or out of budget. */
export async function attempt(
  module: Module,
  fork: Session,
): Promise<{ readonly session: Session; readonly failure?: Failure }> {
  try {
    return { session: await enter(module, fork) };
  } catch (error) {
    if (error instanceof CancelledError || error instanceof BudgetError) throw error;
    return { session: restAt(error, fork), failure: failureOf(error) };
  }
}

export function inWords(answer: Json | undefined): string {
  if (answer === undefined) return "(no answer)";
  return typeof answer === "string" ? answer : JSON.stringify(answer);
}

export type Report = { readonly id: string; readonly fact: FactOf<"validation-report"> };

/** The newest report of each name since a session. */
export function reportsSince(session: Session, since: Session): readonly Report[] {
  const newest = new Map<string, Report>();
  for (const { id, fact } of diff(since, session).theirs)
    if (fact.type === "validation-report") newest.set(fact.name, { id, fact });
  return [...newest.values()];
}

/** Why work that did not throw has failed all the same: a finding that says so, or a limit that ended it. */
export function shortfall(session: Session, since: Session): string | undefined {
  const failed = reportsSince(session, since).find(({ fact }) => !fact.passed);
  if (failed !== undefined) return reasonOf(failed);
  return stopOf(session);
}

export function reasonOf({ fact: { name, detail, score } }: Report): string {
  const known = detail ?? (score === undefined ? undefined : `score ${score}`);
  return known === undefined ? `${name} did not pass` : `${name} did not pass: ${inWords(known)}`;
}

/** The words of some content, none where it was erased. */
export function plainText(content: Content): string {
  return typeof content === "string" || Array.isArray(content) ? textOf(content) : "";
}
