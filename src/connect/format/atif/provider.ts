import type { Json, Part } from "../../../session/index.js";
import { type Fields, fieldsOf, isFields, objectsIn, objectsOf, own, parsed, textIn } from "../fields.js";

/** What was said, in the words of a provider's interface: messages of OpenAI and Anthropic, contents of Gemini. */
export type Saying = { readonly role: string; readonly parts: readonly Part[] };

/** The messages that a model was asked with. */
export function askedIn(data: Json | undefined): readonly Saying[] {
  const fields = fieldsOf(data);
  const system = textIn(fields, "system");
  const messages = objectsIn(fields, "messages").map((one) => ({
    role: String(own(one, "role") ?? ""),
    parts: partsIn(own(one, "content"), own(one, "tool_calls")),
  }));
  const contents = objectsIn(fields, "contents").map((one) => ({
    role: own(one, "role") === "model" ? "assistant" : String(own(one, "role") ?? "user"),
    parts: objectsIn(one, "parts").flatMap(partOf),
  }));
  const first: readonly Saying[] =
    system === undefined ? [] : [{ role: "system", parts: [{ type: "text", text: system }] }];
  return [...first, ...messages, ...contents];
}

/** What a model answered. A call without an id has an empty one. */
export function answeredIn(data: Json | undefined): readonly Part[] {
  if (typeof data === "string") return [{ type: "text", text: data }];
  if (!isFields(data)) return [];
  const [candidate = {}] = objectsIn(data, "candidates");
  const content = own(candidate, "content");
  if (isFields(content)) return objectsIn(content, "parts").flatMap(partOf);
  const [choice = {}] = objectsIn(data, "choices");
  const message = own(choice, "message");
  const fields = isFields(message) ? message : data;
  return partsIn(own(fields, "content"), own(fields, "tool_calls"));
}

function partsIn(content: Json | undefined, calls: Json | undefined): readonly Part[] {
  const said: readonly Part[] =
    typeof content === "string" && content !== ""
      ? [{ type: "text", text: content }]
      : objectsOf(content).flatMap(partOf);
  return [...said, ...objectsOf(calls).flatMap(callOf)];
}

function partOf(part: Fields): readonly Part[] {
  const text = textIn(part, "text");
  const call = own(part, "functionCall");
  if (isFields(call)) return callOf(call);
  if (text !== undefined) return [{ type: "text", text }];
  const type = own(part, "type");
  if (type === "tool_use") return callOf(part);
  return type === "tool_result" || own(part, "functionResponse") !== undefined
    ? []
    : [{ type: "other", value: part }];
}

function callOf(call: Fields): readonly Part[] {
  const inside = own(call, "function");
  const fields = isFields(inside) ? inside : call;
  const name = textIn(fields, "name");
  if (name === undefined) return [];
  const given = own(fields, "arguments") ?? own(fields, "input") ?? own(fields, "args") ?? {};
  return [{ type: "tool-call", call: String(own(call, "id") ?? ""), name, input: parsed(given) }];
}
