import type { Schema, Validator } from "@cfworker/json-schema";
import { type FactId, type Json, Withheld } from "../../session/index.js";
import type { Store } from "../../store/index.js";
import { factAt, nearest } from "../tape/recorded.js";

/** A validator of values for a JSON Schema, in the dialect that the schema names or else 2020-12. Loaded at the first use. */
export async function jsonValidator(schema: { readonly $schema?: unknown }): Promise<Validator> {
  const { Validator } = await import("@cfworker/json-schema");
  // It writes into the schema, which may be frozen.
  return new Validator(structuredClone(schema) as Schema, draftOf(schema.$schema), false);
}

function draftOf(dialect: unknown): "4" | "7" | "2019-09" | "2020-12" {
  const [found] = /draft-0[4-7]|2019-09/.exec(String(dialect ?? "")) ?? [];
  if (found === "2019-09") return found;
  return found === undefined ? "2020-12" : found === "draft-04" ? "4" : "7";
}

/** The reason why a value does not fit a JSON Schema, if it does not. */
export async function misfitOf(schema: Json, value: Json): Promise<string | undefined> {
  const { valid, errors } = (await jsonValidator(Object(schema))).validate(value);
  if (valid) return undefined;
  const { instanceLocation = "#", error = "it does not fit" } = errors.at(-1) ?? {};
  const reason = error.replace(/\.$/, "");
  return instanceLocation === "#" ? reason : `${instanceLocation}: ${reason}`;
}

/** The input schema of the tool of a call, as its agent was set up when it asked the model; undefined where it is not recorded. */
export async function inputSchemaOf(store: Store, call: FactId): Promise<Json | undefined> {
  const called = await factAt(store, call);
  if (called?.type !== "tool-call") return undefined;
  const asked = await nearest(store, call, ({ type, by }) => type === "model-call" && by === called.by);
  if (asked?.fact.type !== "model-call" || asked.fact.config === undefined) return undefined;
  const { fact: config } = await store.load(asked.fact.config);
  if (config.type !== "agent-configure") return undefined;
  const tools: unknown = config.tools;
  if (!Array.isArray(tools) || tools instanceof Withheld) return undefined;
  return tools.find(({ name }) => name === called.name)?.input;
}
