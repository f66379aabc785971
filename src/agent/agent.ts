import { type Budget, BudgetError, canonical, forward, type Retry } from "../runtime/index.js";
import type { Policy } from "../runtime/policy/index.js";
import { type FactOf, type Failure, type Json, type Session, thrownMessage } from "../session/index.js";
import { defined, isSameList, mapValues, showValue } from "../util/index.js";
import type { Module, Rebuilds, State } from "../workflow/index.js";
import { enter, rebuild, restAt, StateError, yesOrNo } from "../workflow/index.js";
import { act, isDone } from "./act.js";
import { ask, type Fitter, NOTHING_ASKED } from "./ask.js";
import { AgentError, GuardrailError, OutputError } from "./error.js";
import { type Guardrails, guard } from "./guardrail.js";
import { callsOf, type LanguageModel, type Parameters, textOf, transcriptFor } from "./model/index.js";
import { type Given, given, type ModelChoice, type ModelRegistry } from "./options.js";
import { checked, outputBy, outputFor, repairOf } from "./output.js";
import { isDynamic, isSameSetup, type PrepareStep, type Setup, setupAt } from "./prepare.js";
import { counted, GIVE_UP, isNew, NONE, POINT_OUT, type StepInfo, type Stop, stopAt } from "./stop.js";
import type { InputOf, InputSchema } from "./tool/index.js";
import { type Callable, narrowed, replaced, type Toolbox, toolboxOf, transferName } from "./toolbox.js";
import { handoffsIn, within } from "./within.js";

export type AgentOptions<Schema extends InputSchema = never> = {
  /** The name of the agent: the record has it as `agent:<name>`, and other agents call it by this name. */
  readonly name: string;
  /** The purpose of the agent, for models that may call it or hand over to it. */
  readonly description?: string;
  /** The system prompt, or a function of the session that gives it before each step. */
  readonly instructions?: string | ((session: Session) => string);
  /** The model, or several in order of preference; the next is tried when one fails permanently. */
  readonly model: ModelChoice | readonly [ModelChoice, ...ModelChoice[]];
  /** Further models to fall back to. */
  readonly fallback?: readonly ModelChoice[];
  /** Finds models that are given by name, such as "openai:gpt-5": `createProviderRegistry` of the AI SDK makes one. */
  readonly registry?: ModelRegistry;
  /** Tools, agents and workflows, or a function of the session. An agent works on a fork. */
  readonly tools?: readonly Callable[] | ((session: Session) => readonly Callable[]);
  /** The names of the tools and handoffs that the model may call. Default: all of them. */
  readonly activeTools?: readonly string[];
  /** Chooses the model, instructions, tools, tool choice and parameters of the next step. */
  readonly prepareStep?: PrepareStep;
  /** Agents or workflows that the agent may hand the session to. Use a function when two agents hand over to each other. */
  readonly handoffs?: readonly Module[] | (() => readonly Module[]);
  /** The structured output: a Standard Schema with a JSON Schema, or a JSON Schema. */
  readonly output?: Schema;
  /** How often the model may correct an answer that does not fit `output`. Default 2. */
  readonly repairs?: number;
  /** Conditions to stop early; one that holds is enough. Without them the agent stops when a reply calls no tool. */
  readonly stop?: Stop | readonly Stop[];
  /** Limits for the agent and everything it calls or hands over to. The agent ends with a `budget-stop` when one is reached. */
  readonly budget?: Budget;
  /** A guardrail for the agent and everything it calls or hands over to. It can only narrow the policy of the runtime. */
  readonly policy?: Policy;
  /** Parameters of the model call: temperature, maximum tokens, options of the provider. */
  readonly parameters?: Parameters;
  /** Retries of a failed model call. Default: three attempts. */
  readonly retry?: Retry;
  /** Timeout of one attempt at a model call, in milliseconds. */
  readonly timeout?: number;
  /** Stream the answer to observers while the model writes it. */
  readonly stream?: boolean;
  /** Record each streamed chunk, not only the reply. Costs storage. */
  readonly chunks?: boolean;
  /** Maximum number of model replies. The agent then stops with a `budget-stop` fact. Default 50. */
  readonly maxSteps?: number;
  /** Guardrails that check the input and the answer of the agent; each verdict is recorded as a `validation-report`. */
  readonly guardrails?: Guardrails;
  /** Context compression: leaves parts out of the prompt when it exceeds a budget: `compress({ budget: 100_000 })`. */
  readonly compress?: Fitter;
  /** The view of the agent as a tool: "own" (default) is its task, "all" the caller's conversation too. */
  readonly context?: "own" | "all";
};

/** A module that asks a model for the next step, does it, and asks again. */
export interface Agent<Output> extends Module, Rebuilds {
  readonly kind: "agent";
  readonly description?: string;
  /** The newest answer of this agent that passed its check. */
  output(session: Session): Output | undefined;
}

const REPAIRS = 2;
/** Stands for instructions that a function gives. */
const BY_FUNCTION = "(a function of the session)";
/** In one run: two agents may otherwise hand over to each other without end. */
const MAX_HANDOFFS = 20;

/**
 * Creates an agent: it asks a model, runs the tools that the model calls, records each step, and repeats. It ends when a reply
 * calls no tool, a stop condition holds, the session was handed over, or a limit is reached. The model reads failures of tools.
 * Throws a `ModelFailedError` when no model answers, and an `OutputError` when no answer fits `output`.
 *
 * ```ts
 * const coder = agent({ name: "coder", instructions: "Fix the issue.", model, tools: [readFile, writeFile] });
 * const critic = agent({ name: "critic", model, output: z.object({ good: z.boolean(), why: z.string() }) });
 * session = await critic.forward(await coder.forward(session));
 * critic.output(session)?.good;
 * ```
 */
export function agent<Schema extends InputSchema = never>(
  options: AgentOptions<Schema>,
): Agent<[Schema] extends [never] ? undefined : InputOf<Schema>> {
  const made = new Reasoner(given(options as AgentOptions<InputSchema>));
  const { description } = made.given;
  type Output = [Schema] extends [never] ? undefined : InputOf<Schema>;
  const module: Agent<Output> = {
    name: made.name,
    kind: "agent",
    ...defined({ description }),
    get parts() {
      return made.box.parts;
    },
    get state() {
      return made.state;
    },
    forward: (session) =>
      forward(
        module,
        session,
        (entered) => made.run(entered),
        defined({ budget: made.given.budget, policy: made.given.policy }),
      ),
    output: (session) => outputBy(made.name, session) as Output | undefined,
    [rebuild]: (state, parts) => agent(changed(made, state, parts)),
  };
  return Object.freeze(module);
}

class Reasoner {
  readonly name: string;
  readonly given: Given;
  readonly #output: ReturnType<typeof outputFor> | undefined;
  #box: Toolbox | undefined;
  #state: State | undefined;

  constructor(options: Given) {
    const { name, output, handoffs } = options;
    this.name = name;
    this.given = options;
    this.#output = output === undefined ? undefined : outputFor(name, output);
    // Agents that hand over to each other cannot both be there already.
    if (typeof handoffs !== "function") void this.box;
  }

  get box(): Toolbox {
    if (this.#box === undefined) {
      const { name, tools = [], activeTools = [] } = this.given;
      this.#box = toolboxOf(name, typeof tools === "function" ? [] : tools, targetsOf(this.given));
      const missing = (tool: string): Error =>
        new AgentError(name, `it has no tool ${showValue(tool)} to be active`, 'activeTools: ["search"]');
      if (typeof tools !== "function") narrowed(this.#box, activeTools, missing);
    }
    return this.#box;
  }

  /** The values that learning may change, and others that tell two configurations apart. */
  get state(): State {
    if (this.#state === undefined) {
      const { instructions, models, parameters, budget, repairs, compress, policy, activeTools, guardrails } =
        this.given;
      // Headers may hold secrets.
      const { headers: _, ...shown } = parameters ?? {};
      this.#state = Object.freeze({
        instructions: typeof instructions === "function" ? BY_FUNCTION : (instructions ?? ""),
        model: models[0]?.modelId as string,
        models: models.map((model) => `${model.provider}/${model.modelId}`),
        parameters: shown as Json,
        maxSteps: this.given.maxSteps,
        ...defined({ budget }),
        ...(this.#output !== undefined && { output: this.#output.schema, repairs: repairs ?? REPAIRS }),
        tools: this.box.specs as Json,
        ...defined({ compress: compress?.state, policy: policy?.version, activeTools }),
        ...(guardrails !== undefined && {
          guardrails: mapValues(guardrails, (list) =>
            (list ?? []).map((one: { readonly name: string }) => one.name),
          ) as Json,
        }),
      });
    }
    return this.#state;
  }

  async run(entered: Session): Promise<Session> {
    try {
      return await this.#loop(entered);
    } catch (error) {
      // A spent budget ends the run visibly, with all work done until then, after any handoff.
      if (error instanceof BudgetError) return restAt(error, error.session);
      throw error;
    }
  }

  async #loop(entered: Session): Promise<Session> {
    const { retry = {}, timeout, stream = false, chunks = false, guardrails } = this.given;
    const { compress, maxSteps, stops } = this.given;
    let info: StepInfo = { step: 1, calls: [] };
    let setup = this.#setupAt(entered, entered, info);
    const begun = entered.append(setup.fact);
    let configured = begun;
    let session = await this.#admitted(begun, setup, guardrails?.input);
    let asked = NOTHING_ASKED;
    let repeats = NONE;
    let refusals = 0;
    for (let step = 1; step <= maxSteps; step++) {
      if (step > 1 && isDynamic(this.given)) {
        const next = this.#setupAt(entered, session, { step, calls: info.calls });
        if (!isSameList(next.models, setup.models)) asked = { ...asked, place: 0 };
        if (!isSameSetup(next, setup)) configured = session = session.append(next.fact);
        setup = next;
      }
      const { config, models, box, chose: insists } = setup;
      const asking = { config, configured, begun, models, retry, timeout, stream, chunks, compress, insists };
      ({ session, asked } = await ask(session, asking, asked));
      const reply = session.fact as FactOf<"model-reply">;
      const calls = callsOf(reply.content);
      info = { step, calls: calls.map(({ name }) => name) };
      // A provider that runs tools of its own may pause its turn.
      if (calls.length === 0 && isPaused(reply) && [...box.tools.values()].some(({ provider }) => provider))
        continue;
      if (calls.length === 0) {
        const repaired = await this.#repaired(session, reply, refusals);
        session = repaired.session;
        if (repaired.words === undefined) return session;
        refusals += 1;
        session = session.say(repaired.words, { by: "runtime" });
        continue;
      }
      const cut = CUT.get(reply.finish);
      const target = cut === undefined ? targetOf(session, calls, box) : undefined;
      const before = session;
      session = await act(session, calls, this.name, box, {
        all: cut === undefined ? undefined : cutOff(cut),
        of: (call) =>
          box.handoffs.has(call.name) && call !== target ? notHandedOver(target !== undefined) : undefined,
      });
      if (target !== undefined && isDone(target, before, session)) return this.#handOver(session, target);
      const known = repeats;
      repeats = counted(known, before, session);
      if (repeats.count >= GIVE_UP) return stopAt(session, "identical failing calls", GIVE_UP);
      if (stops.some((stop) => yesOrNo(stop(session, info), "stop", `agent "${this.name}"`))) return session;
      if (isNew(repeats, known))
        session = session.say(
          `The tool ${repeats.name} was called ${POINT_OUT} times with the same input and failed each time. Do something else, or say what stands in the way.`,
          { by: "runtime" },
        );
    }
    return stopAt(session, "steps", maxSteps);
  }

  #setupAt(entered: Session, session: Session, info: StepInfo): Setup {
    const since = this.given.context === "all" ? undefined : within(entered);
    return setupAt(this.given, this.box, defined({ output: this.#output?.schema, since }), session, info);
  }

  async #admitted(begun: Session, { config }: Setup, guardrails: Guardrails["input"]): Promise<Session> {
    if (guardrails === undefined) return begun;
    const told = transcriptFor(config, begun).findLast(({ role, author }) => role === "user" && !author);
    const text = told?.role === "user" ? textOf(told.content) : "";
    const { session, failed } = await guard(begun, this.name, guardrails, text);
    if (failed === undefined) return session;
    throw new GuardrailError(this.name, session, "input", failed.guardrail.name, failed.why);
  }

  /** Checks an answer. With `words` the model must answer again: they say why. */
  async #repaired(
    given: Session,
    reply: FactOf<"model-reply">,
    refusals: number,
  ): Promise<{ readonly session: Session; readonly words?: string }> {
    const { name } = this;
    const { repairs = REPAIRS, guardrails } = this.given;
    let session = given;
    if (this.#output !== undefined) {
      const verdict = await checked(session, name, this.#output);
      session = verdict.session;
      const { problem, hopeless } = verdict;
      if (problem !== undefined && (hopeless === true || refusals >= repairs))
        throw new OutputError(name, session, refusals + 1, problem, hopeless);
      if (problem !== undefined) return { session, words: repairOf(problem) };
    }
    const guarded = await guard(session, name, guardrails?.output, textOf(reply.content));
    if (guarded.failed === undefined) return guarded;
    const { guardrail, why } = guarded.failed;
    if (guardrail.otherwise !== "repair" || refusals >= repairs)
      throw new GuardrailError(name, guarded.session, "output", guardrail.name, why);
    return { session: guarded.session, words: `Your answer cannot be used: ${why}\nAnswer again.` };
  }

  async #handOver(session: Session, { name, input }: Call): Promise<Session> {
    const target = this.box.handoffs.get(name) as Module;
    const { reason } = (input ?? {}) as { readonly reason?: Json };
    const chosen = session.append({
      type: "route-choose",
      selector: this.name,
      candidates: [...this.box.handoffs.values()].map((one) => ({ name: one.name })),
      chosen: target.name,
      ...(typeof reason === "string" && { why: reason }),
      by: `agent:${this.name}`,
    });
    return enter(target, chosen);
  }
}

type Call = ReturnType<typeof callsOf>[number];

/** The call by which the session is handed over, if any: the first, unless it went from hand to hand too often. */
function targetOf(session: Session, calls: readonly Call[], { handoffs }: Toolbox): Call | undefined {
  const call = calls.find(({ name }) => handoffs.has(name));
  return call !== undefined && handoffsIn(session) < MAX_HANDOFFS ? call : undefined;
}

function isPaused({ meta }: FactOf<"model-reply">): boolean {
  return (meta as { readonly finish?: Json } | undefined)?.finish === "pause_turn";
}

/** How a reply ends that is not all there: what it asks for may be half of what it meant. */
const CUT: ReadonlyMap<string, string> = new Map([
  ["length", "it reached its limit of tokens"],
  ["content-filter", "a filter stopped it"],
  ["error", "the model broke off"],
]);

function cutOff(reason: string): Failure {
  return {
    name: "IncompleteReplyError",
    message: `This call was not made: the reply that asks for it is incomplete, ${reason}. Ask again, in smaller parts.`,
    code: "reply-incomplete",
  };
}

function notHandedOver(other: boolean): Failure {
  const [code, message] = other
    ? ["handoff-twice", "Only one can go on from here: the first that was named does."]
    : ["handoff-limit", `This went from hand to hand ${MAX_HANDOFFS} times. Answer it yourself.`];
  return { name: "HandoffError", message, code };
}

/** The modules to hand over to, resolved late: two that hand over to each other do not exist at once. */
function targetsOf({ name, handoffs = [] }: Given): readonly Module[] {
  if (typeof handoffs !== "function") return handoffs;
  let targets: unknown;
  try {
    targets = handoffs();
  } catch (error) {
    throw new AgentError(name, `its handoffs cannot be found: ${thrownMessage(error)}`, HANDOFFS);
  }
  if (Array.isArray(targets)) return targets;
  throw new AgentError(name, "its handoffs are not a list", HANDOFFS);
}

const HANDOFFS = "handoffs: () => [billing, support]";

function changed(
  made: Reasoner,
  state: State,
  parts: { readonly [name: string]: Module },
): AgentOptions<InputSchema> {
  for (const name of ["tools", "output", "models", "compress", "policy", "activeTools", "guardrails"])
    if (canonical(state[name] ?? null) !== canonical(made.state[name] ?? null))
      throw new StateError(
        `Cannot change "${name}" of the agent "${made.name}": it is code, not a value.`,
        "make another agent with other options",
        { agent: made.name, name },
      );
  const { models: _, stops: __, ...options } = made.given;
  const { headers } = options.parameters ?? {};
  return {
    ...options,
    ...(state.instructions !== made.state.instructions && { instructions: state.instructions as string }),
    model: chosenModel(made, state.model as string),
    fallback: [],
    parameters: { ...(state.parameters as Parameters), ...defined({ headers }) },
    maxSteps: state.maxSteps as number,
    ...(defined({ budget: state.budget, repairs: state.repairs }) as Pick<
      AgentOptions,
      "budget" | "repairs"
    >),
    ...(Array.isArray(options.tools) && { tools: replaced(options.tools, parts) }),
    ...(options.handoffs !== undefined && {
      handoffs: targetsOf(made.given).map((target) => parts[transferName(target.name)] ?? target),
    }),
  };
}

/** The agent's models with the chosen one first. A model is an object with a connection: it cannot be made from a name. */
function chosenModel(made: Reasoner, id: string): readonly [LanguageModel, ...LanguageModel[]] {
  const { models } = made.given;
  const chosen = models.find(({ modelId }) => modelId === id);
  if (chosen === undefined)
    throw new StateError(
      `Cannot change the model of the agent "${made.name}" to "${id}": it was not given that model.`,
      `choose one of ${models.map(({ modelId }) => `"${modelId}"`).join(", ")}, or give the agent more models`,
      { agent: made.name, model: id },
    );
  return [chosen, ...models.filter((model) => model !== chosen)];
}
