import { type ModelConfig, type Parameters, plainJson, type ToolSpec } from "../../agent/model/index.js";
import type { Json } from "../../session/index.js";

type Fields = { readonly [field: string]: Json };

/** What the AI SDK asks a model, as plain JSON. */
export type SdkRequest = { readonly config: ModelConfig; readonly messages: readonly Fields[] };

/** The options of a call of any of its versions. Only what is named here is kept: headers may hold secrets. */
export function requestOf(agent: string, params: object): SdkRequest {
  const options = (plainJson(params) ?? {}) as Fields;
  const messages = (options.prompt ?? []) as readonly Fields[];
  const system = messages.flatMap(({ role, content }) => (role === "system" ? [String(content)] : []));
  const tools = ((options.tools ?? []) as readonly Fields[]).map(toolSpec);
  const format = options.responseFormat as Fields | undefined;
  return {
    messages,
    config: {
      agent,
      ...(system.length > 0 && { instructions: system.join("\n\n") }),
      ...(tools.length > 0 && { tools }),
      // Any JSON fits the schema `true`.
      ...(format?.type === "json" && { output: format.schema ?? true }),
      ...parametersOf(options),
    },
  };
}

/** A tool that the provider runs itself has no schema; what it is stands in its place. */
function toolSpec(tool: Fields): ToolSpec {
  const { name, description, inputSchema, id, args } = tool;
  return {
    name: String(name),
    ...(typeof description === "string" && { description }),
    input: inputSchema ?? { provider: id ?? null, args: args ?? {} },
  };
}

const SAME = [
  "maxOutputTokens",
  "temperature",
  "topP",
  "topK",
  "seed",
  "presencePenalty",
  "frequencyPenalty",
  "reasoning",
] as const;

function parametersOf(options: Fields): { parameters?: Parameters } {
  const { stopSequences, toolChoice, providerOptions, responseFormat, tools } = options;
  const format = withoutKeys(responseFormat as Fields | undefined, "type", "schema");
  const toolOptions = ((tools ?? []) as readonly Fields[]).flatMap((tool) => {
    const more = withoutKeys(tool, "type", "name", "description", "inputSchema", "id", "args");
    return Object.keys(more).length === 0 ? [] : [[String(tool.name), more] as const];
  });
  const parameters: Fields = {
    ...Object.fromEntries(
      SAME.flatMap((name) => (options[name] === undefined ? [] : [[name, options[name]]])),
    ),
    ...(stopSequences !== undefined && { stop: stopSequences }),
    ...(toolChoice !== undefined && { toolChoice: choiceOf(toolChoice as Fields) }),
    ...(providerOptions !== undefined && { providerOptions }),
    // What our own agents have no word for.
    ...(Object.keys(format).length > 0 && { responseFormat: format }),
    ...(toolOptions.length > 0 && { toolOptions: Object.fromEntries(toolOptions) }),
  };
  return Object.keys(parameters).length === 0 ? {} : { parameters: parameters as Parameters };
}

function choiceOf({ type, toolName }: Fields): Json {
  return type === "tool" ? { tool: toolName ?? "" } : (type ?? "auto");
}

function withoutKeys(fields: Fields | undefined, ...keys: readonly string[]): Fields {
  return Object.fromEntries(Object.entries(fields ?? {}).filter(([key]) => !keys.includes(key)));
}
