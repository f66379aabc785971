import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Sandbox } from "../../../sandbox/index.js";
import { campaign } from "../../../session/testing/campaign.js";
import { runTool } from "../call.js";
import { readBeginPatch, withHunks } from "./begin-patch.js";
import { patchTool } from "./patch.js";
import { shellTool } from "./shell.js";
import { KINDS, type Workspace, within } from "./testing/workspace.js";

const patch = patchTool();
const begin = (...lines: string[]): string => ["*** Begin Patch", ...lines, "*** End Patch", ""].join("\n");

async function filesOf(workspace: Workspace): Promise<{ readonly [path: string]: string }> {
  const found: { [path: string]: string } = {};
  const look = async (path: string): Promise<void> => {
    for (const { name, kind } of await workspace.sandbox.files.list(path)) {
      const inner = path === "" ? name : `${path}/${name}`;
      if (kind === "directory") await look(inner);
      else found[inner] = await workspace.read(inner);
    }
  };
  await look("");
  return found;
}

describe.each(KINDS)("patch in a sandbox of the kind $kind", ({ kind, missing }) => {
  const test = it.skipIf(missing !== undefined);

  test("[A1] applies a diff of git", async () => {
    await within(kind, async (workspace) => {
      await workspace.write({ "a.txt": "one\ntwo\nthree\n", "gone.txt": "bye\n", "old.txt": "name\nsame\n" });
      const output = await workspace.call(patch, {
        patch: [
          "diff --git a/a.txt b/a.txt",
          "--- a/a.txt",
          "+++ b/a.txt",
          // Line numbers and counts as models write them.
          "@@ -10,7 +10,9 @@",
          " one",
          "-two",
          "+2",
          "+2.5",
          " three",
          "diff --git a/gone.txt b/gone.txt",
          "deleted file mode 100644",
          "--- a/gone.txt",
          "+++ /dev/null",
          "@@ -1 +0,0 @@",
          "-bye",
          "diff --git a/sub/new.txt b/sub/new.txt",
          "new file mode 100644",
          "--- /dev/null",
          "+++ b/sub/new.txt",
          "@@ -0,0 +1,2 @@",
          "+hello",
          "+there",
          "diff --git a/old.txt b/fresh.txt",
          "rename from old.txt",
          "rename to fresh.txt",
          "--- a/old.txt",
          "+++ b/fresh.txt",
          "@@ -1,2 +1,2 @@",
          "-name",
          "+title",
          " same",
          "",
        ].join("\n"),
      });
      expect(output).toContain("Applied to 4 files:");
      expect(await filesOf(workspace)).toEqual({
        "a.txt": "one\n2\n2.5\nthree\n",
        "sub/new.txt": "hello\nthere\n",
        "fresh.txt": "title\nsame\n",
      });
    });
  });

  test("[A2] applies the form with Begin Patch", async () => {
    await within(kind, async (workspace) => {
      await workspace.write({
        "a.py":
          "class A:\n    def f(self):\n        return 1\n\nclass B:\n    def f(self):\n        return 1\n\n    def g(self):\n        pass\n",
        "gone.txt": "bye\n",
        "old.txt": "one\n\ttwo  \nthree",
        "end.txt": "x\ny\nx\n",
      });
      const output = await workspace.call(patch, {
        patch: `Here it is:\n\`\`\`\n${begin(
          "*** Update File: a.py",
          "@@ class B:",
          "@@     def f(self):",
          "-        return 1",
          "+        return 2",
          " ",
          "     def g(self):",
          "-        pass",
          "+        return 3",
          "*** Delete File: gone.txt",
          "*** Add File: sub/new.txt",
          "+first",
          "+",
          "+last",
          "*** Update File: old.txt",
          "*** Move to: sub/moved.txt",
          "@@",
          " one",
          " two",
          "-three",
          "+3",
          "*** Update File: end.txt",
          "@@",
          "-x",
          "+z",
          "*** End of File",
        )}\`\`\`\n`,
      });
      expect(output).toBe(
        "Applied to 5 files:\nmodify a.py\ndelete gone.txt\nadd sub/new.txt\nmove old.txt to sub/moved.txt\nmodify end.txt",
      );
      expect(await filesOf(workspace)).toEqual({
        "a.py":
          "class A:\n    def f(self):\n        return 1\n\nclass B:\n    def f(self):\n        return 2\n\n    def g(self):\n        return 3\n",
        "sub/new.txt": "first\n\nlast\n",
        // The line that has other white space in the file keeps its own, and the end without a line break stays one.
        "sub/moved.txt": "one\n\ttwo  \n3",
        "end.txt": "x\ny\nz\n",
      });
    });
  });

  test("[A3] applies all or nothing", async () => {
    await within(kind, async (workspace) => {
      const before = { "a.txt": "one\n", "b.txt": "two\n" };
      await workspace.write(before);
      const broken = [
        begin("*** Update File: a.txt", "-one", "+1", "*** Update File: b.txt", "-three", "+3"),
        begin("*** Delete File: a.txt", "*** Add File: b.txt", "+no"),
        begin("*** Add File: c.txt", "+new", "*** Delete File: d.txt"),
        begin("*** Update File: a.txt", "-one", "+1", "*** Update File: a.txt", "-one", "+2"),
        "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+1\n--- a/b.txt\n+++ b/b.txt\n@@ -1 +1 @@\n-three\n+3\n",
      ];
      for (const text of broken) {
        await expect(workspace.call(patch, { patch: text }), text).rejects.toMatchObject({
          code: "patch-refused",
        });
        expect(await filesOf(workspace)).toEqual(before);
      }
      // Several sections of one file build on each other.
      await workspace.call(patch, {
        patch: begin("*** Update File: a.txt", "-one", "+1", "*** Update File: ./a.txt", "-1", "+uno"),
      });
      expect(await workspace.read("a.txt")).toBe("uno\n");
    });
  });

  test("[A4] keeps line endings and modes", async () => {
    await within(kind, async (workspace) => {
      const reset = async (): Promise<void> => {
        await workspace.write({ "a.txt": "one\r\ntwo\r\nthree\r\n", "run.sh": "echo 1\n" });
        await workspace.say(shellTool(), { command: "chmod 755 run.sh" });
      };
      for (const text of [
        begin(
          "*** Update File: a.txt",
          " one",
          "-two",
          "+2",
          "*** Update File: run.sh",
          "*** Move to: go.sh",
          "-echo 1",
          "+echo 2",
        ),
        "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\ndiff --git a/run.sh b/go.sh\nrename from run.sh\nrename to go.sh\n--- a/run.sh\n+++ b/go.sh\n@@ -1 +1 @@\n-echo 1\n+echo 2\n",
      ]) {
        await reset();
        await workspace.call(patch, { patch: text });
        expect(await filesOf(workspace)).toEqual({ "a.txt": "one\r\n2\r\nthree\r\n", "go.sh": "echo 2\n" });
        expect((await workspace.sandbox.files.stat("go.sh"))?.mode).toBe(0o755);
        await workspace.sandbox.files.remove("go.sh");
      }
    });
  });

  test("[A4] a file that is renamed keeps its mode, also under a name that git quotes, and when it goes on from there", async () => {
    await within(kind, async (workspace) => {
      const rename = (from: string, to: string): string =>
        `diff --git a/x b/y\nsimilarity index 100%\nrename from ${from}\nrename to ${to}\n`;
      await workspace.write({ "é.sh": "echo 1\n", "a.sh": "echo 2\n" });
      await workspace.say(shellTool(), { command: "chmod 755 *.sh" });
      await workspace.call(patch, { patch: rename('"\\303\\251.sh"', "e.sh") });
      await workspace.call(patch, { patch: rename("a.sh", "b.sh") + rename("b.sh", "c.sh") });
      expect(await filesOf(workspace)).toEqual({ "e.sh": "echo 1\n", "c.sh": "echo 2\n" });
      for (const path of ["e.sh", "c.sh"])
        expect((await workspace.sandbox.files.stat(path))?.mode, path).toBe(0o755);
    });
  });

  test("[A5] refuses what is not clear, with the reason", async () => {
    await within(kind, async (workspace) => {
      const before = { "a.txt": "x\ny\nx\ny\n", "dir/b.txt": "" };
      await workspace.write(before);
      const reason = async (text: string): Promise<string> => {
        const error = await workspace.call(patch, { patch: text }).then(
          (output) => Promise.reject(new Error(`applied: ${output}`)),
          (thrown: Error) => thrown,
        );
        expect(await filesOf(workspace)).toEqual(before);
        return error.message;
      };
      expect(await reason(begin("*** Update File: a.txt", " x", "-y", "+z"))).toContain(
        "a.txt: its lines stand there 2 times, at the lines 1, 3",
      );
      expect(await reason(begin("*** Update File: a.txt", "-nothing", "+z"))).toContain("do not stand there");
      expect(await reason(begin("*** Update File: a.txt", "@@ class X:", "-x", "+z"))).toContain(
        'says "class X:"',
      );
      expect(await reason(begin("*** Update File: a.txt", " x"))).toContain("changes nothing");
      expect(await reason(begin("*** Update File: a.txt", "x"))).toContain("line 3 of the patch");
      expect(await reason(begin("*** Add File: b.txt", "text"))).toContain('begins with "+"');
      expect(await reason(begin("*** Create File: b.txt"))).toContain("belongs here");
      expect(await reason(begin())).toContain("no file in it");
      expect(await reason("*** Begin Patch\n*** Delete File: a.txt\n")).toContain("was it cut off?");
      expect(await reason(begin("*** Delete File: dir"))).toContain("dir");
      expect(await reason("no patch at all")).toBeTruthy();
      expect(await reason("--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-nothing\n+z\n")).toContain("a.txt");
    });
  });
});

describe("patches", () => {
  it("[A3] are taken back when a file cannot be written", async () => {
    await within("virtual", async (workspace) => {
      const before = { "a.txt": "one\n", "b.txt": "two\n", "c.txt": "three\n" };
      await workspace.write(before);
      const failing = new Proxy(workspace.sandbox, {
        get: (sandbox, name) =>
          name === "files"
            ? new Proxy(sandbox.files, {
                get: (files, method) => {
                  const real = (Reflect.get(files, method, files) as (...args: unknown[]) => unknown).bind(
                    files,
                  );
                  if (method !== "write") return real;
                  return (path: string, bytes: Uint8Array, options: object) =>
                    path === "c.txt" && Buffer.from(bytes).toString() !== "three\n"
                      ? Promise.reject(new Error("disk full"))
                      : real(path, bytes, options);
                },
              })
            : (Reflect.get(sandbox, name, sandbox) as unknown),
      }) as Sandbox;
      const context = { ...workspace.context(), sandbox: async () => failing };
      for (const text of [
        begin(
          "*** Update File: a.txt",
          "-one",
          "+1",
          "*** Delete File: b.txt",
          "*** Add File: n.txt",
          "+n",
          "*** Update File: c.txt",
          "-three",
          "+3",
        ),
        "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+1\n--- a/c.txt\n+++ b/c.txt\n@@ -1 +1 @@\n-three\n+3\n",
      ]) {
        await expect(runTool(patch, { patch: text }, context)).rejects.toThrow("disk full");
        expect(await filesOf(workspace)).toEqual(before);
      }
    });
  });

  it("[A2] put into words what was changed, and applied, give the change", () => {
    const line = fc.constantFrom("a", "b", "c", "", "  d", "+e", "-f", "@@ g", "*** h");
    const text = fc.array(line, { minLength: 1, maxLength: 12 });
    fc.assert(
      fc.property(
        text,
        fc.array(fc.tuple(fc.nat(20), fc.boolean(), line), { minLength: 1, maxLength: 4 }),
        fc.boolean(),
        (lines, edits, ended) => {
          const file = lines.join("\n") + (ended ? "\n" : "");
          if (file === "" || (!ended && lines.at(-1) === "")) return;
          // One hunk over the whole file: nothing about its place is left to guess.
          const marked = lines.map((one) => ({ mark: " ", text: one }));
          for (const [place, removes, fresh] of edits) {
            const at = place % marked.length;
            if (removes && marked[at]?.mark === " ") marked[at] = { mark: "-", text: marked[at].text };
            else marked.splice(at, 0, { mark: "+", text: fresh });
          }
          const wanted = marked.filter(({ mark }) => mark !== "-").map((one) => one.text);
          if (marked.every(({ mark }) => mark === " ") || wanted.length === 0) return;
          if (!marked.some(({ mark }) => mark !== "+")) return;
          const [section] = readBeginPatch(
            begin("*** Update File: f", "@@", ...marked.map((one) => one.mark + one.text)),
          );
          if (section?.type !== "update") throw new Error("no update");
          expect(withHunks(file, section)).toBe(wanted.join("\n") + (ended ? "\n" : ""));
        },
      ),
      { numRuns: campaign(3000) },
    );
  });

  it("[A5] that are broken are refused, never half read", () => {
    const line = fc.constantFrom(
      "*** Begin Patch",
      "*** End Patch",
      "*** Add File: a",
      "*** Update File: b",
      "*** Delete File: c",
      "*** Move to: d",
      "*** End of File",
      "@@",
      "@@ x",
      "+y",
      "-z",
      " w",
      "",
      "junk",
    );
    fc.assert(
      fc.property(fc.array(line, { maxLength: 15 }), (lines) => {
        try {
          for (const section of readBeginPatch(["*** Begin Patch", ...lines].join("\n")))
            if (section.type === "update")
              expect(section.hunks.length > 0 || section.moveTo !== undefined).toBe(true);
        } catch (error) {
          expect(error).toMatchObject({ code: "patch-refused" });
        }
      }),
      { numRuns: campaign(3000) },
    );
  });
});
