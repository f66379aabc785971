import type { LineChange } from "./syntax.js";
import { count, plural } from "./text.js";

export type Stretch = { readonly from: number; readonly to: number };

/** Where `old` stands in a file, line endings aside: "\n" also matches "\r\n". None of them overlap. */
export function stretchesOf(file: string, old: string): readonly Stretch[] {
  const wanted = old.replaceAll("\r\n", "\n");
  const plain = file.includes("\r\n") ? file.replaceAll("\r\n", "\n") : file;
  const places = plain === file ? (place: number): number => place : placeInFile(file);
  const found: Stretch[] = [];
  for (let at = plain.indexOf(wanted); at >= 0; at = plain.indexOf(wanted, at + wanted.length))
    found.push({ from: places(at), to: places(at + wanted.length) });
  return found;
}

/** The file with another text in place of each stretch, in the line endings that stand there, and where that is now. */
export function replaced(
  file: string,
  stretches: readonly Stretch[],
  text: string,
): { readonly file: string; readonly stretches: readonly Stretch[] } {
  const lines = text.replaceAll("\r\n", "\n");
  const usual = endingOf(file) ?? "\n";
  const made: Stretch[] = [];
  const parts: string[] = [];
  let [last, length] = [0, 0];
  for (const { from, to } of stretches) {
    const ending = endingOf(file.slice(from, to)) ?? usual;
    const part = ending === "\n" ? lines : lines.replaceAll("\n", ending);
    parts.push(file.slice(last, from), part);
    length += from - last + part.length;
    made.push({ from: length - part.length, to: length });
    last = to;
  }
  return { file: parts.join("") + file.slice(last), stretches: made };
}

/** Which lines became which where stretches of one text became stretches of another. */
export function lineChanges(
  before: { readonly text: string; readonly stretches: readonly Stretch[] },
  after: { readonly text: string; readonly stretches: readonly Stretch[] },
): readonly LineChange[] {
  const [lineBefore, lineAfter] = [lineCounter(before.text), lineCounter(after.text)];
  const found: LineChange[] = [];
  let end = 0;
  before.stretches.forEach(({ from, to }, place) => {
    const made = after.stretches[place] as Stretch;
    const line = lineBefore(from);
    const removed = lineBefore(to) - line + 1;
    const added = 1 - lineAfter(made.from) + lineAfter(made.to);
    const last = found.at(-1);
    if (last === undefined || line > end) found.push({ line, removed, added });
    // Two on the same line are one change of it.
    else
      found[found.length - 1] = {
        line: last.line,
        removed: last.removed + removed - 1,
        added: last.added + added - 1,
      };
    end = line + removed - 1;
  });
  return found;
}

/** The line ending that most lines have; undefined for a text of one line. */
export function endingOf(text: string): "\n" | "\r\n" | undefined {
  const all = count(text, "\n");
  const long = count(text, "\r\n");
  return all === 0 ? undefined : long * 2 > all ? "\r\n" : "\n";
}

/** Counts lines: gives the number of the line that a place is on, for places in ascending order. */
export function lineCounter(text: string): (place: number) => number {
  let [line, at] = [1, 0];
  return (place) => {
    for (let end = text.indexOf("\n", at); end >= 0 && end < place; end = text.indexOf("\n", at)) {
      line += 1;
      at = end + 1;
    }
    return line;
  };
}

/** From places in the text without its carriage returns to places in the file. */
function placeInFile(file: string): (place: number) => number {
  const ends: number[] = [];
  for (let at = file.indexOf("\r\n"); at >= 0; at = file.indexOf("\r\n", at + 2)) ends.push(at - ends.length);
  return (place) => {
    // How many line ends lie wholly before it.
    let [low, high] = [0, ends.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((ends[middle] as number) < place) low = middle + 1;
      else high = middle;
    }
    return place + low;
  };
}

/** Lines of the wanted text that are compared, and of the file where lines are compared letter by letter. */
const WANTED = 200;
const COMPARED = 20_000;

/**
 * The place that an edit probably meant, and its differences. Lines equal except for white space vote;
 * without any, the longest line is compared by pairs of letters.
 */
export function nearestTo(
  lines: readonly string[],
  wanted: readonly string[],
): { readonly line: number; readonly lines: number; readonly differences: readonly string[] } | undefined {
  const votes = new Map<number, number>();
  const places = new Map<string, number[]>();
  lines.forEach((line, at) => {
    const key = squeezed(line);
    if (key === "") return;
    const known = places.get(key);
    if (known === undefined) places.set(key, [at]);
    // A line that stands everywhere says nothing about the place.
    else if (known.length < 50) known.push(at);
  });
  wanted.slice(0, WANTED).forEach((line, offset) => {
    for (const at of places.get(squeezed(line)) ?? [])
      votes.set(at - offset, (votes.get(at - offset) ?? 0) + 1);
  });
  let best: { readonly line: number; readonly score: number } | undefined;
  for (const [line, score] of votes) if (score > (best?.score ?? 0)) best = { line, score };
  const start = best?.line ?? likest(lines, wanted);
  if (start === undefined) return undefined;
  const first = Math.max(0, start);
  const last = Math.min(lines.length, start + wanted.length);
  const differences = wanted.flatMap((line, offset) => {
    const there = lines[start + offset];
    return there === line ? [] : [differenceOf(start + offset + 1, there, line)];
  });
  return { line: first + 1, lines: Math.max(1, last - first), differences: differences.slice(0, 5) };
}

/** The line where a text most likely stands of which no line is there, if one is half as alike. */
function likest(lines: readonly string[], wanted: readonly string[]): number | undefined {
  const offset = wanted.reduce(
    (longest, line, at) => (squeezed(line).length > squeezed(wanted[longest] ?? "").length ? at : longest),
    0,
  );
  const pairs = pairsOf(squeezed(wanted[offset] ?? ""));
  let best = { line: -1, score: 0.5 };
  lines.slice(0, COMPARED).forEach((line, at) => {
    const other = pairsOf(squeezed(line));
    let shared = 0;
    for (const pair of other) if (pairs.has(pair)) shared += 1;
    const score = (2 * shared) / Math.max(1, pairs.size + other.size);
    if (score > best.score) best = { line: at, score };
  });
  return best.line < 0 ? undefined : best.line - offset;
}

function pairsOf(line: string): ReadonlySet<string> {
  const pairs = new Set<string>();
  for (let at = 0; at + 1 < Math.min(line.length, 500); at++) pairs.add(line.slice(at, at + 2));
  return pairs;
}

function squeezed(line: string): string {
  return line.trim().replace(/\s+/g, " ");
}

function differenceOf(number: number, there: string | undefined, asked: string): string {
  if (there === undefined) return `line ${number} does not exist`;
  if (squeezed(there) !== squeezed(asked)) return `line ${number} says something else`;
  const indents = [there, asked].map((line) => line.slice(0, line.length - line.trimStart().length));
  const [has = "", given = ""] = indents;
  if (has !== given) return `line ${number} begins with ${spaceOf(has)}, old with ${spaceOf(given)}`;
  const ends = [there, asked].map((line) => line.slice(line.trimEnd().length));
  const [hasEnd = "", givenEnd = ""] = ends;
  if (hasEnd !== givenEnd)
    return `line ${number} ends with ${spaceOf(hasEnd)}, old with ${spaceOf(givenEnd)}`;
  return `line ${number} has other white space between its words`;
}

function spaceOf(space: string): string {
  if (space === "") return "no white space";
  if (/^ +$/.test(space)) return plural(space.length, "space");
  if (/^\t+$/.test(space)) return plural(space.length, "tab");
  return `${plural(space.length, "character")} of white space (${JSON.stringify(space.slice(0, 20))})`;
}
