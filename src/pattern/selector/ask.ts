import { hostServices, type Outcome, perform, type Request } from "../../runtime/index.js";
import type { FactOf, Failure, Json, Session, View } from "../../session/index.js";
import { defined, showValue } from "../../util/index.js";
import {
  type Asker,
  type Choice,
  type ChoiceContext,
  type Chooser,
  type Decider,
  type Decision,
  isAsker,
  type Route,
} from "./choice.js";
import { ChoiceError, listed } from "./error.js";

/** What came of asking somebody: a choice, or why there is none. The session ends with it. */
export type Asked = { readonly session: Session } & (
  | { readonly choice: Choice; readonly cost: number }
  | { readonly failure: Failure }
);

/** Asks somebody to choose. What they do on the way is theirs: the conversation goes on without it. */
export async function ask(
  session: Session,
  chooser: Chooser,
  routes: readonly Route[],
  context: ChoiceContext,
): Promise<Asked> {
  return answerIn(await perform(session, requestTo(session, chooser, routes, context)));
}

/** What somebody is asked, to be performed alone or beside others. */
export function requestTo(
  session: Session,
  chooser: Chooser,
  routes: readonly Route[],
  context: ChoiceContext,
): Request {
  const by = chooser.by ?? `tool:${chooser.name}`;
  const common = {
    fact: {
      type: "step-call" as const,
      name: `choose by ${chooser.name}`,
      input: { selector: context.selector },
      effect: "read" as const,
    },
    effect: "read" as const,
    failed: (error: Failure): Outcome => ({ type: "step-failure", error, by }),
  };
  return isAsker(chooser)
    ? { ...common, act: never, inside: insideOf(session, chooser, routes, context, by) }
    : { ...common, act: (attempt) => decided(attempt, session, chooser, routes, context, by) };
}

async function decided(
  attempt: Parameters<Request["act"]>[0],
  session: Session,
  chooser: Decider,
  routes: readonly Route[],
  context: ChoiceContext,
  by: string,
): Promise<Outcome> {
  const { signal, request } = attempt;
  const services = hostServices(request);
  const decision = await chooser.decide(session, routes, { ...context, services, signal });
  return told({ choice: checked(chooser.name, decision, routes), cost: 0 }, by);
}

function insideOf(
  session: Session,
  chooser: Asker,
  routes: readonly Route[],
  context: ChoiceContext,
  by: string,
): NonNullable<Request["inside"]> {
  let choice: Choice | undefined;
  return {
    branch: chooser.name,
    body: async (fork) => {
      const chosen = await chooser.choose(fork, routes, context);
      choice = checked(chooser.name, chosen.choice, routes);
      return chosen.session;
    },
    outcome: (end) =>
      told({ choice: choice as Choice, cost: end.view(costView) - session.view(costView) }, by),
  };
}

async function never(): Promise<never> {
  throw new Error("it runs inside");
}

function told({ choice, cost }: { readonly choice: Choice; readonly cost: number }, by: string): Outcome {
  const value = { ...choice, ...(cost > 0 && { cost }) } as Json;
  // A choice among routes that there are, made of the session; modules that were asked on a branch bring their labels along.
  return { type: "step-result", value, origin: "input", by };
}

export function answerIn(session: Session): Asked {
  return answerOf(session, session.fact as FactOf<"step-result" | "step-failure">);
}

/** What one of several requests that were performed together came to. */
export function answerOf(session: Session, fact: FactOf<"step-result" | "step-failure">): Asked {
  if (fact.type === "step-failure") return { session, failure: fact.error };
  const { cost = 0, ...choice } = fact.value as unknown as Choice & { readonly cost?: number };
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
  return {
    chosen,
    ...(why !== undefined && { why: String(why) }),
    ...defined({ scores, detail }),
  };
}

/** What models have cost so far, where that is known. */
const costView: View<number> = {
  start: 0,
  step: (sum, fact) => (fact.type === "model-reply" ? sum + (fact.cost ?? 0) : sum),
};
