import { callModel, estimateTokens, type LanguageModel, type Prompt, textOf } from "../model/index.js";
import { digestOf, type FactInput, type Json } from "../session/index.js";
import { partOf } from "./result.js";
import type { Secrets } from "./secret.js";

/** Lets a server ask a model while one of its tools is called. */
export type SamplingOptions = {
  readonly model: LanguageModel;
  /** Requests at most that one call may make. Default 5. */
  readonly most?: number;
  /** Tokens at most of each answer. Default 2,000. */
  readonly tokens?: number;
};

export const MOST = 5;
const TOKENS = 2_000;

/**
 * Asks the model what a server wants to know, and leaves a note of it: what was asked, what was said, what it took. The
 * model is told nothing but what the server says: neither the conversation nor its tools.
 */
export async function sample(
  { model, tokens = TOKENS }: SamplingOptions,
  given: unknown,
  use: {
    readonly server: string;
    readonly tool: string;
    readonly secrets: Secrets;
    readonly signal: AbortSignal;
    readonly record: (fact: FactInput) => void;
  },
): Promise<object> {
  const { messages = [], systemPrompt, maxTokens, temperature, stopSequences } = (given ?? {}) as Params;
  const limit = Math.min(tokens, typeof maxTokens === "number" && maxTokens > 0 ? maxTokens : tokens);
  const prompt = promptOf(messages, systemPrompt, use.secrets);
  const agent = `mcp:${use.server}`;
  const reply = await callModel(
    model,
    prompt,
    {
      agent,
      parameters: {
        maxOutputTokens: limit,
        ...(typeof temperature === "number" && { temperature }),
        ...(Array.isArray(stopSequences) && { stop: stopSequences.map(String) }),
      },
    },
    { signal: use.signal },
  );
  const text = textOf(reply.content);
  const name = `${model.provider}/${model.modelId}`;
  use.record({
    type: "note",
    kind: "mcp-sampling",
    server: use.server,
    tool: use.tool,
    model: name,
    prompt: prompt.messages as unknown as Json,
    reply: text,
    finish: reply.finish,
    usage: reply.usage as unknown as Json,
  });
  return {
    role: "assistant",
    model: name,
    content: { type: "text", text },
    stopReason: reply.finish === "length" ? "maxTokens" : "endTurn",
  };
}

type Params = {
  readonly messages?: readonly { readonly role?: unknown; readonly content?: unknown }[];
  readonly [field: string]: unknown;
};

function promptOf(messages: Params["messages"] & object, system: unknown, secrets: Secrets): Prompt {
  const turns = messages.map(({ role, content }) => {
    const blocks = (Array.isArray(content) ? content : [content]) as Parameters<typeof partOf>[0][];
    const parts = blocks.map((block) => {
      const part = partOf(block, secrets);
      return part.type === "text" ? part : { type: "file" as const, mediaType: part.media, data: part.data };
    });
    return { role: role === "assistant" ? ("assistant" as const) : ("user" as const), content: parts };
  });
  const all = [
    ...(typeof system === "string" && system !== "" ? [{ role: "system" as const, content: system }] : []),
    ...turns,
  ] as Prompt["messages"];
  const text = all.map((message) => JSON.stringify(message)).join("\n");
  return {
    messages: all,
    text,
    digest: digestOf(text),
    tokens: estimateTokens(text),
    replies: turns.filter(({ role }) => role === "assistant").length,
    plain: turns.every(({ content }) => content.every(({ type }) => type === "text")),
  };
}
