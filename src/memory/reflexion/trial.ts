import { answerOf, endOf } from "../../agent/index.js";
import { BudgetError, CancelledError, failureOf, type Module } from "../../runtime/index.js";
import { diff, type FactId, type FactOf, type Json, type Session } from "../../session/index.js";
import { called, enter, isModule, restAt, wrong } from "../../workflow/index.js";
import { MemoryRefusedError } from "../error.js";

/** The verdict of a rule on an attempt. */
export type Verdict = boolean | { readonly passed: boolean; readonly score?: number; readonly detail?: Json };

/** Whether an attempt is good: a module that leaves a `validation-report` or answers `{ passed, detail }`, or a rule. */
export type Validate = Module | ((session: Session) => Verdict);

/** A validation, and the id of the session that holds it. */
export type Report = { readonly id: FactId; readonly fact: FactOf<"validation-report"> };

/** One trial: where the attempt ended, and where its validation did. */
export type Trial = {
  readonly attempted: Session;
  readonly session: Session;
  /** The result of the validation; of more than one, the first that failed. Undefined when a limit ended the validation. */
  readonly report?: Report;
};

/** Attempts, and has it validated. An attempt that throws is one that failed. */
export async function tried(
  name: string,
  attempt: Module,
  validate: Validate,
  fork: Session,
): Promise<Trial> {
  let attempted: Session;
  try {
    attempted = await enter(attempt, fork);
  } catch (error) {
    if (error instanceof CancelledError || error instanceof BudgetError) throw error;
    const { message, name: kind } = failureOf(error);
    const rest = restAt(error, fork);
    return concluded(name, rest, rest, { passed: false, detail: `${kind}: ${message}` });
  }
  if (!isModule(validate)) {
    const said: unknown = validate(attempted);
    const verdict = verdictOf(said);
    if (verdict !== undefined) return concluded(name, attempted, attempted, verdict);
    throw wrong(said, "validate", called("reflexion", name), "true, false or { passed, detail }");
  }
  const session = await enter(validate, attempted);
  const end = endOf(session);
  if (end.type === "budget-stop") return { attempted, session };
  // The last report of each name counts. A check of the form of an output says nothing about the attempt.
  const newest = new Map<string, Report>();
  for (const { id, fact } of diff(attempted, session).theirs)
    if (fact.type === "validation-report" && !(fact.name === "output" && fact.by.startsWith("agent:")))
      newest.set(fact.name, { id, fact });
  const reports = [...newest.values()];
  const report = reports.find(({ fact }) => !fact.passed) ?? reports.at(-1);
  if (report !== undefined) return { attempted, session, report };
  const answer = end.type === "step-result" ? end.value : answerOf(validate, session, attempted);
  const verdict = verdictOf(answer);
  if (verdict === undefined) throw new NoVerdictError(name, validate.name);
  return concluded(name, attempted, session, verdict);
}

function verdictOf(said: unknown): Exclude<Verdict, boolean> | undefined {
  if (typeof said === "boolean") return { passed: said };
  const { passed, score, detail } = (said ?? {}) as { readonly [field: string]: unknown };
  if (typeof passed !== "boolean") return undefined;
  return {
    passed,
    ...(typeof score === "number" && { score }),
    ...(detail !== undefined && { detail: detail as Json }),
  };
}

function concluded(name: string, attempted: Session, before: Session, verdict: Exclude<Verdict, boolean>) {
  const session = before.append({
    type: "validation-report",
    name: `validation of ${name}`,
    ...verdict,
    of: attempted.id,
    by: "runtime",
  });
  return {
    attempted,
    session,
    report: { id: session.id, fact: session.fact as FactOf<"validation-report"> },
  };
}

/** A reflection on a trial that did not fail. It would be a lesson from nothing, so nothing was written. */
export class PassedTrialError extends MemoryRefusedError {
  constructor(use: string, reason: string, report?: FactId) {
    super(
      "refused",
      use,
      reason,
      'name the validation that failed: the id of a { type: "validation-report", passed: false }',
      report === undefined ? {} : { report },
    );
  }
}

/** A validation that found nothing: whether a trial passed is then not known, and is not guessed. */
export class NoVerdictError extends MemoryRefusedError {
  constructor(name: string, validate: string) {
    super(
      "evidence",
      `go on in reflexion "${name}"`,
      `"${validate}" left no validation`,
      'let it append({ type: "validation-report", name, passed }), or give { passed, detail }',
      { validate },
    );
  }
}
