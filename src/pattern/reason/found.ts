import { textOf, transcriptFor } from "../../agent/model/index.js";
import type { Module } from "../../runtime/index.js";
import { type Content, diff, type FactOf, type Json, type Session } from "../../session/index.js";

/**
 * What came of a module's work since a session: its output if it has one, else what was said last. Where a limit ended
 * the work there is no answer: what was said on the way is none, and an output is one of before.
 */
export function answerOf(module: Module, session: Session, since: Session): Json | undefined {
  if (stopOf(session) !== undefined) return undefined;
  const { output } = module as { readonly output?: (session: Session) => Json | undefined };
  const structured = typeof output === "function" ? output(session) : undefined;
  if (structured !== undefined) return structured;
  const said = transcriptFor({ since: since.id }, session).findLast(
    (message) => message.role === "assistant" && textOf(message.content) !== "",
  );
  return said?.role === "assistant" ? textOf(said.content) : undefined;
}

/** An answer in words. */
export function inWords(answer: Json | undefined): string {
  if (answer === undefined) return "(no answer)";
  return typeof answer === "string" ? answer : JSON.stringify(answer);
}

/** A finding, and the id of the session that holds it. */
export type Report = { readonly id: string; readonly fact: FactOf<"validation-report"> };

/** What was found since a session, of each name the newest. */
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

/** The limit that ended the work on a session, in words, if one did. */
export function stopOf(session: Session): string | undefined {
  const end = endOf(session);
  return end.type === "budget-stop" ? `its limit of ${end.allowed} ${end.limit} is reached` : undefined;
}

/** A failed finding in words. */
export function reasonOf({ fact: { name, detail, score } }: Report): string {
  const known = detail ?? (score === undefined ? undefined : `score ${score}`);
  return known === undefined ? `${name} did not pass` : `${name} did not pass: ${inWords(known)}`;
}

/** The last fact of what a module did, before it was left. */
export function endOf(session: Session): Session["fact"] {
  let end = session;
  while (end.fact.type === "module-exit" && end.soleParent !== undefined) end = end.soleParent;
  return end.fact;
}

/** The words of some content, none where it was erased. */
export function plainText(content: Content): string {
  return typeof content === "string" || Array.isArray(content) ? textOf(content) : "";
}
