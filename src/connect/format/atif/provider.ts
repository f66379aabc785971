import type { Json, Part } from "../../../session/index.js";
import { type Fields, isFields, own } from "../trajectory/foreign.js";

/** What was said, in the words of a provider's interface: messages of OpenAI and Anthropic, contents of Gemini. */
export type Saying = { readonly role: string; readonly parts: readonly Part[] };

/** The messages that a model was asked with. */
export function askedIn(data: Json | undefined): readonly Saying[] {
  if (!isFields(data)) return [];
  const system = own(data, "system");
  const messages = listIn(data, "messages").map((one) => ({
    role: String(own(one, "role") ?? ""),
    parts: partsIn(own(one, "content"), own(one, "tool_calls")),
  }));
  const contents = listIn(data, "contents").map((one) => ({
    role: own(one, "role") === "model" ? "assistant" : String(own(one, "role") ?? "user"),
    parts: listIn(one, "parts").flatMap(partOf),
  }));
  const first: readonly Saying[] =
    typeof system === "string" ? [{ role: "system", parts: [{ type: "text", text: system }] }] : [];
  return [...first, ...messages, ...contents];
}

/** What a model answered. A call without an id has an empty one. */
export function answeredIn(data: Json | undefined): readonly Part[] {
  if (typeof data === "string") return [{ type: "text", text: data }];
  if (!isFields(data)) return [];
  const candidate = listIn(data, "candidates")[0];
  const content = candidate === undefined ? undefined : own(candidate, "content");
  if (isFields(content)) return listIn(content, "parts").flatMap(partOf);
  const choice = listIn(data, "choices")[0];
  const message = choice === undefined ? undefined : own(choice, "message");
  const fields = isFields(message) ? message : data;
  return partsIn(own(fields, "content"), own(fields, "tool_calls"));
}

function partsIn(content: Json | undefined, calls: Json | undefined): readonly Part[] {
  const said: readonly Part[] =
    typeof content === "string"
      ? content === ""
        ? []
        : [{ type: "text", text: content }]
      : Array.isArray(content)
        ? (content as readonly Json[]).filter(isFields).flatMap(partOf)
        : [];
  const wanted = Array.isArray(calls) ? (calls as readonly Json[]).filter(isFields).flatMap(callOf) : [];
  return [...said, ...wanted];
}

function partOf(part: Fields): readonly Part[] {
  const text = own(part, "text");
  const call = own(part, "functionCall");
  if (isFields(call)) return callOf(call);
  if (typeof text === "string") return [{ type: "text", text }];
  const type = own(part, "type");
  if (type === "tool_use") return callOf(part);
  return type === "tool_result" || own(part, "functionResponse") !== undefined
    ? []
    : [{ type: "other", value: part }];
}

function callOf(call: Fields): readonly Part[] {
  const inside = own(call, "function");
  const fields = isFields(inside) ? inside : call;
  const name = own(fields, "name");
  if (typeof name !== "string") return [];
  const given = own(fields, "arguments") ?? own(fields, "input") ?? own(fields, "args") ?? {};
  return [{ type: "tool-call", call: String(own(call, "id") ?? ""), name, input: parsed(given) }];
}

/** Arguments are JSON, or text that is. */
export function parsed(given: Json): Json {
  if (typeof given !== "string") return given;
  try {
    return JSON.parse(given) as Json;
  } catch {
    return given;
  }
}

function listIn(fields: Fields, key: string): readonly Fields[] {
  const value = own(fields, key);
  return Array.isArray(value) ? (value as readonly Json[]).filter(isFields) : [];
}
