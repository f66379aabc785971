import type { Answer } from "./answer.js";
import { short } from "./words.js";

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
    lines.push(
      ...wrapped(`${text} [${ids}${more}]`, columns, "  ").map((line, place) =>
        place === 0 ? `- ${line.slice(2)}` : line,
      ),
    );
  }
  if (gaps.length > 0) lines.push("", "What the record cannot say:");
  for (const gap of gaps)
    lines.push(
      ...wrapped(gap, columns, "  ").map((line, place) => (place === 0 ? `- ${line.slice(2)}` : line)),
    );
  lines.push(
    "",
    `Proved by ${facts.length === 1 ? "one fact" : `${facts.length} facts`}; each id is the SHA-256 of a line of the record.`,
  );
  return `${lines.join("\n")}\n`;
}

/** Words on lines that are not too long; a word that is stays whole. */
function wrapped(text: string, columns: number, indent: string): readonly string[] {
  const lines: string[] = [];
  let line = indent;
  for (const word of text.split(" ")) {
    if (line.length > indent.length && line.length + 1 + word.length > columns) {
      lines.push(line);
      line = indent;
    }
    line += line.length === indent.length ? word : ` ${word}`;
  }
  return [...lines, line];
}
