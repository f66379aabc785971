import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { campaign } from "../../../session/testing/campaign.js";
import { globOf } from "./glob.js";
import { findTool, listTool } from "./list.js";
import { shellTool } from "./shell.js";
import { KINDS, within } from "./testing/workspace.js";
import { textOf } from "./text.js";
import { viewTool, writeTool } from "./view.js";

const [view, list, find, write] = [viewTool(), listTool(), findTool(), writeTool()];
const PNG = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);

describe.each(KINDS)("files in a sandbox of the kind $kind", ({ kind, missing }) => {
  const test = it.skipIf(missing !== undefined);

  test("[V1] are viewed through a window", async () => {
    await within(kind, async (workspace) => {
      const lines = Array.from({ length: 250 }, (_, at) => `line ${at + 1}`);
      await workspace.write({ "a.txt": `${lines.join("\n")}\n`, "empty.txt": "", "open.txt": "one\ntwo" });
      const window = (from: number, to: number): string =>
        lines
          .slice(from - 1, to)
          .map((line, at) => `${from + at}:${line}`)
          .join("\n");
      expect(await workspace.call(view, { path: "a.txt" })).toBe(
        `[a.txt: lines 1-100 of 250]\n${window(1, 100)}\n(150 more lines below)`,
      );
      expect(await workspace.call(view, { path: "a.txt", start: 101, lines: 10 })).toBe(
        `[a.txt: lines 101-110 of 250]\n(100 more lines above)\n${window(101, 110)}\n(140 more lines below)`,
      );
      expect(await workspace.call(view, { path: "a.txt", start: 249 })).toBe(
        `[a.txt: lines 249-250 of 250]\n(248 more lines above)\n${window(249, 250)}`,
      );
      expect(await workspace.call(view, { path: "empty.txt" })).toBe("[empty.txt: empty]");
      expect(await workspace.call(view, { path: "open.txt" })).toBe(
        "[open.txt: lines 1-2 of 2]\n1:one\n2:two",
      );
      await workspace.write({ "wide.txt": `${"x".repeat(900)}\n`.repeat(100) });
      const wide = await workspace.say(view, { path: "wide.txt" });
      const shown = Number(/lines 1-(\d+) of 100/.exec(wide)?.[1]);
      expect(shown).toBeGreaterThan(14);
      expect(wide.length).toBeLessThanOrEqual(16_000);
      expect(wide).toContain(`(${100 - shown} more lines below)`);
    });
  });

  test("[V2] are listed, shown or described", async () => {
    await within(kind, async (workspace) => {
      await workspace.write({
        "src/a.txt": "x",
        "dot.png": PNG,
        "fake.png": "no picture\n",
        "data.bin": Buffer.of(1, 0, 2),
        "tool.zip": Buffer.from("PK\u0003\u0004\0\0"),
        "large.jpg": Buffer.concat([Buffer.of(0xff, 0xd8, 0xff), Buffer.alloc(5_000_001)]),
      });
      expect(await workspace.say(view, { path: "src" })).toBe("[src: 0 directories, 1 file]\na.txt 1 byte");
      expect(await workspace.say(view, { path: "/workspace" })).toContain("src/");
      expect(await workspace.call(view, { path: "dot.png" })).toEqual({
        type: "content",
        value: [
          { type: "text", text: "[dot.png: image/png, 70 bytes]" },
          { type: "file", media: "image/png", data: PNG.toString("base64"), name: "dot.png" },
        ],
      });
      expect(await workspace.call(view, { path: "fake.png" })).toContain("1:no picture");
      expect(await workspace.call(view, { path: "data.bin" })).toBe("[data.bin: no text, 3 bytes]");
      expect(await workspace.call(view, { path: "tool.zip" })).toBe("[tool.zip: an archive (zip), 6 bytes]");
      expect(await workspace.call(view, { path: "large.jpg" })).toMatch(/too large to be shown\]$/);
    });
  });

  test("[V3] in any encoding can be viewed, and it is said", async () => {
    await within(kind, async (workspace) => {
      await workspace.write({
        "crlf.txt": "one\r\ntwo\r\n",
        "mixed.txt": "one\r\ntwo\n",
        "mark.txt": "\ufeffone\n",
        "wide.txt": Buffer.from("\ufeffgrün\r\n", "utf16le"),
        "latin.txt": Buffer.from("gr\u00fcn\n", "latin1"),
        "long.txt": `${"y".repeat(3000)}\nnext\n`,
        "bell.txt": "ding\u0007\n",
      });
      expect(await workspace.call(view, { path: "crlf.txt" })).toBe(
        "[line endings are CRLF]\n[crlf.txt: lines 1-2 of 2]\n1:one\n2:two",
      );
      expect(await workspace.call(view, { path: "mixed.txt" })).toContain(
        "[line endings are LF and CRLF mixed]",
      );
      expect(await workspace.call(view, { path: "mark.txt" })).toBe("[mark.txt: lines 1-1 of 1]\n1:one");
      expect(await workspace.call(view, { path: "wide.txt" })).toMatch(
        /^\[encoded as UTF-16LE\].*\n1:grün$/s,
      );
      expect(await workspace.call(view, { path: "latin.txt" })).toMatch(
        /not all of it is UTF-8.*\n1:gr\ufffdn$/s,
      );
      expect(await workspace.call(view, { path: "long.txt" })).toBe(
        `[long.txt: lines 1-2 of 2]\n1:${"y".repeat(1000)}[… 2000 more characters]\n2:next`,
      );
      expect(await workspace.call(view, { path: "bell.txt" })).toContain("1:ding\ufffd");
    });
  });

  test("[V4] that cannot be viewed say why", async () => {
    await within(kind, async (workspace) => {
      await workspace.write({ "a.txt": "one\n" });
      await workspace.say(shellTool(), { command: "ln -s a.txt link" });
      await workspace.write({ "big.txt": Buffer.alloc(40 * 1024 ** 2, "a") });
      await expect(workspace.call(view, { path: "gone.txt" })).rejects.toMatchObject({
        code: "file-missing",
      });
      await expect(workspace.call(view, { path: "link" })).rejects.toThrow(/link to "a.txt"/);
      await expect(workspace.call(view, { path: "a.txt", start: 2 })).rejects.toThrow(
        /it has 1 lines, there is no line 2/,
      );
      expect(await workspace.call(view, { path: "big.txt" })).toMatch(
        /^\[big.txt: 40.0 MB, too long to view/,
      );
    });
  });

  test("[L1] are listed to the requested depth, and found by name", async () => {
    await within(kind, async (workspace) => {
      await workspace.write({ "b/c/d.ts": "x".repeat(2000), "b/e.js": "", "a.ts": "1", "run.sh": "true\n" });
      await workspace.say(shellTool(), { command: "chmod 755 run.sh; ln -s a.ts link" });
      expect(await workspace.call(list, {})).toBe(
        "[.: 1 directory, 2 files, 1 link]\na.ts 1 byte\nb/\nlink (link)\nrun.sh 5 bytes executable",
      );
      expect(await workspace.call(list, { path: "b", depth: 2 })).toBe(
        "[b: 1 directory, 2 files]\nc/\nc/d.ts 2.0 KB\ne.js 0 bytes",
      );
      const found = async (name: string, path?: string): Promise<readonly string[]> => {
        const [head = "", ...lines] = (
          await workspace.say(find, { name, ...(path !== undefined && { path }) })
        ).split("\n");
        expect(head).toContain(`[${lines.length} match`);
        return lines;
      };
      expect(await found("*.ts")).toEqual(["a.ts", "b/c/d.ts"]);
      expect(await found("b/**/*.ts")).toEqual(["b/c/d.ts"]);
      expect(await found("*/*.{js,ts}")).toEqual(["b/e.js"]);
      expect(await found("D.T")).toEqual(["b/c/d.ts"]);
      expect(await found("c/d")).toEqual(["b/c/d.ts"]);
      expect(await found("b")).toEqual(["b/"]);
      expect(await found("c/*.ts", "b")).toEqual(["b/c/d.ts"]);
      expect(await found("nothing")).toEqual([]);
      await expect(workspace.call(list, { path: "a.ts" })).rejects.toThrow();
      await expect(workspace.call(find, { name: "x", path: "gone" })).rejects.toThrow();
    });
  });

  test("[L2] in skipped directories are named, and found when asked for", async () => {
    await within(kind, async (workspace) => {
      await workspace.write({ "node_modules/x/a.ts": "", ".git/config": "", "src/a.ts": "" });
      await workspace.say(shellTool(), { command: "ln -s .. src/loop" });
      expect(await workspace.say(find, { name: "a.ts" })).toBe(
        '[1 match for "a.ts", not looking into .git, node_modules]\nsrc/a.ts',
      );
      expect(await workspace.say(find, { name: "*.ts", path: "node_modules" })).toContain(
        "node_modules/x/a.ts",
      );
      expect(await workspace.say(list, { depth: 5 })).toBe(
        "[.: 3 directories, 1 file, 1 link]\n.git/ (not looked into)\nnode_modules/ (not looked into)\nsrc/\nsrc/a.ts 0 bytes\nsrc/loop (link)",
      );
      expect(await workspace.say(findTool({ skip: [] }), { name: "a.ts" })).toContain("[2 matches");
    });
  });

  test("[F1] are written exactly", async () => {
    await within(kind, async (workspace) => {
      expect(await workspace.call(write, { path: "deep/er/a.txt", text: "one\r\ntwo\n" })).toBe(
        "Created deep/er/a.txt with 2 lines.",
      );
      expect(await workspace.read("deep/er/a.txt")).toBe("one\r\ntwo\n");
      await workspace.say(shellTool(), { command: "chmod 755 deep/er/a.txt" });
      expect(await workspace.call(write, { path: "deep/er/a.txt", text: "three" })).toBe(
        "Replaced deep/er/a.txt: 1 line now, 2 before. Its line endings were CRLF and are LF now.",
      );
      expect(await workspace.read("deep/er/a.txt")).toBe("three");
      expect((await workspace.sandbox.files.stat("deep/er/a.txt"))?.mode).toBe(0o755);
      await workspace.call(write, { path: "odd.txt", text: "half \ud800 a character" });
      expect(await workspace.read("odd.txt")).toBe("half \ufffd a character");
      await workspace.say(shellTool(), { command: "ln -s odd.txt link" });
      expect(await workspace.call(write, { path: "link", text: "own" })).toMatch(
        /^Replaced the link link by a file/,
      );
      expect([await workspace.read("link"), await workspace.read("odd.txt")]).toEqual([
        "own",
        "half \ufffd a character",
      ]);
      await expect(workspace.call(write, { path: "deep", text: "no" })).rejects.toThrow();
    });
  });
});

describe("globs", () => {
  it("[L3] fit what they say, and take no time", () => {
    const cases: [string, string, boolean][] = [
      ["*.ts", "a.ts", true],
      ["*.ts", "src/a.ts", true],
      ["*.ts", "a.tsx", false],
      ["src/*.ts", "src/a/b.ts", false],
      ["src/**/*.ts", "src/b.ts", true],
      ["src/**/*.ts", "src/a/c/b.ts", true],
      ["**/b", "b", true],
      ["src/**", "src/a/b", true],
      ["a?c", "abc", true],
      ["a?c", "ac", false],
      ["[a-c]x", "bx", true],
      ["[!a-c]x", "bx", false],
      ["{a,b}/{c,d}.{e,f}", "b/c.f", true],
      ["a\\*b", "a*b", true],
      ["a\\*b", "axb", false],
      ["[", "[", true],
      ["./src/*.ts", "src/a.ts", true],
      ["gr?n", "grün", true],
      ["?", "\u{1f600}", true],
    ];
    for (const [glob, path, fits] of cases) expect(globOf(glob)(path), `${glob} ${path}`).toBe(fits);
    // Each of these would take longer than anybody lives, tried one way after the other.
    expect(globOf(`${"*a".repeat(200)}b`)("a".repeat(10_000))).toBe(false);
    expect(globOf(`${"**/*a*/".repeat(50)}b`)("aa/".repeat(1000))).toBe(false);
    expect(globOf("{a,b}".repeat(40))("ab")).toBe(false);
  });

  it("[L3] fit what a plain definition of them fits", () => {
    const fits = (pattern: string, path: string): boolean => {
      if (pattern === "") return path === "";
      if (pattern.startsWith("**/"))
        return (
          fits(pattern.slice(3), path) ||
          (path.includes("/") && fits(pattern, path.slice(path.indexOf("/") + 1)))
        );
      const [sign, rest] = [pattern[0], pattern.slice(1)];
      if (sign === "*")
        return fits(rest, path) || (path !== "" && path[0] !== "/" && fits(pattern, path.slice(1)));
      return (
        path !== "" && (sign === path[0] || (sign === "?" && path[0] !== "/")) && fits(rest, path.slice(1))
      );
    };
    const names = fc.array(fc.string({ unit: fc.constantFrom("a", "b"), minLength: 1, maxLength: 4 }), {
      minLength: 2,
      maxLength: 4,
    });
    const parts = fc.array(
      fc.oneof(
        fc.constant("**"),
        fc.string({ unit: fc.constantFrom("a", "b", "*", "?"), minLength: 1, maxLength: 4 }),
      ),
      { minLength: 1, maxLength: 4 },
    );
    fc.assert(
      fc.property(parts, names, (pattern, path) => {
        // Two stars within a name are one.
        const glob = [
          ...pattern.map((part) => (part === "**" ? part : part.replace(/\*+/g, "*"))),
          "a*",
        ].join("/");
        expect(globOf(glob)(path.join("/")), `${glob} ${path.join("/")}`).toBe(fits(glob, path.join("/")));
      }),
      { numRuns: campaign(3000) },
    );
  });
});

describe("bytes", () => {
  it("[V3] are text, a picture or neither, whatever they are", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        const found = textOf(bytes);
        if (found.kind === "text") expect(found.lines.join("")).not.toContain("\n");
        else expect(["image", "binary"]).toContain(found.kind);
      }),
    );
    expect(textOf(PNG)).toEqual({ kind: "image", media: "image/png" });
    expect(textOf(Buffer.from("GIF89a\0"))).toEqual({ kind: "image", media: "image/gif" });
    expect(textOf(Buffer.from("RIFF\0\0\0\0WEBPVP8 "))).toEqual({ kind: "image", media: "image/webp" });
    expect(textOf(Buffer.of(0xff, 0xd8, 0xff, 0xe0))).toEqual({ kind: "image", media: "image/jpeg" });
  });
});
