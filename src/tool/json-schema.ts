import type { Validator } from "@cfworker/json-schema";
import type { Json } from "../session/index.js";
import type { Issue } from "./error.js";
import { pathOf } from "./json.js";
import type { Checker, JsonObject } from "./schema.js";

/** Checks values with a JSON Schema. The validator is loaded with the first value: most programs never need it. */
export function jsonSchemaCheck(json: JsonObject): Checker["check"] {
  let validator: Validator | undefined;
  return async (value) => {
    validator ??= await validatorOf(json);
    const { valid, errors } = validator.validate(value);
    return valid ? { ok: true, value } : { ok: false, issues: issuesOf(errors) };
  };
}

async function validatorOf(json: JsonObject): Promise<Validator> {
  const { Validator } = await import("@cfworker/json-schema");
  // It writes into the schema, which is ours and frozen.
  return new Validator(structuredClone(json), draftOf(json.$schema), false);
}

function draftOf(dialect: Json | undefined): "4" | "7" | "2019-09" | "2020-12" {
  const [found] = /draft-0[4-7]|2019-09/.exec(String(dialect ?? "")) ?? [];
  if (found === "2019-09") return found;
  return found === undefined ? "2020-12" : found === "draft-04" ? "4" : "7";
}

type Unit = {
  readonly keyword: string;
  readonly keywordLocation: string;
  readonly instanceLocation: string;
  readonly error: string;
};

/** Keywords that only say that something inside them is wrong. */
const carriers = new Set([
  "properties",
  "patternProperties",
  "additionalProperties",
  "unevaluatedProperties",
  "items",
  "prefixItems",
  "additionalItems",
  "$ref",
  "$recursiveRef",
  "allOf",
  "dependentSchemas",
]);

function issuesOf(units: readonly Unit[]): Issue[] {
  return units
    .filter(({ keyword }) => !carriers.has(keyword))
    .map(({ keyword, instanceLocation, error }) => ({
      path: pathOf(stepsOf(instanceLocation)),
      message: keyword === "false" ? "There must be nothing here." : error,
    }));
}

function stepsOf(pointer: string): string[] {
  return pointer
    .split("/")
    .slice(1)
    .map((step) => decodeURIComponent(step).replaceAll("~1", "/").replaceAll("~0", "~"));
}

/** Fields are in the order that their author chose, which is the order in which models write them. */
const maps = new Set(["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"]);
const data = new Set(["const", "enum", "default", "examples", "required", "dependentRequired"]);

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
      return [key, !isMap && data.has(key) ? inner : sorted(inner, !isMap && maps.has(key))];
    }),
  );
}

function frozen(json: Json): Json {
  if (typeof json === "object" && json !== null) Object.values(Object.freeze(json)).forEach(frozen);
  return json;
}

/** A pattern that is none: the validator would stumble over it with every value. */
export function flawOf(json: Json, isMap = false): string | undefined {
  if (isList(json)) return first(json, (inner) => flawOf(inner));
  if (typeof json !== "object" || json === null) return undefined;
  return first(Object.entries(json), ([key, inner]) => {
    if (isMap) return flawOf(inner);
    if (data.has(key)) return undefined;
    const patterns =
      key === "pattern" ? [inner] : key === "patternProperties" ? Object.keys(Object(inner)) : [];
    return first(patterns, badPattern) ?? flawOf(inner, maps.has(key));
  });
}

function badPattern(pattern: Json): string | undefined {
  try {
    new RegExp(String(pattern), "u");
    return undefined;
  } catch {
    return `its pattern ${JSON.stringify(pattern)} is not a regular expression`;
  }
}

function first<Item>(items: readonly Item[], find: (item: Item) => string | undefined): string | undefined {
  for (const item of items) {
    const found = find(item);
    if (found !== undefined) return found;
  }
  return undefined;
}

function isList(json: Json): json is readonly Json[] {
  return Array.isArray(json);
}
