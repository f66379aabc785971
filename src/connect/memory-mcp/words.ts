const SEGMENTER = new Intl.Segmenter(undefined, { granularity: "word" });
/** A query is a question, not a book. */
const LONGEST = 1_000;

/** The words of a text, also of one whose language has no spaces; each once. */
export function wordsOf(text: string): ReadonlySet<string> {
  const words = new Set<string>();
  for (const { segment, isWordLike } of SEGMENTER.segment(text.toLowerCase()))
    if (isWordLike === true) words.add(segment);
  return words;
}

/** The words that are asked for one by one: the longest say most, and each is a request. */
export function askedWords(query: string, most: number): readonly string[] {
  const words = [...wordsOf(query.slice(0, LONGEST).toWellFormed())];
  const telling = words.filter((word) => word.length > 2 || /[^\p{ASCII}]/u.test(word));
  return (telling.length > 0 ? telling : words)
    .sort((one, other) => other.length - one.length || (one < other ? -1 : 1))
    .slice(0, most);
}

/**
 * How much of a question is in each text, from 0 to 1. A word that few of them have says more than one that all have; a
 * word that is only part of another one counts half.
 */
export function overlaps(asked: readonly string[], texts: readonly string[]): readonly number[] {
  const known = texts.map((text) => ({ text: text.toLowerCase(), words: wordsOf(text) }));
  const weights = asked.map((word) => {
    const having = known.filter(({ text }) => text.includes(word)).length;
    return Math.log(1 + texts.length / Math.max(having, 0.5));
  });
  const whole = weights.reduce((sum, weight) => sum + weight, 0);
  return known.map(({ text, words }) => {
    const sum = asked.reduce((total, word, place) => {
      const part = words.has(word) ? 1 : text.includes(word) ? 0.5 : 0;
      return total + part * (weights[place] ?? 0);
    }, 0);
    return whole === 0 ? 0 : sum / whole;
  });
}
