import { describe, expect, it } from "vitest";
import type { Sandbox } from "../../../sandbox/index.js";
import { runTool } from "../call.js";
import { searchTool } from "./search.js";
import { shellTool } from "./shell.js";
import { KINDS, within } from "./testing/workspace.js";

const search = searchTool();
const files = {
  "a.txt": "one fish\nTwo fish\nred (fish)\n",
  "src/b.ts": "const fish = 12;\n\nexport { fish };\n",
  "src/deep/c.ts": "// nothing\r\n// fish 7\r\n",
  "node_modules/x.ts": "fish\n",
  "data.bin": Buffer.from("fish\0fish\n"),
};

describe.each(KINDS)("search in a sandbox of the kind $kind", ({ kind, missing }) => {
  const test = it.skipIf(missing !== undefined);

  test("[S1] finds lines by expression or as they are", async () => {
    await within(kind, async (workspace) => {
      await workspace.write(files);
      const found = async (input: {
        [name: string]: string | boolean | number;
      }): Promise<readonly string[]> => {
        const [head = "", ...lines] = (await workspace.say(search, input as { pattern: string })).split("\n");
        const count = Number(/^\[(\d+) matching lines? in \d+ files?/.exec(head)?.[1]);
        expect(count, head).toBe(lines.length);
        return lines;
      };
      expect(await found({ pattern: "fish" })).toEqual([
        "a.txt:1:one fish",
        "a.txt:2:Two fish",
        "a.txt:3:red (fish)",
        "src/b.ts:1:const fish = 12;",
        "src/b.ts:3:export { fish };",
        "src/deep/c.ts:2:// fish 7",
      ]);
      expect(await found({ pattern: "fish\\s*=?\\s*\\d+" })).toEqual([
        "src/b.ts:1:const fish = 12;",
        "src/deep/c.ts:2:// fish 7",
      ]);
      expect(await found({ pattern: "^(?:one|two) \\w+$", ignoreCase: true })).toEqual([
        "a.txt:1:one fish",
        "a.txt:2:Two fish",
      ]);
      expect(await found({ pattern: "(fish)", plain: true })).toEqual(["a.txt:3:red (fish)"]);
      expect(await found({ pattern: "TWO", plain: true, ignoreCase: true })).toEqual(["a.txt:2:Two fish"]);
      expect(await found({ pattern: "fish", glob: "*.ts" })).toHaveLength(3);
      expect(await found({ pattern: "fish", glob: "src/*.ts" })).toHaveLength(2);
      expect(await found({ pattern: "fish", path: "src", glob: "deep/*" })).toEqual([
        "src/deep/c.ts:2:// fish 7",
      ]);
      expect(await found({ pattern: "fish", path: "src/b.ts" })).toHaveLength(2);
      expect(await found({ pattern: "fish", path: "node_modules" })).toEqual(["node_modules/x.ts:1:fish"]);
      expect(await found({ pattern: "-e", plain: true })).toEqual([]);
      expect(await found({ pattern: "bird" })).toEqual([]);
      expect(await workspace.say(search, { pattern: "bird" })).toBe(
        '[0 matching lines in 0 files for "bird", 4 files searched, not looking into node_modules]',
      );
    });
  });

  test("[S2] shows lines around matches", async () => {
    await within(kind, async (workspace) => {
      await workspace.write({ "a.txt": "1\n2 x\n3\n4 x\n5\n6\n7\n8\n9 x\n", "b.txt": "x\n" });
      expect((await workspace.say(search, { pattern: "x", context: 1 })).split("\n").slice(1)).toEqual([
        ...[
          "a.txt-1-1",
          "a.txt:2:2 x",
          "a.txt-3-3",
          "a.txt:4:4 x",
          "a.txt-5-5",
          "--",
          "a.txt-8-8",
          "a.txt:9:9 x",
          "--",
        ],
        "b.txt:1:x",
      ]);
    });
  });

  test("[S3] finds odd names, and passes over binary files", async () => {
    await within(kind, async (workspace) => {
      await workspace.write({
        "-n": "word\n",
        "with space.txt": "word\n",
        "a:1:b": "word\n",
        a: "no\n",
        "$(touch x)'\"": "word\n",
        "grün.txt": "word ü\n",
        "zero.bin": Buffer.from("word\0\n"),
      });
      await workspace.say(shellTool(), { command: "mkdir dir; ln -s /etc dir/etc; ln -s ../-n dir/link" });
      const lines = (await workspace.say(search, { pattern: "word" })).split("\n").slice(1);
      expect(lines.sort()).toEqual(
        [
          "-n:1:word",
          "with space.txt:1:word",
          "a:1:b:1:word",
          "$(touch x)'\":1:word",
          "grün.txt:1:word ü",
        ].sort(),
      );
      expect(await workspace.sandbox.files.stat("x")).toBeUndefined();
      // A name that looks like a place in another file is not taken for one.
      await workspace.write({ "x:1:y": "before\nneedle\nafter\n" });
      expect(await workspace.say(search, { pattern: "needle", context: 1 })).toMatch(
        /\nx:1:y-1-before\nx:1:y:2:needle\nx:1:y-3-after$/,
      );
    });
  });

  test("[S4] refuses an invalid pattern", async () => {
    await within(kind, async (workspace) => {
      await workspace.write(files);
      for (const pattern of ["fish(", "[", "*(?"])
        await expect(workspace.call(search, { pattern }), pattern).rejects.toMatchObject({
          code: "search-refused",
        });
      for (const pattern of ["a\nb", "a\0b"])
        await expect(workspace.call(search, { pattern })).rejects.toThrow(/about one line/);
      await expect(workspace.call(search, { pattern: "x", path: "gone" })).rejects.toThrow();
      await expect(workspace.call(search, { pattern: "" })).rejects.toThrow();
    });
  });

  test("[S4] lets nobody wait for an endless pattern", async () => {
    await within(
      kind,
      async (workspace) => {
        await workspace.write({ "a.txt": `${"a".repeat(5000)}!\n`.repeat(20) });
        const outcome = await workspace
          .call(search, { pattern: "^(a+)+$|^(a|aa)+$|(x+x+)+y" })
          .catch((error: { code: string }) => error.code);
        // It finds nothing, or is refused: either way there is an end.
        expect(String(outcome)).toMatch(/^\[0 matching|search-refused/);
      },
      { limits: { wall: 3000 } },
    );
  });
});

describe("search without a grep", () => {
  it("[S5] finds plain text, and refuses expressions", async () => {
    await within("virtual", async (workspace) => {
      await workspace.write(files);
      const without = new Proxy(workspace.sandbox, {
        get: (sandbox, name) =>
          name === "exec"
            ? () => sandbox.exec("exit 127")
            : name === "files"
              ? sandbox.files
              : (Reflect.get(sandbox, name, sandbox) as unknown),
      }) as Sandbox;
      const context = { ...workspace.context(), sandbox: async () => without };
      const lines = async (input: object): Promise<readonly string[]> =>
        String(await runTool(search, input, context))
          .split("\n")
          .slice(1);
      expect(await lines({ pattern: "(fish)", plain: true })).toEqual(["a.txt:3:red (fish)"]);
      expect(await lines({ pattern: "TWO", plain: true, ignoreCase: true })).toEqual(["a.txt:2:Two fish"]);
      await expect(runTool(search, { pattern: "fish" }, context)).rejects.toThrow(
        /no grep in this sandbox.*plain: true/,
      );
    });
  });
});
