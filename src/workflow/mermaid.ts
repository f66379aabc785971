import type { Description } from "../runtime/index.js";
import { refusing } from "./options.js";

/**
 * Renders the description of a module as a Mermaid flowchart.
 *
 * ```ts
 * mermaidOf(describe(team));
 * ```
 */
export function mermaidOf(description: Description): string {
  if (typeof description?.name !== "string" || typeof description.kind !== "string")
    throw refusing("a chart")("what was given describes no module", "mermaidOf(describe(module))");
  const lines = ["flowchart TD"];
  const open: { of: Description; above?: string; as?: string }[] = [{ of: description }];
  for (let count = 0, one = open.shift(); one !== undefined; count++, one = open.shift()) {
    const node = `n${count}`;
    const { of, above, as } = one;
    lines.push(`  ${node}["${label(of.name)}<br/><i>${label(of.kind)}</i>"]`);
    if (above !== undefined)
      lines.push(
        as === of.name ? `  ${above} --> ${node}` : `  ${above} -- "${label(as ?? "")}" --> ${node}`,
      );
    for (const [part, inner] of Object.entries(of.parts ?? {}))
      open.push({ of: inner, above: node, as: part });
  }
  return `${lines.join("\n")}\n`;
}

/** Names are anybody's: what Mermaid or HTML would read as its own is written as an entity. */
function label(text: string): string {
  return text.replace(/[^\p{L}\p{N} _.,:/-]/gu, (char) => `#${char.codePointAt(0)};`);
}
