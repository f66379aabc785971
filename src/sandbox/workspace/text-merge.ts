import { diffArrays } from "diff";
import { diff3MergeRegions } from "node-diff3";
import { isSameList } from "../../util/index.js";

export type MergedText = {
  readonly text: string;
  /** How many places hold both sides, between markers. */
  readonly conflicts: number;
};

/** Texts with more lines than this, apart from what all sides have in common at the ends, are not looked into. */
const MOST_LINES = 500_000;
/** The library compares every line with every equal one, over and over: beyond this many steps a place is left as one. */
const MOST_STEPS = 2e8;

/**
 * Merges two texts with a common base. A change of one side is taken; of both, when they agree, else it
 * stands between markers with the base in the middle. Line ends are kept.
 */
export function mergeText(base: string | undefined, ours: string, theirs: string): MergedText {
  const text = new MergeWriter(ours.includes("\r\n") && !/(^|[^\r])\n/.test(ours) ? "\r\n" : "\n");
  const [head, tail] = commonEnds(base === undefined ? [ours, theirs] : [ours, theirs, base]);
  const inner = (whole: string): string => whole.slice(head, whole.length - tail);
  text.take([ours.slice(0, head)]);
  if (base === undefined) text.conflict([inner(ours)], [], [inner(theirs)]);
  else if ([base, ours, theirs].some((side) => linesIn(inner(side)) > MOST_LINES))
    text.conflict([inner(ours)], [inner(base)], [inner(theirs)]);
  else mergeLines(linesOf(inner(base)), linesOf(inner(ours)), linesOf(inner(theirs)), text);
  text.take([ours.slice(ours.length - tail)]);
  return text.merged();
}

/** Line by line, between lines that neither side changed. */
function mergeLines(
  base: readonly string[],
  ours: readonly string[],
  theirs: readonly string[],
  text: MergeWriter,
): void {
  const inOurs = placesIn(base, ours);
  const inTheirs = placesIn(base, theirs);
  let from = { base: 0, ours: 0, theirs: 0 };
  for (let at = 0; at <= base.length; at++) {
    const to = { base: at, ours: inOurs[at] ?? ours.length, theirs: inTheirs[at] ?? theirs.length };
    if (to.ours < 0 || to.theirs < 0) continue;
    mergePlace(
      base.slice(from.base, to.base),
      ours.slice(from.ours, to.ours),
      theirs.slice(from.theirs, to.theirs),
      text,
    );
    text.take(base.slice(at, at + 1));
    from = { base: to.base + 1, ours: to.ours + 1, theirs: to.theirs + 1 };
  }
}

/** Where each line of the base is in a side; -1 where it is not. */
function placesIn(base: readonly string[], side: readonly string[]): Int32Array {
  const places = new Int32Array(base.length).fill(-1);
  const end = { at: base.length, count: 0, newAt: side.length, newCount: 0 };
  let [at, there] = [0, 0];
  for (const change of [...changedLines(base, side), end]) {
    for (; at < change.at; at++, there++) places[at] = there;
    at += change.count;
    there += change.newCount;
  }
  return places;
}

function mergePlace(base: string[], ours: string[], theirs: string[], text: MergeWriter): void {
  if (isSameList(ours, theirs) || isSameList(base, theirs)) text.take(ours);
  else if (isSameList(base, ours)) text.take(theirs);
  else if (steps(base, ours) + steps(base, theirs) > MOST_STEPS) text.conflict(ours, base, theirs);
  else
    for (const region of diff3MergeRegions(ours, base, theirs)) {
      if (region.stable) text.take(region.bufferContent);
      else if (isSameList(region.aContent, region.bContent)) text.take(region.aContent);
      else text.conflict(region.aContent, region.oContent, region.bContent);
    }
}

/** How long the library would look for the longest common sequence, at worst. */
function steps(base: readonly string[], side: readonly string[]): number {
  const counts = new Map<string, number>();
  for (const line of base) counts.set(line, (counts.get(line) ?? 0) + 1);
  let pairs = 0;
  for (const line of side) pairs += counts.get(line) ?? 0;
  return pairs * Math.min(base.length, side.length);
}

/** How many characters all texts have in common at the start and at the end, in whole lines. */
function commonEnds(texts: readonly string[]): readonly [number, number] {
  const [first = ""] = texts;
  const shortest = Math.min(...texts.map((text) => text.length));
  let head = 0;
  while (head < shortest && texts.every((text) => text.charCodeAt(head) === first.charCodeAt(head)))
    head += 1;
  head = head === 0 ? 0 : first.lastIndexOf("\n", head - 1) + 1;
  let tail = 0;
  const last = (text: string): number => text.charCodeAt(text.length - 1 - tail);
  while (tail < shortest - head && texts.every((text) => last(text) === last(first))) tail += 1;
  const end = first.indexOf("\n", first.length - tail);
  return [head, end === -1 ? 0 : first.length - end - 1];
}

function linesIn(text: string): number {
  let lines = 1;
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) lines += 1;
  return lines;
}

class MergeWriter {
  readonly #end: string;
  readonly #parts: string[] = [];
  #conflicts = 0;

  /** `end` is how lines end in the file: markers end like that. */
  constructor(end: string) {
    this.#end = end;
  }

  take(lines: readonly string[]): void {
    for (const line of lines) this.#parts.push(line);
  }

  conflict(ours: readonly string[], base: readonly string[], theirs: readonly string[]): void {
    this.#conflicts += 1;
    this.#side("<<<<<<< ours", ours);
    this.#side("||||||| base", base);
    this.#side("=======", theirs);
    this.#side(">>>>>>> theirs", []);
  }

  merged(): MergedText {
    return { text: this.#parts.join(""), conflicts: this.#conflicts };
  }

  #side(marker: string, lines: readonly string[]): void {
    this.take([marker, this.#end]);
    this.take(lines);
    // A last line without an end gets one: a marker follows.
    const last = lines.at(-1) ?? "";
    if (last !== "" && !last.endsWith("\n")) this.take([this.#end]);
  }
}

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
 * The changes between two lists of lines, in order: the fewest edits where these are found in time; else
 * lines that both have once hold the texts together.
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

/** The ranges before, between and behind the lines that both texts have exactly once and in the same order. */
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
