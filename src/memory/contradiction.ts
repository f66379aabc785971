import type { FactId } from "../session/index.js";
import { compareText } from "../util/index.js";
import { holdsIn } from "./scope.js";
import type { SpaceIndex } from "./search/space-index.js";
import { wordsOf } from "./search/tokens.js";
import type { Memory } from "./state.js";

/** Says whether two texts contradict each other. */
export type Contradicts = (one: string, other: string) => boolean | Promise<boolean>;

/** The share of their words that two statements about the same thing have in common. */
const ALIKE = 0.5;
/** The maximum length of one statement. A longer text says many things, and some of them always differ. */
const STATEMENT = 1_000;
/** The maximum number of replaced words. With more, it is another statement. */
const SWAPPED = 2;
/** How many similar memories a new one is compared with. */
const NEAR = 8;
/** The maximum number of contradictions that are recorded for one memory. */
const CONTRADICTED = 16;

const NEGATIONS: ReadonlySet<string> = new Set(
  "no not never none nothing cannot can't isn't aren't doesn't don't won't without nicht kein keine nie niemals ohne ne pas jamais sans nunca sin 不 没 沒 无 無 未 別 ない ません ไม่ มิ".split(
    " ",
  ),
);

/**
 * Whether two statements share most words and differ in a number, a negation, or one word, after the same beginning:
 * "the port is 8080", "the port is 9090". The meaning is unknown, so both are kept and name each other.
 */
export function differInOneThing(one: string, other: string): boolean {
  if (one.length > STATEMENT || other.length > STATEMENT) return false;
  if (aboutOf(one) !== aboutOf(other)) return false;
  const [first, second] = [new Set(wordsOf(one)), new Set(wordsOf(other))];
  const shared = [...first].filter((word) => second.has(word)).length;
  const union = first.size + second.size - shared;
  if (union === 0 || shared === union || shared / union < ALIKE) return false;
  if (isNegated(one) !== isNegated(other)) return true;
  const gone = [...first].filter((word) => !second.has(word));
  const come = [...second].filter((word) => !first.has(word));
  // A statement that only adds words contradicts nothing.
  return gone.length > 0 && come.length > 0 && gone.length <= SWAPPED && come.length <= SWAPPED;
}

/** The probable topic of a statement: its first word after an article, or its first two characters. */
function aboutOf(text: string): string {
  const [word = ""] =
    text
      .normalize("NFKC")
      .toLowerCase()
      .match(/[\p{L}\p{N}\p{M}'’]+/gu)
      ?.filter((one) => !ARTICLES.has(one)) ?? [];
  return UNPARTED.test(word) ? [...word].slice(0, 2).join("") : word;
}

const ARTICLES: ReadonlySet<string> = new Set(
  "the a an this that our my your der die das ein eine le la les un une el los las una".split(" "),
);
const UNPARTED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u;

function isNegated(text: string): boolean {
  const lower = text.toLowerCase();
  const words = lower.split(/[^\p{L}\p{N}'’]+/u).map((word) => word.replace("’", "'"));
  if (words.some((word) => NEGATIONS.has(word))) return true;
  // In languages without spaces between words, a character shows it.
  return /[不没沒无無未]|ない|ません|ไม่/u.test(lower);
}

/** The fields of a memory by which contradictions are found. */
type Statement = Pick<Memory, "text" | "scope" | "source"> & Partial<Pick<Memory, "subject" | "merges">>;

/** The live memories that a new one may contradict: about the same subject, or in similar words. */
export function comparable(index: SpaceIndex, { text, subject, scope }: Statement): readonly Memory[] {
  const found = new Map<FactId, Memory>();
  for (const one of subject === undefined ? [] : index.bySubject(subject)) found.set(one.id, one);
  for (const one of index.near(text, NEAR)) found.set(one.id, one);
  return [...found.values()].filter(
    (one) => one.status === "live" && (holdsIn(one.scope, scope) || holdsIn(scope, one.scope)),
  );
}

/** The memories that a new one contradicts: other texts on its subject, but not lessons. */
export async function contradictedBy(
  draft: Statement,
  others: readonly Memory[],
  contradicts: Contradicts = differInOneThing,
): Promise<readonly Memory[]> {
  const found: Memory[] = [];
  for (const other of others) {
    if (plainText(other.text) === plainText(draft.text)) continue;
    const lessons = draft.source === "failed-attempt" && other.source === "failed-attempt";
    const sameSubject = !lessons && draft.subject !== undefined && draft.subject === other.subject;
    if (!sameSubject && !(await contradicts(other.text, draft.text))) continue;
    if (!draft.merges?.includes(other.id)) found.push(other);
  }
  // Of thousands that all differ, a few are enough: those with the fewest contradictions so far.
  return found
    .sort((one, other) => one.contradicts.length - other.contradicts.length || compareText(one.id, other.id))
    .slice(0, CONTRADICTED);
}

/** A text without differences in case, width and spaces. */
export function plainText(text: string): string {
  return text.normalize("NFKC").toLowerCase().replace(/\s+/g, " ").trim();
}
