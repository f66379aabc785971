/** A text as it reads once its escapes are resolved, and where each part of it stood before. */
export type Reading = {
  readonly text: string;
  /** Where the character at a place came from: its beginning in the text that was given. */
  readonly from: (place: number) => number;
  /** The place in it from which on more text may change what is read: an escape that may not be complete. */
  readonly open: number;
};

/** How often what was resolved is resolved once more: percent signs in a URL in a JSON text in a JSON text. */
const LAYERS = 3;

const ESCAPE =
  /(?:%[0-9a-f]{2})+|\\u\{[0-9a-f]{1,6}\}|\\u[0-9a-f]{4}|\\x[0-9a-f]{2}|\\["'\\/bfnrt]|&#x[0-9a-f]{1,6};|&#\d{1,7};|&(?:amp|lt|gt|quot|apos);/giu;
/** The possible beginning of an escape, at the end of a text. No escape is longer. */
const BEGUN =
  /(?:(?:%[0-9a-f]{2}){0,3}%[0-9a-f]?|(?:%[0-9a-f]{2}){1,3}|\\(?:u(?:\{[0-9a-f]{0,6}|[0-9a-f]{0,3})|x[0-9a-f]?)?|&(?:#x?[0-9a-f]{0,7}|[a-z]{0,4}))$/iu;
const LONGEST = 12;

/**
 * The readings of a text: as it is, then with percent signs, escapes of JSON and JavaScript and entities of HTML resolved,
 * wherever they stand and however they are mixed; then so again, as long as something is left to resolve. It takes time in
 * proportion to the text.
 *
 * @param goesOn whether more text may come: then also the readings without an escape at the end that may not be complete
 */
export function* readingsOf(
  text: string,
  goesOn = false,
  from: Reading["from"] = (place) => place,
  layers = LAYERS,
): Generator<Reading> {
  const open = goesOn ? openIn(text) : text.length;
  yield { text, from, open };
  if (layers === 0) return;
  for (const part of open < text.length ? [text, text.slice(0, open)] : [text]) {
    const next = resolved(part);
    if (next !== undefined)
      yield* readingsOf(next.text, goesOn, (place) => from(next.from(place)), layers - 1);
  }
}

function openIn(text: string): number {
  const tail = text.slice(-LONGEST);
  const begun = BEGUN.exec(tail);
  return text.length - (begun === null ? 0 : tail.length - begun.index);
}

function resolved(text: string): { readonly text: string; from(place: number): number } | undefined {
  let read = "";
  let end = 0;
  // Where the two texts go apart: places in what is read, and in what was given.
  const places: number[] = [0];
  const sources: number[] = [0];
  const note = (source: number): void => {
    places.push(read.length);
    sources.push(source);
  };
  for (const match of text.matchAll(ESCAPE)) {
    read += text.slice(end, match.index);
    end = match.index + match[0].length;
    if (match[0].startsWith("%"))
      for (const { sign, at } of percentSigns(match[0])) {
        note(match.index + at);
        read += sign;
      }
    else {
      note(match.index);
      read += signOf(match[0]);
    }
    note(end);
  }
  if (end === 0) return undefined;
  return {
    text: read + text.slice(end),
    from: (place) => {
      let [low, high] = [0, places.length - 1];
      while (low < high) {
        const middle = (low + high + 1) >> 1;
        if ((places[middle] as number) <= place) low = middle;
        else high = middle - 1;
      }
      return (sources[low] as number) + place - (places[low] as number);
    },
  };
}

/** The characters that a row of percent signs stands for; bytes that are not UTF-8 stand for themselves. */
function* percentSigns(row: string): Generator<{ readonly sign: string; readonly at: number }> {
  const bytes = Buffer.from(row.replaceAll("%", ""), "hex");
  for (let at = 0; at < bytes.length; ) {
    const lead = bytes[at] as number;
    const length = lead < 0xc2 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 1;
    const sign = bytes.toString("utf8", at, at + length);
    const whole = length > 1 && at + length <= bytes.length && !sign.includes("\ufffd");
    yield { sign: whole ? sign : String.fromCharCode(lead), at: at * 3 };
    at += whole ? length : 1;
  }
}

const NAMED: { readonly [sequence: string]: string } = {
  "\\b": "\b",
  "\\f": "\f",
  "\\n": "\n",
  "\\r": "\r",
  "\\t": "\t",
  "&amp;": "&",
  "&lt;": "<",
  "&gt;": ">",
  "&quot;": '"',
  "&apos;": "'",
};

function signOf(sequence: string): string {
  const named = NAMED[sequence.toLowerCase()];
  if (named !== undefined) return named;
  const digits = /^(?:\\u\{?|\\x|&#x)([0-9a-f]+)/iu.exec(sequence)?.[1];
  const decimal = /^&#(\d+)/u.exec(sequence)?.[1];
  if (digits === undefined && decimal === undefined) return sequence.slice(1);
  const code = digits === undefined ? Number(decimal) : Number.parseInt(digits, 16);
  return code > 0x10ffff ? sequence : String.fromCodePoint(code);
}
