import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Digest } from "../../session/index.js";
import { campaign } from "../../session/testing/campaign.js";
import { bytesOfName, textOfName } from "../path.js";
import type { Trees } from "../trees.js";
import { entriesOf } from "./entries.js";
import { type PatchOptions, patchOf } from "./patch.js";
import { arbitraryDeeds, arbitraryGarden, done } from "./testing/arbitrary-tree.js";
import { folder, gitBytes, hasGit } from "./testing/git.js";
import { patchTree } from "./testing/patch-tree.js";
import { type Garden, memoryTrees, type Plant, planted } from "./testing/planted.js";

async function patched(before: Garden, after: Garden, options?: PatchOptions): Promise<string> {
  const trees = memoryTrees();
  return patchOf(trees, await planted(trees, before), await planted(trees, after), options);
}

function lines(...of: readonly string[]): string {
  return `${of.join("\n")}\n`;
}

const ODD: Garden = {
  "with space": "1\n",
  'quo"te': "1\n",
  "back\\slash": "1\n",
  "new\nline": "1\n",
  "tab\t": "1\n",
  grün: "1\n",
  "\udcff\udcfe": "1\n",
  "-dash": "1\n",
};

describe("patches", () => {
  it("[P1] a changed file is its changed lines with some around them", async () => {
    const before = Array.from({ length: 20 }, (_, at) => String(at + 1));
    const after = before.with(4, "five").with(17, "eighteen");
    const [old, now] = [{ a: lines(...before) }, { a: lines(...after) }];
    expect(await patched(old, now)).toBe(
      lines(
        "diff --git a/a b/a",
        "index 0ff3bbb9c8bba2291654cd64067fa417ff54c508..5051ca82cfcd380232c5d4a01a6c7dbdb3e05d38 100644",
        "--- a/a",
        "+++ b/a",
        "@@ -2,7 +2,7 @@",
        ...[" 2", " 3", " 4", "-5", "+five", " 6", " 7", " 8"],
        "@@ -15,6 +15,6 @@",
        ...[" 15", " 16", " 17", "-18", "+eighteen", " 19", " 20"],
      ),
    );
    expect(await patched(old, now, { context: 0 })).toContain("@@ -5 +5 @@\n-5\n+five\n@@ -18 +18 @@\n");
    expect((await patched(old, now, { context: 10 })).match(/@@ /g)).toHaveLength(1);
    expect(await patched(old, old)).toBe("");
  });

  it("[P2] new and deleted files, modes, links and missing ends of lines are said as git says them", async () => {
    const patch = await patched(
      { gone: "x\n", mode: "m\n", link: { link: "a" }, end: "1\n2", swap: "file\n", empty: "" },
      {
        new: "n\n",
        mode: { file: "m\n", mode: 0o755 },
        link: { link: "b" },
        end: "1\n2\n",
        swap: { link: "new" },
        blank: "",
      },
    );
    expect(patch.replace(/^index .*\n/gm, "")).toBe(
      lines(
        ...["diff --git a/blank b/blank", "new file mode 100644"],
        ...["diff --git a/empty b/empty", "deleted file mode 100644"],
        ...["diff --git a/end b/end", "--- a/end", "+++ b/end", "@@ -1,2 +1,2 @@", " 1", "-2"],
        ...["\\ No newline at end of file", "+2"],
        ...[
          "diff --git a/gone b/gone",
          "deleted file mode 100644",
          "--- a/gone",
          "+++ /dev/null",
          "@@ -1 +0,0 @@",
          "-x",
        ],
        ...["diff --git a/link b/link", "--- a/link", "+++ b/link", "@@ -1 +1 @@"],
        ...["-a", "\\ No newline at end of file", "+b", "\\ No newline at end of file"],
        ...["diff --git a/mode b/mode", "old mode 100644", "new mode 100755"],
        ...[
          "diff --git a/new b/new",
          "new file mode 100644",
          "--- /dev/null",
          "+++ b/new",
          "@@ -0,0 +1 @@",
          "+n",
        ],
        ...[
          "diff --git a/swap b/swap",
          "deleted file mode 100644",
          "--- a/swap",
          "+++ /dev/null",
          "@@ -1 +0,0 @@",
          "-file",
        ],
        ...[
          "diff --git a/swap b/swap",
          "new file mode 120000",
          "--- /dev/null",
          "+++ b/swap",
          "@@ -0,0 +1 @@",
          "+new",
        ],
        "\\ No newline at end of file",
      ),
    );
  });

  it("[P3] of files that are not text it says that they differ", async () => {
    const text = await patched(
      { a: Uint8Array.of(0), c: Uint8Array.of(0xff), d: "x".repeat(9_000_000) },
      { a: Uint8Array.of(1, 0), b: Uint8Array.of(0), d: "y".repeat(9_000_000) },
    );
    expect(text.match(/^Binary.*$/gm)).toEqual([
      "Binary files a/a and b/a differ",
      "Binary files /dev/null and b/b differ",
      "Binary files a/c and /dev/null differ",
      "Binary files a/d and b/d differ",
    ]);
  });

  it("[P4] odd names are in quotes", async () => {
    const text = await patched({}, ODD);
    expect(text).toContain("+++ b/with space\t\n");
    for (const name of [
      '"b/quo\\"te"',
      '"b/back\\\\slash"',
      '"b/new\\nline"',
      '"b/tab\\t"',
      '"b/gr\\303\\274n"',
      '"b/\\377\\376"',
      "b/-dash",
    ])
      expect(text).toContain(`+++ ${name}\n`);
  });

  it("[P5] only the paths that are asked for, and what is below them", async () => {
    const after = { a: "1\n", d: { tree: { x: "1\n", y: "1\n" } }, dd: "1\n" };
    expect((await patched({}, after, { paths: ["./d/"] })).match(/^\+\+\+ .*/gm)).toEqual([
      "+++ b/d/x",
      "+++ b/d/y",
    ]);
    expect((await patched({}, after, { paths: ["a", "d/y"] })).match(/^\+\+\+ .*/gm)).toEqual([
      "+++ b/a",
      "+++ b/d/y",
    ]);
  });

  it("[P6] texts that have little in common make a patch in time", async () => {
    const text = (word: string): string =>
      Array.from({ length: 60_000 }, (_, at) => `${word} ${at % 7 === 0 ? at : "x"}\n`).join("");
    const patch = await patched({ a: text("one") }, { a: text("two") });
    expect(patch.length).toBeGreaterThan(500_000);
    const mixed = (seed: number): string =>
      Array.from({ length: 30_000 }, (_, at) => `${(at * seed) % 101}\n`).join("");
    expect((await patched({ a: mixed(7) }, { a: mixed(13) })).length).toBeGreaterThan(10_000);
  });

  it.skipIf(!hasGit)(
    "[P7] git applies it: files, modes, links, additions, deletions, odd names",
    async () => {
      const { here, patch } = await applied(
        {
          ...ODD,
          mode: "m\n",
          link: { link: "a" },
          end: "1\n2",
          swap: "f\n",
          dir: { tree: { x: "x\n" } },
          file: "f\n",
          gone: "",
        },
        {
          ...Object.fromEntries(Object.keys(ODD).map((name) => [name, "2\n"])),
          mode: { file: "m\n", mode: 0o755 },
          link: { link: "b" },
          end: "1\n2\n3",
          swap: { link: "file" },
          dir: "now a file\n",
          file: { tree: { "now a directory": "y\r\n" } },
          empty: "",
          private: { file: "p\n", mode: 0o600 },
          windows: "a\r\nb\rc\r\n",
        },
      );
      // And says the same in its own words, apart from modes it does not know and the line above each hunk.
      gitBytes(here, ["add", "-A"]);
      const words = gitBytes(here, ["diff", "--cached", "--full-index", "--no-renames", "--no-color"]);
      expect(sections(patch.replaceAll("100600", "100644"))).toEqual(sections(words.toString()));
    },
  );

  it.skipIf(!hasGit)("[P7] git applies what any deeds make of any files", async () => {
    await fc.assert(
      fc.asyncProperty(arbitraryGarden, arbitraryDeeds, async (garden, deeds) => {
        const before = textOnly(garden);
        await applied(before, textOnly(done(before, deeds)), { commit: false });
      }),
      { numRuns: campaign(60) },
    );
  });

  it("[P8] applied to the one tree it gives the files of the other", async () => {
    await fc.assert(
      fc.asyncProperty(arbitraryGarden, arbitraryDeeds, fc.nat(3), async (garden, deeds, context) => {
        const trees = memoryTrees();
        const before = textOnly(garden);
        const [old, now] = [
          await planted(trees, before),
          await planted(trees, textOnly(done(before, deeds))),
        ];
        const outcome = await patchTree(trees, old, await patchOf(trees, old, now, { context }));
        if ("failures" in outcome)
          expect(outcome.failures).toEqual([{ line: 1, why: expect.stringContaining("no file") }]);
        expect(await files(trees, outcome.tree)).toEqual(await files(trees, now));
        expect(outcome.tree).toBe(now);
      }),
      { numRuns: campaign(600) },
    );
  });
});

function sections(patch: string): readonly string[] {
  return patch
    .replace(/^(@@ .* @@).*$/gm, "$1")
    .split(/^(?=diff --git)/m)
    .sort();
}

/** The files and links of a tree, without its directories: a patch has none. */
async function files(trees: Trees, tree: Digest | null): Promise<readonly unknown[]> {
  const found: unknown[] = [];
  for await (const { path, entry } of entriesOf(trees, tree))
    if (entry.kind !== "tree") found.push([path, entry]);
  return found;
}

/** A garden without what a patch in words cannot say. */
function textOnly(garden: Garden): Garden {
  return Object.fromEntries(
    Object.entries(garden).flatMap(([name, plant]): [string, Plant][] => {
      if (typeof plant === "string" || plant instanceof Uint8Array) return [[name, plant]];
      // A link to itself stops git, where it makes place for a directory.
      if ("link" in plant) return [[name, plant.link === name ? { link: "elsewhere" } : plant]];
      if ("tree" in plant) {
        const tree = textOnly(plant.tree);
        return Object.keys(tree).length === 0 ? [] : [[name, { tree }]];
      }
      return [[name, { ...plant, file: typeof plant.file === "string" ? plant.file : "text\n" }]];
    }),
  );
}

/** Makes the files of the one for real, has git apply the patch, and compares with the other. */
async function applied(
  before: Garden,
  after: Garden,
  { commit = true } = {},
): Promise<{ here: string; patch: string }> {
  const trees = memoryTrees();
  const [old, now] = [await planted(trees, before), await planted(trees, after)];
  const patch = await patchOf(trees, old, now);
  const [here, there] = [folder(), folder()];
  if (patch === "") return { here, patch };
  await made(trees, old, here);
  await made(trees, now, there);
  gitBytes(here, ["init", "-q"]);
  if (commit) {
    gitBytes(here, ["add", "-A"]);
    gitBytes(here, ["commit", "-q", "-m", "before"]);
  }
  gitBytes(here, ["apply", "--whitespace=nowarn", "-"], patch);
  expect(onDisk(here)).toEqual(onDisk(there));
  return { here, patch };
}

async function made(trees: Trees, tree: Digest, root: string): Promise<void> {
  for await (const { path, entry } of entriesOf(trees, tree)) {
    const to = Buffer.concat([Buffer.from(`${root}/`), bytesOfName(path)]);
    if (entry.kind === "tree") mkdirSync(to);
    else if (entry.kind === "link") symlinkSync(entry.target, to);
    else {
      const pieces = [];
      for await (const piece of trees.pieces(entry)) pieces.push(piece);
      writeFileSync(to, Buffer.concat(pieces));
      chmodSync(to, entry.mode);
    }
  }
}

/** Files and links below a directory, with what git knows of their modes. */
function onDisk(root: string): readonly string[] {
  const found: string[] = [];
  const walk = (directory: Buffer, way: string): void => {
    for (const name of readdirSync(directory, { encoding: "buffer" }) as unknown as Buffer[]) {
      const path = Buffer.concat([directory, Buffer.from("/"), name]);
      const shown = `${way}${textOfName(name)}`;
      if (shown === ".git") continue;
      const stats = lstatSync(path);
      if (stats.isDirectory()) walk(path, `${shown}/`);
      else if (stats.isSymbolicLink()) found.push(`${shown} -> ${readlinkSync(path)}`);
      else found.push(`${shown} ${stats.mode & 0o100 ? "x" : "-"} ${readFileSync(path, "latin1")}`);
    }
  };
  walk(Buffer.from(root), "");
  return found.sort();
}
