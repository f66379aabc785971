import type { Json } from "../../session/index.js";

const KEY = "x-mcp-header";
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const PRIMITIVE: ReadonlySet<unknown> = new Set(["string", "integer", "boolean"]);

/**
 * What is wrong with the headers into which a schema wants parameters to go, if anything. A tool that wants it otherwise
 * than the protocol says could put a parameter where others read it, or where another header stands.
 */
export function headerFlaw(schema: Json): string | undefined {
  const taken = new Set<string>();
  const look = (value: Json, property: boolean): string | undefined => {
    if (typeof value !== "object" || value === null) return undefined;
    if (Array.isArray(value)) return first(value, (inner) => look(inner, false));
    const fields = value as { readonly [field: string]: Json };
    if (Object.hasOwn(fields, KEY)) {
      const flaw = flawIn(fields, property, taken);
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

function flawIn(
  fields: { readonly [field: string]: Json },
  property: boolean,
  taken: Set<string>,
): string | undefined {
  const name = fields[KEY];
  if (!property) return `${KEY} stands where not every call has a parameter`;
  if (typeof name !== "string" || !TOKEN.test(name)) return `${JSON.stringify(name)} is no name of a header`;
  if (!PRIMITIVE.has(fields.type))
    return `the parameter of the header ${name} is no text, integer or boolean`;
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
