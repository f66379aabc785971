import type { Json } from "../../../session/index.js";
import { defined } from "../../../util/index.js";
import { type Fields, fieldsOf, isFields, objectsOf, parsed, stringOf, wordsFor } from "../fields.js";
import { callPart, otherPart, type Provider, resultPart, textPart, tokens } from "./api.js";

/** The messages of Anthropic. */
export const anthropic: Provider = {
  path: /\/messages$/,
  asked(body) {
    const system =
      typeof body.system === "string"
        ? body.system
        : objectsOf(body.system)
            .map(({ text }) => wordsFor(text ?? ""))
            .join("\n");
    return {
      model: wordsFor(body.model ?? "unknown"),
      ...(system !== "" && { instructions: system }),
      messages: objectsOf(body.messages).map((message) => {
        const parts = blocks(message.content);
        const isResult = parts.some(({ type }) => type === "tool_call_response");
        return { role: isResult ? "tool" : wordsFor(message.role ?? "user"), parts };
      }),
    };
  },
  answered(body) {
    if (!Array.isArray(body.content)) return undefined;
    const usage = fieldsOf(body.usage);
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
      ...defined({ id: stringOf(body.id), model: stringOf(body.model) }),
    };
  },
  joined(events) {
    const start = events.find(({ type }) => type === "message_start");
    if (start === undefined) return undefined;
    const content = new Map<number, { [field: string]: Json }>();
    const message: { [field: string]: Json } = { ...fieldsOf(start.message) };
    for (const event of events) {
      const index = typeof event.index === "number" ? event.index : 0;
      if (event.type === "content_block_start") content.set(index, { ...fieldsOf(event.content_block) });
      else if (event.type === "content_block_delta") grow(content.get(index), fieldsOf(event.delta));
      else if (event.type === "message_delta") {
        Object.assign(message, fieldsOf(event.delta));
        message.usage = { ...fieldsOf(message.usage), ...fieldsOf(event.usage) };
      }
    }
    for (const block of content.values())
      if (typeof block.partial === "string") {
        block.input = parsed(block.partial === "" ? "{}" : block.partial);
        delete block.partial;
      }
    return { ...message, content: [...content.values()] };
  },
};

/** Adds a piece of a stream to the block that it belongs to. */
function grow(block: { [field: string]: Json } | undefined, delta: Fields): void {
  if (block === undefined) return;
  const add = (field: string, text: Json | undefined) => {
    if (typeof text === "string") block[field] = `${stringOf(block[field]) ?? ""}${text}`;
  };
  add("text", delta.text);
  add("thinking", delta.thinking);
  add("signature", delta.signature);
  add("partial", delta.partial_json);
}

function blocks(content: Json | undefined): readonly Fields[] {
  if (typeof content === "string") return [textPart(content)];
  return objectsOf(content).map((block) => {
    switch (block.type) {
      case "text":
        return textPart(block.text ?? "");
      case "thinking":
        return { type: "reasoning", content: wordsFor(block.thinking ?? "") };
      case "tool_use":
        return callPart(block.id, block.name, block.input ?? {});
      case "tool_result": {
        const { content: given = null, is_error } = block;
        const failed = is_error === true && !isFields(given);
        return resultPart(block.tool_use_id, failed ? { error: given } : given);
      }
      default:
        return otherPart(block);
    }
  });
}
