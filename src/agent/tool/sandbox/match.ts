import type { LineChange } from "./syntax.js";
import { count } from "./text.js";

/** A stretch of a text, by its characters. */
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
