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
