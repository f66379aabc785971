import type { Json } from "../../../session/index.js";
import { defined } from "../../../util/index.js";
import { type Fields, fieldsOf, isFields, objectsOf, parsed, stringOf, wordsFor } from "../fields.js";
import { callPart, otherPart, type Provider, resultPart, textPart, tokens } from "./api.js";

/** The chat completions of OpenAI, and of all who speak like it. */
export const chatCompletions: Provider = {
  path: /\/chat\/completions$/,
  asked: (body) => ({
    model: wordsFor(body.model ?? "unknown"),
    messages: objectsOf(body.messages).map((message) => ({
      role: roleOf(message.role),
      parts: chatParts(message),
    })),
  }),
  answered(body) {
    const [choice] = objectsOf(body.choices);
    if (choice === undefined) return undefined;
    const usage = fieldsOf(body.usage);
    return {
      parts: chatParts(fieldsOf(choice.message)),
      finish: wordsFor(choice.finish_reason ?? "unknown"),
      usage: {
        input: tokens(usage.prompt_tokens),
        output: tokens(usage.completion_tokens),
        cached: tokens(fieldsOf(usage.prompt_tokens_details).cached_tokens),
        reasoning: tokens(fieldsOf(usage.completion_tokens_details).reasoning_tokens),
      },
      ...defined({ id: stringOf(body.id), model: stringOf(body.model) }),
    };
  },
  joined(events) {
    const calls = new Map<number, { id: Json; name: string; arguments: string }>();
    let [content, reasoning, finish]: [string, string, Json] = ["", "", null];
    let usage: Json = null;
    for (const event of events) {
      usage = event.usage ?? usage;
      const [choice] = objectsOf(event.choices);
      const delta = fieldsOf(choice?.delta);
      finish = choice?.finish_reason ?? finish;
      if (typeof delta.content === "string") content += delta.content;
      const thought = delta.reasoning_content ?? delta.reasoning;
      if (typeof thought === "string") reasoning += thought;
      for (const call of objectsOf(delta.tool_calls)) {
        const index = typeof call.index === "number" ? call.index : 0;
        const known = calls.get(index) ?? { id: call.id ?? "", name: "", arguments: "" };
        const asked = fieldsOf(call.function);
        if (typeof asked.name === "string") known.name += asked.name;
        if (typeof asked.arguments === "string") known.arguments += asked.arguments;
        calls.set(index, known);
      }
    }
    const [first] = events;
    if (first === undefined) return undefined;
    const tool_calls = [...calls.values()].map(({ id, ...asked }) => ({ id, function: asked }));
    const thoughts = reasoning === "" ? {} : { reasoning_content: reasoning };
    const message = { role: "assistant", content, ...thoughts, tool_calls };
    const { id = "", model = "" } = first;
    return { id, model, usage, choices: [{ message, finish_reason: finish }] };
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
        : objectsOf(body.input).map(itemMessage),
  }),
  answered(body) {
    if (!Array.isArray(body.output)) return undefined;
    const usage = fieldsOf(body.usage);
    const parts = objectsOf(body.output).flatMap((item) => itemMessage(item).parts as readonly Fields[]);
    return {
      parts,
      finish: parts.some(({ type }) => type === "tool_call")
        ? "tool-calls"
        : wordsFor(body.status ?? "unknown"),
      usage: {
        input: tokens(usage.input_tokens),
        output: tokens(usage.output_tokens),
        cached: tokens(fieldsOf(usage.input_tokens_details).cached_tokens),
        reasoning: tokens(fieldsOf(usage.output_tokens_details).reasoning_tokens),
      },
      ...defined({ id: stringOf(body.id), model: stringOf(body.model) }),
    };
  },
  // The last event of a stream repeats the whole answer.
  joined: (events) => events.map(({ response }) => response).findLast(isFields),
};

function roleOf(role: Json | undefined): string {
  return role === "developer" ? "system" : (stringOf(role) ?? "user");
}

function chatParts(message: Fields): readonly Fields[] {
  const { content, tool_calls, reasoning_content } = message;
  if (message.role === "tool") return [resultPart(message.tool_call_id, content)];
  const thoughts =
    typeof reasoning_content === "string" ? [{ type: "reasoning", content: reasoning_content }] : [];
  const calls = objectsOf(tool_calls).map((call) => {
    const asked = fieldsOf(call.function);
    return callPart(call.id, asked.name, argumentsIn(asked));
  });
  return [...thoughts, ...contentParts(content), ...calls];
}

function argumentsIn(call: Fields): Json {
  return parsed(wordsFor(call.arguments ?? "{}"));
}

/** Text, or a list of parts. */
function contentParts(content: Json | undefined): readonly Fields[] {
  if (typeof content === "string") return content === "" ? [] : [textPart(content)];
  return objectsOf(content).map((part) =>
    typeof part.text === "string" && /^(text|input_text|output_text)$/.test(wordsFor(part.type ?? ""))
      ? textPart(part.text)
      : otherPart(part),
  );
}

/** An item of the responses API: a message, a thought, a call, a result, or something else. */
function itemMessage(item: Fields): Fields {
  switch (item.type) {
    case "function_call":
      return { role: "assistant", parts: [callPart(item.call_id, item.name, argumentsIn(item))] };
    case "function_call_output":
      return { role: "tool", parts: [resultPart(item.call_id, item.output)] };
    case "reasoning": {
      const texts = objectsOf(item.summary).flatMap(({ text }) => (typeof text === "string" ? [text] : []));
      return { role: "assistant", parts: texts.map((content) => ({ type: "reasoning", content })) };
    }
    case "message":
    case undefined:
      return { role: roleOf(item.role), parts: contentParts(item.content) };
    default:
      return { role: "assistant", parts: [otherPart(item)] };
  }
}
