import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { draw, figures, recordOf } from "../../scripts/figures.mjs";
import { documentation, llmsText } from "../../scripts/pages.mjs";
import { verifyFile } from "../../src/evidence/verify/index.js";

const root = fileURLToPath(new URL("../../", import.meta.url));
const textOf = (file: string): string => readFileSync(join(root, file), "utf8");
const { version, files } = JSON.parse(textOf("package.json")) as { version: string; files: string[] };

describe("the documentation", () => {
  it.each(Object.keys(figures))("[DC2] draws %s from an intact record", async (name) => {
    expect(await verifyFile(recordOf(name))).toMatchObject({ intact: true, findings: [] });
    expect(draw(name as keyof typeof figures)).toBe(textOf(`docs/figures/${name}.svg`));
  });

  it("[DC3] lists each page once, in the sidebar and in llms.txt", () => {
    const listed = documentation().flatMap(({ pages }) => pages.map(({ file }) => file));
    const pages = readdirSync(join(root, "docs")).filter((name) => name.endsWith(".md"));
    expect(listed.filter((file) => /^docs\/[^/]+$/.test(file)).toSorted()).toEqual(
      pages.map((name) => `docs/${name}`).toSorted(),
    );
    expect(new Set(listed).size).toBe(listed.length);
    expect(textOf("llms.txt"), "write it again: node scripts/docs.mjs --llms").toBe(llmsText());
  });

  it("[DC3] ships the pages of llms.txt", () => {
    const links = [...llmsText().matchAll(/\]\(([^)]+)\)/g)].map(([, link = ""]) => link);
    expect(links).toContain("skills/openrath/SKILL.md");
    expect(
      links.filter((link) => !files.some((file) => link === file || link.startsWith(`${file}/`))),
    ).toEqual([]);
  });

  it("[DC4] has a skill for coding agents whose programs run", async () => {
    const text = textOf("skills/openrath/SKILL.md");
    const [, matter = ""] = /^---\n(.*?)\n---\n/s.exec(text) ?? [];
    const { name, description } = parse(matter) as { name: string; description: string };
    expect(name).toBe("openrath");
    expect(description.length).toBeLessThan(1024);
    expect(text.split("\n").length).toBeLessThanOrEqual(200);
    const programs = [...text.matchAll(/^```js\n(.*?)^```/gms)].map(([, program = ""]) => program);
    expect(programs.length).toBeGreaterThan(2);
    const folder = mkdtempSync(join(root, "test", "docs", "generated-"));
    try {
      for (const [index, program] of programs.entries()) {
        const file = join(folder, `program-${index}.ts`);
        writeFileSync(
          file,
          `// @ts-nocheck\n${program.replace("openRath()", `openRath({ store: "sqlite:${join(tmpdir(), `skill-${process.pid}.db`)}" })`)}`,
        );
        await import(file);
      }
    } finally {
      rmSync(folder, { recursive: true, force: true });
      for (const end of ["", "-wal", "-shm"])
        rmSync(join(tmpdir(), `skill-${process.pid}.db${end}`), { force: true });
    }
  });

  it("[DC5] names the version of the package", () => {
    expect(parse(textOf("CITATION.cff"))).toMatchObject({ "cff-version": "1.2.0", version });
    const headings = [...textOf("CHANGELOG.md").matchAll(/^## (.*)$/gm)].map(([, heading]) => heading);
    expect(headings.slice(0, 2)).toEqual(["Unreleased", version]);
  });
});
