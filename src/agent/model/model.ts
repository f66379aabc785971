import type { Json } from "../../session/index.js";
import { defined } from "../../util/index.js";
import type { ModelConfig, Parameters, ToolSpec } from "./config.js";
import { isRecord, OWN } from "./content.js";
import { inDialect } from "./dialect.js";
import { ModelError } from "./failure.js";
import type { Prompt } from "./prompt.js";
import { type ModelReply, replyOf } from "./reply.js";
import { assemble } from "./stream.js";

/**
 * A language model of the AI SDK, specification V2 (ai 5), V3 (ai 6) or V4 (ai 7). This is our own shape, so
 * nobody needs the AI SDK to compile; `model.test-d.ts` proves that all three fit.
 */
export interface LanguageModel {
  readonly specificationVersion: "v2" | "v3" | "v4";
  readonly provider: string;
  readonly modelId: string;
  doGenerate(options: CallOptions): PromiseLike<Generated>;
  doStream(options: CallOptions): PromiseLike<Streamed>;
}

/** The input of a call. The messages are in the form of the model's own specification. */
export type CallOptions = {
  readonly prompt: readonly object[];
  readonly abortSignal?: AbortSignal;
  readonly providerOptions?: { readonly [provider: string]: object };
};

/** The result of a call. The parts differ between the versions; reply.ts reads them one by one. */
export type Generated = {
  readonly content: readonly Typed[];
  readonly finishReason: FinishReason;
  readonly usage: object;
  readonly providerMetadata?: object;
  readonly response?: { readonly id?: string; readonly modelId?: string; readonly headers?: object };
  readonly warnings?: readonly object[];
};

export type Streamed = {
  readonly stream: { getReader(): Reader<Typed> };
  readonly response?: { readonly headers?: object };
};

export type Reader<Item> = {
  read(): PromiseLike<{ readonly done: boolean; readonly value?: Item | undefined }>;
  cancel(reason?: unknown): PromiseLike<void>;
};
/** A word in V2, the provider's word beside it since V3. */
export type FinishReason = string | { readonly unified: string; readonly raw?: string | undefined };
export type Typed = { readonly type: string };

export type CallSettings = {
  readonly signal?: AbortSignal;
  /** Whether to stream; the reply is the same. */
  readonly stream?: boolean;
  /** Hears each piece of a streamed reply: `{ type: "text" | "reasoning" | "tool-input", text, … }`. */
  readonly onDelta?: (delta: Json) => void;
  /** Keeps every piece of a stream as it came, as evidence. They take much more room than the reply. */
  readonly chunks?: boolean;
  /** How many replies this agent has had before (`turnOf`): scripted models go by it. */
  readonly turn?: number;
  /** Whether a tool was called since the agent was asked: then a `toolChoice` that demands a call is met. */
  readonly called?: boolean;
};

/** Asks a model for a whole reply. Throws a `ModelError`, or the signal's reason after an abort. */
export async function callModel(
  model: LanguageModel,
  prompt: Prompt,
  config: ModelConfig,
  settings: CallSettings = {},
): Promise<ModelReply> {
  const { signal, stream = false, onDelta = () => {} } = settings;
  const mint = (place: number) => `call_${prompt.digest.slice(0, 20)}_${place}`;
  try {
    signal?.throwIfAborted();
    const options = optionsFor(model, prompt, config, settings);
    const came = stream
      ? await assemble(await model.doStream(options), signal, onDelta)
      : await model.doGenerate(options);
    return replyOf(came, model.provider, mint);
  } catch (error) {
    if (signal?.aborted) throw signal.reason;
    throw ModelError.of(error);
  }
}

function optionsFor(
  model: LanguageModel,
  prompt: Prompt,
  config: ModelConfig,
  { signal, stream, chunks, turn, called }: CallSettings,
): CallOptions {
  const { reasoning, toolChoice, stop, cache, providerOptions, headers, ...numbers } =
    config.parameters ?? {};
  const tools = (config.tools ?? []).map((spec) => toolFor(model, spec));
  const all: { readonly [option: string]: unknown } = {
    ...numbers,
    ...(stop !== undefined && { stopSequences: [...stop] }),
    ...defined({ headers }),
    ...(reasoning !== undefined && model.specificationVersion === "v4" && { reasoning }),
    ...(tools.length > 0 && {
      tools: hinted(
        tools,
        tools.findLastIndex(({ type }) => type === "function"),
        cache,
      ),
      toolChoice: choiceOf(called === true && toolChoice !== "none" ? "auto" : toolChoice),
    }),
    ...(config.output !== undefined && { responseFormat: { type: "json", schema: config.output } }),
    ...(stream === true && chunks === true && { includeRawChunks: true }),
  };
  const rest = {
    prompt: hinted(inDialect(model, prompt), prompt.messages[0]?.role === "system" ? 0 : -1, cache),
    // For models that answer from a script or a record; providers read only what stands under their own name.
    providerOptions: {
      ...providerOptions,
      [OWN]: {
        prompt: prompt.digest,
        agent: config.agent,
        tokens: prompt.tokens,
        ...defined({ turn }),
      },
    },
    ...(signal !== undefined && { abortSignal: signal }),
  };
  return Object.assign(all, rest);
}

/** The list with a cache hint on one item: a provider caches everything up to it. */
function hinted(
  items: readonly object[],
  place: number,
  cache: Parameters["cache"] = false,
): readonly object[] {
  if (cache === false) return items;
  const providerOptions = {
    anthropic: { cacheControl: { type: "ephemeral", ...(cache === "1h" && { ttl: "1h" }) } },
    bedrock: { cachePoint: { type: "default" } },
  };
  return items.map((item, at) => (at === place ? { ...item, providerOptions } : item));
}

function toolFor(
  model: LanguageModel,
  { name, description, input }: ToolSpec,
): { readonly type: string; readonly [field: string]: unknown } {
  const {
    provider: id,
    args,
    ...rest
  } = (isRecord(input) ? input : {}) as { readonly [field: string]: Json };
  // A JSON Schema of an input always has a type.
  if (typeof id === "string" && args !== undefined && Object.keys(rest).length === 0)
    return { type: model.specificationVersion === "v2" ? "provider-defined" : "provider", id, name, args };
  return { type: "function", name, ...defined({ description }), inputSchema: input };
}

function choiceOf(choice: Parameters["toolChoice"] = "auto"): object {
  return typeof choice === "string" ? { type: choice } : { type: "tool", toolName: choice.tool };
}
