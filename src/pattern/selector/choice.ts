import type { Services } from "../../runtime/index.js";
import type { Json, Principal, Session } from "../../session/index.js";
import { showValue } from "../../util/index.js";
import type { Refuse } from "../../workflow/index.js";

/** What there is to choose: the name of a route, and what it is good for. */
export type Route = { readonly name: string; readonly description?: string };

/** A route, or null when none fits; and what speaks for it. */
export type Choice = {
  readonly chosen: string | null;
  readonly why?: string;
  readonly scores?: { readonly [route: string]: number };
  readonly detail?: Json;
};

/** What whoever chooses may want to know beside the session. */
export type ChoiceContext = {
  /** The name of the selector. */
  readonly selector: string;
};

/** What a decision that is made at once may ask of the host. All of it is over when the choice is recorded. */
export type DecisionContext = ChoiceContext & {
  readonly services: Services;
  readonly signal: AbortSignal;
};

type Named = {
  /** How it stands on the record. */
  readonly name: string;
  readonly by?: Principal;
};

/** Chooses in one go: a rule, a score, a look at the world. It is asked once, and what it says is recorded. */
export interface Decider extends Named {
  decide(session: Session, routes: readonly Route[], context: DecisionContext): Decision | Promise<Decision>;
}
export type Decision = string | null | Choice;

/** Chooses by going through the door itself, on a branch of its own: it asks models, or others who choose. */
export interface Asker extends Named {
  choose(session: Session, routes: readonly Route[], context: ChoiceContext): Promise<Chosen>;
}
export type Chosen = { readonly session: Session; readonly choice: Choice };

export type Chooser = Decider | Asker;

/** A rule: from the session and the routes, the name of one, or null when none fits. */
export type Rule = Decider["decide"];

export function isAsker(chooser: Chooser): chooser is Asker {
  return "choose" in chooser;
}

/** Whoever chooses; a rule by this name. For callers the compiler did not check. */
export function chooserOf(choose: unknown, name: string, refuse: Refuse, example: string): Chooser {
  if (typeof choose === "function") return { name, decide: choose as Rule };
  const { name: own, decide, choose: asks } = (choose ?? {}) as { readonly [field: string]: unknown };
  if (typeof own === "string" && (typeof decide === "function" || typeof asks === "function"))
    return choose as Chooser;
  throw refuse(`its \`choose\` is ${showValue(choose)}, neither a rule nor somebody who chooses`, example);
}
