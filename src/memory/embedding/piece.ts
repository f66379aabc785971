import { table } from "./table.js";

/** A longer word is cut: nobody writes it, and to search it would take the square of its length. */
export const LONGEST_WORD = 64;

/**
 * The pieces of a text that the table may have vectors for: words as a whole where it knows them, else the longest
 * piece it knows from the left, then the next with "##" before it. A word with a letter it does not know is "[UNK]".
 */
export function wordPieces(text: string): readonly string[] {
  return runsOf(normalised(text)).flatMap(piecesOf);
}

export function piecesOf({ script, text }: Run): readonly string[] {
  if (script === "spaced") return splitOf(text.slice(0, LONGEST_WORD));
  if (script === "mark") return [text];
  const { pieces } = table();
  return Array.from(text, (character) => (pieces.has(character) ? character : UNKNOWN));
}

export const UNKNOWN = "[UNK]";

function splitOf(word: string): readonly string[] {
  const { pieces } = table();
  const split: string[] = [];
  for (let from = 0; from < word.length; ) {
    let to = word.length;
    while (to > from && !pieces.has(pieceAt(word, from, to))) to--;
    if (to === from) return [UNKNOWN];
    split.push(pieceAt(word, from, to));
    from = to;
  }
  return split;
}

function pieceAt(word: string, from: number, to: number): string {
  return from === 0 ? word.slice(0, to) : `##${word.slice(from, to)}`;
}

/**
 * A text as the embedding reads it. Everything here goes by fixed ranges of characters and never by what the running
 * Node knows of Unicode: the tables of two versions differ, and the vectors would with them.
 */

/** So many UTF-16 units of a text are read; what comes after them changes nothing. */
export const LONGEST_TEXT = 32_768;

export type Script =
  /** Words with spaces between them: Latin, Greek, Cyrillic, Arabic, Korean, digits and whatever else there is. */
  | "spaced"
  /** Han characters and kana: a character or two is already a word. */
  | "han"
  /** Thai, Lao, Burmese and Khmer: letters without spaces. */
  | "thai"
  /** Emoji and other signs, each by itself. */
  | "sign"
  /** Punctuation, each by itself. */
  | "mark";

export type Run = { readonly script: Script; readonly text: string };

/** Lower case, without accents, full-width letters as plain ones, and not longer than what is read. */
export function normalised(text: string): string {
  return text
    .slice(0, LONGEST_TEXT)
    .replace(WIDE, (wide) => wide.normalize("NFKC"))
    .replace(ALPHABETS, (letters) => letters.toLowerCase().normalize("NFD").replace(ACCENTS, ""))
    .replaceAll("ß", "ss");
}

// Only alphabets that are complete in every Unicode that Node has had: kana keep their voicing and Thai its vowels.
const ALPHABETS = /[A-Z\u00c0-\u058f\u1e00-\u1fff]+/g;
const WIDE = /[\uff01-\uffee]+/g;
const ACCENTS = /[\u0300-\u036f]/g;

/** The runs of a normalised text: words, stretches without spaces, signs and marks. */
export function runsOf(text: string): readonly Run[] {
  const runs: Run[] = [];
  let script: Script | undefined;
  let from = 0;
  let at = 0;
  const end = () => {
    if (script !== undefined) runs.push({ script, text: text.slice(from, at) });
  };
  while (at < text.length) {
    const point = text.codePointAt(at) as number;
    const next = scriptOf(point);
    if (next !== script || next === "mark" || next === "sign") {
      end();
      script = next;
      from = at;
    }
    at += point > 0xffff ? 2 : 1;
  }
  end();
  return runs;
}

/** First and last of each range, in order; what lies in none is spaced. `undefined` parts words and is nothing itself. */
const RANGES: readonly (readonly [number, number, Script | undefined])[] = [
  [0x00, 0x20, undefined],
  [0x21, 0x2f, "mark"],
  [0x3a, 0x40, "mark"],
  [0x5b, 0x60, "mark"],
  [0x7b, 0x7e, "mark"],
  [0x7f, 0xa0, undefined],
  [0xa1, 0xa9, "mark"],
  [0xab, 0xb1, "mark"],
  [0xb4, 0xb4, "mark"],
  [0xb6, 0xb8, "mark"],
  [0xbb, 0xbb, "mark"],
  [0xbf, 0xbf, "mark"],
  [0xd7, 0xd7, "mark"],
  [0xf7, 0xf7, "mark"],
  [0x0e00, 0x0eff, "thai"],
  [0x1000, 0x109f, "thai"],
  [0x1780, 0x17ff, "thai"],
  [0x2000, 0x200f, undefined],
  [0x2010, 0x2027, "mark"],
  [0x2028, 0x202f, undefined],
  [0x2030, 0x205e, "mark"],
  [0x205f, 0x206f, undefined],
  [0x2070, 0x2bff, "sign"],
  [0x3000, 0x3000, undefined],
  [0x3001, 0x3004, "mark"],
  [0x3005, 0x3007, "han"],
  [0x3008, 0x303f, "mark"],
  [0x3040, 0x30fa, "han"],
  [0x30fb, 0x30fb, "mark"],
  [0x30fc, 0x30ff, "han"],
  [0x31f0, 0x31ff, "han"],
  [0x3400, 0x4dbf, "han"],
  [0x4e00, 0x9fff, "han"],
  // Surrogates here have lost their other half, and private characters mean nothing to others.
  [0xd800, 0xf8ff, undefined],
  [0xf900, 0xfaff, "han"],
  [0xfe00, 0xfe0f, undefined],
  [0xfe10, 0xfe6f, "mark"],
  [0xfeff, 0xfeff, undefined],
  [0xfff0, 0xffff, undefined],
  [0x1f000, 0x1faff, "sign"],
  [0x20000, 0x3ffff, "han"],
  [0xe0000, 0x10ffff, undefined],
];

function scriptOf(point: number): Script | undefined {
  let low = 0;
  let high = RANGES.length - 1;
  while (low <= high) {
    const middle = (low + high) >> 1;
    const [first, last, script] = RANGES[middle] as (typeof RANGES)[number];
    if (point < first) high = middle - 1;
    else if (point > last) low = middle + 1;
    else return script;
  }
  return "spaced";
}
