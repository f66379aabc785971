import { type Attempt, forward, type Module, type Outcome, perform, type Retry } from "../runtime/index.js";
import {
  ContentError,
  type Effect,
  type Failure,
  type Finding,
  findingOf,
  type Json,
  type Session,
  type Terms,
} from "../session/index.js";
import { defined } from "../util/index.js";
import { adviceFor } from "./advice.js";
import { type Checks, checkOptions, functionLike, optional } from "./define.js";
import { StepError } from "./error.js";
import type { StepResult } from "./host.js";
import {
  called,
  refusing,
  requireEffect,
  requireFunction,
  requireMilliseconds,
  requireName,
  requireRetry,
  requireTerms,
  termsOrNone,
  textOrNone,
} from "./options.js";
import { type Rebuilds, rebuild, unchangeable } from "./state.js";
import { plainValue } from "./value.js";

/** The attempt that a step makes. */
export type StepContext = Attempt;

/** The origin of a step's value. "input": the value depends on nothing but its input. */
export type StepOrigin = "input" | "trusted" | "tool" | "web" | "file" | "memory" | "agent";

export type StepOptions<Input> = {
  /** The effect on the world, which decides what may happen after a crash. There is no safe default. */
  readonly effect: Effect;
  /** The idempotency key by which the receiver recognises a repetition: a text, or a function of the input without randomness. */
  readonly key?: string | ((input: Input) => string);
  /**
   * The origin of its value, for policies: "trusted" for a value that nobody else could have written. Default: "input" for a
   * `pure` step, else "tool", which is not trusted.
   */
  readonly origin?: StepOrigin;
  readonly retry?: Retry;
  /** The time limit of one attempt, in milliseconds. */
  readonly timeout?: number;
  /** A person must approve exactly this input before the step starts. */
  readonly approval?: boolean | Terms | ((input: Input) => boolean | Terms);
  /** Finds the outcome of a `write` that was started before a crash. */
  readonly reconcile?: (input: Input, context: StepContext) => Promise<Finding<unknown>>;
};

/**
 * Your own effect, recorded, replayed and resumed like models and tools. One that can do without
 * an input is a module; one that cannot is called, or forwarded, with it.
 */
export interface Step<Input, Value> extends Omit<Module, "forward">, Rebuilds {
  forward(session: Session, ...input: Given<Input>): Promise<Session>;
  /** Runs the step with an input and returns its value. Throws a `StepError` when the step failed permanently. */
  call(session: Session, ...input: Given<Input>): Promise<StepResult<Value>>;
}

/** The recorded form of a value: nothing is `null`, and a value with a `toJSON` (a Date, a URL) is its result. */
export type Recorded<Value> = Value extends Json
  ? Value
  : Value extends undefined
    ? null
    : Value extends void
      ? null
      : Value extends { toJSON(key: string): infer Plain }
        ? Recorded<Plain>
        : Value extends readonly unknown[]
          ? { [Place in keyof Value]: Recorded<Value[Place]> }
          : Value extends object
            ? { [Field in keyof Value]: RecordedField<Value[Field]> }
            : Value;

/** A field that is undefined is left out. */
type RecordedField<Value> = Value extends undefined ? Value : Recorded<Value>;

/** A step that takes no input, or may take nothing, is called without. */
type Given<Input> = unknown extends Input
  ? [input?: Json]
  : undefined extends Input
    ? [input?: Input]
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
  // A step without its effect, or with half a limit, is dangerous later.
  requireName(name, "step", EXAMPLE);
  requireFunction(act, "act", refusing(where), EXAMPLE);
  checkOptions(options, CHECKS, refusing(where), 'say what it does to the world: { effect: "read" }');
  const { effect, key, retry, timeout, approval = false, reconcile } = options;
  const { origin = effect === "pure" ? "input" : "tool" } = options;

  async function call(session: Session, given?: unknown): Promise<StepResult<Recorded<Value>>> {
    const input = (given ?? null) as Input & Json;
    // A default of its first parameter holds only for undefined; a function that has one counts no parameters.
    const toAct = given === undefined && act.length === 0 ? (undefined as Input) : input;
    const from = textOrNone(typeof key === "function" ? key(input) : key, "key", where);
    const terms = termsOrNone(typeof approval === "function" ? approval(input) : approval, "approval", where);
    const ended = await perform(session, {
      fact: { type: "step-call", name, ...(input !== null && { input }), effect, ...defined({ key: from }) },
      effect,
      act: async (attempt) => outcome(name, origin, await act(toAct, attempt)),
      failed: (error, thrown) => failing(name, lossOf(thrown) ?? error),
      ...(terms !== undefined && { approval: { what: { step: name, input }, terms } }),
      ...defined({ retry, timeout }),
      ...(reconcile !== undefined && {
        reconcile: async (attempt: Attempt) => {
          const found = findingOf(await reconcile(input, attempt), where);
          return typeof found === "string" ? found : outcome(name, origin, found.value);
        },
      }),
    });
    const { fact } = ended;
    if (fact.type === "step-result") return { session: ended, value: fact.value as Recorded<Value> };
    const failure = fact.error;
    const unfed = given === undefined && act.length > 0;
    throw new StepError(name, ended, failure, adviceFor({ name, effect, retry, unfed, failure, ended }));
  }

  const module = {
    name,
    kind: "step",
    state: Object.freeze({ effect }),
    forward: (session: Session, given?: unknown): Promise<Session> =>
      forward(module, session, async (entered) => (await call(entered, given)).session),
    call,
    // The effect cannot be learnt.
    [rebuild]: (): Module => {
      throw unchangeable(module);
    },
  };
  return Object.freeze(module);
}

const EXAMPLE = 'step("charge", (order) => …, { effect: "write" })';

const ORIGINS: readonly StepOrigin[] = ["input", "trusted", "tool", "web", "file", "memory", "agent"];

const CHECKS: Checks<StepOptions<never>> = {
  effect: (effect, _, refuse) => requireEffect(effect, refuse),
  origin: optional((origin, _, refuse) => {
    if (!ORIGINS.includes(origin as StepOrigin))
      throw refuse(
        `its origin ${JSON.stringify(origin)} is unknown`,
        `say where its value comes from: ${ORIGINS.map((one) => `origin: "${one}"`).join(", ")}`,
      );
  }),
  key: optional((key, option, refuse) => {
    if (typeof key !== "string")
      requireFunction(key, option, refuse, 'key: "order 7", or key: (input) => a text');
  }),
  retry: (retry, _, refuse) => requireRetry(retry, refuse),
  timeout: optional(requireMilliseconds),
  approval: optional((approval, option, refuse) => {
    if (typeof approval === "object" && approval !== null) requireTerms(approval, refuse);
    else if (typeof approval !== "boolean")
      requireFunction(approval, option, refuse, "approval: true, or approval: (input) => true or false");
  }),
  reconcile: optional(functionLike('reconcile: async (input) => ({ value }), or "again"')),
};

/** The outcome of a step that was done: a value that cannot be recorded must not make it happen again. */
function outcome(name: string, origin: StepOrigin, value: unknown): Outcome<"step-call"> {
  try {
    return {
      type: "step-result",
      value: plainValue(value) as Json,
      // A result that does not say is taken to be a tool's.
      ...(origin !== "tool" && { origin }),
      by: `tool:${name}`,
    };
  } catch (error) {
    const loss = lossOf(error);
    if (loss === undefined) throw error;
    return failing(name, loss);
  }
}

function failing(name: string, error: Failure): Outcome<"step-call"> {
  return { type: "step-failure", error, by: `tool:${name}` };
}

/** The failure of a step that was done, if that is what an error of the record is about. */
function lossOf(error: unknown): Failure | undefined {
  if (!(error instanceof ContentError)) return undefined;
  const { name, code, hint, data } = error;
  const [found, path = ""] = /^step-result\.(value.*)$/s.exec(String(data.path)) ?? [];
  if (found === undefined) return undefined;
  return {
    name,
    code,
    message: `it happened, and only its value is lost, which cannot be recorded: ${path}: ${data.reason}`,
    data: { path, reason: data.reason ?? null, hint, done: true },
  };
}
