import type { Message, Part } from "../../session/index.js";
import { edit, nameOf, outputOf, outputText, partsOf, shown, text } from "./part.js";
import type { FilePart, TextPart } from "./prompt.js";

/**
 * What another agent said, or the result of a tool that it called, in words for one who was not it. Calls are told and not
 * repeated: who hears of them may not have the tool, and did not decide to call it.
 */
export function toldOf(message: Message): readonly (TextPart | FilePart)[] {
  const agent = JSON.stringify(message.author);
  if (message.role === "tool") {
    const { name, output, error, edited } = message;
    const gave = outputText(edit(outputOf(output, error), edited));
    return [text(`[The tool "${nameOf(name)}", called by the agent ${agent}, gave:]\n${gave}`)];
  }
  const parts = partsOf(message.content).flatMap((part) => told(part) ?? []);
  return parts.length === 0 ? [] : [text(`[The agent ${agent} said:]`), ...parts];
}

/** What it thought is its own affair, and what its provider needs back nobody else's. */
function told(part: Part): TextPart | FilePart | undefined {
  switch (part.type) {
    case "tool-call":
      return text(`[It called the tool "${nameOf(part.name)}" with ${JSON.stringify(part.input)}]`);
    case "tool-result":
      return text(`[The tool "${nameOf(part.name)}" gave:]\n${outputText(outputOf(part.output))}`);
    default: {
      const piece = shown(part);
      if (piece === undefined) return undefined;
      const { providerOptions: _, ...bare } = piece;
      return bare;
    }
  }
}
