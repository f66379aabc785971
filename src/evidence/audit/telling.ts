import { brief } from "../../memory/answer/index.js";
import type { FactId, Json } from "../../session/index.js";
import type { Store } from "../../store/index.js";
import { defined } from "../../util/index.js";
import type { Answer, Claim, Proof } from "./answer.js";
import { Reader } from "./reader.js";
import { deedOf } from "./words.js";

/** A longer line is not put into an answer: its id leads to it. */
const LONGEST_LINE = 16_384;

/** Puts an answer together: sentences with their facts, and what cannot be said. */
export class Telling {
  readonly reader: Reader;
  readonly #question: string;
  readonly #claims: Claim[] = [];
  readonly #gaps: string[] = [];

  constructor(store: Store, question: string) {
    this.reader = new Reader(store);
    this.#question = sentence(question);
  }

  /** A sentence, and the facts that prove it. */
  claim(text: string, first: FactId, ...more: readonly FactId[]): void {
    const others = new Set(more);
    others.delete(first);
    this.#claims.push({ text: sentence(text), facts: [first, ...others] });
  }

  /** Something that the record cannot say. */
  gap(text: string): void {
    const told = sentence(text);
    if (!this.#gaps.includes(told)) this.#gaps.push(told);
  }

  async done(detail?: Json): Promise<Answer> {
    const ids = new Set(this.#claims.flatMap(({ facts }) => facts));
    const facts: Proof[] = [];
    for (const id of ids) {
      const proof = await this.#proof(id);
      if (proof !== undefined) facts.push(proof);
      else this.gap(`The fact ${id.slice(0, 12)} is named and is not in this store.`);
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
    return {
      id,
      type,
      at,
      by,
      ...defined({ run, branch }),
      excerpt: brief(deedOf(fact, await this.reader.erasures()), 240),
      ...(line.length <= LONGEST_LINE && { line }),
    };
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
