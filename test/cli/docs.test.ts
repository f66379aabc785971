import { readFileSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { groups } from "../../src/cli/commands.js";

const page = new URL("../../docs/cli.md", import.meta.url);

describe("docs/cli.md", () => {
  // UPDATE_CLI=1 npx vitest run test/cli/docs.test.ts
  it("[C10] the list of commands in docs/cli.md is that of the program", () => {
    const text = readFileSync(page, "utf8");
    const [before, after] = [text.indexOf("<!-- commands -->"), text.indexOf("<!-- /commands -->")];
    const made = `${text.slice(0, before)}<!-- commands -->\n${commands()}${text.slice(after)}`;
    if (process.env.UPDATE_CLI) writeFileSync(page, made);
    expect(readFileSync(page, "utf8")).toBe(made);
  });
});

function commands(): string {
  return groups
    .map(
      ({ title, entries }) =>
        `### ${title}\n\n${entries
          .filter(({ hidden }) => !hidden)
          .map(({ name, summary, arguments: given = [], options = [], examples }) => {
            const words = given.map((one) => {
              const label = `${one.name}${one.many ? "…" : ""}`;
              return one.optional ? `[${label}]` : label;
            });
            const rows = [
              ...given.map((one) => `- \`${one.name}\`: ${one.text}`),
              ...options.map(
                (one) =>
                  `- \`${one.flags}\`: ${one.text}${one.choices === undefined ? "" : ` (${one.choices.join(", ")})`}`,
              ),
            ];
            return `**\`${["rath", name, ...words].join(" ")}\`**: ${summary}\n\n${rows.join("\n")}${rows.length > 0 ? "\n\n" : ""}\`\`\`sh\n${examples.join("\n")}\n\`\`\`\n`;
          })
          .join("\n")}\n`,
    )
    .join("\n");
}
