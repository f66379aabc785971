import type { Json } from "../session/index.js";
import { showValue } from "../util/index.js";
import {
  type Known,
  type Refuse,
  requireBudget,
  requireCount,
  requireFunction,
  requireJson,
  requireMilliseconds,
  requireOptions,
  requireRetry,
} from "../workflow/index.js";
import type { AgentOptions } from "./agent.js";
import type { Fitter } from "./ask.js";
import { AgentError } from "./error.js";
import type { LanguageModel, Parameters } from "./model/index.js";
import type { Stop } from "./stop.js";
import type { InputSchema } from "./tool/index.js";

/** What an agent was given, whole: its own copy, with the models in one list. */
export type Given = AgentOptions<InputSchema> & { readonly models: readonly LanguageModel[] };

/** Checks what an agent was given, for callers the compiler did not check, and keeps a copy. */
export function given(options: AgentOptions<InputSchema>): Given {
  const { name } = (options ?? {}) as Partial<AgentOptions>;
  if (typeof name !== "string" || name.trim() === "")
    throw new AgentError(
      typeof name === "string" ? name : showValue(name),
      "it has no name",
      'agent({ name: "coder", model, … })',
    );
  const refuse: Refuse = (reason, hint) => new AgentError(name, reason, hint);
  requireOptions(options, refuse, 'agent({ name: "coder", model, … })', OPTIONS);
  requireText(options.description, "description", refuse);
  requireText(options.instructions, "instructions", refuse);
  requireList(options.tools, "tools", refuse);
  if (typeof options.handoffs !== "function") requireList(options.handoffs, "handoffs", refuse);
  if (options.repairs !== undefined) requireCount(options.repairs, "repairs", refuse, 0);
  if (options.maxSteps !== undefined) requireCount(options.maxSteps, "maxSteps", refuse);
  for (const stop of stopsOf(options))
    requireFunction(
      stop,
      "stop",
      refuse,
      "stop: stopAfter(5), or (session, { step, calls }) => true or false",
    );
  requireBudget(options.budget, refuse);
  if (
    options.policy !== undefined &&
    (typeof options.policy?.decide !== "function" || typeof options.policy.covers !== "function")
  )
    throw refuse(
      `its policy is ${showValue(options.policy)}`,
      'policy: policy("careful", [{ name: "no mail", verdict: "deny", tool: "send" }])',
    );
  requireRetry(options.retry, refuse);
  if (options.timeout !== undefined) requireMilliseconds(options.timeout, "timeout", refuse);
  if (options.context !== undefined && options.context !== "own" && options.context !== "all")
    throw refuse(`its context is ${showValue(options.context)}`, 'context: "own", or "all"');
  requireFitter(options.compress, refuse);
  const parameters = parametersOf(options.parameters, refuse);
  return {
    ...options,
    ...(parameters !== undefined && { parameters }),
    models: modelsOf(options, refuse),
  };
}

const OPTIONS: Known<AgentOptions<InputSchema>> = {
  name: true,
  description: true,
  instructions: true,
  model: true,
  fallback: true,
  tools: true,
  handoffs: true,
  output: true,
  repairs: true,
  stop: true,
  budget: true,
  policy: true,
  parameters: true,
  retry: true,
  timeout: true,
  stream: true,
  chunks: true,
  maxSteps: true,
  compress: true,
  context: true,
};

export function stopsOf({ stop }: { readonly stop?: Stop | readonly Stop[] }): readonly Stop[] {
  if (stop === undefined) return [];
  return Array.isArray(stop) ? stop : [stop as Stop];
}

function requireText(value: unknown, what: string, refuse: Refuse): void {
  if (value !== undefined && typeof value !== "string")
    throw refuse(
      `its \`${what}\` is ${showValue(value)}, not a text`,
      `${what}: "…"; what must be made, make before`,
    );
}

function requireList(value: unknown, what: string, refuse: Refuse): void {
  if (value !== undefined && !Array.isArray(value))
    throw refuse(`its \`${what}\` is ${showValue(value)}, not a list`, `${what}: […]`);
}

function requireFitter(value: unknown, refuse: Refuse): void {
  if (value === undefined) return;
  const { budget, state, fit } = (value ?? {}) as Partial<Fitter>;
  if (typeof fit !== "function" || typeof budget !== "number" || typeof state !== "object")
    throw refuse(
      `its \`compress\` is ${showValue(value)}, which leaves nothing out of view`,
      "compress: compress({ budget: 100_000 })",
    );
}

const MODEL = 'pass a language model of the AI SDK, such as openai("gpt-5"), or scripted("…")';

function modelsOf(
  { model, fallback, stream }: Pick<AgentOptions, "model" | "fallback" | "stream">,
  refuse: Refuse,
): readonly LanguageModel[] {
  requireList(fallback, "fallback", refuse);
  const models = [...(Array.isArray(model) ? model : [model]), ...(fallback ?? [])];
  if (models.length === 0) throw refuse("it has no model", MODEL);
  for (const one of models as readonly Partial<LanguageModel>[]) {
    if (typeof one?.doGenerate !== "function" || typeof one.modelId !== "string")
      throw refuse(`it has no model: ${showValue(one)} is none`, MODEL);
    if (typeof one.provider !== "string")
      throw refuse(`its model "${one.modelId}" does not say its provider`, MODEL);
    if (stream === true && typeof one.doStream !== "function")
      throw refuse(`its model "${one.modelId}" cannot stream`, "leave out stream: true");
  }
  return Object.freeze(models);
}

/** A copy of what a model is asked with. Headers are sent as they are; all else is recorded. */
function parametersOf(parameters: Parameters | undefined, refuse: Refuse): Parameters | undefined {
  if (parameters === undefined) return undefined;
  if (typeof parameters !== "object" || parameters === null || Array.isArray(parameters))
    throw refuse(
      `its parameters are ${showValue(parameters)}, not an object`,
      "parameters: { temperature: 0, maxOutputTokens: 2_000 }",
    );
  const { headers, ...rest } = parameters;
  const said = Object.entries(rest).filter(([, value]) => value !== undefined);
  const copy = requireJson(Object.fromEntries(said), "parameters", refuse) as {
    readonly [name: string]: Json;
  };
  return { ...copy, ...(headers !== undefined && { headers: { ...headers } }) };
}
