import type { FactId, FactInput, FactOf, Json } from "../../session/index.js";
import { canonical, Withheld } from "../../session/index.js";
import { defined } from "../../util/index.js";
import { WithheldPromptError } from "./error.js";

/** Everything besides the conversation that decides what a model is asked. */
export type ModelConfig = {
  readonly agent: string;
  readonly instructions?: string;
  readonly tools?: readonly ToolSpec[];
  /** JSON schema for the answer. */
  readonly output?: Json;
  readonly parameters?: Parameters;
  /** Only what was said after this session is in view. */
  readonly since?: FactId;
};

/** A tool as a model is told about it; `input` is a JSON schema, or `{ provider, args }`: the id and arguments of a provider's own tool. */
export type ToolSpec = { readonly name: string; readonly description?: string; readonly input: Json };

export type Parameters = {
  readonly maxOutputTokens?: number;
  readonly temperature?: number;
  readonly topP?: number;
  readonly topK?: number;
  readonly seed?: number;
  readonly stop?: readonly string[];
  readonly presencePenalty?: number;
  readonly frequencyPenalty?: number;
  /** The reasoning effort, for V4 models; for others use `providerOptions`. */
  readonly reasoning?: "provider-default" | "none" | "minimal" | "low" | "medium" | "high" | "xhigh" | "max";
  /** Which tools the model may or must call. After the first call of a tool, the choice is "auto". */
  readonly toolChoice?: "auto" | "none" | "required" | { readonly tool: string };
  /** Asks the provider to cache instructions and tools, where it wants to be asked (Anthropic, Bedrock); "1h" keeps them longer. */
  readonly cache?: boolean | "1h";
  readonly providerOptions?: { readonly [provider: string]: { readonly [option: string]: Json } };
  /** Sent with the request. They may hold secrets, so they are neither recorded nor part of the prompt's digest. */
  readonly headers?: { readonly [name: string]: string };
};

/** The fact that records a configuration; calls name it, so its bytes are kept once. */
export function configFact(config: ModelConfig): FactInput & { readonly type: "agent-configure" } {
  const { agent, instructions, tools, output, since } = config;
  const parameters = recorded(config.parameters);
  return {
    type: "agent-configure",
    by: `agent:${agent}`,
    agent,
    ...defined({
      instructions,
      tools: tools?.length ? tools.map(specified) : undefined,
      output,
      parameters,
      since,
    }),
  };
}

/** The configuration that a fact records: all of it but the headers. A typed error when content of it is withheld. */
export function configOf(fact: FactOf<"agent-configure">): ModelConfig {
  const withheld = Object.values(fact).filter((value: unknown) => value instanceof Withheld);
  if (withheld.length > 0) throw new WithheldPromptError(`the configuration of "${fact.agent}"`, withheld);
  const { agent, instructions, tools, output, parameters, since } = fact;
  return Object.freeze(defined({ agent, instructions, tools, output, parameters, since }) as ModelConfig);
}

const heads = new WeakMap<ModelConfig, string>();

/** The first line of a prompt's text: what is asked besides the messages. */
export function headOf(config: ModelConfig): string {
  let head = heads.get(config);
  if (head === undefined) {
    const parameters = recorded(config.parameters);
    head = canonical(
      defined({ tools: (config.tools ?? []).map(specified), output: config.output, parameters }),
    );
    heads.set(config, head);
  }
  return head;
}

function specified({ name, description, input }: ToolSpec): Json {
  return defined({ name, description, input });
}

/** Without headers and without what is undefined; nothing at all when nothing is left. */
function recorded(parameters: Parameters | undefined): Json | undefined {
  const { headers: _, ...rest } = parameters ?? {};
  const said = defined(rest);
  return Object.keys(said).length === 0 ? undefined : (said as Json);
}
