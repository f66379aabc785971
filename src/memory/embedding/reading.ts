import { mapValues } from "../../util/index.js";
import type { Embedder } from "./embedder.js";
import { LONGEST_WORD, normalised, piecesOf, type Run, runsOf, type Script, UNKNOWN } from "./piece.js";
import { type Lexicon, NOTHING, type Table, table } from "./table.js";

/** A text as the table reads it. */
export type Reading = {
  /** The sum of the rows of what is known. */
  readonly meaning: Float64Array;
  /** The hashed characters of what is not, and a little of what is known only by another language. */
  readonly grams: Float64Array;
  /** Letters that are known, and all that say something. */
  readonly known: number;
  readonly letters: number;
  /** Letters by how much their characters count. */
  readonly unsure: number;
};

/** How much the characters of a word count by which the table knows it in another language. */
const TRANSLATED = 0.2;
/** Pieces shorter than this on the average are syllables: they say little about the word. */
const TELLING = 3.5;

export function readingOf(text: string): Reading {
  const known = table();
  const runs = runsOf(normalised(text));
  const reader = new Reader(known, languageOf(runs, known));
  for (const run of runs) reader.read(run);
  return reader;
}

class Reader implements Reading {
  readonly meaning: Float64Array;
  readonly grams: Float64Array;
  known = 0;
  letters = 0;
  unsure = 0;
  readonly #table: Table;
  readonly #language: Lexicon | undefined;

  constructor(known: Table, language: Lexicon | undefined) {
    this.#table = known;
    this.#language = language;
    this.meaning = new Float64Array(known.dimensions);
    this.grams = new Float64Array(known.dimensions);
  }

  read(run: Run): void {
    if (run.script === "mark") return;
    if (run.script === "spaced") this.#word(run);
    else if (run.script === "sign") this.#count(run.text.length, 0, run, 1);
    else this.#stretch(run);
  }

  #word(run: Run): void {
    const { text } = run;
    const { pieces, languages } = this.#table;
    if (this.#language?.row(text) === NOTHING) return;
    const row = pieces.get(text);
    // A question of two words shows no language: then any may know what English does not.
    const asked = this.#language !== undefined ? [this.#language] : row === undefined ? languages : [];
    const found = firstStems(text, asked);
    if (found.length > 0) {
      for (const stem of found) this.#add(stem, 1);
      this.#count(text.length, text.length, run, TRANSLATED);
    } else if (row !== undefined) {
      this.#add(row, 1);
      this.#count(text.length, text.length, run, 0);
    } else {
      const split = piecesOf(run);
      const isTelling = split[0] !== UNKNOWN && text.length / split.length >= TELLING;
      const share = split[0] === UNKNOWN ? 0 : isTelling ? 0.7 : 0.2;
      for (const piece of split) {
        const at = pieces.get(piece);
        if (at !== undefined) this.#add(at, share);
      }
      this.#count(text.length, text.length * share, run, 1);
    }
  }

  /** Words without spaces between them: the longest known one from the left, and so on. */
  #stretch({ script, text }: Run): void {
    const { words } = this.#table;
    let from = 0;
    let matched = 0;
    const part = (to: number) => {
      const length = to - from;
      const weight = (length - matched + matched * TRANSLATED) / length;
      if (length > 0) this.#count(length, matched, { script, text: text.slice(from, to) }, weight);
      matched = 0;
    };
    for (let at = 0; at < text.length; ) {
      const length = words.longestAt(text, at, () => true);
      const row = words.row(text.slice(at, at + length));
      if (row === NOTHING) {
        part(at);
        from = at + length;
      } else if (row !== undefined) {
        this.#add(row, 1);
        matched += length;
      }
      at += Math.max(length, 1);
    }
    part(text.length);
  }

  #add(row: number, weight: number): void {
    const { dimensions, rows, scales } = this.#table;
    const scale = (scales[row] as number) * weight;
    const start = row * dimensions;
    for (let at = 0; at < dimensions; at++)
      this.meaning[at] = (this.meaning[at] as number) + scale * (rows[start + at] as number);
  }

  #count(letters: number, known: number, { script, text }: Run, weight: number): void {
    this.letters += letters;
    this.known += known;
    this.unsure += letters * weight;
    if (weight > 0) addGrams(this.grams, script, text, weight);
  }
}

/** The language whose little words are the most, when they are more than the English ones; none for English. */
function languageOf(runs: readonly Run[], { languages }: Table): Lexicon | undefined {
  const english = runs.filter(({ text }) => ENGLISH.has(text)).length;
  const counts = languages.map((stems) => runs.filter(({ text }) => stems.row(text) === NOTHING).length);
  const most = Math.max(...counts);
  return most > english ? languages[counts.indexOf(most)] : undefined;
}

const ENGLISH: ReadonlySet<string> = new Set(
  `the of and to a is for with that it on are by be this from or was not at have has as what when how who which do does
  did should can we i you he she they me my our your in an so will no`.split(/\s+/),
);

function firstStems(word: string, languages: readonly Lexicon[]): readonly number[] {
  if (word.length > LONGEST_WORD) return [];
  for (const stems of languages) {
    const found = stemsOf(word, stems);
    if (found.length > 0) return found;
  }
  return [];
}

/** Endings that may follow a short stem. */
const ENDING = /^(?:a|as|e|en|er|es|em|n|o|os|s|t|st|te|ten|et)?$/;
const SHORT = 4;

/** The stems of a word, compounds being several; none when they are not most of it. */
function stemsOf(word: string, stems: Lexicon): readonly number[] {
  const found: number[] = [];
  let covered = 0;
  for (let at = 0; at < word.length; ) {
    const length = stems.longestAt(word, at, (row, letters) => row !== NOTHING && fits(word, at, letters));
    if (length > 0) {
      found.push(stems.row(word.slice(at, at + length)) as number);
      covered += length;
    }
    at += Math.max(length, 1);
  }
  return covered * 2 > word.length ? found : [];
}

/** A short stem is one only at the beginning of a word, and with an ending: "ei" is not in "frei". */
function fits(word: string, at: number, length: number): boolean {
  return length >= SHORT || (length > 1 && at === 0 && ENDING.test(word.slice(length)));
}

/** The weight of a run of characters, by its length; runs of other lengths are not hashed. */
const WEIGHTS: { readonly [script in Script]: { readonly [length: number]: number } } = {
  spaced: { 3: 0.5, 4: 0.75, 5: 1 },
  han: { 1: 0.5, 2: 1 },
  thai: { 2: 0.25, 3: 0.75, 4: 1 },
  sign: { 1: 1 },
  mark: {},
};

/** The same as pairs, which are read for every word. */
const LENGTHS: { readonly [script: string]: readonly (readonly [number, number])[] } = mapValues(
  WEIGHTS,
  (weights) => Object.entries(weights).map(([length, weight]) => [Number(length), weight] as const),
);

/** Each run of characters goes to so many dimensions: the more, the less do two of them look alike by accident. */
const SPREAD = 4;

/** Adds the character n-grams of a word to a sum, so inflections of unknown words stay similar. */
export function addGrams(sum: Float64Array, script: Script, text: string, weight: number): void {
  const framed = script === "spaced" ? `<${text.slice(0, LONGEST)}>` : text.slice(0, LONGEST);
  for (const [length, each] of LENGTHS[script] ?? [])
    for (let from = 0; from + length <= framed.length; from++) {
      const single = length === 1 && isKana(framed.charCodeAt(from));
      if (!single) addGram(sum, framed, from, length, weight * each);
    }
}

const LONGEST = 4_096;

/** A kana by itself is a sound, not a word. */
function isKana(unit: number): boolean {
  return unit >= 0x3040 && unit <= 0x30ff;
}

function addGram(sum: Float64Array, text: string, from: number, length: number, weight: number): void {
  // FNV-1a, and the last steps of MurmurHash3, which let every bit of it change half of the others.
  let hash = 0x811c9dc5;
  for (let at = from; at < from + length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  for (let turn = 0; turn < SPREAD; turn++) {
    hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
    hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
    hash ^= hash >>> 16;
    const dimension = (hash >>> 1) % sum.length;
    sum[dimension] = (sum[dimension] as number) + (hash & 1 ? weight : -weight);
  }
}

/** Goes up whenever a text may get another vector: an index of other vectors is then built again. */
const VERSION = 1;

/** The embedding of the package `@openrath/embedding`: a sum of word vectors, without key or network. */
export function staticEmbedding(): Embedder {
  return {
    name: `openrath-static-${VERSION}`,
    dimensions: DIMENSIONS,
    embed: (texts, signal) =>
      texts.map((text) => {
        signal?.throwIfAborted();
        return vectorOf(text);
      }),
    coverage,
  };
}

const DIMENSIONS = 256;

/** How much of a text the table knows, from 0 to 1: the less, the more is to be given on the words themselves. */
export function coverage(text: string): number {
  const { known, letters } = readingOf(text);
  return letters === 0 ? 0 : known / letters;
}

/** How much the characters count beside the meaning where nothing is known. */
const GRAMS = 0.85;

function vectorOf(text: string): Float32Array {
  const { meaning, grams, known, letters, unsure } = readingOf(text);
  const [first, second] = [lengthOf(meaning), lengthOf(grams)];
  const a = first === 0 ? 0 : known / letters / first;
  const b = second === 0 ? 0 : (GRAMS * unsure) / letters / second;
  const sum = meaning.map((value, at) => value * a + (grams[at] as number) * b);
  const length = lengthOf(sum);
  return Float32Array.from(sum, (value) => (length === 0 ? 0 : value / length));
}

function lengthOf(vector: Float64Array): number {
  let sum = 0;
  for (const value of vector) sum += value * value;
  return Math.sqrt(sum);
}
