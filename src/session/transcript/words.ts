import type { Content, Message } from "../fact/index.js";

/** The words of a message, without what the model thought and without its calls. */
export function wordsOf(content: Content): string {
  if (typeof content === "string") return content;
  let text = "";
  for (const part of content) if (part.type === "text") text += part.text;
  return text;
}

/** The newest answer to what the user said last. */
export function answerIn(messages: readonly Message[]): string {
  for (const message of messages.toReversed()) {
    if (message.role === "user") break;
    const text = message.role === "assistant" ? wordsOf(message.content) : "";
    if (text !== "") return text;
  }
  return "";
}
