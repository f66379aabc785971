import type { Json } from "../session/index.js";

type Fields = { readonly [key: string]: Json };

/** The path of the first value that two values of JSON differ in, such as `input.to[1]`; undefined when they are equal. */
export function firstDifference(
  one: Json | undefined,
  other: Json | undefined,
  path = "",
): string | undefined {
  if (!isNested(one) || !isNested(other) || Array.isArray(one) !== Array.isArray(other))
    return one === other ? undefined : path;
  for (const key of new Set([...Object.keys(one), ...Object.keys(other)])) {
    const inner = Array.isArray(one) ? `[${key}]` : `${path === "" ? "" : "."}${key}`;
    const found = firstDifference(one[key], other[key], path + inner);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Lists count too: their items are fields named by place. */
function isNested(value: Json | undefined): value is Fields {
  return typeof value === "object" && value !== null;
}
