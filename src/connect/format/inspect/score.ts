import type { Json } from "../../../session/index.js";

const LETTERS: ReadonlyMap<Json, number> = new Map([
  ["C", 1],
  ["P", 0.5],
  ["I", 0],
  ["N", 0],
  ["yes", 1],
  ["true", 1],
  ["no", 0],
  ["false", 0],
]);

/** The value of a score as a number, as Inspect counts it: correct, partial, incorrect, no answer. */
export function numberOf(value: Json | undefined): number | undefined {
  if (typeof value === "number") return value;
  if (typeof value === "boolean") return value ? 1 : 0;
  if (typeof value !== "string") return undefined;
  const known = LETTERS.get(value) ?? LETTERS.get(value.toLowerCase());
  if (known !== undefined) return known;
  return /^-?\d+(\.\d+)?$/.test(value) ? Number(value) : undefined;
}
