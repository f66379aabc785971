import { describe, expect, it } from "vitest";
import { type ApplyOptions, applyPatch, type PatchFiles, type PatchOutcome } from "./apply-patch.js";
import { folder, gitBytes, hasGit } from "./testing/git.js";
import { patchTree } from "./testing/patch-tree.js";
import { listed, memoryTrees, planted } from "./testing/planted.js";

/** Files in memory that note what is done to them, and can fail. */
class Files implements PatchFiles {
  readonly held: Map<string, string>;
  readonly modes = new Map<string, number>();
  readonly log: string[] = [];
  failOn: string | undefined;

  constructor(files: { readonly [path: string]: string }) {
    this.held = new Map(Object.entries(files));
  }
  async read(path: string): Promise<Uint8Array | undefined> {
    const text = this.held.get(path);
    return text === undefined ? undefined : Buffer.from(text, "latin1");
  }
  async write(path: string, bytes: Uint8Array, mode?: number): Promise<void> {
    this.log.push(`write ${path}`);
    if (this.failOn === path) {
      this.failOn = undefined;
      throw new Error("the disk is full");
    }
    this.held.set(path, Buffer.from(bytes).toString("latin1"));
    if (mode !== undefined) this.modes.set(path, mode);
  }
  async remove(path: string): Promise<void> {
    this.log.push(`remove ${path}`);
    this.held.delete(path);
  }
  get all(): { [path: string]: string } {
    return Object.fromEntries(this.held);
  }
}

async function run(
  before: { readonly [path: string]: string },
  patch: string | Uint8Array,
  options?: ApplyOptions,
): Promise<{ outcome: PatchOutcome; files: Files; whys: readonly string[] }> {
  const files = new Files(before);
  const outcome = await applyPatch(files, patch, options);
  return { outcome, files, whys: outcome.applied ? [] : outcome.failures.map(({ why }) => why) };
}

const TEN = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n";
const plain = (hunk: string, path = "a"): string => `--- ${path}\n+++ ${path}\n${hunk}`;

describe("applying patches", () => {
  it("[P20] a plain diff and a git diff change, add, delete, rename and copy files and set modes", async () => {
    const { outcome, files } = await run(
      { "src/a": TEN, gone: "x\n", old: "1\n2\n3\n", mode: "m\n", copied: "c\n" },
      [
        "Some words before.",
        "diff --git a/src/a b/src/a",
        "index 123..456 100644",
        "--- a/src/a",
        "+++ b/src/a",
        "@@ -2,3 +2,4 @@ function",
        " 2",
        "-3",
        "+three",
        "+more",
        " 4",
        "diff --git a/gone b/gone",
        "deleted file mode 100644",
        "--- a/gone",
        "+++ /dev/null",
        "@@ -1 +0,0 @@",
        "-x",
        "diff --git a/old b/new name",
        "similarity index 60%",
        "rename from old",
        "rename to new name",
        "--- a/old",
        "+++ b/new name\t",
        "@@ -1,3 +1,3 @@",
        " 1",
        "-2",
        "+two",
        " 3",
        "diff --git a/mode b/mode",
        "old mode 100644",
        "new mode 100755",
        "diff --git a/copied b/copy",
        "similarity index 100%",
        "copy from copied",
        "copy to copy",
        "diff --git a/fresh b/fresh",
        "new file mode 100755",
        "--- /dev/null",
        "+++ b/fresh",
        "@@ -0,0 +1,2 @@",
        "+f",
        "+g",
        "\\ No newline at end of file",
        "",
      ].join("\n"),
    );
    expect(outcome.applied && outcome.files.map(({ path, change, from }) => [path, change, from])).toEqual([
      ["src/a", "modify", undefined],
      ["gone", "delete", undefined],
      ["new name", "add", "old"],
      ["mode", "modify", undefined],
      ["copy", "add", "copied"],
      ["fresh", "add", undefined],
    ]);
    expect(files.all).toEqual({
      "src/a": TEN.replace("3\n", "three\nmore\n"),
      "new name": "1\ntwo\n3\n",
      mode: "m\n",
      copied: "c\n",
      copy: "c\n",
      fresh: "f\ng",
    });
    expect(Object.fromEntries(files.modes)).toEqual({ mode: 0o755, fresh: 0o755 });
  });

  it("[P20] diff -u without git: with dates, without prefixes, for a new file", async () => {
    const { files } = await run(
      { "dir/a": "1\n2\n" },
      "diff -ruN x/dir/a y/dir/a\n--- dir/a\t2026-01-01 00:00:00 +0000\n+++ dir/a\t2026-01-02 00:00:00 +0000\n@@ -1,2 +1,2 @@\n-1\n+one\n 2\n--- dir/new\t1970-01-01 00:00:00 +0000\n+++ dir/new\t2026-01-02 00:00:00 +0000\n@@ -0,0 +1 @@\n+n\n",
    );
    expect(files.all).toEqual({ "dir/a": "one\n2\n", "dir/new": "n\n" });
  });

  it.skipIf(!hasGit)("[P20] patches of git: quoted names, renames, no prefixes, no context", async () => {
    const here = folder();
    const trees = memoryTrees();
    const before = { grün: "1\n2\n3\n4\n5\n6\n", 'q"': "x\n", plain: "1\n" };
    const after = { "blau gelb": "1\n2\n3\n4\nfive\n6\n", 'q"': "y\n", plain: "1\n2" };
    const write = (files: { readonly [name: string]: string }): void => {
      gitBytes(here, ["rm", "-rfq", "--cached", "--ignore-unmatch", "."]);
      for (const [name, text] of Object.entries(files)) {
        const id = gitBytes(here, ["hash-object", "-w", "--stdin"], text).toString().trim();
        gitBytes(here, ["update-index", "--add", "--cacheinfo", `100644,${id},${name}`]);
      }
      gitBytes(here, ["commit", "-qm", "x"]);
    };
    gitBytes(here, ["init", "-q"]);
    write(before);
    write(after);
    for (const options of [
      [],
      ["--no-prefix"],
      ["-U0"],
      ["-M"],
      ["--no-renames"],
      ["--src-prefix=i/", "--dst-prefix=w/"],
    ]) {
      const patch = gitBytes(here, ["diff", ...options, "HEAD~", "HEAD"]);
      const outcome = await patchTree(trees, await planted(trees, before), patch);
      expect(outcome, options.join(" ")).toMatchObject({ applied: true });
      expect(await listed(trees, outcome.tree)).toEqual(await listed(trees, await planted(trees, after)));
    }
  });

  it("[P21] a hunk goes where it says, moved like the one before, or to the only place where it fits", async () => {
    const hunk = "@@ -2,3 +2,3 @@\n 5\n-6\n+six\n 7\n";
    const { outcome, files } = await run({ a: TEN }, plain(hunk));
    expect(files.all.a).toBe(TEN.replace("6", "six"));
    expect(outcome.applied && outcome.files[0]?.hunks).toEqual([{ at: 5, offset: 3, fuzz: 0 }]);
    const twice = "a\nb\nc\na\nb\nc\n";
    expect((await run({ a: twice }, plain("@@ -4,3 +4,3 @@\n a\n-b\n+B\n c\n"))).files.all.a).toBe(
      "a\nb\nc\na\nB\nc\n",
    );
    const unclear = await run({ a: `x\n${twice}` }, plain("@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n"));
    expect(unclear.whys).toEqual([expect.stringContaining("several other places (lines 2, 5)")]);
    expect(unclear.files.log).toEqual([]);
    // Two lines more at the top move both hunks, also the one whose lines stand there twice.
    const moved = await run(
      { a: `0\n0\n${TEN}${twice}` },
      plain("@@ -1,2 +1,2 @@\n 1\n-2\n+two\n@@ -14,2 +14,2 @@\n a\n-b\n+B\n"),
    );
    expect(moved.files.all.a).toBe(`0\n0\n${TEN.replace("2", "two")}a\nb\nc\na\nB\nc\n`);
  });

  it("[P22] strict unless told otherwise; with fuzz, lines at the ends of the context may differ", async () => {
    const hunk = plain("@@ -3,5 +3,5 @@\n three\n 4\n-5\n+five\n 6\n seven\n");
    const strict = await run({ a: TEN }, hunk);
    expect(strict.whys).toEqual([
      'its lines are not there: at line 3 it expects "three", and the file has "3"',
    ]);
    const { outcome, files } = await run({ a: TEN }, hunk, { fuzz: 1 });
    expect(files.all.a).toBe(TEN.replace("5", "five"));
    expect(outcome.applied && outcome.files[0]?.hunks[0]?.fuzz).toBe(1);
    expect(
      (await run({ a: TEN }, plain("@@ -3,3 +3,3 @@\n 3\n-four\n+4\n 5\n"), { fuzz: 3 })).outcome.applied,
    ).toBe(false);
  });

  it("[P23] all of it or nothing: what does not apply is told by file and hunk", async () => {
    const { outcome, files } = await run(
      { a: TEN, b: "b\n", there: "t\n" },
      [
        plain(
          "@@ -1,2 +1,2 @@\n 1\n-2\n+two\n@@ -6,2 +6,2 @@\n 6\n-x\n+y\n@@ -20,1 +20,1 @@\n-z\n+Z\n",
        ).trimEnd(),
        plain("@@ -1 +1 @@\n-b\n+B\n", "b").trimEnd(),
        "--- missing\n+++ missing\n@@ -1 +1 @@\n-1\n+2",
        "--- /dev/null\n+++ there\n@@ -0,0 +1 @@\n+1",
        "--- b\n+++ /dev/null\n@@ -1 +0,0 @@\n-B",
        "--- ../out\n+++ ../out\n@@ -1 +1 @@\n-1\n+2",
        "diff --git a/bin b/bin\nindex 1..2 100644\nBinary files a/bin and b/bin differ",
        "diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+to\n\\ No newline at end of file",
        "",
      ].join("\n"),
    );
    expect(
      outcome.applied ? [] : outcome.failures.map(({ path, hunk, why }) => [path, hunk, why.slice(0, 34)]),
    ).toEqual([
      ["a", 2, "its lines are not there: at line 7"],
      ["a", 3, "its lines are not there: at line 2"],
      ["missing", undefined, 'there is no file "missing"'],
      ["there", undefined, "it is there already"],
      ["../out", undefined, 'Cannot use the path "../out": it g'],
      ["bin", undefined, "it is not text, and a patch in wor"],
      ["l", undefined, "links cannot be made here"],
    ]);
    expect(files.log).toEqual([]);
  });

  it("[P23] a file that would be deleted must hold what the patch says", async () => {
    const patch = "--- a/a\n+++ /dev/null\n@@ -1 +0,0 @@\n-1\n";
    expect((await run({ a: "1\n2\n" }, patch)).whys).toEqual([
      expect.stringContaining("lines that the patch does not know"),
    ]);
    expect((await run({ a: "1\n" }, patch)).files.all).toEqual({});
  });

  it("[P23] when a write fails, what was written is taken back", async () => {
    const files = new Files({ a: "1\n", c: "1\n", d: "1\n" });
    files.failOn = "c";
    const patch = ["a", "b", "c"].map((path) =>
      path === "b" ? "--- /dev/null\n+++ b\n@@ -0,0 +1 @@\n+new\n" : plain("@@ -1 +1 @@\n-1\n+2\n", path),
    );
    await expect(
      applyPatch(files, `${patch.join("")}--- d\n+++ /dev/null\n@@ -1 +0,0 @@\n-1\n`),
    ).rejects.toThrow("disk is full");
    expect(files.all).toEqual({ a: "1\n", c: "1\n", d: "1\n" });
  });

  it("[P24] bytes are kept: line ends, no end at the end, any encoding", async () => {
    const windows = await run({ a: "1\r\n2\r\n3\r\n" }, plain("@@ -1,3 +1,4 @@\n 1\n-2\n+two\n+more\n 3\n"));
    expect(windows.files.all.a).toBe("1\r\ntwo\r\nmore\r\n3\r\n");
    const mixed = await run({ a: "1\n2\n" }, plain("@@ -2,0 +3 @@\n+3\r\n"));
    expect(mixed.files.all.a).toBe("1\n2\n3\r\n");
    const unix = await run(
      { a: "1\n2\n" },
      plain("@@ -1,2 +1,2 @@\r\n 1\r\n-2\r\n+two\r\n").replaceAll("a\n", "a\r\n"),
    );
    expect(unix.files.all.a).toBe("1\ntwo\n");
    const end = await run(
      { a: "1\n2" },
      plain("@@ -1,2 +1,2 @@\n 1\n-2\n\\ No newline at end of file\n+2\n"),
    );
    expect(end.files.all.a).toBe("1\n2\n");
    expect((await run({ a: "1\n2" }, plain("@@ -1,2 +1,2 @@\n 1\n-2\n+3\n"))).outcome.applied).toBe(false);
    const latin = Buffer.from(plain("@@ -1,2 +1,2 @@\n \xe4\n-\xf6\n+\xfc\n"), "latin1");
    expect((await run({ a: "\xe4\n\xf6\n" }, latin)).files.all.a).toBe("\xe4\n\xfc\n");
    const utf8 = Buffer.from("ä\nö\n").toString("latin1");
    expect((await run({ a: utf8 }, plain("@@ -1,2 +1,2 @@\n ä\n-ö\n+ü\n"))).files.all.a).toBe(
      Buffer.from("ä\nü\n").toString("latin1"),
    );
  });

  it("[P25] an invalid patch, or one that counts wrong, is reported and changes nothing", async () => {
    expect((await run({}, "")).whys).toEqual([expect.stringContaining("no file in it")]);
    expect((await run({}, "hello\n")).whys).toEqual([expect.stringContaining("no file in it")]);
    expect((await run({}, "@@ -1 +1 @@\n-a\n+b\n")).whys).toEqual(["a hunk stands before any file"]);
    expect((await run({ a: TEN }, plain("@@ what @@\n-1\n+2\n"))).whys).toEqual([
      expect.stringContaining("@@ -1,2 +1,3 @@"),
    ]);
    const wrong = plain("@@ -1,5 +1,9 @@\n 1\n-2\n+two\n 3\n\n");
    expect((await run({ a: TEN }, wrong)).whys).toEqual([
      "the hunk should have 5 old and 9 new lines, and has 4 and 4",
    ]);
    expect((await run({ a: TEN }, wrong, { recount: true })).files.all.a).toBe(TEN.replace("2", "two"));
    const both = `${wrong}${plain("@@ -1,1 +1,1 @@\n-b\n+B\n+C\n", "b")}`;
    expect((await run({ a: TEN, b: "b\n" }, both, { recount: true })).files.all).toEqual({
      a: TEN.replace("2", "two"),
      b: "B\nC\n",
    });
  });

  it("[P26] a tree is patched like files, with links, and stays when it does not fit", async () => {
    const trees = memoryTrees();
    const tree = await planted(trees, {
      l: { link: "a" },
      d: { tree: { x: "1\n" } },
      p: { file: "p\n", mode: 0o600 },
    });
    const link =
      "diff --git a/l b/l\nindex 1..2 120000\n--- a/l\n+++ b/l\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n\\ No newline at end of file\n";
    const gone = "--- a/d/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-1\n";
    const file = "--- /dev/null\n+++ b/d\n@@ -0,0 +1 @@\n+now a file\n";
    const keeps = plain("@@ -1 +1 @@\n-p\n+q\n", "p");
    const outcome = await patchTree(trees, tree, link + gone + file + keeps);
    expect(await listed(trees, outcome.tree)).toEqual(['d 644 "now a file\\n"', "l -> b", 'p 600 "q\\n"']);
    expect(await listed(trees, (await patchTree(trees, tree, gone)).tree)).toEqual([
      "l -> a",
      'p 600 "p\\n"',
    ]);
    const refused = await patchTree(trees, tree, file + link);
    expect(refused).toMatchObject({ applied: false, tree, failures: [{ path: "d" }] });
    expect(await patchTree(trees, tree, plain("@@ -1 +1 @@\n-a\n+b\n", "l"))).toMatchObject({
      applied: false,
    });
  });

  it("[P27] a file that is renamed, copied or put back has the mode it had, unless the patch says another", async () => {
    const trees = memoryTrees();
    const tree = await planted(trees, {
      run: { file: "#!\n", mode: 0o755 },
      secret: { file: "s\n", mode: 0o600 },
    });
    const renamed = "diff --git a/run b/bin/run\nsimilarity index 100%\nrename from run\nrename to bin/run\n";
    const again = `diff --git a/bin/run b/bin/run\n${plain("@@ -1 +1,2 @@\n #!\n+on\n", "bin/run")}`;
    const copied = "diff --git a/secret b/other\nsimilarity index 100%\ncopy from secret\ncopy to other\n";
    const outcome = await patchTree(trees, tree, renamed + again + copied);
    expect(await listed(trees, outcome.tree)).toEqual([
      "bin/ 755",
      'bin/run 755 "#!\\non\\n"',
      'other 600 "s\\n"',
      'secret 600 "s\\n"',
    ]);
    const open =
      "diff --git a/secret b/open\nold mode 100600\nnew mode 100644\nrename from secret\nrename to open\n";
    expect(await listed(trees, (await patchTree(trees, tree, open)).tree)).toContain('open 644 "s\\n"');
    const files = Object.assign(new Files({ run: "#!\n", last: "l\n" }), {
      mode: async (path: string) => (path === "run" ? 0o755 : 0o644),
    });
    files.failOn = "last";
    await expect(
      applyPatch(files, `${renamed}diff --git a/last b/last\n${plain("@@ -1 +1 @@\n-l\n+m\n", "last")}`),
    ).rejects.toThrow("full");
    expect([files.all, files.modes.get("run")]).toEqual([{ run: "#!\n", last: "l\n" }, 0o755]);
  });
});
