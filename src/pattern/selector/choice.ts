import { hostServices, type Outcome, perform, type Request, type Services } from "../../runtime/index.js";
import type { FactOf, Failure, Json, Principal, Session, View } from "../../session/index.js";
import { defined, showValue } from "../../util/index.js";
import type { Refuse } from "../../workflow/index.js";
import { ChoiceError, listed } from "./error.js";

/** A candidate: the name of a route, and its purpose. */
export type Route = { readonly name: string; readonly description?: string };

/** A route, or null when none fits; and what speaks for it. */
export type Choice = {
  readonly chosen: string | null;
  readonly why?: string;
  readonly scores?: { readonly [route: string]: number };
  readonly detail?: Json;
};

/** Information for a chooser beside the session. */
export type ChoiceContext = { readonly selector: string };

/** The host services of a decision made at once. All of it ends when the choice is recorded. */
export type DecisionContext = ChoiceContext & { readonly services: Services; readonly signal: AbortSignal };

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

export function ranked(scores: { readonly [route: string]: number }): readonly (readonly [string, number])[] {
  return Object.entries(scores).sort(([, one], [, other]) => other - one);
}

export function isAsker(chooser: Chooser): chooser is Asker {
  return "choose" in chooser;
}

/** The given chooser, or a rule as a chooser of this name. For callers that the compiler did not check. */
export function chooserOf(choose: unknown, name: string, refuse: Refuse, example: string): Chooser {
  if (typeof choose === "function") return { name, decide: choose as Rule };
  const { name: own, decide, choose: asks } = (choose ?? {}) as { readonly [field: string]: unknown };
  if (typeof own === "string" && (typeof decide === "function" || typeof asks === "function"))
    return choose as Chooser;
  throw refuse(`its \`choose\` is ${showValue(choose)}, neither a rule nor somebody who chooses`, example);
}

/** The result of asking: a choice, or the reason why not. The session ends with it. */
export type Asked = { readonly session: Session } & (
  | { readonly choice: Choice; readonly cost: number }
  | { readonly failure: Failure }
);

/** Asks a chooser. Its own work stays on a branch: the conversation continues without it. */
export async function ask(
  session: Session,
  chooser: Chooser,
  routes: readonly Route[],
  context: ChoiceContext,
): Promise<Asked> {
  const asked = await perform(session, requestTo(session, chooser, routes, context));
  return answerOf(asked, asked.fact as Ballot);
}

export function requestTo(
  session: Session,
  chooser: Chooser,
  routes: readonly Route[],
  context: ChoiceContext,
): Request {
  const { name, by = `tool:${name}` } = chooser;
  let choice: Choice | undefined;
  // The origin is the session's: a choice is one of the known routes. Modules that were asked on a branch bring labels of their own.
  const outcome = (cost: number): Outcome => {
    return {
      type: "step-result",
      value: { ...choice, ...(cost > 0 && { cost }) } as Json,
      origin: "input",
      by,
    };
  };
  return {
    fact: {
      type: "step-call",
      name: `choose by ${name}`,
      input: { selector: context.selector },
      effect: "read",
    },
    effect: "read",
    failed: (error) => ({ type: "step-failure", error, by }),
    act: async ({ signal, request }) => {
      if (isAsker(chooser)) throw new Error("it runs inside");
      const services = hostServices(request);
      choice = checked(name, await chooser.decide(session, routes, { ...context, services, signal }), routes);
      return outcome(0);
    },
    ...(isAsker(chooser) && {
      inside: {
        branch: name,
        body: async (fork: Session) => {
          const chosen = await chooser.choose(fork, routes, context);
          choice = checked(name, chosen.choice, routes);
          return chosen.session;
        },
        outcome: (end: Session) => outcome(end.view(costView) - session.view(costView)),
      },
    }),
  };
}

export type Ballot = FactOf<"step-result" | "step-failure">;

export function answerOf(session: Session, fact: Ballot): Asked {
  if (fact.type === "step-failure") return { session, failure: fact.error };
  const { cost = 0, ...choice } = fact.value as Choice & { readonly cost?: number };
  return { session, choice, cost };
}

/** The choice, if it is one: a route that there is, and scores that are numbers. */
function checked(chooser: string, decision: Decision, routes: readonly Route[]): Choice {
  const names = routes.map(({ name }) => name);
  const refuse = (reason: string, said?: string) => new ChoiceError(chooser, reason, names, said);
  const choice: unknown = typeof decision === "string" || decision === null ? { chosen: decision } : decision;
  if (typeof choice !== "object" || choice === null) throw refuse(`it said ${showValue(choice)}`);
  const { chosen, why, scores, detail } = choice as Partial<Choice>;
  if (chosen !== null && typeof chosen !== "string") throw refuse(`it chose ${showValue(chosen)}`);
  if (chosen !== null && !names.includes(chosen))
    throw refuse(`there is no route ${JSON.stringify(chosen)} among ${listed(names)}`, chosen);
  for (const [name, score] of Object.entries(scores ?? {})) {
    if (!names.includes(name)) throw refuse(`it scored ${JSON.stringify(name)}, which is not a route`);
    if (!Number.isFinite(score)) throw refuse(`the score of ${JSON.stringify(name)} is ${showValue(score)}`);
  }
  return { chosen, ...(why !== undefined && { why: String(why) }), ...defined({ scores, detail }) };
}

/** The models' cost so far, where it is known. */
const costView: View<number> = {
  start: 0,
  step: (sum, fact) => (fact.type === "model-reply" ? sum + (fact.cost ?? 0) : sum),
};
