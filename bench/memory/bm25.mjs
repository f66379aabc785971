// @ts-check
// A plain BM25 over words, as one writes it in an afternoon: k1 1.2, b 0.75, no stemming, characters where there are no spaces.

const K1 = 1.2;
const B = 0.75;

export class Bm25 {
  /** @type {{ id: string, length: number }[]} */
  #notes = [];
  /** @type {Map<string, Map<number, number>>} */
  #postings = new Map();
  #average = 0;

  /** @param {readonly { id: string, text: string }[]} notes */
  constructor(notes) {
    let total = 0;
    for (const [place, { id, text }] of notes.entries()) {
      const words = wordsOf(text);
      this.#notes.push({ id, length: words.length });
      total += words.length;
      for (const word of words) {
        const posting = this.#postings.get(word) ?? new Map();
        this.#postings.set(word, posting);
        posting.set(place, (posting.get(place) ?? 0) + 1);
      }
    }
    this.#average = total / Math.max(1, notes.length);
  }

  /** @param {string} query @param {number} limit */
  find(query, limit) {
    /** @type {Map<number, number>} */
    const scores = new Map();
    for (const word of new Set(wordsOf(query))) {
      const posting = this.#postings.get(word);
      if (posting === undefined) continue;
      const idf = Math.log(1 + (this.#notes.length - posting.size + 0.5) / (posting.size + 0.5));
      for (const [place, count] of posting) {
        const length = this.#notes[place]?.length ?? 0;
        const weight = (count * (K1 + 1)) / (count + K1 * (1 - B + (B * length) / this.#average));
        scores.set(place, (scores.get(place) ?? 0) + idf * weight);
      }
    }
    return [...scores]
      .sort(([one, first], [other, second]) => second - first || one - other)
      .slice(0, limit)
      .map(([place]) => this.#notes[place]?.id ?? "");
  }
}

/** @param {string} text */
function wordsOf(text) {
  return text
    .toLowerCase()
    .split(/[^\p{L}\p{N}\p{M}]+/u)
    .filter((word) => word !== "")
    .flatMap((word) =>
      /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u.test(word)
        ? pairsOf(word)
        : [word],
    );
}

/** @param {string} word */
function pairsOf(word) {
  const characters = [...word];
  return characters.length < 2
    ? characters
    : characters.slice(1).map((character, place) => `${characters[place]}${character}`);
}
