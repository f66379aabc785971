import { type Failure, type Json, RathError, type Session, SessionError } from "../../session/index.js";
import { nearestOf } from "../../util/index.js";

/** The chosen route does not exist, or the answer is not a choice. */
export class ChoiceError extends RathError {
  constructor(chooser: string, reason: string, routes: readonly string[], chosen?: string) {
    super("choice-refused", `Cannot take the choice of "${chooser}": ${reason}.`, {
      hint: `${meantBy(chosen, routes)}choose one of ${listed(routes)}, or null when none fits`,
      data: { chooser, reason, routes, ...(chosen !== undefined && { chosen }) },
    });
  }
}

/** The chooser failed, and there was no other to ask. `session` ends with the failure. */
export class ChoiceFailedError extends SessionError {
  constructor(selector: string, session: Session, failure: Failure) {
    super(session, "choice-failed", `Nobody chose for "${selector}": ${failure.message}`, {
      hint: hintFor(failure),
      data: { selector, failure: failure as Json },
    });
  }
}

/** An invalid choice needs another answer; a failure needs a substitute. */
function hintFor({ code, data }: Failure): string {
  const { chosen, routes } = Object(data) as { readonly chosen?: Json; readonly routes?: readonly string[] };
  return code === "choice-refused" && Array.isArray(routes)
    ? `${meantBy(chosen, routes)}choose one of ${listed(routes)}, or null when none fits`
    : "ask another when one fails: selector(name, routes, firstOf(byModel(model), rule))";
}

export function listed(routes: readonly string[]): string {
  return routes.map((route) => JSON.stringify(route)).join(", ");
}

/** The route that was most likely meant, as a question. */
export function meantBy(name: unknown, routes: readonly string[]): string {
  const meant = typeof name === "string" ? nearestOf(name, routes) : undefined;
  return meant === undefined ? "" : `did you mean ${JSON.stringify(meant)}? `;
}

/** A session chose a route, or is forced to take one, that does not exist (now). */
export class RouteGoneError extends RathError {
  constructor(selector: string, chosen: string, routes: readonly string[], isForced = false) {
    super(
      "route-gone",
      isForced
        ? `Selector "${selector}" is forced to "${chosen}", and there is no such route.`
        : `Selector "${selector}" chose "${chosen}", and that route is gone.`,
      {
        hint: isForced
          ? `${meantBy(chosen, routes)}the routes are ${listed(routes)}`
          : `keep a route in the table until the sessions that chose it are over; there are ${listed(routes)}`,
        data: { selector, chosen, routes },
      },
    );
  }
}
