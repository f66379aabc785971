import { wordsOf } from "./search/tokens.js";
import type { Source } from "./source.js";
import type { Memory } from "./state.js";

/** Whether two texts cannot both be so, as far as can be told from their words. */
export type Contradicts = (one: string, other: string) => boolean | Promise<boolean>;

/** How many of the words of both must be shared for them to be about the same thing. */
const ALIKE = 0.5;
/** Characters of what can be one statement. A longer text says many things, of which some are always otherwise. */
const STATEMENT = 1_000;
/** Words that may have been put in place of others; with more, it is another statement. */
const SWAPPED = 2;

const NEGATIONS: ReadonlySet<string> = new Set(
  "no not never none nothing cannot can't isn't aren't doesn't don't won't without nicht kein keine nie niemals ohne ne pas jamais sans nunca sin 不 没 沒 无 無 未 別 ない ません ไม่ มิ".split(
    " ",
  ),
);

/**
 * Says that two statements are in each other's way when they share most of their words and differ in a number, in a no, or
 * in a word that was put in another's place: "the port is 8080" and "the port is 9090". What begins otherwise is about
 * something else. It cannot know what words mean; both are kept in any case, and each says that the other one is there.
 */
export function differInOneThing(one: string, other: string): boolean {
  if (one.length > STATEMENT || other.length > STATEMENT) return false;
  // Of something else, anything may be so.
  if (aboutOf(one) !== aboutOf(other)) return false;
  const [first, second] = [new Set(wordsOf(one)), new Set(wordsOf(other))];
  const shared = [...first].filter((word) => second.has(word)).length;
  const union = first.size + second.size - shared;
  if (union === 0 || shared === union || shared / union < ALIKE) return false;
  if (isNegated(one) !== isNegated(other)) return true;
  const gone = [...first].filter((word) => !second.has(word));
  const come = [...second].filter((word) => !first.has(word));
  // What only says more does not say otherwise.
  return gone.length > 0 && come.length > 0 && gone.length <= SWAPPED && come.length <= SWAPPED;
}

/** What a statement begins with, and so, mostly, what it is about: its first word that is no article, or two characters. */
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
  // Where words are not parted, a character tells.
  return /[不没沒无無未]|ない|ません|ไม่/u.test(lower);
}

/**
 * Those among some memories that a new text is in the way of. About one subject, any other text is; but what was learnt from
 * one failure is not in the way of what was learnt from another.
 */
export async function contradictedBy(
  draft: { readonly text: string; readonly subject?: string | undefined; readonly source: Source },
  others: readonly Memory[],
  contradicts: Contradicts,
): Promise<readonly Memory[]> {
  const found: Memory[] = [];
  for (const other of others) {
    if (plain(other.text) === plain(draft.text)) continue;
    const lessons = draft.source === "failed-attempt" && other.source === "failed-attempt";
    const sameSubject = !lessons && draft.subject !== undefined && draft.subject === other.subject;
    if (sameSubject || (await contradicts(other.text, draft.text))) found.push(other);
  }
  return found;
}

function plain(text: string): string {
  return text.normalize("NFKC").toLowerCase().replace(/\s+/g, " ").trim();
}
