import type { Effect, Json } from "../../session/index.js";
import { isObject, optionNames } from "../../util/index.js";
import { ToolDefinitionError } from "./error.js";
import { jsonOf } from "./json.js";
import { type InputChecker, inputChecker, type JsonObject } from "./schema.js";
import { checkName, checkOptions, clientTool, type ProviderSpec, type Tool } from "./tool.js";

export type ProviderToolOptions = {
  /** The provider's id of the tool, such as "openai.web_search". */
  readonly id: string;
  /** The name of the tool. Default: its id without the provider and the date. */
  readonly name?: string;
  /** Arguments for the provider, such as `{ searchContextSize: "low" }`. */
  readonly args?: { readonly [name: string]: Json };
  /** Its effect on the world, for policies, where a client does it. Default "write". */
  readonly effect?: Effect;
};

/**
 * A tool of the model's provider, such as web search. The provider runs it, so policies do not decide about
 * it. A call that it leaves to the caller (computer use) waits for a client.
 *
 * ```ts
 * agent({ name: "scout", model: openai("gpt-5"), tools: [providerTool({ id: "openai.web_search" })] });
 * ```
 */
export function providerTool(options: ProviderToolOptions): Tool {
  checkOptions(options, OPTIONS, 'providerTool({ id: "openai.web_search" })');
  const { id, args = {}, effect = "write", name = nameOf(id) } = options;
  return hosted({ id, args }, name, effect, inputChecker(name, { type: "object" }));
}

const OPTIONS = optionNames<ProviderToolOptions>()("id name args effect");

/** The tool of a provider object of the AI SDK. */
export function fromProviderObject(given: ProviderObject): Tool {
  const { id, args, name, execute } = given;
  if (execute !== undefined)
    throw new ToolDefinitionError(
      id,
      "it has an execute, and its effect is not known",
      'make it a tool with its effect: ...fromAiSdk({ bash }, { effect: "write" })',
    );
  return providerTool({ id, args: args as JsonObject, ...(typeof name === "string" && { name }) });
}

type ProviderObject = {
  readonly id: string;
  readonly args: object;
  readonly name?: unknown;
  readonly execute?: unknown;
};

export function isProviderObject(value: unknown): value is ProviderObject {
  return isObject(value) && /^provider(-defined)?$/.test(String(value.type)) && typeof value.id === "string";
}

/** A tool that a provider defines and runs, or that it leaves to a client. */
export function hosted(given: ProviderSpec, name: string, effect: Effect, input: InputChecker): Tool {
  checkName(name);
  const provider = providerSpec(name, given);
  return Object.freeze({
    ...clientTool<unknown, unknown>({ name, description: `The tool ${given.id}.`, effect }, input, undefined),
    provider,
  });
}

/** A checked copy. */
export function providerSpec(tool: string, given: ProviderSpec): ProviderSpec {
  const { id, args } = given;
  if (!/^[^.\s]+\.\S+$/.test(id) || !isObject(args))
    throw new ToolDefinitionError(
      tool,
      "it does not say which tool of which provider it is",
      'providerTool({ id: "openai.web_search", args: { searchContextSize: "low" } })',
    );
  return Object.freeze({ id, args: jsonOf(args) as JsonObject });
}

function nameOf(id: unknown): string {
  return String(id)
    .replace(/^[^.]*\./, "")
    .replace(/_\d{8}$/, "");
}
