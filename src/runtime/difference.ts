import { canonical, type Json } from "../session/index.js";

type Fields = { readonly [key: string]: Json };

/** The path of the first value that two values of JSON differ in, such as `input.to[1]`; undefined when they are equal. */
export function firstDifference(one: Json, other: Json): string | undefined {
  let path = "";
  let left: Json | undefined = one;
  let right: Json | undefined = other;
  while (isNested(left) && isNested(right) && Array.isArray(left) === Array.isArray(right)) {
    const here: Fields = left;
    const there: Fields = right;
    const key = differingKey(here, there);
    if (key === undefined) return undefined;
    path += Array.isArray(here) ? `[${key}]` : `${path === "" ? "" : "."}${key}`;
    left = here[key];
    right = there[key];
  }
  return left === right ? undefined : path;
}

function differingKey(here: Fields, there: Fields): string | undefined {
  const keys = new Set([...Object.keys(here), ...Object.keys(there)]);
  return [...keys].find((key) => !isSame(here[key], there[key]));
}

function isSame(one: Json | undefined, other: Json | undefined): boolean {
  if (one === undefined || other === undefined) return one === other;
  return canonical(one) === canonical(other);
}

/** Lists count too: their items are fields named by place. */
function isNested(value: Json | undefined): value is Fields {
  return typeof value === "object" && value !== null;
}
