import { brief } from "../../memory/answer/index.js";
import { type Fact, type FactId, type Json, type Principal, Withheld } from "../../session/index.js";
import type { Store } from "../../store/index.js";
import { defined } from "../../util/index.js";
import { Reader } from "./reader.js";
import { deedOf, type Erasures, many, plainWords, short } from "./words.js";

/** The answer of the record to a question. Every sentence of it is a claim, and every claim names the facts that prove it. */
export type Answer = {
  readonly question: string;
  /** The claims, one after the other, as plain sentences. */
  readonly answer: string;
  readonly claims: readonly Claim[];
  /** The facts that the claims name, each once, in the order in which they are named. */
  readonly facts: readonly Proof[];
  /** Questions that the record cannot answer. */
  readonly gaps: readonly string[];
  /** The same for programs, and what is too long for sentences: a prompt, the lines of a file, counts. */
  readonly detail?: Json;
};

export type Claim = { readonly text: string; readonly facts: Named };

/** A claim without a fact is an opinion, so an empty list does not compile. */
export type Named = readonly [FactId, ...FactId[]];

/** A fact as an answer shows it. */
export type Proof = {
  /** SHA-256 of the record line. */
  readonly id: FactId;
  readonly type: string;
  readonly at: string;
  readonly by: Principal;
  readonly run?: string;
  readonly branch?: string;
  /** Some words of it. Content that was erased reads as such, with who erased it and why. */
  readonly excerpt: string;
  /** The record line: `printf %s "$line" | sha256sum` gives the id. Left out where it is longer than 16 KiB. */
  readonly line?: string;
};

/** A longer line is not put into an answer: its id leads to it. */
const LONGEST_LINE = 16_384;

/** Puts an answer together: sentences with their facts, and what cannot be said. */
export class Telling {
  readonly reader: Reader;
  readonly #question: string;
  readonly #erasures: Erasures;
  readonly #claims: Claim[] = [];
  readonly #gaps: string[] = [];

  private constructor(reader: Reader, question: string, erasures: Erasures) {
    this.reader = reader;
    this.#question = sentence(question);
    this.#erasures = erasures;
  }

  static async open(store: Store, question: string): Promise<Telling> {
    const reader = new Reader(store);
    return new Telling(reader, question, await reader.erasures());
  }

  /** Words of others, on one line and without control characters; where content is gone, who erased it and why. */
  plain(value: unknown, most = 120): string {
    return plainWords(value, this.#erasures, most);
  }

  /** The same in quotes. */
  quoted(value: unknown, most = 120): string {
    return value instanceof Withheld ? this.plain(value, most) : `"${this.plain(value, most)}"`;
  }

  /** The reason that a fact gives, as the end of a sentence. */
  because(why: unknown): string {
    return why === undefined ? "" : `, because: ${this.plain(why)}`;
  }

  /** The event of a fact, as the rest of a sentence that begins with its author. */
  deed(fact: Fact, most = 120): string {
    return deedOf(fact, this.#erasures, most);
  }

  /** A sentence, after the facts that prove it: telling.claim`${[id]} …`. */
  claim(literals: TemplateStringsArray, [first, ...more]: Named, ...words: readonly unknown[]): void {
    const others = new Set(more);
    others.delete(first);
    const text = String.raw({ raw: literals }, "", ...words).slice(1);
    this.#claims.push({ text: sentence(text), facts: [first, ...others] });
  }

  /** Something that the record cannot say. */
  gap(literals: TemplateStringsArray, ...words: readonly unknown[]): void {
    const text = sentence(String.raw({ raw: literals }, ...words));
    if (!this.#gaps.includes(text)) this.#gaps.push(text);
  }

  /** The number of things that are counted and not told. */
  left(count: number, one: string, rest: string): void {
    if (count > 0) this.gap`${many(count, one)} ${rest}`;
  }

  async done(detail?: Json): Promise<Answer> {
    const ids = new Set(this.#claims.flatMap(({ facts }) => facts));
    const facts: Proof[] = [];
    for (const id of ids) {
      const proof = await this.#proof(id);
      if (proof !== undefined) facts.push(proof);
      else this.gap`The fact ${id.slice(0, 12)} is named and is not in this store.`;
    }
    return {
      question: this.#question,
      answer: this.#claims.map(({ text }) => text).join(" "),
      claims: this.#claims,
      facts,
      gaps: this.#gaps,
      ...(detail !== undefined && { detail }),
    };
  }

  async #proof(id: FactId): Promise<Proof | undefined> {
    const found = await this.reader.fact(id);
    if (found === undefined) return undefined;
    const { fact, line } = found;
    const { type, at, by, run } = fact;
    const branch = await this.reader.branch(id);
    const excerpt = brief(this.deed(fact), 240);
    const whole = line.length <= LONGEST_LINE ? line : undefined;
    return { id, type, at, by, ...defined({ run, branch }), excerpt, ...defined({ line: whole }) };
  }
}

/** As long may a sentence be: names of anything may be of any length. */
const LONGEST = 4_000;

/** Other people's words are in it, names too: on one line, without what a terminal would obey. */
function sentence(text: string): string {
  const line = text
    .slice(0, 2 * LONGEST)
    .replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, " ")
    .toWellFormed();
  return line.length <= LONGEST ? line : `${line.slice(0, LONGEST - 2).toWellFormed()}….`;
}

export type TextOptions = {
  /** How wide a line is. Default 100. */
  readonly columns?: number;
};

/** An answer for people: its sentences, each with the beginnings of the ids that prove it, and what the record cannot say. */
export function answerText(
  { question, claims, facts, gaps }: Answer,
  { columns = 100 }: TextOptions = {},
): string {
  const lines = [question, ""];
  for (const { text, facts: named } of claims) {
    const ids = named.slice(0, 6).map(short).join(" ");
    const more = named.length > 6 ? ` and ${named.length - 6} more` : "";
    lines.push(...bullet(`${text} [${ids}${more}]`, columns));
  }
  if (gaps.length > 0) lines.push("", "The record cannot say:");
  for (const gap of gaps) lines.push(...bullet(gap, columns));
  lines.push(
    "",
    `Proved by ${facts.length === 1 ? "one fact" : `${facts.length} facts`}; each id is the SHA-256 of a line of the record.`,
  );
  return `${lines.join("\n")}\n`;
}

/** Words on lines that are not too long, under a dash; a word that is stays whole. */
function bullet(text: string, columns: number): readonly string[] {
  const lines: string[] = [];
  let line = "-";
  for (const word of text.split(" ")) {
    if (line.length > 1 && line.length + 1 + word.length > columns) {
      lines.push(line);
      line = " ";
    }
    line += ` ${word}`;
  }
  return [...lines, line];
}
