import type { Schema, Validator } from "@cfworker/json-schema";

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
