import type { Content, Failure, Json, Message, Part, Withheld } from "../../../session/index.js";
import { jsonCopy } from "../../../session/index.js";
import { defined } from "../../../util/index.js";
import { type Fields, fieldsOf, isFields, listOf, objectsOf, own, stringOf } from "../fields.js";
import { contentOf, fileIn, partsIn } from "../trajectory/arrival.js";
import { withheldText } from "../trajectory/kept.js";
import { partsOf, textOf } from "../trajectory/turn.js";

/** The content of a message of inspect, in the record's words. */
export function contentIn(content: Json | undefined, calls: Json | undefined): Content {
  const said = typeof content === "string" ? partsIn(content) : listOf(content).map(partIn);
  const wanted = objectsOf(calls).map(
    (call): Part => ({
      type: "tool-call",
      call: String(own(call, "id") ?? ""),
      name: String(own(call, "function") ?? ""),
      input: own(call, "arguments") ?? {},
    }),
  );
  return contentOf([...said, ...wanted]);
}

function partIn(part: Json): Part {
  if (!isFields(part)) return { type: "other", value: part };
  const { type, text, reasoning, image } = part;
  if (type === "text" && typeof text === "string") return { type: "text", text };
  if (type === "reasoning" && typeof reasoning === "string") return { type: "reasoning", text: reasoning };
  const file = type === "image" ? fileIn(image) : undefined;
  return file?.type === "file" && /^image\/[\w.+-]+$/.test(file.media)
    ? file
    : { type: "other", value: part };
}

/** An error of a tool call. */
export function failureIn(error: Json): Failure {
  const { type, message } = fieldsOf(error);
  return {
    name: "ToolCallError",
    message: stringOf(message) ?? textOf(error),
    ...defined({ code: stringOf(type) }),
  };
}

/** The content of a message as inspect writes it, without calls. */
export function contentFor(content: Content | Withheld | undefined): Json {
  const parts = partsOf(content).flatMap(partFor);
  const [only] = parts;
  if (parts.length === 0) return "";
  return parts.length === 1 && isFields(only) && only.type === "text" ? (only.text as Json) : parts;
}

function partFor(part: Part): readonly Json[] {
  switch (part.type) {
    case "text":
      return [{ type: "text", text: part.text }];
    case "reasoning":
      return [{ type: "reasoning", reasoning: part.text, redacted: false }];
    case "withheld":
      return [{ type: "text", text: withheldText(part) }];
    case "file": {
      const url = /^[a-z][a-z0-9+.-]*:/i.test(part.data)
        ? part.data
        : `data:${part.media};base64,${part.data}`;
      if (part.media.startsWith("image/")) return [{ type: "image", image: url, detail: "auto" }];
      const { name: filename = "file", media: mime_type } = part;
      return [{ type: "document", document: url, filename, mime_type, citations: false }];
    }
    case "tool-call":
      return [];
    default:
      return [{ type: "data", data: { part: jsonCopy(part) } }];
  }
}

/** The calls in a message as inspect writes them. */
export function callsFor(content: Content | Withheld | undefined): readonly Fields[] {
  return partsOf(content).flatMap((part) =>
    part.type === "tool-call" ? [callFor(part.call, part.name, part.input)] : [],
  );
}

export function callFor(id: string, name: string, input: unknown): Fields {
  return { id, function: name, arguments: argumentsFor(input), type: "function" };
}

export function argumentsFor(input: unknown): Fields {
  const value = jsonCopy(input);
  return isFields(value) ? value : { input: value };
}

/** A message of a conversation as inspect writes it. */
export function messageFor(message: Message, id: string): Fields {
  if (message.role === "tool") {
    const { call, name, output, error } = message;
    return {
      id,
      content: error === undefined ? textOf(output) : error.message,
      role: "tool",
      tool_call_id: call,
      function: name,
      ...(error !== undefined && { error: errorFor(error) }),
    };
  }
  const calls = message.role === "assistant" ? callsFor(message.content) : [];
  return {
    id,
    content: contentFor(message.content),
    role: message.role,
    ...(calls.length > 0 && { tool_calls: calls }),
  };
}

const ERRORS: ReadonlySet<string> = new Set([
  ..."parsing timeout unicode_decode permission file_not_found is_a_directory limit approval".split(" "),
  ..."cancelled sandbox_unavailable unknown output_limit".split(" "),
]);

export function errorFor(error: Failure): Fields {
  const { code = "unknown", message } = error;
  return { type: ERRORS.has(code) ? code : "unknown", message };
}

/** Tools in the form of Inspect. The event of the configuration has the rest of their schemas. */
export function toolsFor(tools: unknown): readonly Json[] {
  if (!Array.isArray(tools)) return [];
  return (tools as readonly unknown[]).filter(isFields).map((tool) => {
    const { name, description, input } = tool;
    const schema = schemaFor(input);
    return {
      name: String(name),
      description: typeof description === "string" ? description : "",
      parameters: {
        type: "object",
        properties: schema.properties ?? {},
        required: schema.required ?? [],
        additionalProperties: schema.additionalProperties ?? false,
      },
    };
  });
}

const TYPES: ReadonlySet<unknown> = new Set("string integer number boolean array object null".split(" "));
const TEXTS = ["description", "format", "pattern"];
const NUMBERS = ["minimum", "maximum", "minLength", "maxLength"];

/** The part of a JSON schema that Inspect has words for; it wants a default everywhere. */
function schemaFor(value: Json | undefined): Fields {
  const schema = isFields(value) ? value : {};
  const kept: { [key: string]: Json } = {};
  const type = own(schema, "type");
  if (TYPES.has(type) || (Array.isArray(type) && type.every((one) => TYPES.has(one))))
    kept.type = type as Json;
  for (const key of TEXTS) if (typeof own(schema, key) === "string") kept[key] = schema[key] as Json;
  for (const key of NUMBERS) if (Number.isInteger(own(schema, key))) kept[key] = schema[key] as Json;
  for (const key of ["enum", "examples"])
    if (Array.isArray(own(schema, key))) kept[key] = schema[key] as Json;
  const { properties, required, items, anyOf, additionalProperties: others } = schema;
  if (isFields(properties))
    kept.properties = Object.fromEntries(
      Object.entries(properties).map(([key, inside]) => [key, schemaFor(inside)]),
    );
  if (Array.isArray(required))
    kept.required = (required as readonly Json[]).filter((key) => typeof key === "string");
  if (isFields(items)) kept.items = schemaFor(items);
  if (Array.isArray(anyOf)) kept.anyOf = (anyOf as readonly Json[]).map((one) => schemaFor(one));
  if (typeof others === "boolean") kept.additionalProperties = others;
  else if (isFields(others)) kept.additionalProperties = schemaFor(others);
  return { ...kept, default: own(schema, "default") ?? null };
}

const LETTERS: { readonly [value: string]: number } = {
  C: 1,
  P: 0.5,
  I: 0,
  N: 0,
  yes: 1,
  true: 1,
  no: 0,
  false: 0,
};

/** The value of a score as a number, as Inspect counts it: correct, partial, incorrect, no answer. */
export function numberOf(value: Json | undefined): number | undefined {
  if (typeof value === "number") return value;
  if (typeof value === "boolean") return value ? 1 : 0;
  if (typeof value !== "string") return undefined;
  const known = [value, value.toLowerCase()].find((one) => Object.hasOwn(LETTERS, one));
  if (known !== undefined) return LETTERS[known];
  return /^-?\d+(\.\d+)?$/.test(value) ? Number(value) : undefined;
}
