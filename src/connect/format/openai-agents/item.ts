import type { Content, Json, Part } from "../../../session/index.js";
import { wordsAlone } from "../../ai-sdk/conversation.js";
import { FieldReader, type Fields, fieldsIn, fieldsOf, isFields, listOf } from "../fields.js";

/** The output of a model in parts. Fields that facts cannot express are kept as `meta`. */
export function partsOf(item: Json): readonly Part[] {
  if (!isFields(item)) return [{ type: "other", value: item }];
  const fields = new FieldReader(item);
  const type = fields.text("type") ?? (typeof item.role === "string" ? "message" : "");
  switch (type) {
    case "message":
      return messageParts(fields);
    case "reasoning":
      return reasoningParts(fields);
    case "function_call": {
      const call = fields.text("callId") ?? fields.text("id") ?? "";
      const name = fields.text("name") ?? "";
      return [{ type: "tool-call", call, name, input: fields.arguments(), ...metaOf(fields) }];
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

/** A message of the input; undefined for other items. */
export function messageOf(
  item: Fields,
): { readonly role: "user" | "assistant" | "system"; readonly content: Content } | undefined {
  const { role } = item;
  if (role !== "user" && role !== "assistant" && role !== "system") return undefined;
  return { role, content: wordsAlone(partsOf(item)) };
}

function messageParts(fields: FieldReader): readonly Part[] {
  fields.text("role");
  const content = fields.json("content");
  const parts =
    typeof content === "string"
      ? [{ type: "text" as const, text: content }]
      : Array.isArray(content)
        ? listOf(content).map(contentPart)
        : content === undefined
          ? []
          : [{ type: "other" as const, value: content }];
  return withMeta(parts, fields.rest);
}

function contentPart(part: Json): Part {
  if (!isFields(part)) return { type: "other", value: part };
  const fields = new FieldReader(part);
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

function reasoningParts(fields: FieldReader): readonly Part[] {
  const texts: Part[] = [];
  for (const [key, from] of [
    ["summary", fields.list("summary")],
    ["content", fields.list("content")],
    ["rawContent", fields.list("rawContent")],
  ] as const)
    for (const part of from ?? []) {
      const { text } = fieldsOf(part);
      texts.push(
        typeof text === "string"
          ? { type: "reasoning", text, meta: { openai: { [key]: part } } }
          : { type: "other", value: part },
      );
    }
  return withMeta(texts.length === 0 ? [{ type: "reasoning", text: "" }] : texts, fields.rest);
}

/** A tool that the provider ran: its call, and what it gave where that is told. */
function hostedParts(fields: FieldReader): readonly Part[] {
  const [call, name] = [fields.text("id") ?? "", fields.text("name") ?? ""];
  const input = fields.arguments();
  const output = fields.json("output");
  const asked: Part = { type: "tool-call", call, name, input, provider: true, ...metaOf(fields) };
  return output === undefined ? [asked] : [asked, { type: "tool-result", call, name, output }];
}

function metaOf(fields: FieldReader, alone = false): { readonly meta?: Json } {
  const { rest } = fields;
  return rest === undefined || alone ? {} : { meta: { openai: rest } };
}

/** Puts what is left of an item on the first of its parts that can hold it. */
function withMeta(parts: readonly Part[], rest: Fields | undefined): readonly Part[] {
  if (rest === undefined) return parts;
  const place = parts.findIndex((part) => part.type === "text" || part.type === "reasoning");
  if (place === -1) return [...parts, { type: "other", value: rest }];
  return parts.map((part, index) => {
    if (index !== place || (part.type !== "text" && part.type !== "reasoning")) return part;
    const held = fieldsIn(fieldsOf(part.meta), "openai");
    return { ...part, meta: { openai: { ...held, item: rest } } };
  });
}
