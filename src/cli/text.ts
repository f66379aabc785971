import { describeFact, type Fact, lineOf, textOf, visibleText } from "../session/index.js";
import { amount } from "../util/index.js";
import { cut, pad, width } from "./width.js";

/**
 * Other people's words made fit for a terminal: they may hold sequences that move the cursor, change the title of the
 * window or hide what stands beside them. An escape stands for each character that could not be seen.
 */
export function plain(text: string): string {
  return visibleText(text);
}

/** The same on one line, cut to a length. */
export function oneLine(text: string, most = 100): string {
  return lineOf(text, most);
}

/** Any value of a fact as short text. */
export function brief(value: unknown, most = 100): string {
  return lineOf(textOf(value), most);
}

/** A fact in a few words, for a row of the log. */
export function describe(fact: Fact, most = 80): string {
  return `${lineOf(fact.type, most)} · ${describeFact(fact, { most, each: most })}`;
}

/** A number of things, in words: `count(1, "fact")`, `count(2, "branch", "branches")`. */
export const count = amount;

/**
 * Rows as columns of equal width. The last column is not padded. Where the rows would be wider than the terminal, the widest
 * columns are cut, each cell with an ellipsis.
 */
export function table(rows: readonly (readonly string[])[], columns = Number.POSITIVE_INFINITY): string {
  const widths: number[] = [];
  for (const row of rows)
    row.forEach((cell, index) => {
      widths[index] = Math.max(widths[index] ?? 0, width(cell));
    });
  const gaps = 2 * (widths.length - 1);
  for (let over = widths.reduce((sum, one) => sum + one, gaps) - columns; over > 0; over--) {
    const widest = widths.indexOf(Math.max(...widths));
    if (widths[widest] === 1) break;
    (widths[widest] as number) -= 1;
  }
  return rows
    .map((row) =>
      row
        .map((cell, index) => pad(cut(cell, widths[index] as number), widths[index] as number))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}

/** How long ago, roughly, as people say it. */
export function ago(at: string, now: number): string {
  const seconds = Math.round((now - Date.parse(at)) / 1000);
  if (!Number.isFinite(seconds)) return at;
  if (seconds < 0 || seconds > 366 * 86_400) return at.slice(0, 10);
  for (const [unit, length] of [
    ["day", 86_400],
    ["hour", 3600],
    ["minute", 60],
  ] as const)
    if (seconds >= length) return `${count(Math.floor(seconds / length), unit)} ago`;
  return "just now";
}

/** The same in a few characters, for a column of a row. */
export function shortAgo(at: string, now: number): string {
  const seconds = Math.round((now - Date.parse(at)) / 1000);
  if (!(seconds >= 0 && seconds < 100 * 86_400)) return at.slice(0, 10);
  if (seconds >= 86_400) return `${Math.floor(seconds / 86_400)}d`;
  return seconds >= 3600
    ? `${Math.floor(seconds / 3600)}h`
    : seconds >= 60
      ? `${Math.floor(seconds / 60)}m`
      : "now";
}

/** A word of a command line, so that a shell takes it as one. Characters that a reader would not see are written as bytes. */
export function quoted(word: string): string {
  if (/^[\w@%+:,./][\w@%+=:,./~#-]*$/.test(word)) return word;
  if (visibleText(word) === word && !/[\t\n]/.test(word)) return `'${word.replaceAll("'", `'\\''`)}'`;
  const escaped = word.replaceAll(/[\\']/g, "\\$&").replaceAll(/./gsu, (sign) => {
    if (visibleText(sign) === sign && !/[\t\n]/.test(sign)) return sign;
    return [...Buffer.from(sign)].map((byte) => `\\x${byte.toString(16).padStart(2, "0")}`).join("");
  });
  return `$'${escaped}'`;
}

/** A session or a file as an argument of a command: one that begins with a dash would be taken for an option. */
export function argument(word: string): string {
  return quoted(word.startsWith("-") ? `./${word}` : word);
}
