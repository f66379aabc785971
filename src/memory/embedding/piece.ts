import { table } from "./table.js";

/** A longer word is cut: nobody writes it, and to search it would take the square of its length. */
export const LONGEST_WORD = 64;

/** The pieces of a text in the table: known words, else the longest known prefixes ("##" marks the next). */
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

/** A text as the embedding reads it, by fixed ranges of characters: Unicode tables differ between Nodes. */

/** Only this many UTF-16 units of a text are read. */
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

/** The ranges of each script, in hex; characters outside all of them are spaced. */
const SCRIPTS: { readonly [script in Exclude<Script, "spaced"> | "gap"]: string } = {
  mark: "21-2f 3a-40 5b-60 7b-7e a1-a9 ab-b1 b4-b4 b6-b8 bb-bb bf-bf d7-d7 f7-f7 2010-2027 2030-205e 3001-3004 3008-303f 30fb-30fb fe10-fe6f",
  han: "3005-3007 3040-30fa 30fc-30ff 31f0-31ff 3400-4dbf 4e00-9fff f900-faff 20000-3ffff",
  thai: "e00-eff 1000-109f 1780-17ff",
  sign: "2070-2bff 1f000-1faff",
  // These part words and are nothing themselves. Surrogates here have lost their other half, and private characters mean
  // nothing to others.
  gap: "0-20 7f-a0 2000-200f 2028-202f 205f-206f 3000-3000 d800-f8ff fe00-fe0f feff-feff fff0-ffff e0000-10ffff",
};

/** First and last of each range, in order. */
const RANGES = Object.entries(SCRIPTS)
  .flatMap(([script, ranges]) =>
    ranges.split(" ").map((range) => {
      const [first = 0, last = 0] = range.split("-").map((point) => Number.parseInt(point, 16));
      return [first, last, script === "gap" ? undefined : (script as Script)] as const;
    }),
  )
  .sort(([one], [other]) => one - other);

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
