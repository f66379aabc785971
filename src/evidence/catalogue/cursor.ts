import { isObject, parseJson, showValue } from "../../util/index.js";
import { AuditError } from "../audit/error.js";

const MOST = 1000;

export function limitOf(limit: number | undefined, usual: number): number {
  if (limit === undefined) return usual;
  if (Number.isSafeInteger(limit) && limit >= 1 && limit <= MOST) return limit;
  throw new AuditError(
    "question-refused",
    `Cannot list ${showValue(limit)} rows.`,
    `the limit is a whole number from 1 to ${MOST}`,
  );
}

/** Options that say how a page is made, and not what the list is of. */
type Paged = {
  readonly after?: string;
  readonly limit?: number;
  readonly fresh?: boolean | "soon";
  readonly within?: readonly string[];
};

/** The condition that a name fits one of some patterns, a name or the beginning of names and "*", and its values. */
export function fitting(
  patterns: readonly string[] | undefined,
): readonly [conditions: readonly string[], values: readonly string[]] {
  if (patterns === undefined || patterns.includes("*")) return [[], []];
  const each = patterns.map((pattern) =>
    pattern.endsWith("*") ? "substr(s.name, 1, length(?)) = ?" : "s.name = ? AND s.name = ?",
  );
  const values = patterns.map((pattern) => pattern.replace(/\*$/, ""));
  return [[`(${each.join(" OR ") || "0"})`], values.flatMap((value) => [value, value])];
}

/** Whether a name fits one of some patterns; every name fits none given. */
export function isFitting(patterns: readonly string[] | undefined, name: string): boolean {
  return (
    patterns === undefined ||
    patterns.some((pattern) =>
      pattern.endsWith("*") ? name.startsWith(pattern.slice(0, -1)) : name === pattern,
    )
  );
}

/** A place in a list, and what the list is of: the page that follows needs no other option. */
export function cursorOf(
  place: readonly number[],
  { after: _, limit: __, fresh: ___, within: ____, ...filter }: Paged,
): string {
  return Buffer.from(JSON.stringify([place, filter])).toString("base64url");
}

/** Where a page begins and what it is of: as the cursor says, or from `first` on as the options say. */
export function placeOf<Options extends Paged>(
  options: Options,
  first: readonly number[],
): { readonly place: readonly number[]; readonly filter: Options } {
  const { after, limit: _, fresh: __, within: ___, ...filter } = options;
  if (after === undefined) return { place: first, filter: filter as Options };
  const value = typeof after === "string" ? parseJson(Buffer.from(after, "base64url").toString()) : undefined;
  const [place, kept] = Array.isArray(value) ? (value as readonly unknown[]) : [];
  if (
    !Array.isArray(place) ||
    place.length !== first.length ||
    !place.every(Number.isSafeInteger) ||
    !isObject(kept) ||
    !Object.entries(kept).every(isFilter)
  )
    throw new AuditError(
      "question-refused",
      `Cannot go on after ${showValue(after)}.`,
      "give `next` of the last page as it was told",
    );
  if (Object.keys(filter).length > 0 && JSON.stringify(filter) !== JSON.stringify(kept))
    throw new AuditError(
      "question-refused",
      "Cannot go on with other filters than the page before.",
      "leave them out: the cursor keeps them",
    );
  return { place: place as readonly number[], filter: kept as Options };
}

/** Whether something can be a filter: a cursor may have been put together by hand. */
function isFilter([name, value]: readonly [string, unknown]): boolean {
  return typeof value === (name === "failed" ? "boolean" : "string");
}
