import type { Json } from "../../../session/index.js";
import { type FieldReader, isFields } from "../fields.js";
import type { replyParts } from "./said.js";

export function detailOf(text: string): Json {
  try {
    const value = JSON.parse(text) as Json;
    return typeof value === "object" && value !== null ? value : text;
  } catch {
    return text;
  }
}

export function valueIn(left: FieldReader, name: string): Json | undefined {
  const held = left.json(name);
  if (typeof held !== "string") return held;
  try {
    return JSON.parse(held) as Json;
  } catch {
    return held;
  }
}

export function toolIn(tool: Json): Json {
  if (!isFields(tool)) return { name: "", input: tool };
  const { name, description, parameters } = tool;
  return {
    name: typeof name === "string" ? name : "",
    ...(typeof description === "string" && { description }),
    ...(isFields(parameters) && { input: parameters }),
  };
}

/** Whether a definition of a tool says nothing that the record of it does not. */
export function isExact(tool: Json): boolean {
  return (
    isFields(tool) &&
    tool.type === "function" &&
    Object.keys(tool).every((key) => ["type", "name", "description", "parameters"].includes(key))
  );
}

export function wordsOf(parts: ReturnType<typeof replyParts>): string | ReturnType<typeof replyParts> {
  const [only] = parts;
  return parts.length === 1 && only?.type === "text" ? only.text : parts;
}

/** Without what is undefined. */
export function plainJson(value: object): Json {
  return JSON.parse(JSON.stringify(value)) as Json;
}
