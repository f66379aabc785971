import { readFileSync } from "node:fs";
import { expect, it } from "vitest";

const at = (path: string): string => readFileSync(new URL(`../../../${path}`, import.meta.url), "utf8");

/** Lines with code. */
function linesIn(text: string, comment: string): number {
  const lines = text.split("\n").map((line) => line.trim());
  return lines.filter((line) => line !== "" && !line.startsWith(comment)).length;
}

it("[P1] the published examples have the lines that the table says", () => {
  const rows = [
    ...at("docs/patterns.md").matchAll(
      /\| `patterns\/((?:autogen|crewai)-[\w-]+)` \| (\d+)(?:, (\d+) YAML)? \|$/gm,
    ),
  ];
  expect(rows).toHaveLength(5);
  for (const [, name, lines, yaml] of rows) {
    const [program = ""] = at(`examples/patterns/${name}.mjs`).split("// Checks");
    expect([name, linesIn(program, "//")]).toEqual([name, Number(lines)]);
    const files = ["agents", "tasks"].map((file) => linesIn(at(`examples/fixtures/crew/${file}.yaml`), "#"));
    if (yaml !== undefined) expect(files.reduce((sum, one) => sum + one)).toBe(Number(yaml));
  }
});
