import type { Json } from "../../../session/index.js";
import { argumentsOf, isObject, type JsonObject, objectOf, wordsFor } from "../fields.js";
import { callPart, listOf, otherPart, type Provider, textPart, tokens } from "./api.js";

/** The messages of Anthropic. */
export const anthropic: Provider = {
  path: /\/messages$/,
  asked(body) {
    const system =
      typeof body.system === "string"
        ? body.system
        : listOf(body.system)
            .map(({ text }) => wordsFor(text ?? ""))
            .join("\n");
    return {
      model: wordsFor(body.model ?? "unknown"),
      ...(system !== "" && { instructions: system }),
      messages: listOf(body.messages).map((message) => {
        const parts = blocks(message.content);
        const isResult = parts.some(({ type }) => type === "tool_call_response");
        return { role: isResult ? "tool" : wordsFor(message.role ?? "user"), parts };
      }),
    };
  },
  answered(body) {
    if (!Array.isArray(body.content)) return undefined;
    const usage = objectOf(body.usage);
    const cached = tokens(usage.cache_read_input_tokens);
    return {
      parts: blocks(body.content),
      finish: wordsFor(body.stop_reason ?? "unknown"),
      // What was read from a cache is not among the input tokens here.
      usage: {
        input: tokens(usage.input_tokens) + cached + tokens(usage.cache_creation_input_tokens),
        output: tokens(usage.output_tokens),
        cached,
      },
      ...(typeof body.id === "string" && { id: body.id }),
      ...(typeof body.model === "string" && { model: body.model }),
    };
  },
  joined(events) {
    const start = events.find(({ type }) => type === "message_start");
    if (start === undefined) return undefined;
    const content = new Map<number, { [field: string]: Json }>();
    const message: { [field: string]: Json } = { ...objectOf(start.message) };
    for (const event of events) {
      const index = typeof event.index === "number" ? event.index : 0;
      if (event.type === "content_block_start") content.set(index, { ...objectOf(event.content_block) });
      else if (event.type === "content_block_delta") grow(content.get(index), objectOf(event.delta));
      else if (event.type === "message_delta") {
        Object.assign(message, objectOf(event.delta));
        message.usage = { ...objectOf(message.usage), ...objectOf(event.usage) };
      }
    }
    for (const block of content.values())
      if (typeof block.partial === "string") {
        block.input = argumentsOf(block.partial === "" ? "{}" : block.partial).input;
        delete block.partial;
      }
    return { ...message, content: [...content.values()] };
  },
};

/** Adds a piece of a stream to the block that it belongs to. */
function grow(block: { [field: string]: Json } | undefined, delta: JsonObject): void {
  if (block === undefined) return;
  const add = (field: string, text: Json | undefined) => {
    if (typeof text === "string")
      block[field] = `${typeof block[field] === "string" ? block[field] : ""}${text}`;
  };
  add("text", delta.text);
  add("thinking", delta.thinking);
  add("signature", delta.signature);
  add("partial", delta.partial_json);
}

function blocks(content: Json | undefined): readonly JsonObject[] {
  if (typeof content === "string") return [textPart(content)];
  return listOf(content).map((block) => {
    switch (block.type) {
      case "text":
        return textPart(block.text ?? "");
      case "thinking":
        return { type: "reasoning", content: wordsFor(block.thinking ?? "") };
      case "tool_use":
        return callPart(block.id, block.name, block.input ?? {});
      case "tool_result": {
        const { content: given = null, is_error } = block;
        const response = is_error === true && !isObject(given) ? { error: given } : given;
        return { type: "tool_call_response", id: wordsFor(block.tool_use_id ?? ""), response };
      }
      default:
        return otherPart(block);
    }
  });
}
