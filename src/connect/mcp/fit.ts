import type { JsonObject } from "../../agent/tool/index.js";
import { inputChecker } from "../../agent/tool/index.js";
import type { Json } from "../../session/index.js";
import { tamed } from "./definition.js";

/** What of an answer to a form does not fit it, if anything. The schema may be a stranger's. */
export async function misfit(content: unknown, schema: Json): Promise<string | undefined> {
  const tame = tamed(schema as JsonObject);
  if (tame === undefined) return undefined;
  let check: ReturnType<typeof inputChecker>["check"];
  try {
    ({ check } = inputChecker("answer", tame));
  } catch {
    // A schema that nobody can check with; whoever asked looks at the answer itself.
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
