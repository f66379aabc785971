import { type Attempt, forward, type Module, type Outcome, perform, type Retry } from "../runtime/index.js";
import type { Effect, Json, Session } from "../session/index.js";
import { StepError } from "./error.js";
import {
  called,
  refusing,
  requireEffect,
  requireFunction,
  requireMilliseconds,
  requireName,
  requireOptions,
  requireRetry,
  textOrNone,
  yesOrNo,
} from "./given.js";
import type { Told } from "./host.js";
import { type Rebuilds, rebuild, unchangeable } from "./state.js";

/** What an effect of your own is told about the attempt it makes. */
export type StepContext = Attempt;

export type StepOptions<Input> = {
  /** What it does to the world, and so what may happen after a crash. There is no safe guess, so say it. */
  readonly effect: Effect;
  /** Tells the other side that two calls are the same: a text, or made from the input. Random-free. */
  readonly key?: string | ((input: Input) => string);
  readonly retry?: Retry;
  /** Milliseconds that one attempt may take. */
  readonly timeout?: number;
  /** A person must agree to exactly this input before it starts. */
  readonly approval?: boolean | ((input: Input) => boolean);
  /** Finds out what became of a `write` that was started before a crash. */
  readonly reconcile?: (
    input: Input,
    context: StepContext,
  ) => Promise<{ readonly value: unknown } | "again" | "unknown">;
};

/** An effect of your own, through the same door as models and tools: recorded, replayed, resumed. */
export interface Step<Input, Value> extends Module, Rebuilds {
  /** Does it with an input and gives back what it said. A step that failed for good throws a `StepError`. */
  call(session: Session, ...input: Given<Input>): Promise<Told<Value>>;
}

/** What is recorded of a value: nothing is `null`. Values are JSON; one that is not fails the step. */
export type Recorded<Value> = Value extends undefined ? null : Value extends void ? null : Value;

/** A step that takes no input, or may take `null`, is called without. */
type Given<Input> = unknown extends Input
  ? [input?: Json]
  : null extends Input
    ? [input?: Input]
    : [input: Input];

/**
 * An effect of your own.
 *
 * ```ts
 * const charge = step("charge", (order: Order, { key, signal }) => pay(order, { key, signal }), { effect: "idempotent" });
 * const { session: next, value: receipt } = await charge.call(session, order);
 * ```
 */
export function step<Input, Value>(
  name: string,
  act: (input: Input, context: StepContext) => Value | Promise<Value>,
  options: StepOptions<Input>,
): Step<Input, Recorded<Value>> {
  const where = called("step", name);
  checkStep(name, act, options);
  const { effect, key, retry, timeout, approval = false, reconcile } = options;

  async function call(session: Session, given?: unknown): Promise<Told<Recorded<Value>>> {
    const input = (given ?? null) as Input & Json;
    const from = textOrNone(typeof key === "function" ? key(input) : key, "key", where);
    const asked = yesOrNo(typeof approval === "function" ? approval(input) : approval, "approval", where);
    const ended = await perform(session, {
      fact: {
        type: "step-call",
        name,
        ...(input !== null && { input }),
        effect,
        ...(from !== undefined && { key: from }),
      },
      effect,
      act: async (attempt) => result(name, await act(input, attempt)),
      failed: (error) => ({ type: "step-failure", error, by: `tool:${name}` }),
      ...(asked && { approval: { what: { step: name, input } } }),
      ...(retry !== undefined && { retry }),
      ...(timeout !== undefined && { timeout }),
      ...(reconcile !== undefined && {
        reconcile: async (attempt: Attempt) => {
          const found = await reconcile(input, attempt);
          return typeof found === "string" ? found : result(name, found.value);
        },
      }),
    });
    const { fact } = ended;
    if (fact.type === "step-result") return { session: ended, value: fact.value as Recorded<Value> };
    throw new StepError(name, ended, failureIn(fact));
  }

  const module: Step<Input, Recorded<Value>> = {
    name,
    kind: "step",
    state: Object.freeze({ effect }),
    forward: (session) => forward(module, session, async (entered) => (await call(entered)).session),
    call,
    // What it does to the world is no matter of learning.
    [rebuild]: () => {
      throw unchangeable(module);
    },
  };
  return Object.freeze(module);
}

/** For callers the compiler did not check: a step without its effect, or with half a limit, is dangerous later. */
function checkStep<Input>(name: string, act: unknown, options: StepOptions<Input>): void {
  requireName(name, "step", 'step("charge", (order) => …, { effect: "write" })');
  const refuse = refusing(called("step", name));
  requireFunction(act, "act", refuse, 'step("charge", (order) => …, { effect: "write" })');
  requireOptions(options, refuse, 'say what it does to the world: { effect: "read" }');
  const { effect, key, retry, timeout, approval, reconcile } = options;
  requireEffect(effect, refuse);
  if (key !== undefined && typeof key !== "string")
    requireFunction(key, "key", refuse, 'key: "order 7", or key: (input) => a text');
  requireRetry(retry, refuse);
  if (timeout !== undefined) requireMilliseconds(timeout, "timeout", refuse);
  if (approval !== undefined && typeof approval !== "boolean")
    requireFunction(approval, "approval", refuse, "approval: true, or approval: (input) => true or false");
  if (reconcile !== undefined)
    requireFunction(reconcile, "reconcile", refuse, 'reconcile: async (input) => ({ value }), or "again"');
}

function result(name: string, value: unknown): Outcome {
  return { type: "step-result", value: (value ?? null) as Json, by: `tool:${name}` };
}

function failureIn(fact: { readonly type: string; readonly error?: unknown }): {
  readonly [field: string]: Json;
} {
  return (fact.error ?? { message: `it ended in ${fact.type}` }) as { readonly [field: string]: Json };
}
