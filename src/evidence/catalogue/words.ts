import type { Fact } from "../../session/index.js";
import { isDigest, Withheld } from "../../session/index.js";

/** Fields that repeat in another form what others say, and stamps. */
const PASSED_OVER: ReadonlySet<string> = new Set(["meta", "raw", "native", "type", "at", "by", "run", "seq"]);
/** So many characters of a fact are searched. */
const MOST = 100_000;
const SNIPPET = 100;

/**
 * Everything that a fact says, a line for each text: messages, inputs and outputs, memories, names, paths. Content that is
 * not here, because it was erased or never came, has no lines.
 */
export function wordsOf(fact: Fact): string {
  const lines: string[] = [];
  let room = MOST;
  const open: unknown[] = Object.entries(fact).flatMap(([field, value]) =>
    PASSED_OVER.has(field) ? [] : [value],
  );
  open.reverse();
  while (open.length > 0 && room > 0) {
    const one = open.pop();
    if (one === null || one === undefined || one instanceof Withheld || isDigest(one)) continue;
    if (typeof one === "object") {
      open.push(...Object.values(one).reverse());
      continue;
    }
    const line = String(one).slice(0, room);
    room -= line.length;
    lines.push(line);
  }
  return lines.join("\n");
}

/** Words as the index takes them: scripts without blanks between words are taken character by character. */
export function spaced(text: string): string {
  return text
    .toWellFormed()
    .normalize("NFKC")
    .replaceAll(/[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/gu, " $& ");
}

/** A value as one word of the index, so that it is found exactly. */
export function exactly(value: string): string {
  return `x${Buffer.from(value.toWellFormed()).toString("hex")}`;
}

/** The expression that finds all of some words, the last one also as the beginning of a longer one. */
export function matching(text: string): string {
  const words = spaced(text).match(/[\p{L}\p{N}\p{M}]+/gu) ?? [];
  return words.map((word, index) => `text : "${word}"${index === words.length - 1 ? "*" : ""}`).join(" AND ");
}

/** The text around the first of some words: what comes before it, itself, and what comes after. */
export function snippetOf(
  said: string,
  text: string,
): readonly [before: string, found: string, after: string] {
  const words = (text.normalize("NFKC").match(/[\p{L}\p{N}\p{M}]+/gu) ?? []).map((word) =>
    word.toLowerCase(),
  );
  const folded = said.toLowerCase();
  const places = words.map((word) => [folded.indexOf(word), word.length] as const).filter(([at]) => at >= 0);
  // Where case changes the length of a text, or an accent was left out, the beginning is shown.
  const [at, length] =
    folded.length === said.length ? (places.sort(([a], [b]) => a - b)[0] ?? [0, 0]) : [0, 0];
  const line = (part: string): string => part.replaceAll(/\s+/g, " ").toWellFormed();
  return [
    line(said.slice(Math.max(0, at - SNIPPET), at)),
    line(said.slice(at, at + length)),
    line(said.slice(at + length, at + length + SNIPPET)),
  ];
}
