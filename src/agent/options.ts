import type { Policy } from "../runtime/policy/index.js";
import { type Json, thrownMessage } from "../session/index.js";
import { defined, showValue } from "../util/index.js";
import type { Checks, Refuse } from "../workflow/index.js";
import {
  anything,
  checkOptions,
  optional,
  requireBudget,
  requireCount,
  requireFunction,
  requireJson,
  requireMilliseconds,
  requireRetry,
} from "../workflow/index.js";
import type { AgentOptions } from "./agent.js";
import type { Fitter } from "./ask.js";
import { AgentError } from "./error.js";
import { requireGuardrails } from "./guardrail.js";
import type { LanguageModel, Parameters } from "./model/index.js";
import type { Stop } from "./stop.js";
import type { InputSchema } from "./tool/index.js";

/** A model, or its name in the agent's registry. */
export type ModelChoice = LanguageModel | string;

/** Finds models by name: `createProviderRegistry` of the AI SDK makes one, and each of its providers is one. */
export interface ModelRegistry {
  languageModel(id: string): LanguageModel;
}

/** The options of an agent, complete: its own copy, with the models and the stop conditions each in one list. */
export type Given = AgentOptions<InputSchema> & {
  readonly models: readonly LanguageModel[];
  readonly stops: readonly Stop[];
  readonly maxSteps: number;
};

export function given(options: AgentOptions<InputSchema>): Given {
  const { name } = (options ?? {}) as Partial<AgentOptions>;
  if (typeof name !== "string" || name.trim() === "")
    throw new AgentError(
      typeof name === "string" ? name : showValue(name),
      "it has no name",
      'agent({ name: "coder", model, … })',
    );
  const refuse: Refuse = (reason, hint) => new AgentError(name, reason, hint);
  checkOptions(options, CHECKS, refuse, 'agent({ name: "coder", model, … })');
  const parameters = parametersOf(options.parameters, refuse);
  const { maxSteps = 50 } = options;
  const models = modelsOf(options, refuse);
  return { ...options, ...defined({ parameters }), maxSteps, models, stops: stopsOf(options.stop) };
}

const STOP = "stop: stopAfter(5), or (session, { step, calls }) => true or false";

const CHECKS: Checks<AgentOptions<InputSchema>> = {
  name: anything,
  description: optional(requireText),
  instructions: optional((instructions, option, refuse) => {
    if (typeof instructions !== "function") requireText(instructions, option, refuse);
  }),
  model: anything,
  registry: optional((registry, _, refuse) => {
    if (typeof (registry as Partial<ModelRegistry> | null)?.languageModel !== "function")
      throw refuse(`its registry is ${showValue(registry)}, without languageModel(id)`, REGISTRY);
  }),
  fallback: optional(requireList),
  tools: optional((tools, option, refuse) => {
    if (typeof tools !== "function") requireList(tools, option, refuse);
  }),
  activeTools: optional(requireList),
  prepareStep: optional((prepareStep, option, refuse) =>
    requireFunction(
      prepareStep,
      option,
      refuse,
      'prepareStep: (session, { step }) => ({ toolChoice: "none" })',
    ),
  ),
  handoffs(handoffs, option, refuse) {
    if (handoffs !== undefined && typeof handoffs !== "function") requireList(handoffs, option, refuse);
  },
  output: anything,
  repairs: optional((repairs, option, refuse) => requireCount(repairs, option, refuse, 0)),
  stop(stop, option, refuse) {
    for (const one of stopsOf(stop as AgentOptions["stop"])) requireFunction(one, option, refuse, STOP);
  },
  budget: (budget, _, refuse) => requireBudget(budget, refuse),
  policy: optional(requirePolicy),
  parameters: anything,
  retry: (retry, _, refuse) => requireRetry(retry, refuse),
  timeout: optional(requireMilliseconds),
  stream: anything,
  chunks: anything,
  maxSteps: optional(requireCount),
  guardrails: optional(requireGuardrails),
  compress: optional(requireFitter),
  context: optional((context, _, refuse) => {
    if (context !== "own" && context !== "all")
      throw refuse(`its context is ${showValue(context)}`, 'context: "own", or "all"');
  }),
};

function stopsOf(stop: AgentOptions["stop"] = []): readonly Stop[] {
  return Array.isArray(stop) ? stop : [stop as Stop];
}

function requireText(value: unknown, option: string, refuse: Refuse): void {
  if (typeof value !== "string")
    throw refuse(`its \`${option}\` is ${showValue(value)}, not a text`, `${option}: "…"`);
}

function requireList(value: unknown, option: string, refuse: Refuse): void {
  if (!Array.isArray(value))
    throw refuse(`its \`${option}\` is ${showValue(value)}, not a list`, `${option}: […]`);
}

function requirePolicy(value: unknown, _: string, refuse: Refuse): void {
  const { decide, covers } = (value ?? {}) as Partial<Policy>;
  if (typeof decide !== "function" || typeof covers !== "function")
    throw refuse(
      `\`policy\` must be a Policy; got ${showValue(value)}`,
      'policy: policy("careful", [{ name: "no mail", verdict: "deny", tool: "send" }])',
    );
}

function requireFitter(value: unknown, _: string, refuse: Refuse): void {
  const { budget, state, fit } = (value ?? {}) as Partial<Fitter>;
  if (typeof fit !== "function" || typeof budget !== "number" || typeof state !== "object")
    throw refuse(
      `\`compress\` must be a compressor; got ${showValue(value)}`,
      "compress: compress({ budget: 100_000 })",
    );
}

const MODEL =
  'pass a language model of the AI SDK, such as openai("gpt-5"), or a name and its registry, or scripted("…")';

function modelsOf(
  { model, fallback, stream, registry }: Pick<AgentOptions, "model" | "fallback" | "stream" | "registry">,
  refuse: Refuse,
): readonly LanguageModel[] {
  const given: readonly ModelChoice[] = [...(Array.isArray(model) ? model : [model]), ...(fallback ?? [])];
  const models = given.map((one) => named(one, registry, refuse)) as readonly LanguageModel[];
  requireModels(models, refuse, MODEL);
  const cannot = models.find((one) => stream === true && typeof one.doStream !== "function");
  if (cannot !== undefined)
    throw refuse(`its model "${cannot.modelId}" cannot stream`, "leave out stream: true");
  return Object.freeze(models);
}

/** A model of a step: of the registry where it is a name. */
export function modelOf(
  model: ModelChoice,
  { name, registry }: Pick<Given, "name" | "registry">,
): LanguageModel {
  const refuse: Refuse = (reason, hint) => new AgentError(name, reason, hint);
  const found = named(model, registry, refuse);
  requireModels([found], refuse, MODEL);
  return found as LanguageModel;
}

const REGISTRY = 'registry: createProviderRegistry({ openai }), of the package "ai"';

function named(model: ModelChoice, registry: ModelRegistry | undefined, refuse: Refuse): unknown {
  if (typeof model !== "string" || registry === undefined) return model;
  try {
    return registry.languageModel(model);
  } catch (error) {
    throw refuse(`its registry has no model "${model}": ${thrownMessage(error)}`, 'model: "openai:gpt-5"');
  }
}

export function requireModels(models: readonly unknown[], refuse: Refuse, example: string): void {
  if (models.length === 0) throw refuse("it has no model", example);
  for (const one of models as readonly Partial<LanguageModel>[]) {
    if (typeof one?.doGenerate !== "function" || typeof one.modelId !== "string")
      throw refuse(`\`model\` must be a language model of the AI SDK; got ${showValue(one)}`, example);
    if (typeof one.provider !== "string")
      throw refuse(`its model "${one.modelId}" does not say its provider`, example);
  }
}

/** A copy of what a model is asked with. Headers are sent as they are; all else is recorded. */
export function parametersOf(parameters: Parameters | undefined, refuse: Refuse): Parameters | undefined {
  if (parameters === undefined) return undefined;
  if (typeof parameters !== "object" || parameters === null || Array.isArray(parameters))
    throw refuse(
      `its parameters are ${showValue(parameters)}, not an object`,
      "parameters: { temperature: 0, maxOutputTokens: 2_000 }",
    );
  const { headers, ...rest } = parameters;
  const copy = requireJson(defined(rest), "parameters", refuse) as { readonly [name: string]: Json };
  return { ...copy, ...(headers !== undefined && { headers: { ...headers } }) };
}
