import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { campaign } from "../../../session/testing/campaign.js";
import { editTool } from "./edit.js";
import { shellTool } from "./shell.js";
import { checkChange, checkModules } from "./syntax.js";
import { jsonProblem } from "./syntax-json.js";
import { checkScript, checkYaml, parsedBy } from "./syntax-thread.js";
import { lacking, within } from "./testing/workspace.js";

const edit = editTool();
const local = await lacking("python3", "sh", "bash", "node");
const inLocal = it.skipIf(local !== undefined);

/** A file, what breaks it, and what is said about that. */
type Case = readonly [path: string, text: string, old: string, broken: string, says: string];
const anywhere: readonly Case[] = [
  [
    "a.json",
    '{\n  "a": 1,\n  "b": 2\n}\n',
    "2\n",
    "2,\n",
    "line 4, column 1: a name in double quotes is missing",
  ],
  ["tsconfig.json", '{\n  // why\n  "a": 1,\n}\n', "1", "1 2", 'line 3, column 10: "," or "}" is missing'],
  ["a.ts", "const x: number = 1;\nexport { x };\n", "= 1", "= ", "line 1, column 19: Expression expected."],
  ["a.tsx", "export const a = <b>{1}</b>;\n", "</b>", "</c>", "closing tag"],
  ["a.js", "function f() {\n  return 1;\n}\n", "}\n", "\n", "line 4, column 1: '}' expected."],
  ["a.mjs", "export default 1;\n", "default 1", "default", "Expression expected"],
  ["a.d.ts", "declare const a: number;\n", "number", "", "Type expected"],
  ["a.yml", "a: 1\nb:\n  - 2\n", "a: 1", "a: [1", "line 2, column 1: Flow sequence"],
];
const inside: readonly Case[] = [
  [
    "a.py",
    "def f():\n    return 1\n",
    "    return",
    "return",
    "line 2, column 1: IndentationError: expected an indented block",
  ],
  [
    "tool",
    "#!/usr/bin/env python3\nprint(1)\n",
    "(1)",
    "(1",
    "line 2, column 6: SyntaxError: '(' was never closed",
  ],
  ["a.sh", "if true; then\n  echo\nfi\n", "fi\n", "", "yntax error"],
  ["a.bash", "a=(1 2)\necho $a\n", "(1 2)", "(1 2", "line 1: unexpected EOF while looking for matching"],
];

describe("an edit that breaks a file", () => {
  const refused =
    (kind: "virtual" | "local") =>
    async (path: string, text: string, old: string, broken: string, says: string) => {
      await within(kind, async (workspace) => {
        await workspace.write({ [path]: text });
        const error = await workspace.call(edit, { path, old, new: broken }).then(
          (output) => Promise.reject(new Error(`made: ${output}`)),
          (thrown: Error) => thrown,
        );
        expect(error).toMatchObject({ code: "edit-refused", data: { reason: "syntax" } });
        expect(error.message).toContain("the edit brings 1 new syntax error.");
        expect(error.message).toContain(says);
        const window = (lines: string): string => (lines.split("\n")[0] as string).slice(0, 20);
        expect(error.message).toContain("It would have looked like this:\n[");
        expect(error.message).toContain(`It is like this:\n[${path}: lines 1-`);
        expect(error.message).toContain(`1:${window(text)}`);
        expect(await workspace.read(path)).toBe(text);
      });
    };
  it.each(anywhere)("[Y1] is refused: %s", refused("virtual"));
  inLocal.each(inside)(`[Y1] is refused: %s${local === undefined ? "" : ` (${local})`}`, refused("local"));

  it.each([...anywhere])("[Y1] otherwise it is made: %s", async (path, text, old) => {
    await within("virtual", async (workspace) => {
      const fine = {
        "a.json": "3\n",
        "tsconfig.json": "3",
        "a.ts": "= 3",
        "a.tsx": "x</b>",
        "a.js": "}\nf();\n",
        "a.mjs": "default 3",
        "a.d.ts": "string",
        "a.yml": "a: 3",
      }[path];
      await workspace.write({ [path]: text });
      const output = await workspace.say(edit, { path, old, new: fine ?? "" });
      expect(output).not.toContain("[syntax");
      expect(await workspace.read(path)).toBe(text.replace(old, fine ?? ""));
    });
  });

  inLocal.each([
    ["a.mjs", "export default 1;\n", "export default;\n", 1],
    ["a.cjs", "const a = require('x'); return;\n", "const a = require('x'; return;\n", 1],
    ["a.js", "import a from 'x';\n\nawait a;\n", "import a from 'x';\n\nawait a b;\n", 3],
    ["b.js", "#!/usr/bin/env node\nmodule.exports = 1;\n", "#!/usr/bin/env node\nmodule.exports = ;\n", 2],
  ])("[Y1] without TypeScript, Node checks scripts and modules: %s", async (path, good, bad, line) => {
    await within("local", async (workspace) => {
      expect(await checkModules(good, path, workspace.sandbox)).toEqual([]);
      expect(await checkModules(bad, path, workspace.sandbox)).toMatchObject([{ line }]);
    });
  });
});

describe("errors that were there", () => {
  it("[Y2] do not count, wherever their lines go", async () => {
    await within("virtual", async ({ sandbox }) => {
      const broken = "const a = ;\nconst b = 2;\nconst c = ;\n";
      const check = (
        after: string,
        change: { line: number; removed: number; added: number },
      ): Promise<unknown> => checkChange("a.ts", broken, after, [change], sandbox);
      expect(await check(`// one\n// two\n${broken}`, { line: 1, removed: 0, added: 2 })).toMatchObject({
        checked: true,
        fresh: [],
        old: [{ line: 3 }, { line: 5 }],
      });
      expect(await check(broken.replace("b = 2", "b = 3"), { line: 2, removed: 1, added: 1 })).toMatchObject({
        fresh: [],
        old: [{ line: 1 }, { line: 3 }],
      });
      expect(await check(broken.replace("b = 2", "b = "), { line: 2, removed: 1, added: 1 })).toMatchObject({
        fresh: [{ line: 2 }],
        old: [{ line: 1 }, { line: 3 }],
      });
      expect(await check(broken.replace("a = ", "a = 1"), { line: 1, removed: 1, added: 1 })).toMatchObject({
        fresh: [],
        old: [{ line: 3 }],
      });
      // Where all errors are known, none was hidden: one that comes up elsewhere is new.
      const open = "const a = ;\nfunction f() {\n  return 1;\n}\n";
      const closed = open.replace("{", "");
      const finding = await checkChange("a.ts", open, closed, [{ line: 2, removed: 1, added: 1 }], sandbox);
      expect(finding).toMatchObject({ fresh: [{ line: 4 }], old: [{ line: 1 }] });
      // The same error in another place is another one.
      const moved = broken.replace("a = ;", "a = 1;").replace("b = 2;", "b = ;");
      expect(await check(moved, { line: 1, removed: 2, added: 2 })).toMatchObject({ fresh: [{ line: 2 }] });
    });
  });

  it("[Y2] come to light behind one that is gone, and still do not count", async () => {
    await within("virtual", async (workspace) => {
      await workspace.write({ "a.json": '{\n  "a": ,\n  "b": 2\n  "c": 3\n}\n' });
      const output = await workspace.say(edit, { path: "a.json", old: '"a": ,', new: '"a": 1,' });
      expect(output).toContain('[syntax errors as before: line 4, column 3: "," or "}" is missing]');
      // A new one before it, or in what was changed, does.
      await expect(workspace.call(edit, { path: "a.json", old: '"a": 1,', new: '"a": 1' })).rejects.toThrow(
        /line 3/,
      );
      await expect(workspace.call(edit, { path: "a.json", old: '"c": 3', new: ', "c" 3' })).rejects.toThrow(
        /line 4/,
      );
      expect(await workspace.say(edit, { path: "a.json", old: '"c": 3', new: ', "c": 3' })).not.toContain(
        "[syntax",
      );
    });
  });

  it("[Y3] are not looked for where nobody can", async () => {
    await within("virtual", async (workspace) => {
      await workspace.write({
        "a.rs": "fn main() {}\n",
        "a.py": "def f(): pass\n",
        "a.json": `[${"1,".repeat(1_000_001)}1]`,
      });
      expect(await workspace.say(edit, { path: "a.rs", old: "}", new: "" })).toContain(
        "[syntax not checked: there is no checker for this kind of file]",
      );
      expect(await workspace.say(edit, { path: "a.py", old: "pass", new: "(" })).toContain(
        "[syntax not checked: no checker for this kind of file can be run here]",
      );
      await workspace.write({ "flow.js": "// @flow\nconst a = 1;\n" });
      expect(await workspace.say(edit, { path: "flow.js", old: "a = 1", new: "a: number = 1" })).toContain(
        "[syntax not checked: no checker for this kind of file can be run here]",
      );
      expect(await workspace.say(edit, { path: "a.json", old: "1]", new: "" })).toContain(
        "the file is too long for it",
      );
    });
  });
});

describe("JSON", () => {
  it("[Y4] is what JSON.parse accepts", () => {
    const accepted = (text: string): boolean => {
      try {
        JSON.parse(text);
        return true;
      } catch {
        return false;
      }
    };
    const signs = fc.constantFrom(
      ...'{}[]",:\\ntrufalse0123456789.eE+-/* \n\t\u0001ü'.split(""),
      "true",
      "null",
      '"a"',
      '"a":',
      "-0.5e+3",
      "\\u12aF",
    );
    fc.assert(
      fc.property(fc.array(signs, { maxLength: 12 }), (parts) => {
        const text = parts.join("");
        expect(jsonProblem(text) === undefined, text).toBe(accepted(text));
      }),
      { numRuns: campaign(30_000) },
    );
    fc.assert(
      fc.property(
        fc.json(),
        fc.nat(),
        fc.constantFrom("", ",", "]", "}", '"', "x", "0", "\\"),
        (text, place, sign) => {
          const at = place % (text.length + 1);
          const other = text.slice(0, at) + sign + text.slice(at + (sign === "" ? 1 : 0));
          expect(jsonProblem(text)).toBeUndefined();
          expect(jsonProblem(other) === undefined, other).toBe(accepted(other));
        },
      ),
      { numRuns: campaign(5000) },
    );
    expect(jsonProblem("[".repeat(200_000) + "]".repeat(200_000))).toBeUndefined();
    expect(jsonProblem("[".repeat(200_000))).toEqual({
      line: 1,
      column: 200_001,
      message: '"[" is not closed',
    });
    expect(jsonProblem('\n\n  {"a" 1}')).toEqual({ line: 3, column: 8, message: '":" is missing' });
  });

  it("[Y4] in settings may have comments and a last comma", () => {
    for (const text of ['{"a": 1, /* why */ "b": [1, 2,], // so\n}', "// only\n[]", "/**/1"]) {
      expect(jsonProblem(text, true)).toBeUndefined();
      expect(jsonProblem(text)).toBeDefined();
    }
    for (const text of ["[,]", "{,}", "[1,,]", "/* open", "{} x", "[1 // ]"])
      expect(jsonProblem(text, true), text).toBeDefined();
  });
});

describe("a check", () => {
  inLocal("[Y5] runs nothing of the file, and nothing of the workspace", async () => {
    await within("local", async (workspace) => {
      const made = (language: string): string =>
        ({
          "a.py": 'import os\nos.system("touch ran")\n',
          "a.sh": "touch ran\n$(touch ran)\n",
          "a.bash": "touch ran\n",
          "a.js": 'require("node:fs").writeFileSync("ran", "");\n',
        })[language] ?? "";
      await workspace.write({
        "ast.py": 'open("shadowed", "w")\n',
        "json.py": 'open("shadowed", "w")\n',
        "sitecustomize.py": 'open("shadowed", "w")\n',
        "node_modules/node:vm/index.js": 'require("node:fs").writeFileSync("shadowed", "");\n',
        ".bashrc": "touch shadowed\n",
      });
      for (const path of ["a.py", "a.sh", "a.bash", "a.js"]) {
        await workspace.write({ [path]: made(path) });
        const output = await workspace.say(edit, { path, line: 0, new: path === "a.js" ? "// x" : "# x" });
        expect(output, path).not.toContain("[syntax");
        if (path === "a.js") expect(await checkModules(made(path), path, workspace.sandbox)).toEqual([]);
      }
      expect(await workspace.say(shellTool(), { command: "ls ran shadowed; true" })).not.toMatch(
        /^(ran|shadowed)$/m,
      );
      expect(await workspace.sandbox.files.stat("ran")).toBeUndefined();
      expect(await workspace.sandbox.files.stat("shadowed")).toBeUndefined();
    });
  });

  it("[Y6] that does not come to an end is ended, and the next one works", async () => {
    expect(await checkScript("const a = ;", "a.ts")).toHaveLength(1);
    const long = `const a = [${"{ b: 1 }, ".repeat(150_000)}];`;
    expect(await parsedBy("typescript", long, "/a.ts", 1)).toBeUndefined();
    const [script, yaml, deep] = await Promise.all([
      checkScript("const a = ;", "a.ts"),
      checkYaml("a: [", "a.yml"),
      checkScript("(".repeat(300_000), "a.ts"),
    ]);
    expect(script).toHaveLength(1);
    expect(yaml).toHaveLength(1);
    expect(deep).toBeUndefined();
    expect(await checkScript("const a = 1;", "a.ts")).toEqual([]);
  });
});
