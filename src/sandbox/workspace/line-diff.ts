import { diffArrays } from "diff";

/** Lines `at` to `at + count` of the old text became lines `newAt` to `newAt + newCount` of the new one. */
export type LineChange = {
  readonly at: number;
  readonly count: number;
  readonly newAt: number;
  readonly newCount: number;
};

/** How many edits are looked for before two texts count as different: the search costs the square of it. */
const EDITS = 2000;

/** The lines of a text, each with its end, so that putting them together gives the text: also without one at the end. */
export function linesOf(text: string): string[] {
  const lines: string[] = [];
  for (let from = 0; from < text.length; ) {
    const end = text.indexOf("\n", from);
    const next = end === -1 ? text.length : end + 1;
    lines.push(text.slice(from, next));
    from = next;
  }
  return lines;
}

/**
 * What changed between two lists of lines, in order, with at least one common line between two changes. The fewest edits
 * where that can be found in time; else lines that both have once hold the texts together, and what lies between two of
 * them and still differs too much is one change.
 */
export function changedLines(before: readonly string[], after: readonly string[]): readonly LineChange[] {
  const whole = { at: 0, count: before.length, newAt: 0, newCount: after.length };
  const changes = myers(before, after, whole, EDITS);
  if (changes !== undefined) return changes;
  let left = 2 * EDITS;
  const found: LineChange[] = [];
  for (const between of betweenAnchors(before, after)) {
    const limit = Math.min(left, EDITS / 2);
    const inside = limit === 0 ? undefined : myers(before, after, between, limit);
    left -= inside === undefined ? limit : 0;
    found.push(...(inside ?? [trimmed(before, after, between)]));
  }
  return found;
}

function myers(
  before: readonly string[],
  after: readonly string[],
  { at, count, newAt, newCount }: LineChange,
  limit: number,
): LineChange[] | undefined {
  const parts = diffArrays(before.slice(at, at + count), after.slice(newAt, newAt + newCount), {
    maxEditLength: limit,
  });
  if (parts === undefined) return undefined;
  const changes: LineChange[] = [];
  let [old, now] = [at, newAt];
  let open: { at: number; newAt: number } | undefined;
  for (const part of parts) {
    if (part.added || part.removed) {
      open ??= { at: old, newAt: now };
      if (part.removed) old += part.count;
      else now += part.count;
      continue;
    }
    if (open !== undefined) changes.push({ ...open, count: old - open.at, newCount: now - open.newAt });
    open = undefined;
    old += part.count;
    now += part.count;
  }
  if (open !== undefined) changes.push({ ...open, count: old - open.at, newCount: now - open.newAt });
  return changes;
}

/** What lies before, between and behind the lines that both texts have exactly once and in the same order. */
function betweenAnchors(before: readonly string[], after: readonly string[]): LineChange[] {
  const places = new Map<string, number>();
  after.forEach((line, place) => {
    places.set(line, places.has(line) ? -1 : place);
  });
  const counts = new Map<string, number>();
  for (const line of before) counts.set(line, (counts.get(line) ?? 0) + 1);
  const pairs: { readonly at: number; readonly newAt: number }[] = [];
  before.forEach((line, at) => {
    const newAt = places.get(line) ?? -1;
    if (newAt >= 0 && counts.get(line) === 1) pairs.push({ at, newAt });
  });
  const between: LineChange[] = [];
  let [at, newAt] = [0, 0];
  for (const anchor of [...rising(pairs), { at: before.length, newAt: after.length }]) {
    if (anchor.at > at || anchor.newAt > newAt)
      between.push({ at, count: anchor.at - at, newAt, newCount: anchor.newAt - newAt });
    at = anchor.at + 1;
    newAt = anchor.newAt + 1;
  }
  return between;
}

/** The longest part of the list whose `newAt` rises. */
function rising<Pair extends { readonly newAt: number }>(pairs: readonly Pair[]): readonly Pair[] {
  const piles: { readonly pair: Pair; readonly below: number }[] = [];
  const tops: number[] = [];
  for (const pair of pairs) {
    let [low, high] = [0, tops.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((piles[tops[middle] as number]?.pair.newAt ?? 0) < pair.newAt) low = middle + 1;
      else high = middle;
    }
    piles.push({ pair, below: low === 0 ? -1 : (tops[low - 1] as number) });
    tops[low] = piles.length - 1;
  }
  const found: Pair[] = [];
  for (let at = tops.at(-1) ?? -1; at >= 0; ) {
    const { pair, below } = piles[at] as (typeof piles)[number];
    found.push(pair);
    at = below;
  }
  return found.reverse();
}

/** The change without the lines that are the same at its ends. */
function trimmed(before: readonly string[], after: readonly string[], change: LineChange): LineChange {
  let { at, count, newAt, newCount } = change;
  for (; count > 0 && newCount > 0 && before[at] === after[newAt]; count--, newCount--) {
    at += 1;
    newAt += 1;
  }
  while (count > 0 && newCount > 0 && before[at + count - 1] === after[newAt + newCount - 1]) {
    count -= 1;
    newCount -= 1;
  }
  return { at, count, newAt, newCount };
}
