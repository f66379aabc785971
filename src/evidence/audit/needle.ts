/** Words that are looked for: however they are cased or spaced, and whichever of two spellings Unicode has for a letter. */
export class Needle {
  readonly #words: string;

  constructor(text: string) {
    this.#words = folded(text).trim();
  }

  get length(): number {
    return this.#words.length;
  }

  /** So many characters at the end of a piece may belong to words that end in the next one. */
  get overlap(): number {
    // Folding may make a text shorter, blanks above all.
    return 4 * this.#words.length + 64;
  }

  isIn(text: string): boolean {
    return folded(text).includes(this.#words);
  }

  /** Whether a value of JSON says it anywhere, keys included. */
  isInside(value: unknown): boolean {
    // A list of its own: values may be nested as deep as the record allows.
    const open = [value];
    while (open.length > 0) {
      const one = open.pop();
      if (typeof one === "string" || typeof one === "number") {
        if (this.isIn(String(one))) return true;
      } else if (Array.isArray(one)) {
        for (const item of one as readonly unknown[]) open.push(item);
      } else if (typeof one === "object" && one !== null) {
        for (const [key, item] of Object.entries(one)) {
          if (this.isIn(key)) return true;
          open.push(item);
        }
      }
    }
    return false;
  }
}

function folded(text: string): string {
  return text.normalize("NFKC").toLowerCase().replaceAll(/\s+/g, " ");
}
