import type { Content, Json, Part } from "../../../session/index.js";
import { argumentsOf, Fields, isObject, type JsonObject } from "../fields.js";

/** What a model gave, in parts. What facts have no words for rides along as `meta`. */
export function partsOf(item: Json): readonly Part[] {
  if (!isObject(item)) return [{ type: "other", value: item }];
  const fields = new Fields(item);
  const type = fields.text("type") ?? (typeof item.role === "string" ? "message" : "");
  switch (type) {
    case "message":
      return messageParts(fields);
    case "reasoning":
      return reasoningParts(fields);
    case "function_call": {
      const call = fields.text("callId") ?? fields.text("id") ?? "";
      const name = fields.text("name") ?? "";
      const text = fields.text("arguments");
      const { input, raw } = text === undefined ? { input: {} } : argumentsOf(text);
      fields.keep("arguments", raw);
      return [{ type: "tool-call", call, name, input, ...metaOf(fields) }];
    }
    case "hosted_tool_call":
      return hostedParts(fields);
    case "computer_call":
    case "local_shell_call":
    case "shell_call":
    case "apply_patch_call":
    case "program": {
      const call = fields.text("callId") ?? "";
      const input =
        fields.json("action") ??
        fields.json("actions") ??
        fields.json("operation") ??
        fields.json("code") ??
        {};
      return [{ type: "tool-call", call, name: type, input, ...metaOf(fields) }];
    }
    default:
      return [{ type: "other", value: item }];
  }
}

/** A tool call of an item, if it asks for one that is done on this side. */
export function callIn(item: Json): Extract<Part, { type: "tool-call" }> | undefined {
  const [part] = partsOf(item);
  return part?.type === "tool-call" && part.provider === undefined ? part : undefined;
}

/** What somebody said in the input: one message, or undefined when the item is none. */
export function messageOf(
  item: JsonObject,
): { readonly role: "user" | "assistant" | "system"; readonly content: Content } | undefined {
  const { role } = item;
  if (role !== "user" && role !== "assistant" && role !== "system") return undefined;
  const parts = partsOf(item);
  const [only] = parts;
  return {
    role,
    content: parts.length === 1 && only?.type === "text" && only.meta === undefined ? only.text : parts,
  };
}

function messageParts(fields: Fields): readonly Part[] {
  fields.text("role");
  const content = fields.json("content");
  const parts =
    typeof content === "string"
      ? [{ type: "text" as const, text: content }]
      : Array.isArray(content)
        ? (content as readonly Json[]).map(contentPart)
        : content === undefined
          ? []
          : [{ type: "other" as const, value: content }];
  return withMeta(parts, fields.rest);
}

function contentPart(part: Json): Part {
  if (!isObject(part)) return { type: "other", value: part };
  const fields = new Fields(part);
  const type = fields.text("type");
  if (type === "input_text" || type === "output_text" || type === "text") {
    const text = fields.text("text");
    if (text !== undefined) {
      // Which of the three words it was follows from who said it, but not always: it costs little to keep.
      fields.keep("type", type);
      return { type: "text", text, ...metaOf(fields, type === "text") };
    }
  }
  return { type: "other", value: part };
}

function reasoningParts(fields: Fields): readonly Part[] {
  const texts: Part[] = [];
  for (const [key, from] of [
    ["summary", fields.list("summary")],
    ["content", fields.list("content")],
    ["rawContent", fields.list("rawContent")],
  ] as const)
    for (const part of from ?? []) {
      const { text } = isObject(part) ? part : {};
      texts.push(
        typeof text === "string"
          ? { type: "reasoning", text, meta: { openai: { [key]: part } } }
          : { type: "other", value: part },
      );
    }
  return withMeta(texts.length === 0 ? [{ type: "reasoning", text: "" }] : texts, fields.rest);
}

/** A tool that the provider ran: its call, and what it gave where that is told. */
function hostedParts(fields: Fields): readonly Part[] {
  const [call, name] = [fields.text("id") ?? "", fields.text("name") ?? ""];
  const text = fields.text("arguments");
  const { input, raw } = text === undefined ? { input: {} } : argumentsOf(text);
  fields.keep("arguments", raw);
  const output = fields.json("output");
  const asked: Part = { type: "tool-call", call, name, input, provider: true, ...metaOf(fields) };
  return output === undefined ? [asked] : [asked, { type: "tool-result", call, name, output }];
}

function metaOf(fields: Fields, alone = false): { readonly meta?: Json } {
  const { rest } = fields;
  return rest === undefined || alone ? {} : { meta: { openai: rest } };
}

/** Puts what is left of an item on the first of its parts that can hold it. */
function withMeta(parts: readonly Part[], rest: JsonObject | undefined): readonly Part[] {
  if (rest === undefined) return parts;
  const place = parts.findIndex((part) => part.type === "text" || part.type === "reasoning");
  if (place === -1) return [...parts, { type: "other", value: rest }];
  return parts.map((part, index) => {
    if (index !== place || (part.type !== "text" && part.type !== "reasoning")) return part;
    const held = isObject(part.meta) && isObject(part.meta.openai) ? part.meta.openai : {};
    return { ...part, meta: { openai: { ...held, item: rest } } };
  });
}
