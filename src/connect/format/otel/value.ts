import type { Json } from "../../../session/index.js";
import { defined } from "../../../util/index.js";
import { type FieldReader, isFields, parsed, stringOf } from "../fields.js";

export function detailOf(text: string): Json {
  const value = parsed(text);
  return typeof value === "object" && value !== null ? value : text;
}

/** The first of these attributes that is there; its text may be JSON. */
export function valueIn(left: FieldReader, ...names: readonly string[]): Json | undefined {
  for (const name of names) {
    const held = left.json(name);
    if (held !== undefined) return parsed(held);
  }
  return undefined;
}

export function toolIn(tool: Json): Json {
  if (!isFields(tool)) return { name: "", input: tool };
  const { name, description, parameters } = tool;
  return {
    name: stringOf(name) ?? "",
    ...defined({ description: stringOf(description) }),
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

/** Without what is undefined. */
export function plainJson(value: object): Json {
  return JSON.parse(JSON.stringify(value)) as Json;
}
