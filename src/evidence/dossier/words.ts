import type { Digest, Fact, FactId } from "../../session/index.js";
import { describeFact, lineOf, textOf, Withheld } from "../../session/index.js";
import type { Erasure } from "../../store/index.js";
import { isObject } from "../../util/index.js";

/** Some of many: the first and the last. `gap` is the place in `items` where those left out would stand. */
export type Listed<Item> = { readonly items: readonly Item[]; readonly total: number; readonly gap?: number };

/** Text of the record, or its beginning; or a note that it is no longer there. */
export type Told =
  | { readonly text: string /** Of the whole text. */; readonly characters: number }
  | {
      readonly withheld: Withheld["reason"];
      readonly digest: Digest;
      readonly size: number;
      readonly erasure?: { readonly by: string; readonly at: string; readonly why: string };
    };

/** Every item says which facts prove it, when it was, who did it and on which branch. */
export type Item = {
  readonly facts: readonly FactId[];
  /** Left out where the source of an import told no time. */
  readonly at?: string;
  readonly by: string;
  readonly branch: string;
};

/** Content of the record as bounded text. */
export class Words {
  readonly #most: number;
  readonly #erasures: ReadonlyMap<string, Erasure>;

  constructor(most: number, erasures: readonly Erasure[]) {
    this.#most = most;
    this.#erasures = new Map(erasures.map((erasure) => [erasure.digest, erasure]));
  }

  /** Any value of a fact: text as it is, everything else as JSON. */
  tell(value: unknown): Told {
    if (value instanceof Withheld) return this.#gone(value.reason, value.digest, value.size);
    const text = typeof value === "string" ? value : (JSON.stringify(value, undefined, 2) ?? "");
    return { text: cut(text, this.#most), characters: text.length };
  }

  /** The same of a field that may be left out. */
  maybe(value: unknown): Told | undefined {
    return value === undefined ? undefined : this.tell(value);
  }

  /** Content of a message: its texts. Its other parts are told by `calls` and others. */
  content(value: unknown, type: "text" | "reasoning" = "text"): Told | undefined {
    if (!Array.isArray(value))
      return type === "reasoning" || value === undefined ? undefined : this.tell(value);
    const gone = value.find((part) => isObject(part) && part.type === "withheld");
    if (gone !== undefined && type === "text")
      return this.#gone(gone.reason as Withheld["reason"], String(gone.digest), 0);
    const texts = value.flatMap((part: unknown) => {
      if (!isObject(part)) return [];
      if (part.type === type) return typeof part.text === "string" ? [part.text] : [];
      if (type === "reasoning") return [];
      return part.type === "file" ? [`[file ${text(part.name) || text(part.media)}]`] : [];
    });
    return texts.length === 0 ? undefined : this.tell(texts.join("\n\n"));
  }

  #gone(reason: Withheld["reason"], digest: string, size: number): Told {
    const erasure = this.#erasures.get(digest);
    return {
      withheld: erasure === undefined ? reason : "erased",
      digest,
      size,
      ...(erasure !== undefined && { erasure: { by: erasure.by, at: erasure.at, why: erasure.why } }),
    };
  }
}

/** The beginning of a text, not cut inside of a character. */
export function cut(text: string, most: number): string {
  if (text.length <= most) return text;
  const end = text.codePointAt(most - 1) ?? 0;
  return text.slice(0, end > 0xffff ? most - 1 : most);
}

/** A text, whatever a garbage record has in its place. */
export function text(value: unknown): string {
  if (typeof value === "string") return value;
  return value === undefined || value === null ? "" : (JSON.stringify(value) ?? "");
}

/** A told text on one line, for titles. */
export function inline(told: Told, most = 240): string {
  if ("withheld" in told) return `(${told.withheld})`;
  const line = told.text
    .slice(0, 4 * most)
    .replace(/\s+/g, " ")
    .trim();
  return line.length <= most && told.characters <= 4 * most
    ? line
    : `${line.slice(0, most - 1).toWellFormed()}…`;
}

/** A fact in a few words on one line, whatever it holds. */
export function saying(fact: Fact, most = 160): string {
  return describeFact(fact, { most, each: most });
}

/** Some words of something, on one line. */
export function brief(value: unknown, most = 160): string {
  return lineOf(textOf(value), most);
}

export function failing(error: unknown): string {
  return isObject(error) && !(error instanceof Withheld)
    ? `${brief(error.name)}: ${brief(error.message)}`
    : brief(error);
}

/** A number as people read it. */
export function rounded(number: number): string {
  return String(Number.isInteger(number) ? number : Number(number.toPrecision(3)));
}
