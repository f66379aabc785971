import type { Json } from "../../session/index.js";

/** Longer files do not fit into one string; the record keeps such things in pieces or not at all. */
export const MAX_BYTES: number = 400 * 1024 ** 2;
/** A fact takes 500 levels, of which the notes of an import need some. */
const MAX_LEVELS = 400;

/** The note about a file in which numbers were put into quotes. */
export const LONG_NUMBERS = "Numbers with more digits than can be counted with are kept as texts.";

export type JsonReading = {
  /** Whether a number has all of these digits; those that have not are read as texts with all of them. */
  readonly holds: (digits: string) => boolean;
  readonly refuse: (reason: string, cause?: unknown) => never;
  /** Is told when numbers became texts. */
  readonly quoted: () => void;
};

/** The value of JSON text, where no digit is lost and nothing is nested deeper than a record can keep it. */
export function jsonOf(text: string, { holds, refuse, quoted }: JsonReading): Json {
  const tooDeep = `it is nested deeper than ${MAX_LEVELS} levels`;
  if (isTooDeep(text)) refuse(tooDeep);
  const exact = MANY_DIGITS.test(text) ? quoteLongNumbers(text, holds) : text;
  let value: Json;
  try {
    value = JSON.parse(exact) as Json;
  } catch (cause) {
    const message = cause instanceof Error ? cause.message.slice(0, 200) : "unreadable";
    return refuse(`it is not JSON (${message})`, cause);
  }
  if (levelsOf(value) > MAX_LEVELS) refuse(tooDeep);
  if (exact !== text) quoted();
  return value;
}

/** A quick look that saves reading millions of brackets. */
export function isTooDeep(text: string): boolean {
  return DEEP.test(text);
}

const DEEP = new RegExp(`[[{]{${MAX_LEVELS + 1}}`);

/** How deep a value is nested, without recursion: it may be deeper than the stack. */
function levelsOf(value: Json): number {
  let levels = 0;
  let open: readonly Json[] = [value];
  while (open.length > 0 && levels <= MAX_LEVELS) {
    const inside: Json[] = [];
    for (const one of open)
      if (typeof one === "object" && one !== null) for (const part of Object.values(one)) inside.push(part);
    if (inside.length > 0) levels += 1;
    open = inside;
  }
  return levels;
}

const MANY_DIGITS = /\d{16}/;

/** The same text with quotes around the whole numbers outside of strings that a number does not hold. */
function quoteLongNumbers(text: string, holds: JsonReading["holds"]): string {
  const pieces: string[] = [];
  let done = 0;
  for (let place = 0; place < text.length; place++) {
    const code = text.charCodeAt(place);
    if (code === QUOTE) {
      place = endOfString(text, place);
      continue;
    }
    if (code !== MINUS && !isDigit(code)) continue;
    const begin = place;
    let whole = true;
    while (place + 1 < text.length && isOfNumber(text.charCodeAt(place + 1))) {
      place++;
      if (!isDigit(text.charCodeAt(place))) whole = false;
    }
    const number = text.slice(begin, place + 1);
    // Numbers that JSON refuses (leading zeros, a lone minus) stay as they are, to be refused.
    if (!whole || Number.isSafeInteger(Number(number)) || !WHOLE.test(number) || holds(number)) continue;
    pieces.push(text.slice(done, begin), `"${number}"`);
    done = place + 1;
  }
  return done === 0 ? text : pieces.join("") + text.slice(done);
}

const QUOTE = 34;
const BACKSLASH = 92;
const MINUS = 45;
const WHOLE = /^-?[1-9]\d*$/;

function isDigit(code: number): boolean {
  return code >= 48 && code <= 57;
}

/** Digits, signs, dots and exponents. */
function isOfNumber(code: number): boolean {
  return isDigit(code) || code === 43 || code === MINUS || code === 46 || code === 69 || code === 101;
}

function endOfString(text: string, begin: number): number {
  let place = begin + 1;
  while (place < text.length && text.charCodeAt(place) !== QUOTE)
    place += text.charCodeAt(place) === BACKSLASH ? 2 : 1;
  return place;
}
