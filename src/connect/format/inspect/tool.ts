import type { Json } from "../../../session/index.js";
import { type Fields, isFields, own } from "../fields.js";

/** Tools as Inspect tells a model about them. What its schemas cannot say stands in the event of the configuration. */
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

const TYPES: ReadonlySet<unknown> = new Set([
  "string",
  "integer",
  "number",
  "boolean",
  "array",
  "object",
  "null",
]);
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
