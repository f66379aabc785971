import { type Attempt, hostServices, type Outcome, perform, type Request } from "../runtime/index.js";
import type { Effect, FactOf, Json, Principal, Session } from "../session/index.js";
import { defined } from "../util/index.js";
import { StepError } from "./error.js";

/** A session, and the value of the step that it ends with. */
export type StepResult<Value> = { readonly session: Session; readonly value: Value };

/**
 * The time in milliseconds. It is recorded, so a replay gets the same time.
 *
 * ```ts
 * const { session: next, value: milliseconds } = await now(session);
 * ```
 */
export const now = (session: Session): Promise<StepResult<number>> =>
  ask(session, "now", (services) => services.now());

/** A random number from 0 up to 1. It is recorded, so a replay gets the same number. */
export const random = (session: Session): Promise<StepResult<number>> =>
  ask(session, "random", (services) => services.random());

/** A new UUID. It is recorded, so a replay gets the same id. */
export const uuid = (session: Session): Promise<StepResult<string>> =>
  ask(session, "uuid", (services) => services.uuid());

async function ask<Value extends Json>(
  session: Session,
  name: string,
  read: (services: ReturnType<typeof hostServices>) => Value,
): Promise<StepResult<Value>> {
  const request = runtimeStep({ name, effect: "read" }, "trusted", (attempt) =>
    read(hostServices(attempt.request)),
  );
  const ended = await perform(session, request);
  const { fact } = ended;
  if (fact.type === "step-failure") throw new StepError(name, ended, fact.error);
  return { session: ended, value: fact.value as Value };
}

type RuntimeStep = {
  readonly name: string;
  readonly input?: Json;
  readonly effect: Effect;
  readonly by?: Principal;
};

/** The request of a step that the runtime itself does. */
export function runtimeStep(
  fact: RuntimeStep,
  origin: FactOf<"step-result">["origin"],
  value: (attempt: Attempt) => Json | Promise<Json>,
): Request<"step-call"> {
  return {
    fact: { type: "step-call", ...fact },
    effect: fact.effect,
    act: async (attempt) => ({ type: "step-result", value: await value(attempt), origin, by: "runtime" }),
    failed: (error): Outcome<"step-call"> => ({ type: "step-failure", error, by: "runtime" }),
  };
}

/** Work that is done beside a conversation. */
export type Beside = {
  /** The name of the step on the record, and of its branch. */
  readonly name: string;
  readonly input?: Json;
  /** The principal that did the work. */
  readonly by: Principal;
  readonly work: (fork: Session) => Promise<Session>;
  /** The value of the step, from where the work began and where it ended. */
  readonly value: (end: Session, fork: Session) => Json;
};

/** The conversation after the work, the value of the work, and the end of its branch. */
export type BesideResult = { readonly session: Session; readonly value: Json; readonly end: Session };

/**
 * Works on a branch, and comes back as the value of a step: the conversation goes on without the words of the branch, with
 * its files, and the step's outcome has the end of the branch as a parent. Throws a `StepError` when the work fails.
 */
export async function workBeside(
  session: Session,
  { name, input, by, work, value }: Beside,
): Promise<BesideResult> {
  let began: Session | undefined;
  const ended = await perform(session, {
    fact: { type: "step-call", name, ...defined({ input }), effect: "read" },
    effect: "read",
    act: async () => {
      throw new Error("it runs inside");
    },
    failed: (error): Outcome<"step-call"> => ({ type: "step-failure", error, by }),
    inside: {
      branch: name,
      body: (fork) => {
        began = fork;
        return work(fork);
      },
      outcome: (end) => ({
        type: "step-result",
        value: value(end, began as Session),
        origin: "input",
        by,
      }),
    },
  });
  const { fact } = ended;
  if (fact.type === "step-failure") throw new StepError(name, ended, fact.error);
  return { session: ended, value: fact.value, end: ended.parents[1] as Session };
}
