import type { LanguageModel, Prompt } from "../../agent/model/index.js";
import { callModel, costOf, estimateTokens, failureOf, priceOf, textOf } from "../../agent/model/index.js";
import { perform, pricesOf } from "../../runtime/index.js";
import { digestOf, type FactOf, type Json, type Session } from "../../session/index.js";
import { partOf } from "./content.js";
import { McpSamplingError } from "./error.js";
import type { Secrets } from "./http.js";

/** Lets a server ask a model while one of its tools is called. */
export type SamplingOptions = {
  readonly model: LanguageModel;
  /** Requests at most that one call may make. Default 5. */
  readonly most?: number;
  /** Tokens at most of each answer. Default 2,000. */
  readonly tokens?: number;
};

/** A request of a server to a model. */
export type Sample = { readonly key: string; readonly params: Json };

export const MOST = 5;
const TOKENS = 2_000;

/**
 * Asks the model what a server wants to know, through the door: the call is on the record, is charged to every budget
 * around it, and is not made when it does not fit. The model is told nothing but what the server says: neither the
 * conversation nor its tools.
 */
export async function sampled(
  session: Session,
  { model, tokens = TOKENS }: SamplingOptions,
  given: Json,
  use: { readonly server: string; readonly tool: string; readonly secrets: Secrets },
): Promise<{ readonly session: Session; readonly answer: Json }> {
  const { messages = [], systemPrompt, maxTokens, temperature, stopSequences } = (given ?? {}) as Params;
  const output = Math.min(tokens, typeof maxTokens === "number" && maxTokens > 0 ? maxTokens : tokens);
  const prompt = promptOf(messages, systemPrompt, use.secrets);
  const agent = `mcp:${use.server}`;
  const price = priceOf(model.modelId, pricesOf(session)) ?? priceOf(model.modelId);
  const by = `service:${model.provider}` as const;
  const parameters = {
    maxOutputTokens: output,
    ...(typeof temperature === "number" && { temperature }),
    ...(Array.isArray(stopSequences) && { stop: stopSequences.map(String) }),
  };
  const asked = await perform(session, {
    fact: { type: "model-call", model: model.modelId, agent, prompt: prompt.digest, parameters },
    effect: "read",
    act: async ({ signal }) => {
      const reply = await callModel(model, prompt, { agent, parameters }, { signal });
      const cost = price === undefined ? {} : { cost: costOf(reply.usage, price) };
      return { type: "model-reply", ...reply, ...cost, agent, by };
    },
    failed: (error, thrown) => ({
      type: "model-failure",
      error: thrown === undefined ? error : { ...failureOf(thrown), ...(error.code && { code: error.code }) },
      by,
    }),
    spend: {
      steps: 1,
      tokens: prompt.tokens + output,
      ...(price !== undefined && { money: costOf({ input: prompt.tokens, output }, price) }),
    },
  });
  if (asked.fact.type !== "model-reply")
    throw new McpSamplingError(
      use.server,
      use.tool,
      (asked.fact as FactOf<"model-failure">).error?.message ?? "the model gave no answer",
    );
  const { content, finish } = asked.fact;
  return {
    session: asked,
    answer: {
      role: "assistant",
      model: `${model.provider}/${model.modelId}`,
      content: { type: "text", text: textOf(content) },
      stopReason: finish === "length" ? "maxTokens" : "endTurn",
    },
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
