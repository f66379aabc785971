import { hostServices, perform } from "../runtime/index.js";
import type { Json, Session } from "../session/index.js";
import { StepError } from "./error.js";
import { runtimeStep } from "./runtime-step.js";

/** A session, and the value of the step that it ends with. */
export type StepResult<Value> = { readonly session: Session; readonly value: Value };

/**
 * The time in milliseconds, from the host and on the record: a replay reads the same clock.
 *
 * ```ts
 * const { session: next, value: milliseconds } = await now(session);
 * ```
 */
export const now = (session: Session): Promise<StepResult<number>> =>
  ask(session, "now", (services) => services.now());

/** A number from 0 up to 1, from the host and on the record: a replay draws the same one. */
export const random = (session: Session): Promise<StepResult<number>> =>
  ask(session, "random", (services) => services.random());

/** A new id, from the host and on the record. */
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
