import type { Validator } from "@cfworker/json-schema";
import type { Json } from "../../session/index.js";
import type { Issue } from "./error.js";
import { pathOf } from "./json.js";
import { DATA, isList, MAPS } from "./keyword.js";
import type { Checker, CheckResult, JsonObject } from "./schema.js";

/** Checks values with a JSON Schema. The validator is loaded with the first value: most programs never need it. */
export function jsonSchemaCheck(json: JsonObject): Checker["check"] {
  let validator: Validator | undefined;
  return (value) => {
    if (validator !== undefined) return resultOf(validator, value);
    return validatorOf(json).then((loaded) => {
      validator = loaded;
      return resultOf(loaded, value);
    });
  };
}

function resultOf(validator: Validator, value: unknown): CheckResult {
  const { valid, errors } = validator.validate(value);
  return valid ? { ok: true, value } : { ok: false, issues: issuesOf(errors) };
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
