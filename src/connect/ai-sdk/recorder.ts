import {
  callModel,
  configFact,
  costOf,
  failureOf,
  type Generated,
  type LanguageModel,
  type ModelConfig,
  type ModelReply,
  type Parameters,
  type Prompt,
  plainJson,
  priceOf,
  renderPrompt,
  type Streamed,
  sentPrompt,
  type ToolSpec,
  transcriptFor,
} from "../../agent/model/index.js";
import { canonical } from "../../runtime/index.js";
import type { FactId, Failure, Json, Session } from "../../session/index.js";
import { defined } from "../../util/index.js";
import { missingIn, promptSaid, sayMissing } from "./conversation.js";

/** A call under way. */
export type Asked = {
  readonly call: Session;
  readonly request: SdkRequest;
  readonly prompt: Prompt;
  readonly model: SdkModel;
  readonly began: number;
};

/** The model that a middleware wraps. */
export type SdkModel = {
  readonly specificationVersion: string;
  readonly provider: string;
  readonly modelId: string;
};

/** Writes the calls of somebody else's loop into a session, each fact when it happens. */
export class Recorder {
  readonly #agent: string;
  readonly #configs = new Map<string, FactId>();
  #session: Session;
  #previous: Prompt | undefined;

  constructor(session: Session, agent: string) {
    this.#session = session;
    this.#agent = agent;
    for (let node: Session | undefined = session; node !== undefined; node = node.soleParent) {
      if (node.fact.type !== "agent-configure") continue;
      const key = configKey(node.fact);
      if (!this.#configs.has(key)) this.#configs.set(key, node.id);
    }
  }

  get session(): Session {
    return this.#session;
  }

  /** Notes what a model is asked: what is new in its prompt, how it is configured, and the call. */
  ask(params: object, model: SdkModel): Asked {
    const request = requestOf(this.#agent, params);
    const { config, messages } = request;
    for (const said of missingIn(this.#session.transcript, promptSaid(messages)))
      this.#session = sayMissing(this.#session, said, `agent:${this.#agent}`);
    const fact = configFact(config);
    const key = configKey(fact);
    let configured = this.#configs.get(key);
    if (configured === undefined) {
      this.#session = this.#session.append(fact);
      configured = this.#session.id;
      this.#configs.set(key, configured);
    }
    this.#previous = renderPrompt(config, transcriptFor(config, this.#session), this.#previous);
    const { prompt, parameters } = sentPrompt(this.#previous, messages);
    this.#session = this.#session.append({
      type: "model-call",
      model: model.modelId,
      agent: this.#agent,
      config: configured,
      prompt: prompt.digest,
      ...(parameters !== undefined && { parameters }),
      by: `agent:${this.#agent}`,
    });
    return { call: this.#session, request, prompt, model, began: performance.now() };
  }

  /** Notes a whole reply. */
  async generated(asked: Asked, result: Generated): Promise<void> {
    const reply = await callModel(
      { ...standIn(asked), doGenerate: async () => result },
      asked.prompt,
      asked.request.config,
    );
    const { body: _, headers: __, ...response } = (result.response ?? {}) as { [field: string]: unknown };
    const { request: ___, ...rest } = result as Generated & { readonly request?: unknown };
    this.#reply(asked, reply, { result: plainJson({ ...rest, response }) ?? null });
  }

  /** Notes a streamed reply, or what came of it: a stream that breaks off is a failure. */
  async streamed(
    asked: Asked,
    streamed: Streamed,
    parts: readonly { readonly type: string }[],
    end: End,
  ): Promise<void> {
    // An error is told by the failure, without the secrets that providers repeat in it.
    const pieces = parts.map((part) => (part.type === "error" ? { type: "error" } : part));
    const kept = { parts: plainJson(pieces) ?? [], end: end.type };
    try {
      if (end.type === "broken") throw end.error;
      const model = { ...standIn(asked), doStream: async () => ({ ...streamed, stream: streamOf(parts) }) };
      const reply = await callModel(model, asked.prompt, asked.request.config, { stream: true });
      this.#reply(asked, reply, kept);
    } catch (error) {
      this.failed(asked, error, kept);
    }
  }

  #reply(asked: Asked, reply: ModelReply, kept: { readonly [field: string]: Json }): void {
    const price = priceOf(asked.model.modelId);
    const { chunks: _, ...raw } = (reply.raw ?? {}) as { readonly [field: string]: Json };
    this.#session = this.#session.append({
      type: "model-reply",
      of: asked.call.id,
      ...reply,
      // The pieces among `kept` have the chunks already.
      raw: { ...raw, sdk: asked.model.specificationVersion, ...kept },
      ...(price !== undefined && { cost: costOf(reply.usage, price) }),
      milliseconds: elapsed(asked),
      agent: this.#agent,
      by: `service:${asked.model.provider}`,
    });
  }

  /** Notes that no reply came. */
  failed(asked: Asked, error: unknown, kept: { readonly [field: string]: Json } = {}): void {
    const failure: Failure = failureOf(error);
    const { isRetryable } = (error ?? {}) as { readonly isRetryable?: unknown };
    const sdk = { version: asked.model.specificationVersion, ...kept };
    this.#session = this.#session.append({
      type: "model-failure",
      of: asked.call.id,
      error: {
        ...failure,
        data: {
          ...(failure.data as object),
          // The AI SDK decides by this whether it tries again.
          sdk: typeof isRetryable === "boolean" ? { ...sdk, isRetryable } : sdk,
        },
      },
      milliseconds: elapsed(asked),
      by: `service:${asked.model.provider}`,
    });
  }
}

/** The end of a stream: closed by the provider, left by its reader, or broken. */
export type End =
  | { readonly type: "closed" }
  | { readonly type: "left" }
  | { readonly type: "broken"; readonly error: unknown };

function elapsed({ began }: Asked): number {
  return Math.round(performance.now() - began);
}

/** Stands where the model was: what it answered is known already, and is only read. */
function standIn({ model }: Asked): LanguageModel {
  const asked = (): never => {
    throw new TypeError("The model was asked already.");
  };
  const { specificationVersion, provider, modelId } = model as LanguageModel;
  return { specificationVersion, provider, modelId, doGenerate: asked, doStream: asked };
}

export function streamOf<Item>(items: Iterable<Item>): ReadableStream<Item> {
  const iterator = items[Symbol.iterator]();
  return new ReadableStream({
    pull(controller) {
      const next = iterator.next();
      if (next.done === true) controller.close();
      else controller.enqueue(next.value);
    },
  });
}

function configKey(fact: object): string {
  return canonical(withoutKeys(fact as Fields, "type", "at", "by", "run", "seq"));
}

type Fields = { readonly [field: string]: Json };

/** A request of the AI SDK to a model, as plain JSON. */
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

/** A tool that the provider runs itself has no schema: its id and arguments stand in its place. */
function toolSpec(tool: Fields): ToolSpec {
  const { name, description, inputSchema, id, args } = tool;
  return {
    name: String(name),
    ...(typeof description === "string" && { description }),
    input: inputSchema ?? { provider: id ?? null, args: args ?? {} },
  };
}

const SAME = "maxOutputTokens temperature topP topK seed presencePenalty frequencyPenalty reasoning".split(
  " ",
);

function parametersOf(options: Fields): { parameters?: Parameters } {
  const { stopSequences, toolChoice, providerOptions, responseFormat, tools } = options;
  const { type: choice = "auto", toolName: tool = "" } = (toolChoice ?? {}) as Fields;
  const format = withoutKeys(responseFormat as Fields | undefined, "type", "schema");
  const toolOptions = ((tools ?? []) as readonly Fields[]).flatMap((tool) => {
    const more = withoutKeys(tool, "type", "name", "description", "inputSchema", "id", "args");
    return Object.keys(more).length === 0 ? [] : [[String(tool.name), more] as const];
  });
  const parameters: Fields = {
    ...(defined(Object.fromEntries(SAME.map((name) => [name, options[name]]))) as Fields),
    ...(stopSequences !== undefined && { stop: stopSequences }),
    ...(toolChoice !== undefined && { toolChoice: choice === "tool" ? { tool } : choice }),
    ...(providerOptions !== undefined && { providerOptions }),
    // Options that our own agents do not have.
    ...(Object.keys(format).length > 0 && { responseFormat: format }),
    ...(toolOptions.length > 0 && { toolOptions: Object.fromEntries(toolOptions) }),
  };
  return Object.keys(parameters).length === 0 ? {} : { parameters: parameters as Parameters };
}

function withoutKeys(fields: Fields | undefined, ...keys: readonly string[]): Fields {
  return Object.fromEntries(Object.entries(fields ?? {}).filter(([key]) => !keys.includes(key)));
}
