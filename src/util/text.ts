/** A text of at most so many characters; a longer one ends with "…". Never ends in half a character. */
export function clip(text: string, max: number): string {
  return text.length <= max ? text.toWellFormed() : `${text.slice(0, max - 1).toWellFormed()}…`;
}

/** A text that says something. */
export function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

/** A part of a URL as it was before it was encoded; one that is not encoded well stays as it is. */
export function decodePart(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** The first line of a text. */
export function firstLine(text: string): string {
  const end = text.indexOf("\n");
  return end < 0 ? text : text.slice(0, end);
}

/** A number of things in words: `amount(1, "fact")`, `amount(2, "branch", "branches")`. */
export function amount(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
}

/** For `sort`: by code units, the same on every machine, unlike `localeCompare`. */
export function compareText(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}

/** A word of a POSIX shell command, in single quotes when it needs them. */
export function quoteShell(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

/** Any value as it appears in an error message: short, and recognisable. */
export function showValue(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(clip(value, 60));
  if (typeof value === "function") return "a function";
  if (typeof value !== "object" || value === null) return String(value);
  if (Array.isArray(value)) return "a list";
  return typeof (value as { then?: unknown }).then === "function" ? "a promise" : "an object";
}
