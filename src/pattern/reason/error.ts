import { type Failure, type Json, type Session, SessionError } from "../../session/index.js";

/** A model wrote nothing that can be read as an action, however often it was told. `session` ends with its last reply. */
export class UnreadableError extends SessionError {
  constructor(name: string, session: Session, tries: number, said: string) {
    const often = tries === 1 ? "one try" : `${tries} tries`;
    super(session, "react-unreadable", `"${name}" wrote no action that can be read in ${often}.`, {
      hint: 'allow more repairs, or use a model that calls tools by itself: codec: "calls"',
      data: { name, tries, said },
    });
  }
}

/** An answer without the plan, verdict or score that the pattern needs. `session` ends where it was asked. */
export class AnswerFormError extends SessionError {
  constructor(pattern: string, session: Session, who: string, gave: string, wanted: string, hint: string) {
    super(session, "pattern-answer", `Cannot go on in ${pattern}: "${who}" gave ${gave}, not ${wanted}.`, {
      hint,
      data: { pattern, who, gave, wanted },
    });
  }
}

/** A step of a plan failed, and no other plan may be made. `session` has the plan with the state of each step. */
export class PlanFailedError extends SessionError {
  constructor(name: string, session: Session, task: string, why: string, replans: number) {
    super(session, "plan-failed", `The plan of "${name}" failed at ${JSON.stringify(task)}: ${why}`, {
      hint: "allow more plans (replans), or catch PlanFailedError and go on from error.session",
      data: { name, task, why, replans },
    });
  }
}

/** Too many parts of a map failed for a reduction. `session` has what became of each. */
export class PartsFailedError extends SessionError {
  constructor(
    name: string,
    session: Session,
    need: number,
    failures: readonly { readonly branch: string; readonly failure: Failure }[],
    parts: number,
  ) {
    const said = failures.map(({ branch, failure }) => `\n- ${branch}: ${failure.message}`).join("");
    super(session, "parts-failed", `${failures.length} of the ${parts} parts of "${name}" failed.${said}`, {
      hint: `it needs ${need}: ask for fewer (need), or catch PartsFailedError and go on from error.session`,
      data: {
        name,
        need,
        parts,
        failures: failures.map(({ branch, failure }) => ({ branch, failure }) as Json),
      },
    });
  }
}
