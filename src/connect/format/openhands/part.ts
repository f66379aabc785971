import type { Content, Json, Part } from "../../../session/index.js";
import { contentOf } from "../trajectory/arrival.js";
import { type Fields, isFields, own } from "../trajectory/foreign.js";

/** What the notes of imported events are called. */
export const NOTE = "openhands event";

export function textIn(fields: Fields, ...keys: readonly string[]): string {
  for (const key of keys) {
    const value = own(fields, key);
    if (typeof value === "string") return value;
  }
  return "";
}

export function contentIn(content: Json | undefined): Content {
  if (typeof content === "string") return content;
  return contentOf(
    (Array.isArray(content) ? (content as readonly Json[]) : []).map((part) =>
      isFields(part) && typeof part.text === "string"
        ? { type: "text", text: part.text }
        : { type: "other", value: part },
    ),
  );
}

export function partsIn(content: Content): readonly Part[] {
  return typeof content !== "string" ? content : content === "" ? [] : [{ type: "text", text: content }];
}

export function parsed(text: Json | undefined): Json | undefined {
  if (typeof text !== "string") return undefined;
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}

/** Tools are told in the form of OpenAI, or in the SDK's own. */
export function toolOf(tool: Fields): Json {
  const inside = own(tool, "function");
  const fields = isFields(inside) ? inside : tool;
  const description = own(fields, "description");
  return {
    name: textIn(fields, "name", "title"),
    ...(typeof description === "string" && { description }),
    input: own(fields, "parameters") ?? own(fields, "input_schema") ?? {},
  };
}
