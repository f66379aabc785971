import type { Json } from "../../../session/index.js";
import { defined } from "../../../util/index.js";
import { amount, type Fields, fieldsOf, isFields, objectsOf, parsed, stringOf, wordsFor } from "../fields.js";

/** A request to a model, in the shape of the GenAI conventions. */
export type Asked = {
  readonly model: string;
  readonly instructions?: string;
  readonly messages: readonly Fields[];
};
/** The answer of a model, likewise. */
export type Answered = {
  readonly parts: readonly Fields[];
  readonly finish: string;
  readonly usage: {
    readonly input: number;
    readonly output: number;
    readonly cached?: number;
    readonly reasoning?: number;
  };
  readonly id?: string;
  readonly model?: string;
};

/** How one provider writes requests, answers and streams. */
export type Provider = {
  readonly path: RegExp;
  asked(body: Fields, path: string): Asked;
  /** A whole answer; undefined when it is something else. */
  answered(body: Fields, asked: Asked): Answered | undefined;
  /** The pieces of a stream as a whole answer. */
  joined(events: readonly Fields[]): Fields | undefined;
};

export function textPart(text: Json | undefined): Fields {
  return { type: "text", content: wordsFor(text) };
}

export function otherPart(value: Json): Fields {
  return { type: "other", value };
}

export function callPart(id: Json | undefined, name: Json | undefined, input: Json): Fields {
  return { type: "tool_call", id: wordsFor(id ?? ""), name: wordsFor(name ?? ""), arguments: input };
}

export function resultPart(id: Json | undefined, response: Json | undefined): Fields {
  return { type: "tool_call_response", id: wordsFor(id ?? ""), response: response ?? null };
}

/** A count of tokens that can be counted with. */
export function tokens(value: Json | undefined): number {
  return amount(value) ?? 0;
}

/** The data of the events of a stream. */
export function eventsIn(text: string): readonly Fields[] {
  const data = text.split(/\r?\n\r?\n/).map((event) =>
    event
      .split(/\r?\n/)
      .flatMap((line) => (line.startsWith("data:") ? [line.slice(5).trim()] : []))
      .join("\n"),
  );
  return data.map(parsed).filter(isFields);
}

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
      // Tokens read from a cache are not among the input tokens here.
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

/** The contents of Google. */
export const google: Provider = {
  path: /:(stream)?generateContent$/i,
  asked(body, path) {
    const counts = new Map<string, number>();
    const system = fieldsOf(body.systemInstruction ?? body.system_instruction);
    const words = objectsOf(system.parts)
      .map(({ text }) => wordsFor(text ?? ""))
      .join("\n");
    const messages = objectsOf(body.contents).map((content) => {
      const parts = objectsOf(content.parts).map((part) => partOf(part, counts));
      const isResult = parts.some(({ type }) => type === "tool_call_response");
      return { role: isResult ? "tool" : content.role === "model" ? "assistant" : "user", parts };
    });
    const [, model = "unknown"] = /models\/([^/:]+):/.exec(path) ?? [];
    return { model, ...(words !== "" && { instructions: words }), messages };
  },
  answered(body, { messages }) {
    const [candidate] = objectsOf(body.candidates);
    if (candidate === undefined) return undefined;
    // Calls without an id are told apart by how many there were before.
    const counts = new Map<string, number>();
    for (const { parts } of messages)
      for (const { type, name } of objectsOf(parts))
        if (type === "tool_call") counts.set(wordsFor(name), (counts.get(wordsFor(name)) ?? 0) + 1);
    const usage = fieldsOf(body.usageMetadata);
    return {
      parts: objectsOf(fieldsOf(candidate.content).parts).map((part) => partOf(part, counts)),
      finish: wordsFor(candidate.finishReason ?? "unknown"),
      usage: {
        input: tokens(usage.promptTokenCount),
        output: tokens(usage.candidatesTokenCount) + tokens(usage.thoughtsTokenCount),
        cached: tokens(usage.cachedContentTokenCount),
        reasoning: tokens(usage.thoughtsTokenCount),
      },
      ...defined({ id: stringOf(body.responseId), model: stringOf(body.modelVersion) }),
    };
  },
  joined(events) {
    const last = events.at(-1);
    if (last === undefined) return undefined;
    const candidates = events.flatMap((event) => objectsOf(event.candidates).slice(0, 1));
    const parts: { [field: string]: Json }[] = [];
    for (const part of candidates.flatMap(({ content }) => objectsOf(fieldsOf(content).parts))) {
      const before = parts.at(-1);
      const isMore =
        isPlainText(part) && before !== undefined && isPlainText(before) && part.thought === before.thought;
      if (isMore) before.text = `${before.text}${part.text}`;
      else parts.push({ ...part });
    }
    const finishReason = candidates.map((one) => one.finishReason).findLast((reason) => reason !== undefined);
    return {
      ...last,
      candidates: [{ content: { parts }, ...(finishReason !== undefined && { finishReason }) }],
    };
  },
};

function isPlainText(part: Fields): boolean {
  return (
    typeof part.text === "string" && Object.keys(part).every((key) => key === "text" || key === "thought")
  );
}

function partOf(part: Fields, counts: Map<string, number>): Fields {
  const { text, functionCall, functionResponse } = part;
  if (isFields(functionCall)) {
    const name = wordsFor(functionCall.name ?? "");
    const count = (counts.get(name) ?? 0) + 1;
    counts.set(name, count);
    return callPart(functionCall.id ?? `${name}-${count}`, name, functionCall.args ?? {});
  }
  if (isFields(functionResponse)) {
    const name = wordsFor(functionResponse.name ?? "");
    const id = functionResponse.id ?? `${name}-${counts.get(name) ?? 1}`;
    return resultPart(id, functionResponse.response);
  }
  if (typeof text === "string")
    return part.thought === true ? { type: "reasoning", content: text } : textPart(text);
  return otherPart(part);
}
