import { AuditError } from "../audit/error.js";

/** A page of a list. The cursors carry the order, and stay good when the list grows. */
export type ListPage<Item> = {
  readonly items: readonly Item[];
  readonly next: string | null;
  readonly previous: string | null;
};

export type ListOptions = {
  /** A cursor of an earlier page. */
  readonly after?: string | undefined;
  /** Maximum number of items, 1 to 1,000. */
  readonly limit?: number | undefined;
  /** From the end. */
  readonly reverse?: boolean | undefined;
};

/** Places from one on, in one direction. */
export type Stretch = { readonly from: number; readonly limit: number; readonly step: 1 | -1 };

const MOST = 1_000;

/** Refuses a number of things that an answer cannot have. */
export function limitOf(limit: number, things: string): number {
  if (Number.isSafeInteger(limit) && limit >= 1 && limit <= MOST) return limit;
  throw new AuditError(
    "question-refused",
    `An answer cannot have ${String(limit).slice(0, 40)} ${things}.`,
    `ask for 1 to ${MOST}`,
  );
}

/** Which places of a list of `length` a page asks for. */
export function stretchOf({ after, limit = 100, reverse = false }: ListOptions, length: number): Stretch {
  limitOf(limit, "items");
  if (after === undefined) return { from: reverse ? length - 1 : 0, limit, step: reverse ? -1 : 1 };
  const [, sign, place] = /^([ud])(\d{1,15})$/.exec(String(after)) ?? [];
  if (place === undefined)
    throw new AuditError(
      "question-refused",
      "The cursor is not one of this list.",
      "take `next` or `previous` of a page, or leave it out",
      { after: String(after).slice(0, 80) },
    );
  return { from: Number(place), limit, step: sign === "u" ? -1 : 1 };
}

/** The page of the items that were read from a stretch of places, the last of which is `end`. */
export function pageOf<Item>(
  items: readonly Item[],
  { from, step }: Stretch,
  end: number,
  length: number,
): ListPage<Item> {
  const after = end + step;
  const before = from - step;
  const cursor = (place: number, way: number): string | null =>
    place < 0 || place >= length ? null : `${way === 1 ? "d" : "u"}${place}`;
  return { items, next: cursor(after, step), previous: cursor(before, -step) };
}
