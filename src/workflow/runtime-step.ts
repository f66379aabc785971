import type { Attempt, Outcome, Request } from "../runtime/index.js";
import type { Effect, FactOf, Json, Principal } from "../session/index.js";

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
