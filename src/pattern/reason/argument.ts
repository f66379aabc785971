import type { Json } from "../../session/index.js";
import { isObject, parseJson } from "../../util/index.js";

/** A tool as far as a call that is written as text needs it: its name, what it is for, and the JSON Schema of its input. */
export type Written = { readonly name: string; readonly description?: string; readonly input: Json };

/**
 * The words in the brackets of a written call as the tool's input: JSON, one word, or several by name or in
 * schema order. Anything else goes on as it is, and the tool's check tells the model.
 */
export function inputFor(words: string, schema: Json): Json {
  const given = words.trim();
  if (given === "") return {};
  const json = parseJson(given);
  if (isObject(json)) return json as Fields;
  const properties = Object.entries(propertiesOf(schema));
  const { required } = Object(schema) as { readonly required?: Json };
  const needed = properties.filter(([name]) => Array.isArray(required) && required.includes(name));
  const [only, ...more] = needed.length === 1 ? needed : properties;
  if (only === undefined) return { input: given };
  if (more.length === 0 && !isNamed(given, [only[0]])) return { [only[0]]: typed(given, only[1]) };
  return severalOf(given, properties) ?? { input: given };
}

/** How a call of a tool is written: `add[a, b]`. */
export function signatureOf({ name, input }: Written, [open, close]: readonly [string, string]): string {
  return `${name}${open}${Object.keys(propertiesOf(input)).join(", ")}${close}`;
}

export function wordsOf(input: Json): string {
  if (!isObject(input)) return typeof input === "string" ? input : JSON.stringify(input);
  const values = Object.values(input);
  if (values.length === 0) return "";
  return values.length === 1 && typeof values[0] === "string" ? values[0] : JSON.stringify(input);
}

/** The tool of that name, however its letters are written. */
export function toolCalled<Tool extends { readonly name: string }>(
  name: string,
  tools: readonly Tool[],
): Tool | undefined {
  const exact = tools.find((tool) => tool.name === name);
  if (exact !== undefined) return exact;
  const alike = tools.filter((tool) => tool.name.toLowerCase() === name.toLowerCase());
  return alike.length === 1 ? alike[0] : undefined;
}

type Fields = { readonly [name: string]: Json };

/** `a=1, b=2`, or `1, 2` in the order of the schema. */
function severalOf(given: string, properties: readonly (readonly [string, Json])[]): Json | undefined {
  const names = properties.map(([name]) => name);
  const pieces = given.match(/"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^,"']+|,|["']/g) ?? [];
  const values = [""];
  for (const piece of pieces)
    if (piece === ",") values.push("");
    else values[values.length - 1] += piece;
  if (values.length > names.length) return undefined;
  const fields: { [name: string]: Json } = {};
  for (const [place, value] of values.entries()) {
    const named = isNamed(value, names);
    const name = named?.name ?? (names[place] as string);
    const [, schema] = properties.find(([known]) => known === name) as readonly [string, Json];
    fields[name] = typed((named?.value ?? value).trim(), schema);
  }
  return fields;
}

function isNamed(
  words: string,
  names: readonly string[],
): { readonly name: string; readonly value: string } | undefined {
  const [, name = "", value = ""] = /^\s*(\w+)\s*=\s*([\s\S]*)$/.exec(words) ?? [];
  return names.includes(name) ? { name, value } : undefined;
}

/** A word of the type that the schema wants; quotes around it are not part of it. */
function typed(words: string, schema: Json): Json {
  const { type } = Object(schema) as { readonly type?: Json };
  const json = parseJson(words) as Json | undefined;
  if (type === "string") return typeof json === "string" ? json : unquoted(words);
  return json === undefined ? unquoted(words) : json;
}

function unquoted(words: string): string {
  return /^'([\s\S]*)'$/.exec(words)?.[1] ?? words;
}

function propertiesOf(schema: Json): Fields {
  const { properties } = Object(schema) as { readonly properties?: Json };
  return isObject(properties) ? (properties as Fields) : {};
}
