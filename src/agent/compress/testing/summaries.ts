import type { LanguageModel, PromptMessage, ScriptedReply } from "../../model/index.js";
import { scripted } from "../../model/index.js";
import { tool } from "../../tool/index.js";

/** The ids that stand at the beginning of messages in what a writer of summaries was shown. */
export function idsIn(prompt: readonly PromptMessage[]): readonly string[] {
  const text = JSON.stringify(prompt.at(-1));
  return [...text.matchAll(/\[([0-9a-f]{16})\] (?:user|assistant|tool|summary)/g)].map(
    ([, id]) => id as string,
  );
}

/** A model that sums up whatever it is shown, and cites the first and the last of it. */
export function writer(more: readonly { text: string; from: readonly string[] }[] = []): LanguageModel {
  return scripted(
    [
      (prompt: readonly PromptMessage[]): ScriptedReply => {
        const ids = idsIn(prompt);
        const from = [ids[0] as string, ids.at(-1) as string];
        return JSON.stringify({
          summary: `${ids.length} messages.`,
          claims: [{ text: "It happened.", from }, ...more],
        });
      },
    ],
    { name: "small" },
  );
}

/** A tool whose output is long and tells which call it was. */
export function reader(characters: number) {
  return tool({
    name: "read",
    description: "Reads a page.",
    input: { type: "object", properties: { page: { type: "integer" } }, required: ["page"] },
    effect: "read",
    run: ({ page }) => pageOf(page as number, characters),
  });
}

export function pageOf(page: number, characters: number): string {
  return `${page}: ${String.fromCodePoint(97 + (page % 26)).repeat(characters)}`;
}

/** A model that reads so many pages and then is done. */
export function pages(count: number): LanguageModel {
  return scripted((_prompt: readonly PromptMessage[], turn: number) =>
    turn < count ? { tool: "read", input: { page: turn } } : "done",
  );
}

/** The same to look at, but whoever asks it fails. */
export function gone(name = "scripted"): LanguageModel {
  return scripted(
    [
      () => {
        throw new Error("the model is gone");
      },
    ],
    { name },
  );
}
