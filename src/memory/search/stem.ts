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

const SECOND: readonly (readonly [string, string])[] = [
  ["ational", "ate"],
  ["ization", "ize"],
  ["iveness", "ive"],
  ["fulness", "ful"],
  ["ousness", "ous"],
  ["tional", "tion"],
  ["biliti", "ble"],
  ["ation", "ate"],
  ["alism", "al"],
  ["aliti", "al"],
  ["iviti", "ive"],
  ["ousli", "ous"],
  ["entli", "ent"],
  ["enci", "ence"],
  ["anci", "ance"],
  ["izer", "ize"],
  ["alli", "al"],
  ["ator", "ate"],
  ["bli", "ble"],
  ["eli", "e"],
];
const THIRD: readonly (readonly [string, string])[] = [
  ["icate", "ic"],
  ["ative", ""],
  ["alize", "al"],
  ["iciti", "ic"],
  ["ical", "ic"],
  ["ness", ""],
  ["ful", ""],
];
const FOURTH: readonly string[] = [
  "ement",
  "ance",
  "ence",
  "able",
  "ible",
  "ment",
  "ant",
  "ent",
  "ism",
  "ate",
  "iti",
  "ous",
  "ive",
  "ize",
  "al",
  "er",
  "ic",
  "ou",
];

/**
 * An English word without its endings, after Porter (1980), so that "releases" finds "released". Words of other languages
 * lose an ending now and then too: the same one wherever they stand, so they are still found.
 */
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
