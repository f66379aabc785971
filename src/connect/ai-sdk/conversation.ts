import type { Content, Failure, Json, Message, Part, Principal, Session } from "../../session/index.js";

type Fields = { readonly [field: string]: Json };

/** Something of a prompt that a session does not have yet. */
export type Missing =
  | { readonly role: "user" | "assistant"; readonly content: Content }
  | {
      readonly role: "tool";
      readonly call: string;
      readonly name: string;
      readonly input: Json;
      readonly output?: Json;
      readonly error?: Failure;
    };

/** The messages in a prompt of the AI SDK. */
export function promptSaid(prompt: readonly Fields[]): readonly Missing[] {
  const calls = new Map<string, Json>();
  return prompt.flatMap((message) => saidIn(message, calls));
}

/**
 * The messages of a prompt that a conversation lacks, in order. Both are gone through side by side: a prompt may leave out
 * what was said, and another conversation may be recorded in between.
 */
export function missingIn(transcript: readonly Message[], prompt: readonly Missing[]): readonly Missing[] {
  const missing: Missing[] = [];
  let place = 0;
  for (const said of prompt) {
    const key = keyOf(said);
    if (key === "") continue;
    let found = place;
    while (found < transcript.length && keyOfMessage(transcript[found] as Message) !== key) found++;
    if (found === transcript.length) missing.push(said);
    else place = found + 1;
  }
  return missing;
}

/** Says what is missing: a message, or a call of a tool with what came of it. */
export function sayMissing(
  session: Session,
  said: Missing,
  by: Principal,
  stamp: { readonly at?: string } = {},
): Session {
  if (said.role !== "tool") {
    const { role, content } = said;
    return session.say(content, { role, ...stamp, ...(role === "assistant" && { by }) });
  }
  const { call, name, input, output = null, error } = said;
  const asked = session.append({ type: "tool-call", name, input, call, ...stamp, by });
  const tool: Principal = name === "" ? "tool" : `tool:${name}`;
  const outcome = { of: asked.id, ...stamp, by: tool };
  return asked.append(
    error === undefined
      ? { type: "tool-result", ...outcome, output }
      : { type: "tool-failure", ...outcome, error },
  );
}

/** A message in the record's words: one thing said, or several results. System messages are instructions. */
function saidIn({ role, content }: Fields, calls: Map<string, Json>): readonly Missing[] {
  const parts = (Array.isArray(content) ? content : []) as readonly Fields[];
  if (role === "tool")
    return parts.flatMap((part) => (part.type === "tool-result" ? [resultOf(part, calls)] : []));
  if (role !== "user" && role !== "assistant") return [];
  for (const part of parts)
    if (part.type === "tool-call") calls.set(String(part.toolCallId), part.input ?? {});
  return [{ role, content: wordsAlone(parts.map(sdkPart)) }];
}

/** Words alone are text; with anything else they are parts. */
export function wordsAlone(parts: readonly Part[]): Content {
  const [only] = parts;
  return parts.length === 1 && only?.type === "text" && only.meta === undefined ? only.text : parts;
}

function resultOf(part: Fields, calls: ReadonlyMap<string, Json>): Missing {
  const call = String(part.toolCallId);
  const outcome = outcomeOf((part.output ?? {}) as Fields);
  return { role: "tool", call, name: String(part.toolName), input: calls.get(call) ?? {}, ...outcome };
}

function outcomeOf({ type, value, reason }: Fields): { readonly output: Json } | { readonly error: Failure } {
  switch (type) {
    case "error-text":
      return { error: { name: "ToolError", message: String(value) } };
    case "error-json":
      return { error: { name: "ToolError", message: JSON.stringify(value), data: value ?? null } };
    case "execution-denied":
      return { error: deniedTool(String(reason ?? "It was not allowed.")) };
    case "content":
      return { output: { type: "content", value: value ?? [] } };
    default:
      return { output: value ?? null };
  }
}

/** A tool that somebody did not let run. */
export function deniedTool(message: string): Failure {
  return { name: "ToolDeniedError", message, code: "tool-denied" };
}

/** A part of a message of the AI SDK. */
export function sdkPart(part: Fields): Part {
  const meta = part.providerOptions === undefined ? {} : { meta: part.providerOptions };
  const [call, name] = [String(part.toolCallId), String(part.toolName)];
  switch (part.type) {
    case "text":
    case "reasoning":
      return { type: part.type, text: String(part.text), ...meta };
    case "tool-call":
      return {
        type: "tool-call",
        call,
        name,
        input: part.input ?? {},
        ...(part.providerExecuted === true && { provider: true }),
        ...meta,
      };
    case "tool-result": {
      const outcome = outcomeOf((part.output ?? {}) as Fields);
      return "output" in outcome
        ? { type: "tool-result", call, name, output: outcome.output, ...meta }
        : { type: "tool-result", call, name, output: outcome.error.message, failed: true, ...meta };
    }
    case "file": {
      const data = dataOf(part.data);
      if (data === undefined) return { type: "other", value: part };
      const { filename } = part;
      const named = typeof filename === "string" ? { name: filename } : {};
      return { type: "file", media: String(part.mediaType), data, ...named, ...meta };
    }
    default:
      return { type: "other", value: part };
  }
}

/** Base64 or a URL; since version 7 an object says which. */
function dataOf(data: Json | undefined): string | undefined {
  if (typeof data === "string") return data;
  const held = (data ?? {}) as Fields;
  const found = held.data ?? held.url;
  return typeof found === "string" ? found : undefined;
}

const keys = new WeakMap<Message, string>();

function keyOfMessage(message: Message): string {
  let key = keys.get(message);
  if (key === undefined) {
    key = keyOf(message);
    keys.set(message, key);
  }
  return key;
}

/** Equal for what was said and what a prompt repeats of it: words, files and calls. Thoughts do not always come back. */
function keyOf(message: Message | Missing): string {
  if (message.role === "tool") return `tool ${message.call}`;
  const { content } = message;
  const parts: readonly Part[] = typeof content === "string" ? [{ type: "text", text: content }] : content;
  let words = "";
  const others: Json[] = [];
  for (const part of parts) {
    if (part.type === "text") words += part.text;
    else if (part.type === "tool-call") others.push(["call", part.call, part.name]);
    else if (part.type === "file") others.push(["file", part.data]);
    else if (part.type === "other") others.push(["other", part.value]);
  }
  return words === "" && others.length === 0 ? "" : JSON.stringify([message.role, words, others]);
}
