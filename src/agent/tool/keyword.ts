import type { Json } from "../../session/index.js";

function words(...lines: readonly string[]): ReadonlySet<string> {
  return new Set(lines.flatMap((line) => line.split(" ")));
}

/** Keywords whose fields are schemas. They stay in the order of their author, in which models write them. */
export const MAPS = words("properties patternProperties $defs definitions dependentSchemas");
/** Keywords that hold data or names, and no schemas. */
export const DATA = words("const enum default examples required dependentRequired");
/** Keywords that hold schemas, one or a list. */
export const SCHEMAS = words(
  "items prefixItems additionalItems unevaluatedItems contains",
  "additionalProperties unevaluatedProperties propertyNames allOf anyOf oneOf not if then else",
);
/** Keywords that hold a text. A field of the same name that is missing in `properties` would hold a schema. */
export const TEXTS = words("$id id $ref title description format pattern");
/** All keywords of a schema, in any dialect since draft 4. */
export const KEYWORDS: readonly string[] = [
  "type",
  ...MAPS,
  ...SCHEMAS,
  ...DATA,
  ...TEXTS,
  ...words(
    "dependencies minLength maxLength minimum maximum exclusiveMinimum exclusiveMaximum multipleOf",
    "minItems maxItems uniqueItems minContains maxContains minProperties maxProperties",
    "contentEncoding contentMediaType contentSchema nullable deprecated readOnly writeOnly",
  ),
];
export const TYPES: readonly string[] = [...words("string number integer boolean array object null")];

export function isList(json: Json | undefined): json is readonly Json[] {
  return Array.isArray(json);
}
