import { createAnthropic } from "@ai-sdk/anthropic";
import { createGoogleGenerativeAI } from "@ai-sdk/google";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import type { LanguageModel } from "../index.js";
import { anthropicFaults } from "./validators/anthropic.js";
import type { Body } from "./validators/body.js";
import { geminiFaults } from "./validators/gemini.js";
import { openaiChatFaults } from "./validators/openai-chat.js";
import { openaiResponsesFaults } from "./validators/openai-responses.js";

/** A real provider whose requests end here: `sent` is the body of the last one. */
export type Ending = {
  readonly name: string;
  readonly model: LanguageModel;
  readonly sent: () => Body;
  readonly faults: (body: Body) => readonly string[];
};

/** The AI SDK's own providers, with a `fetch` that keeps the body and gives the shortest valid reply. */
export function providers(): readonly Ending[] {
  return [
    ending("openai chat", openaiChatFaults, chatReply, (fetch) =>
      createOpenAI({ apiKey: "k", fetch }).chat("gpt-4o"),
    ),
    ending("openai-compatible", openaiChatFaults, chatReply, (fetch) =>
      createOpenAICompatible({ name: "local", baseURL: "http://localhost/v1", fetch }).chatModel("llama"),
    ),
    ending("openai responses", openaiResponsesFaults, responsesReply, (fetch) =>
      createOpenAI({ apiKey: "k", fetch }).responses("gpt-5"),
    ),
    ending("anthropic", anthropicFaults, anthropicReply, (fetch) =>
      createAnthropic({ apiKey: "k", fetch })("claude-sonnet-4-5"),
    ),
    ending("gemini 2.5", geminiFaults, geminiReply, (fetch) =>
      createGoogleGenerativeAI({ apiKey: "k", fetch })("gemini-2.5-flash"),
    ),
    ending("gemini 3", geminiFaults, geminiReply, (fetch) =>
      createGoogleGenerativeAI({ apiKey: "k", fetch })("gemini-3-pro-preview"),
    ),
  ];
}

type Fetch = typeof globalThis.fetch;

function ending(
  name: string,
  faults: Ending["faults"],
  reply: object,
  make: (fetch: Fetch) => LanguageModel,
): Ending {
  let sent: Body = {};
  const fetch: Fetch = async (_url, init) => {
    sent = JSON.parse(String(init?.body)) as Body;
    return new Response(JSON.stringify(reply), { headers: { "content-type": "application/json" } });
  };
  return { name, model: make(fetch), sent: () => sent, faults };
}

const chatReply = {
  id: "c",
  created: 1,
  model: "m",
  choices: [{ index: 0, message: { role: "assistant", content: "ok" }, finish_reason: "stop" }],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
};
const responsesReply = {
  id: "r",
  created_at: 1,
  model: "m",
  output: [
    {
      type: "message",
      role: "assistant",
      id: "msg_1",
      content: [{ type: "output_text", text: "ok", annotations: [] }],
    },
  ],
  usage: { input_tokens: 1, output_tokens: 1 },
};
const anthropicReply = {
  type: "message",
  id: "a",
  model: "m",
  role: "assistant",
  content: [{ type: "text", text: "ok" }],
  stop_reason: "end_turn",
  usage: { input_tokens: 1, output_tokens: 1 },
};
const geminiReply = {
  candidates: [{ content: { role: "model", parts: [{ text: "ok" }] }, finishReason: "STOP" }],
  usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 },
};
