import type { Json } from "../../session/index.js";

/** A JSON Schema as plain JSON. */
export type JsonSchema = { readonly [keyword: string]: unknown };

declare const VALUE: unique symbol;

/** A JSON Schema and the TypeScript type of its values: requests are checked by it, and the client is typed by it. */
export type Schema<Value> = { readonly json: JsonSchema; readonly [VALUE]?: Value };
type Optional<Value> = Schema<Value> & { readonly optional: true };

/** The type of the values of a schema. */
export type ValueOf<Given> = Given extends Schema<infer Value> ? Value : never;

type Fields = { readonly [name: string]: Schema<unknown> };
type OptionalOf<Given extends Fields> = {
  [Name in keyof Given]: Given[Name] extends { readonly optional: true } ? Name : never;
}[keyof Given];
export type ObjectOf<Given extends Fields> = {
  readonly [Name in Exclude<keyof Given, OptionalOf<Given>>]: ValueOf<Given[Name]>;
} & { readonly [Name in OptionalOf<Given>]?: ValueOf<Given[Name]> };

/** A text, or one that the types of the library name more closely than a schema needs to. */
export const text = <Word extends string = string>(more: JsonSchema = {}): Schema<Word> => ({
  json: { type: "string", ...more },
});
export const integer = (more: JsonSchema = {}): Schema<number> => ({ json: { type: "integer", ...more } });
export const number = (more: JsonSchema = {}): Schema<number> => ({ json: { type: "number", ...more } });
export const flag = (more: JsonSchema = {}): Schema<boolean> => ({ json: { type: "boolean", ...more } });
/** Any JSON. */
export const anything = (description: string): Schema<Json> => ({ json: { description } });
/** A field that only ever is `true`. */
export const always = (): Schema<true> => ({ json: { type: "boolean", const: true } });

export function choice<const Word extends string>(
  words: readonly Word[],
  more: JsonSchema = {},
): Schema<Word> {
  return { json: { type: "string", enum: words, ...more } };
}

export function list<Item>(item: Schema<Item>, more: JsonSchema = {}): Schema<readonly Item[]> {
  return { json: { type: "array", items: item.json, ...more } };
}

/** A list of so many values, each of its own kind. */
export function tuple<const Items extends readonly Schema<unknown>[]>(
  ...items: Items
): Schema<{ readonly [Place in keyof Items]: ValueOf<Items[Place]> }> {
  const json = items.map((item) => item.json);
  return {
    json: { type: "array", prefixItems: json, items: false, minItems: json.length, maxItems: json.length },
  };
}

/** An object whose fields are named by the data. */
export function record<Value>(value: Schema<Value>): Schema<{ readonly [name: string]: Value }> {
  return { json: { type: "object", additionalProperties: value.json } };
}

/** Any of these shapes. */
export function either<const Given extends readonly Schema<unknown>[]>(
  ...schemas: Given
): Schema<ValueOf<Given[number]>> {
  return { json: { anyOf: schemas.map(({ json }) => json) } };
}

export function nullable<Value>(value: Schema<Value>): Schema<Value | null> {
  return { json: { anyOf: [value.json, { type: "null" }] } };
}

/** A field that may be left out. */
export function optional<Value>(value: Schema<Value>): Optional<Value> {
  return { ...value, optional: true };
}

/** Fields that several objects have. */
export function fields<const Given extends Fields>(given: Given): Given {
  return given;
}

/** An object of an answer: later versions may add fields. With a title it is a component of the OpenAPI document. */
export function object<Given extends Fields>(fields: Given, title?: string): Schema<ObjectOf<Given>> {
  return {
    json: {
      ...(title !== undefined && { title }),
      type: "object",
      properties: Object.fromEntries(Object.entries(fields).map(([name, { json }]) => [name, json])),
      required: Object.keys(fields).filter((name) => !("optional" in (fields[name] as object))),
    },
  };
}

/** An object of a request: a field that it does not have is refused, since a misspelt one would be ignored. */
export function input<Given extends Fields>(fields: Given): Schema<ObjectOf<Given>> {
  return { json: { ...object(fields).json, additionalProperties: false } };
}

/** A page of a list. `next` is null at its end; a page may be short, even empty, although there is more. */
export function page<Item>(item: Schema<Item>): Schema<{
  readonly items: readonly Item[];
  readonly next: string | null;
  readonly previous?: string | null;
  readonly indexing?: true;
}> {
  return { json: object({ items: list(item), ...cursors }).json };
}

/** Where a page goes on, for `after`. */
export const cursors = {
  next: nullable(text({ description: "the cursor of the next page, for `after`" })),
  previous: optional(nullable(text())),
  indexing: optional({
    json: { ...always().json, description: "something new is not in the index yet" },
  } as Schema<true>),
};
