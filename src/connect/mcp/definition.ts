import type { InputChecker, JsonObject } from "../../agent/tool/index.js";
import { customChecker, inputChecker, ToolSchemaError } from "../../agent/tool/index.js";
import { canonical, digestOf, type Effect, type Json, thrownMessage } from "../../session/index.js";
import { brief } from "./error.js";
import { tooDeep } from "./limits.js";

/** A tool as its server describes it, and the digest of all that it says of it. */
export type Definition = {
  /** As the server calls it. */
  readonly name: string;
  readonly description: string;
  readonly input: JsonObject;
  readonly effect: Effect;
  /** SHA-256 of the definition as the server gave it, in canonical form. */
  readonly digest: string;
  /** Before 2026 a client says which call may become a task, if the tool can. */
  readonly task?: true;
};

/** A tool that cannot be offered to a model, and why. */
export type Refused = { readonly name: string; readonly reason: string };

/** A server and its tools, as JSON that can be kept: tools made of it need no connection. */
export type Pin = {
  readonly server: string;
  readonly version: string;
  readonly protocol: string;
  readonly tools: readonly Definition[];
};

/** Limits of a description and of a schema, in characters. A longer one is an attack. */
const DESCRIPTION = 8_000;
const SCHEMA = 100_000;
/** Characters that a text may hold and that nobody sees: what they say is meant for models alone. */
const UNSEEN = /[\p{Cf}\p{Cs}\p{Co}\p{Cn}]|(?![\n\t])\p{Cc}/gu;

/** The definitions in a list of a server, and the entries that are refused. */
export function definitionsIn(list: readonly unknown[]): {
  readonly tools: readonly Definition[];
  readonly refused: readonly Refused[];
} {
  const tools = new Map<string, Definition>();
  const refused: Refused[] = [];
  for (const one of list) {
    const found = definitionOf(one);
    if ("reason" in found) refused.push(found);
    else if (tools.has(found.name))
      refused.push({ name: found.name, reason: "two tools have this name; the first is taken" });
    else tools.set(found.name, found);
  }
  return { tools: [...tools.values()], refused };
}

function definitionOf(given: unknown): Definition | Refused {
  const { name, description, title, inputSchema, annotations, execution } = fieldsOf(given);
  if (typeof name !== "string" || name === "") return { name: brief(String(name)), reason: "it has no name" };
  const refuse = (reason: string): Refused => ({ name: brief(name), reason });
  if (name.length > 256) return refuse("its name is longer than 256 characters");
  const schema = inputSchema ?? { type: "object" };
  if (typeof schema !== "object" || schema === null || Array.isArray(schema))
    return refuse("its input schema is not an object");
  if (tooDeep(given, 60)) return refuse("it is nested too deep");
  if (JSON.stringify(schema).length > SCHEMA)
    return refuse(`its input schema is longer than ${SCHEMA} characters`);
  const flaw = headerFlaw(schema as Json);
  if (flaw !== undefined) return refuse(flaw);
  const text = seen(typeof description === "string" ? description : "");
  const words = text === "" ? seen(typeof title === "string" ? title : "") : text;
  const { readOnlyHint, idempotentHint } = fieldsOf(annotations);
  const { taskSupport } = fieldsOf(execution);
  return Object.freeze({
    name,
    description: brief(words === "" ? `The tool ${brief(name)}.` : words, DESCRIPTION),
    input: schema as JsonObject,
    effect: readOnlyHint === true ? "read" : idempotentHint === true ? "idempotent" : "write",
    digest: digestOf(canonical(given as Json)),
    ...((taskSupport === "optional" || taskSupport === "required") && { task: true as const }),
  });
}

/** Whether a value is a pin: it may come from a file that somebody edited. */
export function isPin(value: unknown): value is Pin {
  const { server, version, protocol, tools } = fieldsOf(value);
  return (
    [server, version, protocol].every((one) => typeof one === "string") &&
    Array.isArray(tools) &&
    tools.every((tool) => {
      const { name, description, input, effect, digest } = fieldsOf(tool);
      return (
        [name, description, digest].every((one) => typeof one === "string" && one !== "") &&
        typeof input === "object" &&
        input !== null &&
        ["read", "idempotent", "write"].includes(effect as string)
      );
    })
  );
}

/** The name under which models call a tool: what every provider takes, and no other tool of the server has. */
export function nameFor(prefix: string, tool: string): string {
  const plain = `${prefix}${tool}`.replace(/[^a-zA-Z0-9_-]/g, "_");
  if (plain === `${prefix}${tool}` && plain.length <= 64) return plain;
  return `${plain.slice(0, 55)}_${digestOf(tool).slice(0, 8)}`;
}

/**
 * Shows a model the schema as it is, and checks with what of it can be checked in time that is known beforehand: a
 * pattern or a reference of a stranger can keep a validator busy forever. The server checks the rest itself.
 */
export function checkerOf(tool: string, schema: JsonObject): InputChecker {
  const tame = tamed(schema);
  if (tame === undefined) return customChecker(tool, schema, async (value) => ({ ok: true, value }));
  const { check } = inputChecker(tool, tame);
  return customChecker(tool, schema, check);
}

/** Whether a tool can be made of a definition, and if not, why. */
export function flawIn(tool: string, { input }: Definition): string | undefined {
  try {
    checkerOf(tool, input);
    return undefined;
  } catch (error) {
    if (error instanceof ToolSchemaError) return String(error.data.reason);
    return thrownMessage(error);
  }
}

/** Keywords that can make a check take any time: references, and patterns for names of fields. */
const REFERENCES: ReadonlySet<string> = new Set([
  "$ref",
  "$dynamicRef",
  "$recursiveRef",
  "patternProperties",
]);
const PATTERNS: ReadonlySet<string> = new Set(["pattern", "format"]);
const NAMED: ReadonlySet<string> = new Set(["properties", "$defs", "definitions", "dependentSchemas"]);

/** The schema without patterns; none if it refers to others. */
export function tamed(schema: JsonObject): JsonObject | undefined {
  let refers = false;
  const walk = (value: Json, names: boolean): Json => {
    if (Array.isArray(value)) return value.map((inner) => walk(inner as Json, false));
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).flatMap(([key, inner]) => {
        if (!names && REFERENCES.has(key)) refers = true;
        if (!names && PATTERNS.has(key)) return [];
        return [[key, walk(inner as Json, !names && NAMED.has(key))]];
      }),
    );
  };
  const tame = walk(schema, false) as JsonObject;
  return refers ? undefined : tame;
}

/** A text without what nobody sees. */
function seen(text: string): string {
  return text.toWellFormed().replace(UNSEEN, "").trim();
}

function fieldsOf(value: unknown): { readonly [field: string]: unknown } {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as { readonly [field: string]: unknown })
    : {};
}

const KEY = "x-mcp-header";
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const PRIMITIVE: ReadonlySet<unknown> = new Set(["string", "integer", "boolean"]);

/**
 * The problem of the headers into which a schema puts parameters, if any. A tool that wants it otherwise
 * than the protocol says could put a parameter where others read it, or where another header stands.
 */
export function headerFlaw(schema: Json): string | undefined {
  const taken = new Set<string>();
  const look = (value: Json, property: boolean): string | undefined => {
    if (typeof value !== "object" || value === null) return undefined;
    if (Array.isArray(value)) return first(value, (inner) => look(inner, false));
    const fields = value as { readonly [field: string]: Json };
    if (Object.hasOwn(fields, KEY)) {
      const flaw = headerFlawIn(fields, property, taken);
      if (flaw !== undefined) return flaw;
    }
    return first(Object.entries(fields), ([field, inner]) => {
      // Only what hangs from properties alone is in every call at the same place.
      const below = field === "properties" && typeof inner === "object" && !Array.isArray(inner);
      if (!below) return field === KEY || DATA.has(field) ? undefined : look(inner, false);
      return first(Object.values(inner ?? {}), (one) => look(one as Json, property));
    });
  };
  const top = (schema ?? {}) as { readonly [field: string]: Json };
  return Object.hasOwn(top, KEY) ? `${KEY} stands on the schema itself` : look(schema, true);
}

/** Fields that hold values, not schemas. */
const DATA: ReadonlySet<string> = new Set(["const", "default", "enum", "examples"]);

function headerFlawIn(
  fields: { readonly [field: string]: Json },
  property: boolean,
  taken: Set<string>,
): string | undefined {
  const name = fields[KEY];
  if (!property) return `${KEY} stands where not every call has a parameter`;
  if (typeof name !== "string" || !TOKEN.test(name))
    return `${JSON.stringify(name)} is not the name of a header`;
  if (!PRIMITIVE.has(fields.type))
    return `the parameter of the header ${name} is not a text, an integer or a boolean`;
  if (taken.has(name.toLowerCase())) return `two parameters want the header ${name}`;
  taken.add(name.toLowerCase());
  return undefined;
}

function first<One>(list: readonly One[], find: (one: One) => string | undefined): string | undefined {
  for (const one of list) {
    const found = find(one);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The problem of an answer to a form, if any. The schema may come from a stranger. */
export async function misfit(content: unknown, schema: Json): Promise<string | undefined> {
  const tame = tamed(schema as JsonObject);
  if (tame === undefined) return undefined;
  let check: ReturnType<typeof inputChecker>["check"];
  try {
    ({ check } = inputChecker("answer", tame));
  } catch {
    // The schema cannot be used: the server checks the answer itself.
    return undefined;
  }
  const result = await check(content ?? {});
  return result.ok ? undefined : result.issues.map((one) => `${one.path}: ${one.message}`).join("; ");
}

/** The answer with what its form says where it says nothing. */
export function withDefaults(content: unknown, schema: Json): Json {
  const { properties } = (schema ?? {}) as { readonly properties?: { readonly [field: string]: Json } };
  const given = (typeof content === "object" && content !== null ? content : {}) as { [field: string]: Json };
  const missing = Object.entries(properties ?? {}).flatMap(([field, of]) => {
    const { default: value } = (of ?? {}) as { readonly default?: Json };
    return value === undefined || Object.hasOwn(given, field) ? [] : [[field, value] as const];
  });
  return missing.length === 0 ? given : { ...Object.fromEntries(missing), ...given };
}
