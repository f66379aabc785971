import type { Json } from "../../../session/index.js";
import { argumentsOf, isObject, type JsonObject, objectOf, wordsFor } from "../fields.js";
import { callPart, listOf, otherPart, type Provider, textPart, tokens } from "./api.js";

/** The chat completions of OpenAI, and of all who speak like it. */
export const chatCompletions: Provider = {
  path: /\/chat\/completions$/,
  asked: (body) => ({
    model: wordsFor(body.model ?? "unknown"),
    messages: listOf(body.messages).map((message) => ({
      role: roleOf(message.role),
      parts: chatParts(message),
    })),
  }),
  answered(body) {
    const [choice] = listOf(body.choices);
    if (choice === undefined) return undefined;
    const usage = objectOf(body.usage);
    return {
      parts: chatParts(objectOf(choice.message)),
      finish: wordsFor(choice.finish_reason ?? "unknown"),
      usage: {
        input: tokens(usage.prompt_tokens),
        output: tokens(usage.completion_tokens),
        cached: tokens(objectOf(usage.prompt_tokens_details).cached_tokens),
        reasoning: tokens(objectOf(usage.completion_tokens_details).reasoning_tokens),
      },
      ...named(body),
    };
  },
  joined(events) {
    const calls = new Map<number, { id: Json; name: string; arguments: string }>();
    let [content, reasoning, finish]: [string, string, Json] = ["", "", null];
    let usage: Json = null;
    for (const event of events) {
      usage = event.usage ?? usage;
      const [choice] = listOf(event.choices);
      const delta = objectOf(choice?.delta);
      finish = choice?.finish_reason ?? finish;
      if (typeof delta.content === "string") content += delta.content;
      const thought = delta.reasoning_content ?? delta.reasoning;
      if (typeof thought === "string") reasoning += thought;
      for (const call of listOf(delta.tool_calls)) {
        const index = typeof call.index === "number" ? call.index : 0;
        const known = calls.get(index) ?? { id: call.id ?? "", name: "", arguments: "" };
        const asked = objectOf(call.function);
        if (typeof asked.name === "string") known.name += asked.name;
        if (typeof asked.arguments === "string") known.arguments += asked.arguments;
        calls.set(index, known);
      }
    }
    const [first] = events;
    if (first === undefined) return undefined;
    const tool_calls = [...calls.values()].map(({ id, name, arguments: text }) => ({
      id,
      function: { name, arguments: text },
    }));
    const message = {
      role: "assistant",
      content,
      ...(reasoning !== "" && { reasoning_content: reasoning }),
      tool_calls,
    };
    return {
      id: first.id ?? "",
      model: first.model ?? "",
      usage,
      choices: [{ message, finish_reason: finish }],
    };
  },
};

/** The responses of OpenAI. */
export const responses: Provider = {
  path: /\/responses$/,
  asked: (body) => ({
    model: wordsFor(body.model ?? "unknown"),
    ...(typeof body.instructions === "string" && { instructions: body.instructions }),
    messages:
      typeof body.input === "string"
        ? [{ role: "user", parts: [textPart(body.input)] }]
        : listOf(body.input).map(itemMessage),
  }),
  answered(body) {
    if (!Array.isArray(body.output)) return undefined;
    const usage = objectOf(body.usage);
    const parts = listOf(body.output).flatMap((item) => itemMessage(item).parts as readonly JsonObject[]);
    return {
      parts,
      finish: parts.some(({ type }) => type === "tool_call")
        ? "tool-calls"
        : wordsFor(body.status ?? "unknown"),
      usage: {
        input: tokens(usage.input_tokens),
        output: tokens(usage.output_tokens),
        cached: tokens(objectOf(usage.input_tokens_details).cached_tokens),
        reasoning: tokens(objectOf(usage.output_tokens_details).reasoning_tokens),
      },
      ...named(body),
    };
  },
  // The last event of a stream repeats the whole answer.
  joined: (events) =>
    events.map(({ response }) => response).findLast((response): response is JsonObject => isObject(response)),
};

function named(body: JsonObject): { readonly id?: string; readonly model?: string } {
  return {
    ...(typeof body.id === "string" && { id: body.id }),
    ...(typeof body.model === "string" && { model: body.model }),
  };
}

function roleOf(role: Json | undefined): string {
  return role === "developer" ? "system" : typeof role === "string" ? role : "user";
}

function chatParts(message: JsonObject): readonly JsonObject[] {
  const { content, tool_calls, reasoning_content } = message;
  if (message.role === "tool")
    return [
      { type: "tool_call_response", id: wordsFor(message.tool_call_id ?? ""), response: content ?? null },
    ];
  const thoughts =
    typeof reasoning_content === "string" ? [{ type: "reasoning", content: reasoning_content }] : [];
  const calls = listOf(tool_calls).map((call) => {
    const asked = objectOf(call.function);
    return callPart(call.id, asked.name, argumentsOf(wordsFor(asked.arguments ?? "{}")).input);
  });
  return [...thoughts, ...contentParts(content), ...calls];
}

/** Text, or a list of parts. */
export function contentParts(content: Json | undefined): readonly JsonObject[] {
  if (typeof content === "string") return content === "" ? [] : [textPart(content)];
  return listOf(content).map((part) =>
    typeof part.text === "string" && /^(text|input_text|output_text)$/.test(wordsFor(part.type ?? ""))
      ? textPart(part.text)
      : otherPart(part),
  );
}

/** An item of the responses API: a message, a thought, a call, a result, or something else. */
function itemMessage(item: JsonObject): JsonObject {
  switch (item.type) {
    case "function_call":
      return {
        role: "assistant",
        parts: [callPart(item.call_id, item.name, argumentsOf(wordsFor(item.arguments ?? "{}")).input)],
      };
    case "function_call_output":
      return {
        role: "tool",
        parts: [
          { type: "tool_call_response", id: wordsFor(item.call_id ?? ""), response: item.output ?? null },
        ],
      };
    case "reasoning": {
      const texts = listOf(item.summary).flatMap(({ text }) => (typeof text === "string" ? [text] : []));
      return { role: "assistant", parts: texts.map((content) => ({ type: "reasoning", content })) };
    }
    case "message":
    case undefined:
      return { role: roleOf(item.role), parts: contentParts(item.content) };
    default:
      return { role: "assistant", parts: [otherPart(item)] };
  }
}
