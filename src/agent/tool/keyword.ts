import type { Json } from "../../session/index.js";

/** Keywords whose fields are schemas. They are in the order that their author chose, in which models write them. */
export const MAPS: ReadonlySet<string> = new Set([
  "properties",
  "patternProperties",
  "$defs",
  "definitions",
  "dependentSchemas",
]);
/** Keywords that hold data or names, and no schemas. */
export const DATA: ReadonlySet<string> = new Set([
  "const",
  "enum",
  "default",
  "examples",
  "required",
  "dependentRequired",
]);
/** Keywords that hold schemas, one or a list. */
export const SCHEMAS: ReadonlySet<string> = new Set([
  "items",
  "prefixItems",
  "additionalItems",
  "unevaluatedItems",
  "contains",
  "additionalProperties",
  "unevaluatedProperties",
  "propertyNames",
  "allOf",
  "anyOf",
  "oneOf",
  "not",
  "if",
  "then",
  "else",
]);
/** Keywords that hold a text. A field of the same name, forgotten to be put into `properties`, holds a schema. */
export const TEXTS: ReadonlySet<string> = new Set([
  "$id",
  "id",
  "$ref",
  "title",
  "description",
  "format",
  "pattern",
]);
/** All that a schema may say, in any dialect since draft 4. */
export const KEYWORDS: readonly string[] = [
  "type",
  ...MAPS,
  ...SCHEMAS,
  ...DATA,
  ...TEXTS,
  "dependencies",
  "minLength",
  "maxLength",
  "minimum",
  "maximum",
  "exclusiveMinimum",
  "exclusiveMaximum",
  "multipleOf",
  "minItems",
  "maxItems",
  "uniqueItems",
  "minContains",
  "maxContains",
  "minProperties",
  "maxProperties",
  "contentEncoding",
  "contentMediaType",
  "contentSchema",
  "nullable",
  "deprecated",
  "readOnly",
  "writeOnly",
];
export const TYPES: readonly string[] = ["string", "number", "integer", "boolean", "array", "object", "null"];

export function isList(json: Json | undefined): json is readonly Json[] {
  return Array.isArray(json);
}
