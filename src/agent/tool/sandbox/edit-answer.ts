import { EditRefusedError } from "./error.js";
import { nearestTo } from "./nearest.js";
import { type LineChange, type SyntaxFinding, shownProblem } from "./syntax.js";
import { linesOf, plural, windowOf } from "./text.js";

/** Lines that are shown above and below a change. */
const AROUND = 4;

/** The refusal of an edit whose text does not stand in the file: with the place that is most like it. */
export function unmatched(place: string, before: string, old: string): EditRefusedError {
  const lines = linesOf(before);
  const nearest = nearestTo(lines, linesOf(old));
  if (nearest === undefined)
    return new EditRefusedError(
      "no-match",
      place,
      "`old` does not stand in it, nor anything like it. View the file first.",
    );
  const { line, lines: count, differences } = nearest;
  const why = differences.length === 0 ? "" : ` There ${differences.join("; ")}.`;
  const from = Math.max(1, line - 2);
  return new EditRefusedError(
    "no-match",
    place,
    `\`old\` does not stand in it exactly. Most like it is line ${line}.${why}\n${windowOf(place, lines, from, count + 4, WINDOW)}`,
    { line },
  );
}

/** Characters of a window in a refusal, and of all windows behind a change. */
const WINDOW = 3000;

/** The refusal of an edit that would break the file. */
export function syntaxRefusal(
  place: string,
  before: string,
  after: string,
  changes: readonly LineChange[],
  { fresh, old }: Extract<SyntaxFinding, { checked: true }>,
): EditRefusedError {
  const shown = fresh.slice(0, 10).map(shownProblem);
  const more = fresh.length > 10 ? [`and ${fresh.length - 10} more`] : [];
  const had = old.length > 0 ? [`(${plural(old.length, "error")} there before not counted)`] : [];
  return new EditRefusedError(
    "syntax",
    place,
    [
      `the edit brings ${plural(fresh.length, "new syntax error")}.`,
      ...shown,
      ...more,
      ...had,
      "It would have looked like this:",
      windows(place, after, changes, "after", fresh[0]?.line),
      "It is like this:",
      windows(place, before, changes, "before"),
      "Change the edit, and try again.",
    ].join("\n"),
    { problems: shown },
  );
}

/** The lines around changes, as they were or as they are, and around another line that matters. */
export function windows(
  place: string,
  text: string,
  changes: readonly LineChange[],
  side: "before" | "after",
  also?: number,
): string {
  const lines = linesOf(text);
  let moved = 0;
  const wanted = changes.map((change) => {
    const from = change.line + (side === "after" ? moved : 0);
    moved += change.added - change.removed;
    return {
      from: from - AROUND,
      to: from + (side === "after" ? change.added : change.removed) - 1 + AROUND,
    };
  });
  if (also !== undefined) wanted.push({ from: also - 2, to: also + 2 });
  wanted.sort((one, other) => one.from - other.from);
  const joined: { from: number; to: number }[] = [];
  for (const one of wanted) {
    const last = joined.at(-1);
    const [from, to] = [Math.max(1, one.from), Math.min(lines.length, one.to)];
    if (last !== undefined && from <= last.to + 1) last.to = Math.max(last.to, to);
    else joined.push({ from: Math.min(from, Math.max(1, lines.length)), to });
  }
  const room = WINDOW / Math.min(SHOWN, joined.length);
  const shown = joined
    .slice(0, SHOWN)
    .map(({ from, to }) => windowOf(place, lines, from, Math.max(1, to - from + 1), room));
  return joined.length > SHOWN
    ? `${shown.join("\n")}\n[… ${joined.length - SHOWN} more places]`
    : shown.join("\n");
}

/** Places of a change that are shown. */
const SHOWN = 5;

/** What is said about the check behind a change that was made. */
export function notesOf(finding: SyntaxFinding): readonly string[] {
  if (!finding.checked) return [`[syntax not checked: ${finding.why}]`];
  const { old } = finding;
  if (old.length === 0) return [];
  return [
    `[syntax errors as before: ${old.slice(0, 3).map(shownProblem).join("; ")}${old.length > 3 ? "; …" : ""}]`,
  ];
}
