import { type Failure, type Json, RathError, type Session } from "../session/index.js";

/** What was chosen is no route, or what was said is no choice. */
export class ChoiceError extends RathError {
  constructor(chooser: string, reason: string, routes: readonly string[]) {
    super("choice-refused", `Cannot take the choice of "${chooser}": ${reason}.`, {
      hint: `choose one of ${routes.map((route) => JSON.stringify(route)).join(", ")}, or null when none fits`,
      data: { chooser, reason, routes },
    });
  }
}

/** Whoever should choose failed, and nobody was there to ask instead. `session` ends with the failure. */
export class ChoiceFailedError extends RathError {
  readonly session: Session;

  constructor(selector: string, session: Session, failure: Failure) {
    super("choice-failed", `Nobody chose for "${selector}": ${failure.message}`, {
      hint: "ask another when one fails: selector(name, routes, firstOf(byModel(model), rule))",
      data: { selector, failure: failure as Json },
    });
    this.session = session;
  }
}

/** A session chose a route, and there is no such route any more. */
export class RouteGoneError extends RathError {
  constructor(selector: string, chosen: string, routes: readonly string[]) {
    super("route-gone", `Selector "${selector}" chose "${chosen}", and that route is gone.`, {
      hint: "keep a route in the table until the sessions that chose it are over",
      data: { selector, chosen, routes },
    });
  }
}
