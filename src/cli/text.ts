import { describeFact, type Fact, type Json, lineOf, textOf, visibleText } from "../session/index.js";
import { amount } from "../util/index.js";

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

/** Rows as columns of equal width. The last column is not padded. */
export function table(rows: readonly (readonly string[])[]): string {
  const widths: number[] = [];
  for (const row of rows)
    row.forEach((cell, index) => {
      widths[index] = Math.max(widths[index] ?? 0, cell.length);
    });
  return rows
    .map((row) =>
      row
        .map((cell, index) => (index === row.length - 1 ? cell : cell.padEnd(widths[index] as number)))
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

/** The JSON form of a value that may hold withheld content. */
export function jsonOf(value: unknown): Json {
  return JSON.parse(JSON.stringify(value ?? null)) as Json;
}

/** A word of a command line, so that a shell takes it as one. */
export function quoted(word: string): string {
  return /^[\w@%+=:,./~#-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
