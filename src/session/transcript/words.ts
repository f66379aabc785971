import type { Content } from "../fact/index.js";

/** The words of a message, without what the model thought and without its calls. */
export function wordsOf(content: Content): string {
  if (typeof content === "string") return content;
  let text = "";
  for (const part of content) if (part.type === "text") text += part.text;
  return text;
}
