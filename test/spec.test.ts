import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const root = fileURLToPath(new URL("..", import.meta.url));
const files = ["src", "test"].flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: "utf8" }).map((file) => `${folder}/${file}`),
);
const specs = files.filter((file) => file.endsWith("SPEC.md"));

describe("promises", () => {
  it.each(specs)(
    "%s promises nothing that no test proves, and no test proves what is not promised",
    (spec) => {
      const promised = ids(spec, /^- \*\*([A-Z]+\d+)\*\* /gm);
      expect(promised.length).toBeGreaterThan(0);
      expect(promised.length, "each id stands once").toBe(new Set(promised).size);
      const tests = files.filter(
        (file) => nearest(file) === spec && /\.test(-d)?\.ts$|testkit/.test(file) && file.endsWith(".ts"),
      );
      // A test may prove several at once: its title begins with all of them.
      const quoted = new Set(
        tests.flatMap((file) => ids(file, /(?<=["'`](?:\[[A-Z]+\d+\] )*)\[([A-Z]+\d+)\] /g)),
      );
      expect([...quoted].sort()).toEqual([...promised].sort());
    },
  );
});

/** The promises that a test is about: those of the folder it is in, or of the nearest one above that makes any. */
function nearest(file: string): string | undefined {
  // The cases that anyone can run on a store of their own prove the promises of the store.
  if (file.startsWith("src/testkit/store/")) return "src/store/SPEC.md";
  return specs
    .filter((spec) => file.startsWith(`${dirname(spec)}/`))
    .sort((one, other) => other.length - one.length)[0];
}

function ids(file: string, pattern: RegExp): string[] {
  return [...readFileSync(join(root, file), "utf8").matchAll(pattern)].map((match) => match[1] as string);
}
