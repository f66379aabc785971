import type { Json } from "../../session/index.js";
import { nearestOf } from "../../util/index.js";
import { pathOf } from "./json.js";
import { DATA, isList, KEYWORDS, MAPS, SCHEMAS, TEXTS, TYPES } from "./keyword.js";
import type { JsonObject } from "./schema.js";

/** What is wrong with a JSON Schema. */
export type Flaw = { readonly reason: string; readonly hint: string };

/**
 * What makes a JSON Schema another one than its author meant. A validator takes a schema without a word that it knows
 * as one that allows everything, refuses everything of a type that is none, and stumbles over patterns that are none.
 */
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

/** A type that is none, wherever there is a schema. */
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
  return typeof json === "object" && json !== null && !isList(json);
}

function quoted(word: string): string {
  return JSON.stringify(word);
}
