import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, it, vi } from "vitest";

// The programs of the README and the guide are run as they stand, each page in an empty folder.
const pages = [
  "README.md",
  "docs/quick-start.md",
  "docs/paper.md",
  "docs/errors.md",
  "docs/guide.md",
  "docs/sandbox.md",
  "docs/control.md",
  "docs/chat-server.md",
  "docs/patterns.md",
  "docs/memory.md",
  "docs/dossier.md",
  "docs/audit.md",
  "docs/coming-from.md",
].map((name) => ({
  name,
  programs: [
    ...readFileSync(new URL(`../${name}`, import.meta.url), "utf8").matchAll(/^```ts\n(.*?)^```/gms),
  ].map((match) => match[1] as string),
}));
const generated = fileURLToPath(new URL("./generated", import.meta.url));
const home = process.cwd();

afterAll(() => {
  process.chdir(home);
  rmSync(generated, { recursive: true, force: true });
});

describe("README", () => {
  it.each(pages)(
    "[R10] $name shows programs, and each of them runs, and runs again",
    async ({ name, programs }) => {
      expect(programs.length).toBeGreaterThan(0);
      const folder = mkdtempSync(join(tmpdir(), "openrath-readme-"));
      mkdirSync(generated, { recursive: true });
      const log = vi.spyOn(console, "log").mockImplementation(() => {});
      try {
        process.chdir(folder);
        // A reader runs a program again, over the store that it made.
        for (const [index, program] of programs.entries())
          for (const round of ["", "-again"]) {
            const file = join(generated, `${name.replaceAll(/\W/g, "-")}-${index}${round}.ts`);
            writeFileSync(file, program);
            await import(file);
          }
        if (name === "docs/chat-server.md")
          expect(JSON.stringify(log.mock.calls.at(-1))).toContain("Order 7 is refunded.");
        // The store's program prints two facts, and blobs with their words, which can be erased.
        if (name === "README.md")
          expect(
            log.mock.calls
              .map(([line]) => String(line))
              .filter((line) => line.startsWith("{"))
              .flatMap((line) => JSON.parse(line).fact?.type ?? []),
          ).toEqual(["session-start", "message-say", "session-start", "message-say", "message-say"]);
      } finally {
        process.chdir(home);
        log.mockRestore();
        rmSync(folder, { recursive: true, force: true });
      }
    },
  );
});
