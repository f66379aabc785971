import type { Module, Retry } from "../../runtime/index.js";
import type { Sandbox } from "../../sandbox/index.js";
import type { Effect, FactInput, Finding, Json, Session, Terms } from "../../session/index.js";
import { termsFault } from "../../session/index.js";
import type { Store } from "../../store/index.js";
import { defined, optionNames } from "../../util/index.js";
import { type Refuse, requireMilliseconds, requireOptions, requireRetry } from "../../workflow/index.js";
import { MIN_OUTPUT } from "./bound.js";
import { ToolDefinitionError } from "./error.js";
import type {
  Checker,
  InputChecker,
  InputOf,
  InputSchema,
  JsonObject,
  JsonSchema,
  OutputOf,
  OutputSchema,
} from "./schema.js";
import { answerSchema, inputChecker, outputChecker } from "./schema.js";

/** A tool that an agent can call. `run` does the work; the other fields describe it to the model, to policies and to the runtime. */
export interface Tool<Input = unknown, Output = unknown> {
  /** Letters, digits, "_" and "-", at most 64 characters: every provider accepts these. */
  readonly name: string;
  /** Describes the tool to the model, which decides whether to call it. */
  readonly description: string;
  readonly input: InputChecker;
  readonly output?: Checker;
  readonly effect: Effect;
  /** The effect that policies assume where its own claim is not trusted. */
  readonly presumed?: Effect;
  /** Where it comes from, if not from this program; on the record with every call. */
  readonly source?: Json;
  /** Where its output comes from. Default "tool", which nobody trusts; "trusted" for what only computes. */
  readonly origin?: ToolOrigin;
  /** The things that a call touches, for policies. */
  touches?(input: Input): ToolTouches;
  /** Whether a call can be undone. */
  reversible?(input: Input): boolean;
  /** The time limit of one attempt, in milliseconds. */
  readonly timeout?: number;
  /** Characters of output that the model sees, and that are recorded. */
  readonly maxOutput: number;
  readonly retry?: Retry;
  /** A module that does the work on a fork of the request: then `run` is not called. */
  readonly module?: Module;
  /** The idempotency key of the call, by which the receiver recognises a repetition. Default: made from the id of the request. */
  key?(input: Input): string;
  /** Words that name shared resources: two calls with a word in common run one after the other. */
  conflicts(input: Input): readonly string[];
  /** Whether a person must approve the call first, and on which terms. Depends on the input alone: a replay decides the same. */
  approval(input: Input): boolean | Terms;
  /** That it is a question to a person, or that a client gives the result, and the JSON schema of what they may answer. */
  question?(input: Input): Json;
  /** The tool of the model's provider that it is to the model. */
  readonly provider?: ProviderSpec;
  /** Where it is done by a client: `run` is never called. */
  readonly client?: true;
  run(input: Input, context: ToolContext): Output | Promise<Output>;
  /** Finds the outcome of a `write` that was started and has no recorded outcome. */
  reconcile?(input: Input, context: ToolContext): Promise<Found<Output>>;
  /** The message that the module gets on its fork. */
  say?(input: Input): string;
  /** The result of the module. Default: its last words. */
  answer?(session: Session): Json;
}

/** The result of a tool's `reconcile`; `{ output }` is the form of version 0.1. */
type Found<Output> = Finding<Output> | { readonly output: Output };

/** The call that a tool answers, and its access to the runtime. */
export interface ToolContext {
  /** Aborted when the tool must stop: cancelled, out of time, or the run gave up. */
  readonly signal: AbortSignal;
  /** The same at every attempt, also after a crash: send it along, and the other side can tell a repetition. */
  readonly key: string;
  /** Counts from 1. */
  readonly attempt: number;
  /** The id of the request. */
  readonly call: string;
  /** The session of the request: read it, but only modules return sessions. */
  readonly session: Session;
  /** Tells observers about something on the way; it is not recorded. */
  emit(delta: Json): void;
  /** The value of a secret that the runtime was given. It is never recorded. */
  secret(name: string): string;
  /** The same without the values of secrets. Records are always redacted; use it before cutting a text. */
  redact<Value extends Json>(value: Value): Value;
  /**
   * The session's sandbox, opened at first use. Commands and changed files are recorded before the outcome. A
   * tool that uses it says `conflicts: ["workspace"]`.
   */
  sandbox(): Promise<Sandbox>;
  /** Puts evidence on the record before the outcome, such as a `validation-report`. */
  record(fact: FactInput): void;
  /** Where sessions are kept: for what is remembered beyond this one. */
  store(): Promise<Store>;
}

/** Where the output of a tool comes from. */
export type ToolOrigin = "trusted" | "tool" | "web" | "file" | "memory" | "agent";

/** The things that a call touches: a missing list is unknown, an empty one means nothing. */
export type ToolTouches = {
  readonly paths?: readonly string[];
  readonly commands?: readonly string[];
  readonly hosts?: readonly string[];
  readonly amount?: number;
};

/** A tool that a provider defines: its id, such as "openai.web_search", and its arguments. */
export type ProviderSpec = { readonly id: string; readonly args: JsonObject };

export type ToolSpec = { readonly name: string; readonly description?: string; readonly input: JsonObject };

/** The action of a tool. `effect` has no default: a wrong guess repeats an action. */
export type Deed<Input, Output> = Pick<
  Tool<Input, Output>,
  "name" | "description" | "effect" | "presumed" | "timeout" | "retry" | "source" | "origin" | "key" | "run"
> & {
  readonly conflicts?: readonly string[] | ((input: Input) => readonly string[]);
  /** true: somebody must agree to every call. Terms: who, how many of them, by when, and who after that. */
  readonly approval?: boolean | Terms | ((input: Input) => boolean | Terms);
  /** Default 100,000, at most 1,000,000. */
  readonly maxOutput?: number;
  /** The things that a call touches, for policies: { paths, commands, hosts, amount }. */
  readonly touches?: (input: Input) => ToolTouches;
  /** Whether a call can be undone. Default: whether it changes nothing. */
  readonly reversible?: boolean | ((input: Input) => boolean);
  /** Finds the outcome of a `write` that was started and has no recorded outcome. */
  readonly reconcile?: (input: Input, context: ToolContext) => Promise<Found<Output>>;
};

export type ToolDefinition<In extends InputSchema, Out extends OutputSchema> = Omit<
  Deed<InputOf<In>, OutputOf<Out>>,
  "run"
> & {
  /**
   * Runs it. Without `run` a client does, such as a web page: `rath.pending` lists the call, and
   * `rath.answer` gives the result, by a person that `approval` names.
   */
  readonly run?: Deed<InputOf<In>, OutputOf<Out>>["run"];
  /** A Standard Schema that knows its JSON Schema (zod, arktype, wrapped valibot), or a JSON Schema. */
  readonly input: In;
  /** Any Standard Schema, or a JSON Schema. */
  readonly output?: Out;
};

export const DEFAULT_OUTPUT = 100_000;
/** More would make one fact out of what belongs into a file. */
export const MAX_OUTPUT = 1_000_000;

/** Creates a tool. Throws a `ToolDefinitionError` or a `ToolSchemaError` when the definition is not valid. */
export function tool<In extends InputSchema, Out extends OutputSchema = JsonSchema>(
  definition: ToolDefinition<In, Out>,
): Tool<InputOf<In>, OutputOf<Out>> {
  checkOptions(definition, OPTIONS, "tool({ name, description, input, effect, run })");
  const { name, input, output, run } = definition;
  checkName(name);
  if (!("run" in definition))
    return clientTool<InputOf<In>, OutputOf<Out>>(definition, inputChecker(name, input), output);
  return build(
    { ...definition, run: run as Deed<InputOf<In>, OutputOf<Out>>["run"] },
    {
      input: inputChecker(name, input),
      ...(output !== undefined && { output: outputChecker(name, output) }),
    },
  );
}

/** A tool that a client does: asking it is pending work, and what it gives is the result of the call. */
export function clientTool<Input, Output>(
  deed: Omit<Deed<Input, Output>, "run">,
  input: InputChecker,
  output: unknown,
): Tool<Input, Output> {
  const { name } = deed;
  const idle = IDLE.find((option) => deed[option] !== undefined);
  if (idle !== undefined)
    throw new ToolDefinitionError(
      name,
      `it has no run, so that \`${idle}\` says nothing`,
      `add run: async (input, context) => …, or leave \`${idle}\` out: a client gives the result`,
    );
  const answer = answerSchema(name, output);
  const run = (): never => {
    throw new ToolDefinitionError(
      name,
      "a client does it, and it has no run",
      "let the client give the result",
    );
  };
  return build<Input, Output>({ ...deed, run }, { input }, { question: () => answer, client: true });
}

/** Options of what this program does. */
const IDLE = ["key", "conflicts", "timeout", "retry", "maxOutput", "reconcile"] as const;

const OPTIONS = optionNames<ToolDefinition<InputSchema, OutputSchema>>()(
  "name description input output effect presumed key conflicts approval timeout maxOutput retry",
  "source origin touches reversible reconcile run",
);

/** Refuses an unknown option: a limit that is misspelt would not limit anything. */
export function checkOptions(options: object, known: readonly string[], example: string): void {
  const { name } = Object(options) as { readonly name?: unknown };
  const refuse: Refuse = (reason, hint) => new ToolDefinitionError(String(name), reason, hint);
  requireOptions(options, refuse, example, known);
}

/** A tool whose schemas were made ready already. */
export function build<Input, Output>(
  deed: Deed<Input, Output>,
  schemas: { readonly input: InputChecker; readonly output?: Checker },
  more?: Pick<Tool<Input, Output>, "module" | "say" | "answer" | "question" | "client">,
): Tool<Input, Output> {
  const { name, description, effect, timeout, retry, key, source, origin, touches, reconcile, run } = deed;
  const { conflicts = [], approval = false, maxOutput = DEFAULT_OUTPUT, reversible, presumed } = deed;
  checkName(name);
  const refuse: Refuse = (reason, hint) => new ToolDefinitionError(name, reason, hint);
  const need = (holds: boolean, reason: string, hint: string): void => {
    if (!holds) throw refuse(reason, hint);
  };
  need(
    typeof description === "string" && description !== "",
    "it has no description",
    "say what it does: a model chooses tools by that",
  );
  for (const [given, what] of [
    [effect, "what it does to the world"],
    [presumed ?? "pure", "which effect policies presume"],
  ] as const)
    need(
      EFFECTS.includes(given),
      `${JSON.stringify(given)} is not an effect`,
      `say ${what}: ${EFFECTS.join(", ")}`,
    );
  need(typeof run === "function", "it has no run", "add run: async (input, context) => …");
  if (timeout !== undefined) requireMilliseconds(timeout, "timeout", refuse);
  requireRetry(retry, refuse);
  need(
    origin === undefined || ORIGINS.includes(origin),
    `\`origin\` must be an origin; got ${JSON.stringify(origin)}`,
    `say where its output comes from: ${ORIGINS.join(", ")}`,
  );
  need(
    ["undefined", "function", "boolean"].includes(typeof reversible),
    "its `reversible` is neither true, nor false, nor a function",
    "reversible: true, or reversible: (input) => input.draft === true",
  );
  for (const [option, given] of Object.entries({ key, reconcile, touches }))
    need(
      given === undefined || typeof given === "function",
      `\`${option}\` must be a function`,
      `${option}: (input) => …, or leave it out`,
    );
  need(
    typeof conflicts === "function" ||
      (Array.isArray(conflicts) && conflicts.every((one) => typeof one === "string")),
    "its `conflicts` are neither a list of texts nor a function",
    'name what only one call at a time may touch: conflicts: (input) => [input.path], or ["database"]',
  );
  need(
    ["function", "boolean", "object"].includes(typeof approval),
    "its `approval` is neither true, nor false, nor terms, nor a function",
    "approval: true, or approval: (input) => input.amount > 100",
  );
  const fault = typeof approval === "object" ? termsFault(approval) : undefined;
  need(fault === undefined, fault?.reason ?? "", fault?.hint ?? "");
  need(
    Number.isInteger(maxOutput) && maxOutput >= MIN_OUTPUT && maxOutput <= MAX_OUTPUT,
    `\`maxOutput\` must be a number of characters; got ${maxOutput}`,
    `give a whole number of characters from ${MIN_OUTPUT} to ${MAX_OUTPUT}; write longer outputs to a file`,
  );
  return Object.freeze<Tool<Input, Output>>({
    name,
    description,
    ...schemas,
    effect,
    maxOutput,
    ...defined({ presumed, timeout, retry, key, source, origin, touches, reconcile }),
    ...(reversible !== undefined && { reversible: asFunction(reversible) }),
    conflicts: asFunction(conflicts),
    approval: asFunction(approval),
    run,
    ...more,
  });
}

/** The tool as a model is shown it: the same tool, the same bytes. One of the provider's own is named with its arguments. */
export function specOf(tool: Tool): ToolSpec {
  const { provider } = tool;
  if (provider !== undefined)
    return { name: tool.name, input: { provider: provider.id, args: provider.args } };
  return { name: tool.name, description: tool.description, input: tool.input.json };
}

function asFunction<Input, Value>(given: Value | ((input: Input) => Value)): (input: Input) => Value {
  return typeof given === "function" ? (given as (input: Input) => Value) : () => given;
}

const EFFECTS: readonly Effect[] = ["pure", "read", "idempotent", "write"];
const ORIGINS: readonly ToolOrigin[] = ["trusted", "tool", "web", "file", "memory", "agent"];

export function checkName(name: string): void {
  if (typeof name !== "string" || !/^[a-zA-Z0-9_-]{1,64}$/.test(name))
    throw new ToolDefinitionError(
      String(name),
      "providers refuse this name",
      'use 1 to 64 of a-z, A-Z, 0-9, "_" and "-": "read_file"',
    );
}
