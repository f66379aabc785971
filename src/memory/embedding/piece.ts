import { normalised, type Run, runsOf } from "./normal.js";
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
