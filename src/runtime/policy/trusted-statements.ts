import type { Content, Fact, Principal, Session, View } from "../../session/index.js";
import type { Leaf } from "./argument.js";
import { originsOf, untrustedIn } from "./labels.js";

/**
 * The statements of the people and the program behind a session, to compare arguments with. A value was said if it stands
 * there as a word, or words, of its own. The comparison does not see that a sentence is a warning ("never pay eve"), or that
 * two values were said about different things.
 */
export class TrustedStatements {
  readonly #texts: readonly string[];
  readonly #numbers: ReadonlySet<number>;

  constructor(texts: readonly string[]) {
    this.#texts = texts;
    this.#numbers = new Set(this.#texts.flatMap(numbersIn));
  }

  /** The statements of users, the system and the agent's own instructions, on the way to a session. */
  static of(session: Session, by: Principal): TrustedStatements {
    const said = session.view(statementsView);
    const known = knownStatements.get(said) ?? new Map<Principal, TrustedStatements>();
    knownStatements.set(said, known);
    const statements =
      known.get(by) ?? new TrustedStatements(said.filter(({ to = by }) => to === by).map(({ text }) => text));
    known.set(by, statements);
    return statements;
  }

  has({ name, value }: Leaf): boolean {
    if (value === undefined) return false;
    if (typeof value === "number") return this.#numbers.has(value);
    // Nobody says "true": they name what is to be true of it.
    if (typeof value === "boolean") return this.#affirms(wordsOf(name).join(" ")) === value;
    // Without the quotation marks around it, and what ends a sentence.
    const text = normalOf(value)
      .replace(/^["'`]+|["'`.!?,;:]+$/g, "")
      .trim();
    const number = plainNumber(text);
    if (number !== undefined && this.#numbers.has(number)) return true;
    // People say a day and an hour, one here and one there.
    const [, ...moment] = /^(\d{4}-\d\d-\d\d)[t ](\d\d:\d\d)(?::00)?$/.exec(text) ?? [text, text];
    return moment.every((part) => part !== "" && this.#texts.some((said) => placesOf(part, said).length > 0));
  }

  /** All words that were said, each once. */
  words(): ReadonlySet<string> {
    return new Set(this.#texts.flatMap((text) => text.match(/\p{L}+/gu) ?? []));
  }

  /** true where a property is named, false where it is named only after a "not", undefined where it is not named. */
  #affirms(property: string): boolean | undefined {
    if (property === "") return undefined;
    const found = this.#texts.flatMap((said) => placesOf(property, said).map((at) => said.slice(0, at)));
    if (found.length === 0) return undefined;
    return !found.some((before) => NEGATED.test(before));
  }
}

/** A text in its normal form; of instructions, also whose they are. */
type Statement = { readonly text: string; readonly to?: Principal };

/** Everything that was said by those who are trusted. A view, so that the past is not walked again for each decision. */
const statementsView: View<readonly Statement[]> = {
  start: Object.freeze([]),
  step(all, fact, session) {
    const one = statementIn(fact, session);
    if (one === undefined || all.some(({ text, to }) => text === one.text && to === one.to)) return all;
    return Object.freeze([...all, one]);
  },
};

const knownStatements = new WeakMap<readonly Statement[], Map<Principal, TrustedStatements>>();

function statementIn(fact: Fact, session: Session): Statement | undefined {
  if (fact.type === "agent-configure")
    return typeof fact.instructions === "string"
      ? { text: normalOf(fact.instructions), to: fact.by }
      : undefined;
  if (fact.type !== "session-start" && fact.type !== "message-say") return undefined;
  const [origin] = originsOf(fact);
  if (origin !== "user" && origin !== "system") return undefined;
  const { by, run } = fact;
  // The runtime may repeat a model's words, and a body everything that it has read by then.
  if (by === "runtime" || by.startsWith("runtime:") || (run !== undefined && untrustedIn(session).length > 0))
    return undefined;
  return { text: normalOf(textOf(fact.type === "session-start" ? (fact.text ?? "") : fact.content)) };
}

/** A "not" among the last words before. */
const NEGATED = /(?:\b(?:not|no|non|never|without|nor)|n't)(?:[ -][\p{L}']+){0,3}[ -]?$/u;

function textOf(content: Content): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content.map((part) => (part.type === "text" ? part.text : "")).join("\n");
}

/** The words of a name: "is_public", "isPublic" and "is-public" are "public". */
export function wordsOf(name: string): readonly string[] {
  const words = name
    .replace(/(?<=[\p{Ll}\p{N}])(?=\p{Lu})/gu, " ")
    .split(/[^\p{L}\p{N}]+/u)
    .flatMap((word) => (word === "" ? [] : [word.toLowerCase()]));
  return words.length > 1 && /^(?:is|has|should|be)$/.test(words[0] as string) ? words.slice(1) : words;
}

/**
 * The form in which texts are compared: the same letters, big or small, with one kind of quotation mark and of space.
 * A letter that only looks like another after it was made small (the Kelvin sign) stays what it is.
 */
function normalOf(text: string): string {
  return text
    .replace(/\p{Lu}/gu, (letter) =>
      letter.toLowerCase().toUpperCase() === letter ? letter.toLowerCase() : letter,
    )
    .normalize("NFC")
    .replace(/[‘’]/g, "'")
    .replace(/[“”]/g, '"')
    .replace(/\s+/g, " ")
    .trim();
}

/** The numbers in a text: "1,000" is 1000, "$90.50" is 90.5, "90,50" is 90.5; "10%" and "2024-05-13" have none. */
function numbersIn(text: string): readonly number[] {
  return [...text.matchAll(/\d+(?:[.,]\d+)*/g)].flatMap(({ 0: digits, index }) => {
    const isNegative = text[index - 1] === "-" && !isWordly(text[index - 2] ?? " ");
    const from = isNegative ? index - 1 : index;
    const number = isApart(text, from, index + digits.length) ? numberOf(digits) : undefined;
    return number === undefined ? [] : [isNegative ? -number : number];
  });
}

function numberOf(digits: string): number | undefined {
  if (/^\d{1,3}(?:,\d{3})+(?:\.\d+)?$/.test(digits)) return Number(digits.replaceAll(",", ""));
  if (/^\d+(?:\.\d+)?$/.test(digits)) return Number(digits);
  return /^\d+,\d{1,2}$/.test(digits) ? Number(digits.replace(",", ".")) : undefined;
}

/** The number that a text is. Not one with zeros before it, or with more digits than a number keeps: that is a code. */
function plainNumber(text: string): number | undefined {
  const [, sign = "", digits = ""] = /^(-?)[$€£¥]? ?(\d[\d.,]{0,15})$/.exec(text) ?? [];
  const number = /^0\d/.test(digits) ? undefined : numberOf(digits);
  return number === undefined ? undefined : sign === "" ? number : -number;
}

/** Where a text stands in another as words of their own: what is part of another word was not said. */
function placesOf(words: string, text: string): readonly number[] {
  const places: number[] = [];
  for (let at = text.indexOf(words); at >= 0; at = text.indexOf(words, at + 1))
    if (isApart(text, at, at + words.length)) places.push(at);
  return places;
}

function isApart(text: string, start: number, end: number): boolean {
  return !goesOn(text[start - 1], text[start - 2]) && !goesOn(text[end], text[end + 1]);
}

/**
 * Whether a word goes on with this character: an address, a path, a number or a word. With a full stop, a comma or a colon
 * it does where more follows, so that the end of a sentence is one.
 */
function goesOn(character = " ", beyond = " "): boolean {
  return isWordly(character) || (/[.,:]/.test(character) && isWordly(beyond));
}

function isWordly(character: string): boolean {
  return /[\p{L}\p{N}_@/\\+%-]/u.test(character);
}

/**
 * Words that ask for the same kind of act, as people and tools name it. Only those forms that ask: "they sent me", "prices
 * increased" and "the updated list" ask for nothing. English only: in another language no act is recognised, and a person
 * is asked.
 */
const KINDS: readonly ReadonlySet<string>[] = [
  "send transfer pay payment refund reimburse wire remit forward email mail message dm write reply respond notify inform post publish announce submit deliver return",
  "delete remove cancel erase drop clear trash discard revoke unsubscribe uninstall kick ban",
  "create add schedule book booking reserve reservation set write append insert put upload save draft plan order buy purchase register",
  "update change modify edit adjust set move reschedule postpone rename replace correct switch increase decrease reset",
  "share invite invitation grant add allow permit",
  "run execute launch deploy apply push merge release restart trigger",
].map((words) => new Set(words.split(" ")));

/**
 * Whether words ask for the act that a tool is named after. Its verb is the first word of its name that is one of those
 * above; a tool with none of them must be asked for by a word of its name, and a call without arguments by all of them.
 */
export function isAskedFor(tool: string, said: ReadonlySet<string>, hasArguments: boolean): boolean {
  const words = wordsOf(tool);
  if (!hasArguments) return words.length > 0 && words.every((word) => said.has(word));
  const verb = words.find((word) => KINDS.some((kind) => kind.has(word)));
  if (verb === undefined) return words.some((word) => word.length > 2 && said.has(word));
  return KINDS.some((kind) => kind.has(verb) && [...kind].some((word) => said.has(word)));
}
