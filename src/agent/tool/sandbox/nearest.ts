import { plural } from "./text.js";

/** The place of a file that is most like a text which does not stand in it, and what is different there. */
export type Nearest = {
  readonly line: number;
  readonly lines: number;
  readonly differences: readonly string[];
};

/** Lines of the wanted text that are compared, and of the file where lines are compared letter by letter. */
const WANTED = 200;
const COMPARED = 20_000;

/**
 * Where the author of an edit was probably looking. Lines that are equal but for their white space vote for a place; where
 * there are none, the longest line of the text looks for the one with most pairs of letters in common.
 */
export function nearestTo(lines: readonly string[], wanted: readonly string[]): Nearest | undefined {
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
  return line
    .split(/\s+/)
    .filter((word) => word !== "")
    .join(" ");
}

/** What makes a line of the file another one than was asked for. */
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
