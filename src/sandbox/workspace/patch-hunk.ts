import { linesOf } from "./line-diff.js";
import type { Hunk } from "./patch-parse.js";

/** Where a hunk went: the line of the file that was, how far that is from where it should have gone, and how well it fits. */
export type PlacedHunk = { readonly at: number; readonly offset: number; readonly fuzz: number };
export type UnfitHunk = { readonly hunk: number; readonly line: number; readonly why: string };

/** The bytes with all hunks applied, or which of them do not fit. */
export function fitted(
  bytes: string,
  hunks: readonly Hunk[],
  fuzz: number,
): {
  readonly bytes: string;
  readonly hunks: readonly PlacedHunk[];
  readonly failures: readonly UnfitHunk[];
} {
  const lines = linesOf(bytes);
  const isWindows = endsLikeWindows(lines);
  const placed: PlacedHunk[] = [];
  const failures: UnfitHunk[] = [];
  const result: string[] = [];
  let [done, drift] = [0, 0];
  hunks.forEach((hunk, place) => {
    const exact = placeOf(lines, hunk, done, drift, fuzz);
    const other = "why" in exact ? ended(hunk, isWindows) : undefined;
    const found = other === undefined ? exact : placeOf(lines, other, done, drift, fuzz);
    if ("why" in found) {
      failures.push({ hunk: place + 1, line: hunk.line, why: found.why });
      return;
    }
    for (const line of lines.slice(done, found.at)) result.push(line);
    for (const line of found.now) result.push(line);
    done = found.at + found.old.length;
    drift = found.offset;
    placed.push({ at: found.at + 1, offset: found.offset, fuzz: found.fuzz });
  });
  for (const line of lines.slice(done)) result.push(line);
  return { bytes: result.join(""), hunks: placed, failures };
}

type Wanted = { readonly old: readonly string[]; readonly now: readonly string[]; readonly at: number };
type Found = Wanted & { readonly offset: number; readonly fuzz: number };

/** The place where a hunk fits: the one it names, moved like the hunk before, or else the only one. */
function placeOf(
  lines: readonly string[],
  hunk: Hunk,
  from: number,
  drift: number,
  fuzz: number,
): Found | { readonly why: string } {
  for (let less = 0; less <= fuzz; less++) {
    const wanted = reduced(hunk, less);
    if (wanted === undefined) break;
    const found = (at: number): Found => ({ ...wanted, at, offset: at - wanted.at, fuzz: less });
    for (const at of [wanted.at + drift, wanted.at])
      if (at >= from && stands(lines, wanted.old, at)) return found(at);
    // Nothing to look for: it can only go where it says.
    if (wanted.old.length === 0) continue;
    const places: number[] = [];
    for (let at = from; at + wanted.old.length <= lines.length && places.length < 3; at++)
      if (stands(lines, wanted.old, at)) places.push(at);
    const [only] = places;
    if (only !== undefined && places.length === 1) return found(only);
    if (places.length > 1)
      return {
        why: `it is not where line ${wanted.at + 1} is, and fits at several other places (lines ${places.map((at) => at + 1).join(", ")})`,
      };
  }
  return { why: misfit(lines, reduced(hunk, 0) as Wanted, from) };
}

/** The lines to find and those to put there, with `less` lines of context left out at each end. */
function reduced(hunk: Hunk, less: number): Wanted | undefined {
  const { lines } = hunk;
  const first = lines.findIndex(({ sign }) => sign !== " ");
  const last = lines.findLastIndex(({ sign }) => sign !== " ");
  const [lead, trail] = [
    Math.min(less, Math.max(first, 0)),
    Math.min(less, Math.max(lines.length - 1 - last, 0)),
  ];
  if (less > 0 && lead < less && trail < less) return undefined;
  const kept = lines.slice(lead, lines.length - trail);
  const old = kept.filter(({ sign }) => sign !== "+").map(({ text }) => text);
  const isInsertion = lines.every(({ sign }) => sign === "+");
  return {
    old,
    now: kept.filter(({ sign }) => sign !== "-").map(({ text }) => text),
    // A header names the line before, when the hunk has no line of the old file.
    at: (isInsertion ? hunk.from : Math.max(hunk.from - 1, 0)) + lead,
  };
}

function stands(lines: readonly string[], old: readonly string[], at: number): boolean {
  return at + old.length <= lines.length && old.every((line, place) => lines[at + place] === line);
}

/** A hunk with the line ends of the file, when both are consistent and differ: the patch was made from an editor's text. */
function ended(hunk: Hunk, isWindows: boolean | undefined): Hunk | undefined {
  const is = endsLikeWindows(hunk.lines.map(({ text }) => text));
  if (is === undefined || isWindows === undefined || is === isWindows) return undefined;
  const convert = (text: string): string =>
    isWindows ? text.replace(/\n$/, "\r\n") : text.replace(/\r\n$/, "\n");
  return { ...hunk, lines: hunk.lines.map(({ sign, text }) => ({ sign, text: convert(text) })) };
}

/** Whether all lines end with a carriage return, or none does; undefined when they differ or there are none. */
function endsLikeWindows(lines: readonly string[]): boolean | undefined {
  const whole = lines.filter((line) => line.endsWith("\n"));
  const count = whole.filter((line) => line.endsWith("\r\n")).length;
  return whole.length === 0 || (count > 0 && count < whole.length) ? undefined : count > 0;
}

/** Where the file first differs from what the hunk expects, at the place that fits best near where it says. */
function misfit(lines: readonly string[], { old, at }: Wanted, from: number): string {
  if (at < from) return `it begins in lines that an earlier hunk changed`;
  const place = old.findIndex((line, index) => lines[at + index] !== line);
  const [expected, there] = [old[place] ?? "", lines[at + place]];
  const found = there === undefined ? "the file has no such line" : `the file has ${shown(there)}`;
  return `its lines are not there: at line ${at + place + 1} it expects ${shown(expected)}, and ${found}`;
}

function shown(line: string): string {
  const text = Buffer.from(line, "latin1").toString("utf8").replace(/\n$/, "");
  return JSON.stringify(text.length > 120 ? `${text.slice(0, 120)}…` : text);
}
