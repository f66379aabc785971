import { stemOf } from "./stem.js";

/** Which words a text has. An index that was made by another version is made anew. */
export const TOKENS = 1;
/** Words of a text that are indexed. A longer text is found by its beginning. */
export const MOST_WORDS = 2_000;
/** Characters of a text that are looked at, however few words they are. */
export const MOST_CHARACTERS = 65_536;
/** A longer identifier is found by its parts. */
const LONGEST = 80;

// No segmenter of the platform: its dictionaries differ between versions of Node, and an index must not.
const WORD = /[\p{L}\p{N}\p{M}]+(?:[._\-/\\:@]{1,3}[\p{L}\p{N}\p{M}]+)*/gu;
const RUNS =
  /(?<pairs>[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}々ー]+)|(?<triples>[\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]+)/gu;
const UNPARTED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;
const HAN = /\p{Script=Han}/u;
const HUMP = /(?<=[\p{Ll}\p{N}])(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})/u;
/** What stands on Latin, Greek and Cyrillic letters; the marks of other scripts are vowels. */
const ACCENTS = /[\u0300-\u036f]/g;

/** The words of a text that it is found by, each as often as it stands there. */
export function wordsOf(text: string): string[] {
  return scanned(text, MOST_WORDS, true);
}

/** The words that a question asks for, each once. */
export function askedOf(query: string): string[] {
  return [...new Set(scanned(query, MOST_ASKED * 4, false))].slice(0, MOST_ASKED);
}

/** More words of a question than these do not make it clearer. */
const MOST_ASKED = 64;

function scanned(text: string, most: number, singles: boolean): string[] {
  const found: string[] = [];
  const plain = text.slice(0, MOST_CHARACTERS).toWellFormed().normalize("NFKC");
  for (const [chunk] of plain.matchAll(WORD)) {
    if (found.length >= most) break;
    if (!UNPARTED.test(chunk)) {
      addWord(chunk, found);
      continue;
    }
    let end = 0;
    for (const run of chunk.matchAll(RUNS)) {
      for (const [part] of chunk.slice(end, run.index).matchAll(WORD)) addWord(part, found);
      end = run.index + run[0].length;
      const { pairs, triples } = run.groups as { readonly pairs?: string; readonly triples?: string };
      if (pairs !== undefined) addPairs([...pairs], found, singles);
      if (triples !== undefined) addTriples([...triples], found);
    }
    for (const [part] of chunk.slice(end).matchAll(WORD)) addWord(part, found);
  }
  // Of marks that stand on nothing, nothing is left.
  return found.filter((word) => word !== "").slice(0, most);
}

/** A word; of an identifier the whole, its parts, and every two parts that stand together. */
function addWord(chunk: string, found: string[]): void {
  const parts: string[] = [];
  const pieces = chunk.split(/[._\-/\\:@]+/u);
  for (const piece of pieces) {
    const humps = piece.split(HUMP);
    if (humps.length > 1 && humps.length <= 8) {
      parts.push(folded(piece));
      for (const hump of humps) found.push(stemmed(folded(hump)));
    } else parts.push(folded(piece));
  }
  for (const part of parts) found.push(stemmed(part));
  if (parts.length < 2) return;
  if (parts.length > 2)
    for (let at = 1; at < parts.length; at++) addWhole(`${parts[at - 1]}_${parts[at]}`, found);
  addWhole(parts.join("_"), found);
}

function addWhole(whole: string, found: string[]): void {
  if (whole.length <= LONGEST) found.push(whole);
}

function folded(word: string): string {
  const lower = word.toLowerCase();
  if (/^[a-z0-9]*$/.test(lower)) return lower.slice(0, LONGEST);
  const bare = lower.normalize("NFD").replace(ACCENTS, "").normalize("NFC");
  return [...bare].slice(0, LONGEST).join("");
}

function stemmed(word: string): string {
  return /^[a-z]+$/.test(word) ? stemOf(word) : word;
}

/** Every two characters that stand together. A single Han character is a word as well, for whoever asks for that. */
function addPairs(run: readonly string[], found: string[], singles: boolean): void {
  if (run.length === 1) found.push(run[0] as string);
  for (let at = 1; at < run.length; at++) found.push(`${run[at - 1]}${run[at]}`);
  if (singles && run.length > 1) for (const one of run) if (HAN.test(one)) found.push(one);
}

function addTriples(run: readonly string[], found: string[]): void {
  if (run.length <= 3) found.push(run.join(""));
  for (let at = 2; at < run.length && run.length > 3; at++)
    found.push(`${run[at - 2]}${run[at - 1]}${run[at]}`);
}
