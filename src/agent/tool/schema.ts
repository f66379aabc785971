import { type Json, thrownMessage } from "../../session/index.js";
import { isObject } from "../../util/index.js";
import { type Issue, ToolSchemaError } from "./error.js";
import { jsonOf, jsonOfOutput, NotJson, pathOf } from "./json.js";
import { flawOf, jsonSchemaCheck, ordered } from "./json-schema.js";

/** The interface of zod, valibot, arktype and others (standardschema.dev), repeated here to avoid a dependency. */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly "~standard": StandardProps<Input, Output>;
}

interface StandardProps<Input, Output> {
  readonly version: 1;
  readonly vendor: string;
  readonly types?: { readonly input: Input; readonly output: Output } | undefined;
  readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>;
}

type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] };

interface StandardIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** A Standard Schema that can also say what it is as a JSON Schema, which is what a model is shown. */
export interface StandardJson<Input = unknown, Output = Input> {
  readonly "~standard": StandardProps<Input, Output> & { readonly jsonSchema: Converter };
}

interface Converter {
  readonly input: (options: { readonly target: string }) => Record<string, unknown>;
  readonly output: (options: { readonly target: string }) => Record<string, unknown>;
}

/** A JSON Schema as data. */
export type JsonSchema = { readonly [keyword: string]: unknown; readonly "~standard"?: never };
export type JsonObject = { readonly [key: string]: Json };

export type InputSchema = StandardJson | JsonSchema;
export type OutputSchema = StandardSchema | JsonSchema;

/** The input of `run`: the model's input as the schema parses it. */
export type InputOf<Schema> = Schema extends StandardSchema ? TypesOf<Schema>["output"] : JsonObject;
/** The output that `run` may return, by the schema. Without a schema anything that JSON can hold. */
export type OutputOf<Schema> = Schema extends StandardSchema
  ? TypesOf<Schema>["input"]
  : string extends keyof Schema
    ? unknown
    : Json;
type TypesOf<Schema extends StandardSchema> = NonNullable<Schema["~standard"]["types"]>;

/** The schema of an object with these fields and no others. All of them are required unless some are named. */
export function objectSchema(
  properties: { readonly [field: string]: JsonSchema },
  required = Object.keys(properties),
): JsonSchema {
  return {
    type: "object",
    properties,
    ...(required.length > 0 && { required }),
    additionalProperties: false,
  };
}

/** A schema made ready: says whether a value fits and what becomes of it. A check that waits for nothing answers at once. */
export interface Checker {
  check(value: unknown): CheckResult | Promise<CheckResult>;
}
export type CheckResult =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly issues: readonly Issue[] };
export interface InputChecker extends Checker {
  readonly json: JsonObject;
}

export function inputChecker(tool: string, schema: unknown): InputChecker {
  const refuse = refusing(tool, "input");
  if (isStandard(schema))
    return { json: shown(refuse, generated(refuse, schema)), check: standardCheck(schema) };
  const json = shown(refuse, plain(refuse, schema));
  return { json, check: jsonSchemaCheck(json) };
}

export function outputChecker(tool: string, schema: unknown): Checker {
  if (isStandard(schema)) return { check: standardCheck(schema) };
  const check = jsonSchemaCheck(plain(refusing(tool, "output"), schema));
  // A validator of JSON must not be shown anything else.
  return { check: (value) => check(jsonOfOutput(value)) };
}

/** The JSON Schema of a result that a client gives. Without a schema, anything will do. */
export function answerSchema(tool: string, schema: unknown): JsonObject {
  const refuse = refusing(tool, "output");
  if (schema === undefined) return {};
  return isStandard(schema) ? generated(refuse, schema) : plain(refuse, schema);
}

type Refuse = (reason: string, hint: string, cause?: unknown) => ToolSchemaError;

function refusing(tool: string, side: "input" | "output"): Refuse {
  return (reason, hint, cause) => new ToolSchemaError(tool, side, reason, hint, cause);
}

/** Checks with a JSON Schema and a function that came with it, as schemas of the AI SDK do. */
export function customChecker(tool: string, schema: unknown, check?: Checker["check"]): InputChecker {
  const refuse = refusing(tool, "input");
  const json = shown(refuse, (check === undefined ? plain : copyOf)(refuse, schema));
  return { json, check: check ?? jsonSchemaCheck(json) };
}

/** Issues in our words: `{ path: "items[0].name", message }`. */
export function issuesOf(issues: readonly StandardIssue[]): Issue[] {
  return issues.map(({ message, path = [] }) => ({
    message: String(message),
    path: pathOf(path.map((step) => (typeof step === "object" && step !== null ? step.key : step))),
  }));
}

export function isStandard(schema: unknown): schema is StandardSchema {
  return (
    (typeof schema === "object" || typeof schema === "function") &&
    schema !== null &&
    typeof (schema as Partial<StandardSchema>)["~standard"]?.validate === "function"
  );
}

function standardCheck(schema: StandardSchema): Checker["check"] {
  const validate = validatorOf(schema);
  return async (value) => {
    const result = await validate(value);
    return result.issues === undefined
      ? { ok: true, value: result.value }
      : { ok: false, issues: issuesOf(result.issues) };
  };
}

/** Has Zod validate asynchronously from the start: its synchronous try leaves promises that may reject. */
function validatorOf(schema: StandardSchema): StandardProps<unknown, unknown>["validate"] {
  const { vendor, validate } = schema["~standard"];
  const { safeParseAsync } = schema as { readonly safeParseAsync?: unknown };
  if (vendor !== "zod" || typeof safeParseAsync !== "function") return validate;
  return async (value) => {
    const parsed = (await safeParseAsync.call(schema, value)) as
      | { readonly success: true; readonly data: unknown }
      | { readonly success: false; readonly error: { readonly issues: readonly StandardIssue[] } };
    return parsed.success ? { value: parsed.data } : { issues: parsed.error.issues };
  };
}

/** The dialect that providers are told when nobody says: tools of Anthropic must be this one. */
const DIALECT = "https://json-schema.org/draft/2020-12/schema";

function generated(refuse: Refuse, schema: StandardSchema): JsonObject {
  const { vendor, jsonSchema } = schema["~standard"] as Partial<StandardJson["~standard"]>;
  if (typeof jsonSchema?.input !== "function")
    throw refuse(
      `this ${vendor ?? "Standard"} schema does not say what it is as a JSON Schema`,
      hints[vendor ?? ""] ?? "pass a JSON Schema instead, or a schema with `~standard.jsonSchema`",
    );
  const json = copyOf(refuse, converted(refuse, jsonSchema));
  if (json.$schema !== DIALECT) return json;
  const { $schema, ...rest } = json;
  return rest;
}

const hints: { readonly [vendor: string]: string } = {
  valibot:
    'wrap it: import { toStandardJsonSchema } from "@valibot/to-json-schema"; input: toStandardJsonSchema(schema)',
  zod: "use zod 4.2 or newer; of zod/mini pass z.toJSONSchema(schema), of zod 3 what zod-to-json-schema makes of it",
  arktype: "use arktype 2.1.28 or newer, or pass schema.toJsonSchema()",
};

function converted(refuse: Refuse, converter: Converter): unknown {
  try {
    return converter.input({ target: "draft-2020-12" });
  } catch (error) {
    try {
      return converter.input({ target: "draft-07" });
    } catch {
      const hint = "describe what the model writes, which is JSON: a date is text, a Map is an object";
      throw refuse(`it has no JSON Schema: ${thrownMessage(error)}`, hint, error);
    }
  }
}

/** A schema that values are to be checked with. */
function plain(refuse: Refuse, schema: unknown): JsonObject {
  const json = copyOf(refuse, schema);
  const flaw = flawOf(json);
  if (flaw !== undefined) throw refuse(flaw.reason, flaw.hint);
  return json;
}

function copyOf(refuse: Refuse, schema: unknown): JsonObject {
  if (!isObject(schema))
    throw refuse(
      "it is neither a Standard Schema nor a JSON Schema",
      'pass z.object({ … }), or { type: "object", properties: { … } }',
    );
  try {
    return jsonOf(schema) as JsonObject;
  } catch (error) {
    if (!(error instanceof NotJson)) throw error;
    const place = pathOf(error.steps);
    throw refuse(
      place === "" ? error.reason : `at ${place}, ${error.reason}`,
      "a JSON Schema is plain data",
      error,
    );
  }
}

/** The schema as a model sees it, in a fixed order: the digest must not depend on a library. */
function shown(refuse: Refuse, json: JsonObject): JsonObject {
  const open = !["type", "$ref", "anyOf", "oneOf", "allOf", "not", "if"].some((keyword) => keyword in json);
  if (!open && json.type !== "object")
    throw refuse(
      `it describes ${JSON.stringify(json.type ?? "a choice")}, and every provider wants an object`,
      "put it into a field: z.object({ value: … })",
    );
  return ordered(open ? { type: "object", ...json } : json);
}

export type { Issue };
