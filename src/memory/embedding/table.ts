import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { RathError } from "../../session/index.js";

/** The vectors of the package `@openrath/embedding`. A row is found by a piece, by the stem of a foreign word, or by a word without spaces. */
export type Table = {
  readonly dimensions: number;
  /** One byte for each number of each row, one row after another. */
  readonly rows: Int8Array;
  /** The factor of the bytes of each row. */
  readonly scales: Float32Array;
  /** Whole words, and with "##" before them the pieces that go on with a word. */
  readonly pieces: Entries;
  /** Beginnings of German, French and Spanish words; `NOTHING` for words that say nothing, which are matched whole. */
  readonly languages: readonly Lexicon[];
  /** Chinese, Japanese and Thai words, likewise. */
  readonly words: Lexicon;
};

/** The row of each word. */
type Entries = ReadonlyMap<string, number>;

/** The row of words that are known and mean nothing: particles, articles. */
export const NOTHING = -1;

let loaded: Table | undefined;

/** Read at the first use and kept: some nine megabytes that most programs never need. */
export function table(): Table {
  loaded ??= readTable(placeOfTable());
  return loaded;
}

const PACKAGE = "@openrath/embedding";
let missing: EmbeddingError | undefined;

/** The table is a package of its own, because of its size. A program without it is told so once. */
function placeOfTable(): URL {
  if (missing !== undefined) throw missing;
  try {
    return pathToFileURL(createRequire(import.meta.url).resolve(`${PACKAGE}/table.bin`));
  } catch (cause) {
    missing = new EmbeddingError(
      "the table of word vectors",
      `the package ${PACKAGE} is not installed`,
      `npm install ${PACKAGE}, or give another embedding`,
      cause,
    );
    process.emitWarning(`Memories are found by their words only: the package ${PACKAGE} is not installed.`, {
      code: "OPENRATH_WORDS_ONLY",
      detail: `npm install ${PACKAGE}`,
    });
    throw missing;
  }
}

const MAGIC = 0x3142_4552; // "REB1", little-endian

/** As tools/distil-embedding.py writes it: a head of 32-bit numbers, the scales, the rows, the lists of words. */
export function readTable(place: URL): Table {
  let bytes: Buffer;
  try {
    bytes = readFileSync(place);
  } catch (error) {
    throw damaged("it cannot be read", error);
  }
  const head = new DataView(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, HEAD));
  if (bytes.length < HEAD || head.getUint32(0, true) !== MAGIC) throw damaged("it is not a table of vectors");
  const [dimensions, rowCount, textLength] = [4, 8, 12].map((at) => head.getUint32(at, true)) as [
    number,
    number,
    number,
  ];
  const scalesEnd = HEAD + rowCount * 4;
  const rowsEnd = scalesEnd + rowCount * dimensions;
  if (bytes.length !== rowsEnd + textLength) throw damaged("a part of it is missing");
  const scales = new Float32Array(rowCount);
  for (let row = 0; row < rowCount; row++) scales[row] = bytes.readFloatLE(HEAD + row * 4);
  const lists = bytes.toString("utf8", rowsEnd).split("\n\n").map(entriesOf);
  const [pieces, words] = [lists[0], lists.at(-1)] as [Entries, Entries];
  return {
    dimensions,
    rows: new Int8Array(bytes.buffer, bytes.byteOffset + scalesEnd, rowCount * dimensions),
    scales,
    pieces,
    languages: lists.slice(1, -1).map((list) => new Lexicon(list)),
    words: new Lexicon(words),
  };
}

const HEAD = 16;

/** A line is a word and, where it is not the row after that of the line before, its row. */
function entriesOf(list: string): Entries {
  const entries = new Map<string, number>();
  let row = NOTHING;
  for (const line of list.split("\n")) {
    const tab = line.indexOf("\t");
    row = tab < 0 ? row + 1 : Number(line.slice(tab + 1));
    entries.set(tab < 0 ? line : line.slice(0, tab), row);
  }
  return entries;
}

function damaged(reason: string, cause?: unknown): EmbeddingError {
  return new EmbeddingError(
    "the table of word vectors",
    reason,
    `install ${PACKAGE} again, or give another embedding`,
    cause,
  );
}

/** Words and their rows, made to find the longest one at a place of a text that has no marks between words. */
export class Lexicon {
  readonly #rows: ReadonlyMap<string, number>;
  /** The length of the longest word by its first two letters: most places of most texts begin none. */
  readonly #longest: ReadonlyMap<string, number>;

  constructor(rows: ReadonlyMap<string, number>) {
    this.#rows = rows;
    const longest = new Map<string, number>();
    for (const word of rows.keys()) {
      const key = word.slice(0, 2);
      longest.set(key, Math.max(word.length, longest.get(key) ?? 0));
    }
    this.#longest = longest;
  }

  row(word: string): number | undefined {
    return this.#rows.get(word);
  }

  /** How long the longest word is that begins here and is accepted; 0 when none does. */
  longestAt(text: string, at: number, accepts: (row: number, length: number) => boolean): number {
    const most = this.#longest.get(text.slice(at, at + 2)) ?? 1;
    for (let length = Math.min(most, text.length - at); length > 0; length--) {
      const row = this.#rows.get(text.slice(at, at + length));
      if (row !== undefined && accepts(row, length)) return length;
    }
    return 0;
  }
}

/** Texts could not be turned into vectors, or the answer is not a list of vectors. */
export class EmbeddingError extends RathError {
  constructor(embedder: string, reason: string, hint: string, cause?: unknown) {
    super("memory-embedding", `Cannot embed with ${embedder}: ${reason}.`, {
      hint,
      data: { embedder, reason },
      cause,
    });
  }
}
