import type { Json } from "../../session/index.js";
import { ImportError } from "./error.js";
import type { Imported } from "./exchange.js";
import { keepUnreadable } from "./intake.js";

/** A line of a file with its number, from 1. */
export type ReadLine<Value> = { readonly line: number; readonly value: Value };

/** A line that cannot be read, as it came: its text, or its bytes where they are not text. */
export type BrokenLine = { readonly line: number; readonly why: string; readonly value: Json };

/**
 * The lines of a file that are not blank. One that cannot be read does not take the others with it: a program that is still
 * writing leaves half a line, and one that was killed leaves one between others. A file with no readable line is refused.
 */
export function readLines<Value>(
  bytes: Uint8Array,
  parse: (text: string, where: string) => Value,
): { readonly lines: readonly ReadLine<Value>[]; readonly broken: readonly BrokenLine[] } {
  const lines: ReadLine<Value>[] = [];
  const broken: BrokenLine[] = [];
  let first: ImportError | undefined;
  const texts = textsIn(bytes);
  for (const [place, text] of texts.entries()) {
    if (typeof text === "string" && text.trim() === "") continue;
    const line = place + 1;
    if (typeof text !== "string") {
      broken.push({ line, why: "it is not text in UTF-8", value: text });
      continue;
    }
    try {
      lines.push({ line, value: parse(text, `line ${line}`) });
    } catch (error) {
      if (!(error instanceof ImportError)) throw error;
      first ??= error;
      // What the parser says differs between versions of Node, and the ids must not.
      const why = place === texts.length - 1 ? CUT_OFF : String(error.data.reason).replace(/ \(.*\)$/s, "");
      broken.push({ line, why, value: text });
    }
  }
  if (lines.length === 0 && first !== undefined) throw first;
  return { lines, broken };
}

/** The warnings about lines, the first of them one by one. */
export function warningsOf(broken: readonly BrokenLine[]): readonly string[] {
  const told = broken.slice(0, MOST).map(({ line, why }) => `line ${line} is unreadable: ${why}.`);
  const more = broken.length - told.length;
  return more > 0 ? [...told, `${more} more lines are unreadable.`] : told;
}

/** Keeps unreadable lines at the end of a session. */
export function keepLines(session: Imported["session"], broken: readonly BrokenLine[]): Imported["session"] {
  return broken.reduce(
    (next, { line, why, value }) => keepUnreadable(next, `line ${line}`, why, value),
    session,
  );
}

const CUT_OFF = "the file ends in the middle of it";
const MOST = 20;
const NEWLINE = 10;

/** The texts between line ends; bytes in base64 where they are not UTF-8. */
function textsIn(bytes: Uint8Array): readonly (string | { readonly base64: string })[] {
  const whole = textOf(bytes);
  if (whole !== undefined) return whole.split("\n");
  const texts: (string | { readonly base64: string })[] = [];
  for (let begin = 0; begin <= bytes.length; ) {
    const found = bytes.indexOf(NEWLINE, begin);
    const part = bytes.subarray(begin, found === -1 ? bytes.length : found);
    texts.push(textOf(part) ?? { base64: Buffer.from(part).toString("base64") });
    begin = found === -1 ? bytes.length + 1 : found + 1;
  }
  return texts;
}

/** Bytes as text, or undefined when they are not UTF-8. A byte order mark is dropped, unless it is to be kept. */
export function textOf(bytes: Uint8Array, keepMark = false): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: keepMark }).decode(bytes);
  } catch {
    return undefined;
  }
}
