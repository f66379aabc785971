import { readFileSync } from "node:fs";
import { expect, it } from "vitest";

const page = readFileSync(new URL("../../docs/coming-from.md", import.meta.url), "utf8");

/** Spaces and line ends do not matter to a program. */
function squeezed(text: string): string {
  return text.replaceAll(/\s+/g, " ");
}

// test/readme.test.ts runs the programs.
it("[DC6] each line of ours in a table is part of a program of the page", () => {
  const sections = page.split(/^## /m).slice(1);
  expect(sections.length).toBeGreaterThanOrEqual(5);
  for (const section of sections) {
    const [title = ""] = section.split("\n");
    const programs = squeezed(
      [...section.matchAll(/^```ts\n(.*?)^```/gms)].map(([, text]) => text).join("\n"),
    );
    const rows = [...section.matchAll(/^\| .* \| (.*) \|$/gm)].slice(1);
    expect(rows.length, title).toBeGreaterThanOrEqual(10);
    // A command of the shell is tested with the commands.
    for (const [, ours = ""] of rows)
      for (const [, code = ""] of ours.matchAll(/`([^`]+)`/g))
        if (!code.startsWith("npx ")) expect(programs, title).toContain(squeezed(code));
  }
});
