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
/** The accents of Latin, Greek and Cyrillic letters; the marks of other scripts are vowels. */
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
  for (const piece of chunk.split(/[._\-/\\:@]+/u)) {
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

/** Every two characters that stand together. With `singles`, a single Han character is a word as well. */
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

/** Words that say little, as `wordsOf` gives them. They only weigh less: a text of nothing else is found. */
export const COMMON: ReadonlySet<string> = new Set(
  [
    "a about after all also am an and ani anyth ar as at be been befor but by can could did do doe for from get ha had have he her hi",
    "how i if in into is it just like mai me must my need no not of on onc onli or our out over she should so some than that",
    "the their them then there these thei thi to up us wa we were what when where which who whom whose why will with would you your",
    "aber als am an auf au bei da dem den der de die doch ein eine einem einen einer er e für fur gibt hat ich ihr im in ist kann man",
    "mein mit nach nicht noch nur oder sein sich sie sind soll und un uns von wa wann warum wa welch welche welchem welchen welcher",
    "welches wenn wer werd werden wie wir wird wo wohin zu zum zur über uber",
    "au aux avec c ce cett ces comment d dan de doit du elle en est et il j je l la le leur ma mai mon n ne nou on ont ou où pa",
    "par pour pourquoi quand que quel quell qui quoi s sa sont sur un une vou y à",
    "al como con cual cuál cuando cuándo cuanto de del donde dónde el ella en entre es esta está ha hay la las lo los mi nos o para pero",
    "por porque qué quien quién se según si sin sobre son su tien una y ya",
  ]
    .join(" ")
    .split(" "),
);

const CONSONANT = "[^aeiou]";
const VOWEL = "[aeiouy]";
const RUN = `${CONSONANT}[^aeiouy]*`;
const VOWELS = `${VOWEL}[aeiou]*`;
/** A beginning in which vowels are followed by consonants once, more than once, or at all. */
const ONCE = new RegExp(`^(?:${RUN})?${VOWELS}${RUN}`);
const ONLY_ONCE = new RegExp(`^(?:${RUN})?${VOWELS}${RUN}(?:${VOWELS})?$`);
const TWICE = new RegExp(`^(?:${RUN})?${VOWELS}${RUN}${VOWELS}${RUN}`);
const HAS_VOWEL = new RegExp(`^(?:${RUN})?${VOWEL}`);
const SHORT = new RegExp(`^${RUN}${VOWEL}[^aeiouwxy]$`);

const SECOND = replacements(
  "ational:ate ization:ize iveness:ive fulness:ful ousness:ous tional:tion biliti:ble ation:ate alism:al aliti:al",
  "iviti:ive ousli:ous entli:ent enci:ence anci:ance izer:ize alli:al ator:ate bli:ble eli:e",
);
const THIRD = replacements("icate:ic ative: alize:al iciti:ic ical:ic ness: ful:");
const FOURTH: readonly string[] =
  "ement ance ence able ible ment ant ent ism ate iti ous ive ize al er ic ou".split(" ");

/** Endings, each with what replaces it. The order matters: a longer ending comes first. */
function replacements(...lines: readonly string[]): readonly (readonly [string, string])[] {
  return lines.flatMap((line) =>
    line.split(" ").map((pair) => {
      const [ending = "", other = ""] = pair.split(":");
      return [ending, other] as const;
    }),
  );
}

/** An English word without its endings, after Porter (1980). Other languages lose some consistently too. */
export function stemOf(word: string): string {
  if (word.length < 3) return word;
  let stem = plural(word);
  stem = past(stem);
  if (/[^aeiouy]y$/.test(stem) && HAS_VOWEL.test(stem.slice(0, -1))) stem = `${stem.slice(0, -1)}i`;
  stem = exchanged(stem, SECOND);
  stem = exchanged(stem, THIRD);
  stem = shortened(stem);
  if (stem.endsWith("e")) {
    const left = stem.slice(0, -1);
    if (TWICE.test(left) || (ONLY_ONCE.test(left) && !SHORT.test(left))) stem = left;
  }
  return stem.endsWith("ll") && TWICE.test(stem) ? stem.slice(0, -1) : stem;
}

function plural(word: string): string {
  if (word.endsWith("ies")) return word.slice(0, word.length > 4 ? -2 : -1);
  if (word.endsWith("sses")) return word.slice(0, -2);
  return word.endsWith("s") && !word.endsWith("ss") ? word.slice(0, -1) : word;
}

function past(word: string): string {
  if (word.endsWith("eed")) return ONCE.test(word.slice(0, -3)) ? word.slice(0, -1) : word;
  const ending = word.endsWith("ed") ? 2 : word.endsWith("ing") ? 3 : 0;
  const left = word.slice(0, -ending);
  if (ending === 0 || !HAS_VOWEL.test(left)) return word;
  if (/(?:at|bl|iz)$/.test(left)) return `${left}e`;
  if (/([^aeiouylsz])\1$/.test(left)) return left.slice(0, -1);
  return SHORT.test(left) ? `${left}e` : left;
}

function exchanged(word: string, endings: readonly (readonly [string, string])[]): string {
  for (const [ending, other] of endings) {
    if (!word.endsWith(ending)) continue;
    const left = word.slice(0, -ending.length);
    return ONCE.test(left) ? left + other : word;
  }
  return word;
}

function shortened(word: string): string {
  for (const ending of FOURTH) {
    if (!word.endsWith(ending)) continue;
    const left = word.slice(0, -ending.length);
    return TWICE.test(left) ? left : word;
  }
  if (/[st]ion$/.test(word) && TWICE.test(word.slice(0, -3))) return word.slice(0, -3);
  return word;
}
