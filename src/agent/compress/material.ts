import type { Content, Entry, Message, Part } from "../../session/index.js";
import { textOf } from "../model/index.js";

/** Enough of an id to name a fact of one conversation, and short enough for a model to repeat. */
export function short(id: string): string {
  return id.slice(0, 16);
}

/**
 * What is to be summed up, as one text: each message behind the fact that it is from. A message that is longer than its
 * share is shown by its beginning and its end, and says so.
 */
export function materialOf(entries: readonly Entry[], characters: number): string {
  const share = Math.max(LEAST, Math.floor(characters / Math.max(1, entries.length)));
  const texts = entries.map((entry) => tell(entry));
  const rest = texts.reduce((sum, text) => sum + Math.max(0, share - text.length), 0);
  const longer = texts.filter((text) => text.length > share).length;
  // What short messages leave is for the long ones.
  const most = share + Math.floor(rest / Math.max(1, longer));
  return entries
    .map((entry, place) => `[${short(entry.outcome ?? entry.id)}] ${excerpt(texts[place] as string, most)}`)
    .join("\n\n");
}

/** However little room there is, a message must be told apart from others. */
const LEAST = 160;

function tell({ message, summary }: Entry): string {
  if (message.role === "tool") return `tool ${message.name}: ${resultOf(message)}`;
  return `${summary === true ? "summary" : message.role}: ${wordsOf(message.content)}`;
}

function resultOf({ output, error }: Message & { readonly role: "tool" }): string {
  if (error !== undefined) return `failed: ${error.name}: ${error.message}`;
  if (output === undefined) return "(no result)";
  return typeof output === "string" ? output : JSON.stringify(output);
}

/** Words, and what else there is by name. */
export function wordsOf(content: Content): string {
  if (typeof content === "string") return content;
  const others = content.flatMap((part) => named(part) ?? []);
  return [textOf(content), ...others].filter((text) => text !== "").join("\n");
}

function named(part: Part): string | undefined {
  switch (part.type) {
    case "tool-call":
      return `calls ${part.name}(${JSON.stringify(part.input)})`;
    case "tool-result":
      return `result of ${part.name}: ${JSON.stringify(part.output)}`;
    case "file":
      return `[file ${part.name ?? part.media}]`;
    case "withheld":
      return `[content ${part.reason}]`;
    default:
      return undefined;
  }
}

function excerpt(text: string, most: number): string {
  if (text.length <= most) return text;
  const half = Math.floor((most - 60) / 2);
  const [head, tail] = [text.slice(0, half), text.slice(text.length - half)];
  return `${head} [… ${text.length - 2 * half} characters are not shown here …] ${tail}`.toWellFormed();
}
