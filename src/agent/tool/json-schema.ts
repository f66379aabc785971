import type { Validator } from "@cfworker/json-schema";
import { jsonValidator } from "../../runtime/index.js";
import type { Json } from "../../session/index.js";
import { isObject, nearestOf } from "../../util/index.js";
import type { Issue } from "./error.js";
import { pathOf } from "./json.js";
import type { Checker, CheckResult, JsonObject } from "./schema.js";

/** Checks values with a JSON Schema. The validator is loaded with the first value: most programs never need it. */
export function jsonSchemaCheck(json: JsonObject): Checker["check"] {
  let validator: Validator | undefined;
  return (value) => {
    if (validator !== undefined) return resultOf(validator, value);
    return jsonValidator(json).then((loaded) => {
      validator = loaded;
      return resultOf(loaded, value);
    });
  };
}

function resultOf(validator: Validator, value: unknown): CheckResult {
  const { valid, errors } = validator.validate(value);
  return valid ? { ok: true, value } : { ok: false, issues: issuesOf(errors) };
}

type Unit = {
  readonly keyword: string;
  readonly keywordLocation: string;
  readonly instanceLocation: string;
  readonly error: string;
};

/** Keywords that only say that something inside them is wrong. */
const carriers = words(
  "properties patternProperties additionalProperties unevaluatedProperties items prefixItems additionalItems",
  "$ref $recursiveRef allOf dependentSchemas",
);

function issuesOf(units: readonly Unit[]): Issue[] {
  return units
    .filter(({ keyword }) => !carriers.has(keyword))
    .map(({ keyword, instanceLocation, error }) => {
      const [, ...steps] = instanceLocation.split("/").map(decodeURIComponent);
      return {
        path: pathOf(steps.map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"))),
        message: keyword === "false" ? "There must be nothing here." : error,
      };
    });
}

/** The schema with its keywords in alphabetical order, frozen. */
export function ordered(json: JsonObject): JsonObject {
  return frozen(sorted(json)) as JsonObject;
}

function sorted(json: Json, isMap = false): Json {
  if (isList(json)) return json.map((inner) => sorted(inner));
  if (typeof json !== "object" || json === null) return json;
  const keys = isMap ? Object.keys(json) : Object.keys(json).sort();
  return Object.fromEntries(
    keys.map((key) => {
      const inner = json[key] as Json;
      return [key, !isMap && DATA.has(key) ? inner : sorted(inner, !isMap && MAPS.has(key))];
    }),
  );
}

function frozen(json: Json): Json {
  if (typeof json === "object" && json !== null) Object.values(Object.freeze(json)).forEach(frozen);
  return json;
}

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

export type Flaw = { readonly reason: string; readonly hint: string };

/** The flaw that would make a validator misread a JSON Schema: an unknown word, type or pattern. */
export function flawOf(json: JsonObject): Flaw | undefined {
  return wordless(json) ?? typeless(json, []) ?? patternless(json, false);
}

function wordless(json: JsonObject): Flaw | undefined {
  const words = Object.keys(json);
  const misplaced = words.find((word) => TEXTS.has(word) && typeof json[word] !== "string");
  if (misplaced !== undefined)
    return { reason: `its \`${misplaced}\` is not a text`, hint: propertiesWith(misplaced) };
  const [first] = words;
  if (first === undefined || words.some((word) => /^(\$|x-)/.test(word) || KEYWORDS.includes(word)))
    return undefined;
  const meant = nearestOf(first, KEYWORDS);
  return {
    reason: `it says nothing that a JSON Schema can say, only ${words.slice(0, 5).map(quoted).join(", ")}`,
    hint:
      meant === undefined || isSchema(json[first]) ? propertiesWith(first) : `did you mean ${quoted(meant)}?`,
  };
}

function propertiesWith(field: string): string {
  return `put fields into properties: { type: "object", properties: { ${quoted(field)}: { type: "string" } } }`;
}

/** An unknown type in the schema or inside of it. */
function typeless(json: Json | undefined, steps: readonly string[]): Flaw | undefined {
  if (!isSchema(json)) return undefined;
  const { type = [] } = json;
  const wrong = (isList(type) ? type : [type]).find((one) => !TYPES.includes(one as string));
  if (wrong !== undefined) {
    const place = steps.length === 0 ? "" : `at ${pathOf(steps)}, `;
    const meant = typeof wrong === "string" ? nearestOf(wrong, TYPES) : undefined;
    return {
      reason: `${place}${isSchema(wrong) ? "an object" : JSON.stringify(wrong)} is not a type`,
      hint: isSchema(wrong)
        ? propertiesWith("type")
        : `${meant === undefined ? "" : `did you mean ${quoted(meant)}? `}The types are ${TYPES.join(", ")}`,
    };
  }
  return first(Object.entries(json), ([key, inner]) => {
    const within = [...steps, key];
    if (MAPS.has(key) && isSchema(inner))
      return first(Object.entries(inner), ([field, schema]) => typeless(schema, [...within, field]));
    if (!SCHEMAS.has(key)) return undefined;
    return isList(inner)
      ? first([...inner.entries()], ([place, schema]) => typeless(schema, [...within, String(place)]))
      : typeless(inner, within);
  });
}

function patternless(json: Json, isMap: boolean): Flaw | undefined {
  if (isList(json)) return first(json, (inner) => patternless(inner, false));
  if (!isSchema(json)) return undefined;
  return first(Object.entries(json), ([key, inner]) => {
    if (isMap) return patternless(inner, false);
    if (DATA.has(key)) return undefined;
    const patterns =
      key === "pattern" ? [inner] : key === "patternProperties" ? Object.keys(Object(inner)) : [];
    return first(patterns, badPattern) ?? patternless(inner, MAPS.has(key));
  });
}

function badPattern(pattern: Json): Flaw | undefined {
  try {
    new RegExp(String(pattern), "u");
    return undefined;
  } catch {
    return {
      reason: `its pattern ${JSON.stringify(pattern)} is not a regular expression`,
      hint: "patterns are regular expressions with the flag u",
    };
  }
}

function first<Item>(items: readonly Item[], find: (item: Item) => Flaw | undefined): Flaw | undefined {
  for (const item of items) {
    const found = find(item);
    if (found !== undefined) return found;
  }
  return undefined;
}

function isSchema(json: Json | undefined): json is JsonObject {
  return isObject(json);
}

function quoted(word: string): string {
  return JSON.stringify(word);
}
