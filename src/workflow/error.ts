import { type Failure, type Json, RathError, type Session, thrownMessage } from "../session/index.js";
import { isDone } from "./advice.js";

/** An argument of a module is not a module, not a limit, or not a function. */
export class ModuleError extends RathError {
  constructor(where: string, reason: string, hint = MODULE) {
    super("module-refused", `Cannot make ${where}: ${reason}.`, { hint, data: { where, reason } });
  }
}

export const MODULE =
  "a module is an object with a name and forward(session), such as agent(…), workflow(…) or step(…)";

/** A function that decides something in a module (`until`, `choose`, `when`) returned a value of another kind. */
export class RuleError extends RathError {
  constructor(where: string, rule: string, gave: string, wanted: string) {
    super("rule-refused", `Cannot go on in ${where}: its \`${rule}\` gave ${gave}, not ${wanted}.`, {
      hint: "decide at once and from the session alone; await everything else in a step before it",
      data: { where, rule, gave, wanted },
    });
  }
}

/**
 * A step that failed for good, or was done and whose value no record can hold (then `data.failure.data.done` is true).
 * The failure is recorded: `session` ends with it.
 */
export class StepError extends RathError {
  readonly session: Session;

  constructor(
    name: string,
    session: Session,
    failure: Failure,
    hint = "catch StepError to go on from error.session",
  ) {
    super("step-failed", `Step "${name}" ${isDone(failure) ? "was done:" : "failed:"} ${failure.message}`, {
      hint,
      data: { step: name, failure: failure as Json },
    });
    this.session = session;
  }
}

/** A person said no. `session` ends with their answer. */
export class RejectedError extends RathError {
  readonly session: Session;

  constructor(name: string, session: Session, why: string | undefined) {
    super("rejected", `"${name}" was rejected${why === undefined ? "" : `: ${why}`}`, {
      hint: "use approve(…).call(session) where a no is an answer to go on from",
      data: { name, ...(why !== undefined && { why }) },
    });
    this.session = session;
  }
}

/** A loop took all the turns it was given, and what it waits for did not come. */
export class LoopError extends RathError {
  readonly session: Session;

  constructor(name: string, session: Session, max: number) {
    super("loop-exhausted", `Loop "${name}" took ${max} turns and its \`until\` never held.`, {
      hint: "allow more turns (max), or catch LoopError and go on from error.session",
      data: { name, max },
    });
    this.session = session;
  }
}

/** Both sides of a merge changed the same files in different ways, and nobody was told to decide. */
export class FilesConflictError extends RathError {
  /** The merge is on it, with the conflicts marked in the files. */
  readonly session: Session;

  constructor(session: Session, paths: readonly string[]) {
    const some = paths.slice(0, 5).join(", ");
    super(
      "files-conflict",
      `Both sides changed ${some}${paths.length > 5 ? ` and ${paths.length - 5} more` : ""}.`,
      {
        hint: 'say who decides: mergeFiles({ resolve: "ours" }), "theirs", "ask" (a person), or a module',
        data: { paths },
      },
    );
    this.session = session;
  }
}

/** A choice that none of the routes answers to. */
export class RouteError extends RathError {
  constructor(name: string, chosen: string, routes: readonly string[]) {
    super("route-unknown", `Branch "${name}" chose "${chosen}", and has no such route.`, {
      hint: `choose one of ${routes.map((route) => `"${route}"`).join(", ")}, or null when none fits`,
      data: { name, chosen, routes },
    });
  }
}

/** Nobody finished the race. The errors are in `errors`, in the order of the parts. */
export class RaceError extends RathError {
  readonly session: Session;
  readonly errors: readonly unknown[];

  constructor(name: string, session: Session, errors: readonly unknown[]) {
    super("race-lost", `None of the ${errors.length} parts of race "${name}" finished.`, {
      hint: "see error.errors for what stopped each of them",
      data: { name, errors: errors.map((error) => thrownMessage(error)) },
      cause: errors[0],
    });
    this.session = session;
    this.errors = errors;
  }
}

/** A name or a value that a module's state does not have. */
export class StateError extends RathError {
  constructor(message: string, hint: string, data: { [key: string]: Json }) {
    super("state-refused", message, { hint, data });
  }
}
