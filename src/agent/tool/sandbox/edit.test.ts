import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { campaign } from "../../../session/testing/campaign.js";
import { editTool } from "./edit.js";
import type { EditRefusedError } from "./error.js";
import { nearestTo, replaced, stretchesOf } from "./match.js";
import { shellTool } from "./shell.js";
import { KINDS, type Workspace, within } from "./testing/workspace.js";

const edit = editTool();

/** The refusal of an edit. */
async function refusal(
  workspace: Workspace,
  input: { [name: string]: string | number | boolean },
): Promise<EditRefusedError> {
  const before = await workspace.read(String(input.path));
  const error: unknown = await workspace.call(edit, input).then(
    () => undefined,
    (thrown) => thrown,
  );
  expect(error).toMatchObject({ code: "edit-refused" });
  expect(await workspace.read(String(input.path))).toBe(before);
  return error as EditRefusedError;
}

describe.each(KINDS)("edit in a sandbox of the kind $kind", ({ kind, missing }) => {
  const test = it.skipIf(missing !== undefined);

  test("[E1] replaces what stands there once", async () => {
    await within(kind, async (workspace) => {
      const lines = Array.from({ length: 20 }, (_, at) => `line ${at + 1}.`);
      await workspace.write({ "a.txt": `${lines.join("\n")}\n` });
      expect(
        await workspace.call(edit, {
          path: "a.txt",
          old: "line 10.\nline 11.",
          new: "ten\nand a half\neleven",
        }),
      ).toBe(
        [
          "Replaced 1 place in a.txt.",
          "[a.txt: lines 6-16 of 21]",
          "(5 more lines above)",
          ...["6:line 6.", "7:line 7.", "8:line 8.", "9:line 9.", "10:ten", "11:and a half", "12:eleven"],
          ...["13:line 12.", "14:line 13.", "15:line 14.", "16:line 15."],
          "(5 more lines below)",
          "[syntax not checked: there is no checker for this kind of file]",
        ].join("\n"),
      );
      await workspace.call(edit, { path: "a.txt", old: "line 1.\n", new: "" });
      await workspace.call(edit, { path: "a.txt", old: "ten\nand a half\neleven", new: "$& $1 \\n" });
      const after = (await workspace.read("a.txt")).split("\n");
      expect([after[0], after[8], after.length]).toEqual(["line 2.", "$& $1 \\n", 19]);
      await workspace.write({ "all.txt": "everything" });
      expect(await workspace.call(edit, { path: "all.txt", old: "everything", new: "" })).toContain(
        "[all.txt: empty]",
      );
    });
  });

  test("[E2] refuses what stands there several times, or replaces all", async () => {
    await within(kind, async (workspace) => {
      await workspace.write({ "a.txt": "x = 1;\ny\nx = 1;\nz x = 1; x = 1;\n" });
      const { message } = await refusal(workspace, { path: "a.txt", old: "x = 1;", new: "x = 2;" });
      expect(message).toContain("4 times, at the lines 1, 3, 4, 4");
      expect(
        await workspace.call(edit, { path: "a.txt", old: "x = 1;", new: "x\n=\n2;", all: true }),
      ).toMatch(/^Replaced 4 places in a\.txt\.\n\[a\.txt: lines 1-12 of 12\]\n1:x\n2:=\n3:2;\n4:y\n/);
      expect(await workspace.read("a.txt")).toBe("x\n=\n2;\ny\nx\n=\n2;\nz x\n=\n2; x\n=\n2;\n");
      const far = Array.from({ length: 200 }, (_, at) => (at % 20 === 0 ? "here" : `${at}`)).join("\n");
      await workspace.write({ "far.txt": far });
      const shown = await workspace.say(edit, { path: "far.txt", old: "here", new: "there", all: true });
      expect(shown.match(/\d+:there/g)).toEqual(["1:there", "21:there", "41:there", "61:there", "81:there"]);
      expect(shown).toContain("[… 5 more places]");
    });
  });

  test("[E3] shows what is most like what does not stand there", async () => {
    await within(kind, async (workspace) => {
      await workspace.write({
        "a.py": "def first():\n    return 1\n\n\ndef second():\n\tif True:\n\t\treturn 2  \n",
        "b.txt": "The quick brown fox\njumps over\nthe lazy dog\n",
      });
      const words = async (path: string, old: string): Promise<string> =>
        (await refusal(workspace, { path, old, new: "x" })).message.split("\n  hint: ")[0] as string;
      expect(await words("a.py", "def first():\n  return 1")).toContain(
        "line 1. There line 2 begins with 4 spaces, old with 2 spaces.",
      );
      expect(await words("a.py", "    if True:\n        return 2  ")).toContain(
        "line 6. There line 6 begins with 1 tab, old with 4 spaces; line 7 begins with 2 tabs, old with 8 spaces.",
      );
      expect(await words("b.txt", "The quick brown cat\njumps over")).toContain(
        "line 1. There line 1 says something else.",
      );
      expect(await words("b.txt", "the  lazy dog")).toContain(
        "line 3 has other white space between its words",
      );
      expect(await words("b.txt", "jumps over the")).toContain("Most like it is line 2");
      expect(await words("b.txt", "completely different text")).toContain("nor anything like it");
      expect(await words("b.txt", "jumps over\nthe lazy dog\nand more")).toContain("line 4 does not exist");
    });
  });

  test("[E4] keeps line endings, modes and bytes", async () => {
    await within(kind, async (workspace) => {
      const odd = Buffer.from([0xff, 0xfe + 1, 0x80]);
      await workspace.write({
        "crlf.txt": "one\r\ntwo\r\nthree\r\n",
        "mixed.txt": "one\r\ntwo\nthree\r\nfour\n",
        "bytes.txt": Buffer.concat([Buffer.from("a\n"), odd, Buffer.from("\nold\n"), odd]),
        "run.txt": "old\n",
        "mark.txt": "\ufeffold\n",
      });
      await workspace.say(shellTool(), { command: "chmod 750 run.txt" });
      await workspace.call(edit, { path: "crlf.txt", old: "one\ntwo", new: "1\n2\n2.5" });
      expect(await workspace.read("crlf.txt")).toBe("1\r\n2\r\n2.5\r\nthree\r\n");
      await workspace.call(edit, { path: "crlf.txt", old: "three", new: "3\n4" });
      expect(await workspace.read("crlf.txt")).toBe("1\r\n2\r\n2.5\r\n3\r\n4\r\n");
      await workspace.call(edit, { path: "mixed.txt", old: "two\r\nthree", new: "2\n3" });
      expect(await workspace.read("mixed.txt")).toBe("one\r\n2\n3\r\nfour\n");
      await workspace.call(edit, { path: "bytes.txt", old: "old", new: "grün" });
      expect(Buffer.from(await workspace.sandbox.files.read("bytes.txt"))).toEqual(
        Buffer.concat([Buffer.from("a\n"), odd, Buffer.from("\ngrün\n"), odd]),
      );
      await workspace.call(edit, { path: "run.txt", old: "old", new: "new" });
      expect((await workspace.sandbox.files.stat("run.txt"))?.mode).toBe(0o750);
      await workspace.call(edit, { path: "mark.txt", old: "old", new: "new" });
      expect(await workspace.read("mark.txt")).toBe("\ufeffnew\n");
    });
  });

  test("[E5] inserts lines", async () => {
    await within(kind, async (workspace) => {
      const made = async (before: string, line: number, text: string): Promise<string> => {
        await workspace.write({ "a.txt": before });
        await workspace.call(edit, { path: "a.txt", line, new: text });
        return workspace.read("a.txt");
      };
      expect(await made("one\ntwo\n", 0, "zero")).toBe("zero\none\ntwo\n");
      expect(await made("one\ntwo\n", 1, "and\na half\n")).toBe("one\nand\na half\ntwo\n");
      expect(await made("one\ntwo\n", 2, "three")).toBe("one\ntwo\nthree\n");
      expect(await made("one\ntwo", 2, "three")).toBe("one\ntwo\nthree");
      expect(await made("one\r\ntwo\r\n", 1, "x\ny")).toBe("one\r\nx\r\ny\r\ntwo\r\n");
      expect(await made("", 0, "first")).toBe("first\n");
      await workspace.write({ "a.txt": "one\n" });
      expect(await workspace.say(edit, { path: "a.txt", line: 1, new: "two\nthree" })).toMatch(
        /^Inserted 2 lines into a\.txt\.\n\[a\.txt: lines 1-3 of 3\]\n1:one\n2:two\n3:three/,
      );
    });
  });

  test("[E6] leaves the file alone when it is refused", async () => {
    await within(kind, async (workspace) => {
      await workspace.write({
        "a.txt": "one\ntwo\n",
        "b.bin": Buffer.of(0, 1, 2),
        "c.txt": Buffer.from("\ufeffx", "utf16le"),
      });
      const reason = async (input: { [name: string]: string | number | boolean }): Promise<unknown> =>
        (await refusal(workspace, input)).data;
      expect(await reason({ path: "a.txt", old: "one", new: "one" })).toMatchObject({ reason: "no-change" });
      expect(await reason({ path: "a.txt", new: "one" })).toMatchObject({ reason: "bad-place" });
      expect(await reason({ path: "a.txt", old: "", new: "one" })).toMatchObject({ reason: "bad-place" });
      expect(await reason({ path: "a.txt", old: "one", line: 1, new: "x" })).toMatchObject({
        reason: "bad-place",
      });
      expect(await reason({ path: "a.txt", line: 3, new: "x" })).toMatchObject({ reason: "bad-place" });
      expect(await reason({ path: "a.txt", line: 1, new: "" })).toMatchObject({ reason: "no-change" });
      expect(await reason({ path: "b.bin", old: "\u0001", new: "x" })).toMatchObject({ reason: "not-text" });
      expect(await reason({ path: "c.txt", old: "x", new: "y" })).toMatchObject({ reason: "not-text" });
      await expect(workspace.call(edit, { path: "gone.txt", old: "a", new: "b" })).rejects.toThrow();
      await expect(workspace.call(edit, { path: ".", old: "a", new: "b" })).rejects.toThrow();
    });
  });
});

describe("replacing", () => {
  const lines = fc.array(
    fc.string({ unit: fc.constantFrom("a", "b", "\n", "\r\n", "\r", "ü"), maxLength: 12 }),
    { maxLength: 4 },
  );

  it("[E4] changes nothing but what was found, whatever the line endings", () => {
    fc.assert(
      fc.property(
        lines,
        fc.string({ unit: fc.constantFrom("a", "b", "\n"), minLength: 1, maxLength: 4 }),
        fc.string({ unit: fc.constantFrom("a", "\n", "\r\n", "ü"), maxLength: 8 }),
        (parts, old, text) => {
          const file = parts.join("");
          const stretches = stretchesOf(file, old);
          const plain = file.replaceAll("\r\n", "\n");
          expect(stretches).toHaveLength(plain.split(old).length - 1);
          let last = 0;
          for (const { from, to } of stretches) {
            expect(from).toBeGreaterThanOrEqual(last);
            expect(file.slice(from, to).replaceAll("\r\n", "\n")).toBe(old);
            last = to;
          }
          const made = replaced(file, stretches, text);
          // What lies between is the same bytes.
          const gaps = (
            whole: string,
            places: readonly { readonly from: number; readonly to: number }[],
          ): readonly string[] =>
            [0, ...places.map(({ to }) => to)].map((start, at) => whole.slice(start, places[at]?.from));
          expect(gaps(made.file, made.stretches)).toEqual(gaps(file, stretches));
          for (const { from, to } of made.stretches)
            expect(made.file.slice(from, to).replaceAll("\r\n", "\n")).toBe(text.replaceAll("\r\n", "\n"));
        },
      ),
      { numRuns: campaign(3000) },
    );
  });

  it("[E3] finds the nearest place of long files in time, and never outside of them", () => {
    const word = fc.constantFrom("if", "return", "x", "  ", "\t", "{", "}", "");
    const text = fc.array(
      fc.array(word, { maxLength: 4 }).map((words) => words.join(" ")),
      { maxLength: 12 },
    );
    fc.assert(
      fc.property(text, text, (file, wanted) => {
        const found = nearestTo(file, wanted);
        if (found === undefined) return;
        expect(found.line).toBeGreaterThanOrEqual(1);
        expect(found.line + found.lines - 1).toBeLessThanOrEqual(Math.max(1, file.length));
      }),
      { numRuns: campaign(2000) },
    );
    const long = Array.from({ length: 100_000 }, (_, at) => `value ${at} ${"=".repeat(at % 50)}`);
    expect(
      nearestTo(
        long,
        Array.from({ length: 500 }, () => "value 7777 was"),
      )?.line,
    ).toBeGreaterThan(0);
    expect(
      nearestTo(
        Array.from({ length: 50_000 }, () => "same"),
        Array.from({ length: 500 }, () => " same"),
      )?.line,
    ).toBe(1);
  });
});
