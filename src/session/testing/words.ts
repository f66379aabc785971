import type { Content } from "../index.js";

/** What a message says; of a summary without the line that marks it as one. */
export function wordsOf(content: Content): Content {
  const last = typeof content === "string" ? undefined : content.at(-1);
  return last?.type === "text" && content.length === 2 ? last.text : content;
}
