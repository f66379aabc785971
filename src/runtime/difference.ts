import { canonical, type Json } from "../session/index.js";

/** The path of the first value that two values of JSON differ in, such as `input.to[1]`; undefined when they are equal. */
export function firstDifference(one: Json, other: Json): string | undefined {
  let path = "";
  let [left, right]: [Json | undefined, Json | undefined] = [one, other];
  while (isNested(left) && isNested(right) && Array.isArray(left) === Array.isArray(right)) {
    const [here, there]: [Fields, Fields] = [left as Fields, right as Fields];
    const key: string | undefined = [...new Set([...Object.keys(here), ...Object.keys(there)])].find(
      (name) => !isSame(here[name], there[name]),
    );
    if (key === undefined) return undefined;
    path += Array.isArray(left) ? `[${key}]` : `${path === "" ? "" : "."}${key}`;
    [left, right] = [here[key], there[key]];
  }
  return left === right ? undefined : path;
}

type Fields = { readonly [key: string]: Json };

function isNested(value: Json | undefined): value is Fields | readonly Json[] {
  return typeof value === "object" && value !== null;
}

function isSame(one: Json | undefined, other: Json | undefined): boolean {
  if (one === undefined || other === undefined) return one === other;
  return canonical(one) === canonical(other);
}
