import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Digest, digestOf, EMPTY_TREE, type Json, type TreeEntry } from "../../session/index.js";
import { campaign } from "../../session/testing/campaign.js";
import { MissingFileError } from "../error.js";
import { PIECE_BYTES, Trees } from "../trees.js";
import { conflictsOf } from "./conflict.js";
import { diffTrees, entriesOf, entryAt } from "./entries.js";
import { type MergedTree, mergeTrees } from "./merge.js";
import { arbitraryDeeds, arbitraryGarden, done } from "./testing/arbitrary-tree.js";
import { type Garden, listed, MemorySpace, memoryTrees, planted } from "./testing/planted.js";

async function merged(
  base: Garden,
  ours: Garden,
  theirs: Garden,
): Promise<{ files: readonly string[]; merge: MergedTree; kinds: { [path: string]: string } }> {
  const trees = memoryTrees();
  const sides = {
    base: await planted(trees, base),
    ours: await planted(trees, ours),
    theirs: await planted(trees, theirs),
  };
  const merge = await mergeTrees(trees, sides);
  return {
    files: await listed(trees, merge.tree),
    merge,
    kinds: Object.fromEntries(merge.conflicts.map(({ path, kind }) => [path, kind])),
  };
}

describe("merging trees", () => {
  it("[M1] changes of one side are taken: files, modes, links, directories, deletions", async () => {
    const base = { a: "a\n", b: "b\n", c: "c\n", d: { tree: { x: "x\n" } }, l: { link: "a" } };
    const { a: _a, ...ours } = { ...base, b: "B\n", e: { tree: {} }, l: { link: "b" } };
    const theirs = {
      ...base,
      c: { file: "c\n", mode: 0o755 },
      d: { tree: { x: "x\n", y: "y\n" }, mode: 0o700 },
    };
    const { files, merge, kinds } = await merged(base, ours, theirs);
    expect(kinds).toEqual({});
    expect(files).toEqual([
      'b 644 "B\\n"',
      'c 755 "c\\n"',
      "d/ 700",
      'd/x 644 "x\\n"',
      'd/y 644 "y\\n"',
      "e/ 755",
      "l -> b",
    ]);
    expect(merge.paths).toEqual([
      { path: "c", change: "modify" },
      { path: "d", change: "modify" },
      { path: "d/y", change: "add" },
    ]);
  });

  it("[M2] equal changes of both sides are taken once", async () => {
    const both = { a: "new\n", d: { tree: { x: "x\n" } } };
    const { files, kinds } = await merged({ z: "gone\n" }, both, { ...both });
    expect(kinds).toEqual({});
    expect(files).toEqual(['a 644 "new\\n"', "d/ 755", 'd/x 644 "x\\n"']);
  });

  it("[M3] one side's content and the other's mode go together", async () => {
    const { files, kinds } = await merged({ a: "a\n" }, { a: "b\n" }, { a: { file: "a\n", mode: 0o755 } });
    expect(kinds).toEqual({});
    expect(files).toEqual(['a 755 "b\\n"']);
  });

  it("[M4] lines of a text that both changed stand between markers, and the conflict names all sides", async () => {
    const { files, merge } = await merged({ a: "one\n" }, { a: "two\n" }, { a: "three\n" });
    expect(files).toEqual([
      `a 644 ${JSON.stringify("<<<<<<< ours\ntwo\n||||||| base\none\n=======\nthree\n>>>>>>> theirs\n")}`,
    ]);
    expect(merge.conflicts).toEqual([
      {
        path: "a",
        kind: "content",
        base: { kind: "file", mode: 0o644, size: 4, digest: digestOf("one\n") },
        ours: { kind: "file", mode: 0o644, size: 4, digest: digestOf("two\n") },
        theirs: { kind: "file", mode: 0o644, size: 6, digest: digestOf("three\n") },
      },
    ]);
    // Merging again begins where it ended: markers are text like any other.
    expect(merge.paths).toEqual([{ path: "a", change: "modify" }]);
  });

  it("[M5] files that are not text keep ours, and are a conflict", async () => {
    const binary = (byte: number): Uint8Array => Uint8Array.of(0, byte);
    const latin = (byte: number): Uint8Array => Uint8Array.of(0x61, byte, 0x0a);
    const { files, kinds } = await merged(
      { nul: binary(1), latin: latin(0xe4), mixed: "text\n" },
      { nul: binary(2), latin: latin(0xe5), mixed: "ours\n" },
      { nul: binary(3), latin: latin(0xe6), mixed: binary(4) },
    );
    expect(kinds).toEqual({ nul: "binary", latin: "binary", mixed: "binary" });
    expect(files).toEqual([
      'latin 644 "aå\\n"',
      'mixed 644 "ours\\n"',
      `nul 644 ${JSON.stringify("\0\u0002")}`,
    ]);
  });

  it("[M5] a file that is kept in pieces is never merged line by line", async () => {
    const trees = memoryTrees();
    const long = (word: string): Garden => ({ a: `${"x".repeat(PIECE_BYTES)}\n${word}\nmiddle\nend\n` });
    const merge = await mergeTrees(trees, {
      base: await planted(trees, long("base")),
      ours: await planted(trees, long("ours")),
      theirs: await planted(trees, { a: `${(long("base") as { a: string }).a}more\n` }),
    });
    expect(merge.conflicts.map(({ path, kind, ours }) => [path, kind, ours?.kind])).toEqual([
      ["a", "binary", "parts"],
    ]);
    expect(merge.tree).toBe(merge.sides.ours);
  });

  it("[M5] a text that a merge makes longer than a piece is kept in pieces", async () => {
    const trees = memoryTrees();
    const half = `${"y".repeat(63)}\n`.repeat(PIECE_BYTES / 128 - 1);
    const merge = await mergeTrees(trees, {
      base: await planted(trees, { a: "middle\n" }),
      ours: await planted(trees, { a: `${half}middle\n` }),
      theirs: await planted(trees, { a: `middle\n${half}${"z".repeat(200)}\n` }),
    });
    const entry = await entryAt(trees, merge.tree, "a");
    expect([merge.conflicts, entry?.kind]).toEqual([[], "parts"]);
    const [line] = await listed(trees, merge.tree);
    expect(line?.length).toBeGreaterThan(PIECE_BYTES);
  });

  it("[M6] a mode that both changed is a conflict: of a file, of a directory, of what both added", async () => {
    const file = (mode: number): Garden[string] => ({ file: "a\n", mode });
    const { files, kinds } = await merged(
      { a: file(0o644), d: { tree: { x: "x" } } },
      {
        a: file(0o755),
        d: { tree: { x: "ours" }, mode: 0o700 },
        n: file(0o600),
        e: { tree: {}, mode: 0o711 },
      },
      { a: file(0o600), d: { tree: { x: "x" }, mode: 0o711 }, n: file(0o640), e: { tree: {}, mode: 0o700 } },
    );
    expect(kinds).toEqual({ a: "mode", d: "mode", n: "mode", e: "mode" });
    expect(files).toEqual(['a 755 "a\\n"', "d/ 700", 'd/x 644 "ours"', "e/ 711", 'n 600 "a\\n"']);
  });

  it("[M6] also when the text of the file goes together", async () => {
    const { files, kinds } = await merged(
      { a: "1\n2\n3\n" },
      { a: { file: "one\n2\n3\n", mode: 0o755 } },
      { a: { file: "1\n2\nthree\n", mode: 0o600 } },
    );
    expect([kinds, files]).toEqual([{ a: "mode" }, ['a 755 "one\\n2\\nthree\\n"']]);
  });

  it("[M7] a path that one side deleted and the other changed is a conflict, and stays", async () => {
    const { files, kinds, merge } = await merged(
      { a: "a\n", b: "b\n", l: { link: "a" } },
      { b: "B\n" },
      { a: "A\n", l: { link: "b" } },
    );
    expect(kinds).toEqual({ a: "delete-modify", b: "modify-delete", l: "delete-modify" });
    expect(files).toEqual(['a 644 "A\\n"', 'b 644 "B\\n"', "l -> b"]);
    expect(Object.keys(merge.conflicts[0] ?? {})).toEqual(["path", "kind", "base", "theirs"]);
  });

  it("[M7] a directory that one side deleted keeps what the other changed or added in it", async () => {
    const base = { d: { tree: { same: "s\n", changed: "c\n", e: { tree: { x: "x\n" } } } } };
    const theirs = { d: { tree: { same: "s\n", changed: "C\n", added: "a\n", e: { tree: { x: "x\n" } } } } };
    const { files, kinds } = await merged(base, {}, theirs);
    expect(kinds).toEqual({ "d/changed": "delete-modify" });
    expect(files).toEqual(["d/ 755", 'd/added 644 "a\\n"', 'd/changed 644 "C\\n"']);
    const other = await merged(base, theirs, {});
    expect(other.kinds).toEqual({ "d/changed": "modify-delete" });
    expect(other.files).toEqual(files);
  });

  it("[M7] a directory that one side deleted and the other only emptied is gone; one whose mode it changed is a conflict", async () => {
    const base = { d: { tree: { x: "x\n" } } };
    expect((await merged(base, {}, { d: { tree: {} } })).files).toEqual([]);
    const { files, kinds } = await merged(base, {}, { d: { tree: { x: "x\n" }, mode: 0o700 } });
    expect(kinds).toEqual({ d: "delete-modify" });
    expect(files).toEqual(["d/ 700", 'd/x 644 "x\\n"']);
  });

  it("[M8] files that both added are merged without a base, or keep ours", async () => {
    const { files, kinds } = await merged(
      {},
      { text: "same\nours\n", binary: Uint8Array.of(0, 1) },
      { text: "same\ntheirs\n", binary: Uint8Array.of(0, 2) },
    );
    expect(kinds).toEqual({ text: "add-add", binary: "add-add" });
    expect(files[1]).toBe(
      `text 644 ${JSON.stringify("same\n<<<<<<< ours\nours\n||||||| base\n=======\ntheirs\n>>>>>>> theirs\n")}`,
    );
    expect(files[0]).toBe(`binary 644 ${JSON.stringify("\0\u0001")}`);
  });

  it("[M9] a file here and a directory or a link there is a conflict, and ours stays", async () => {
    const { files, kinds } = await merged(
      { a: "a\n", b: { tree: { x: "x\n" } }, c: "c\n" },
      { a: { tree: { y: "y\n" } }, b: { tree: { x: "X\n" } }, c: "C\n", n: "new\n" },
      { a: "A\n", b: "file\n", c: { link: "a" }, n: { tree: { z: "z\n" } } },
    );
    expect(kinds).toEqual({ a: "kind", b: "kind", c: "kind", n: "kind" });
    expect(files).toEqual([
      "a/ 755",
      'a/y 644 "y\\n"',
      "b/ 755",
      'b/x 644 "X\\n"',
      'c 644 "C\\n"',
      'n 644 "new\\n"',
    ]);
  });

  it("[M9] links that both pointed elsewhere are a conflict", async () => {
    const { files, kinds } = await merged({ l: { link: "a" } }, { l: { link: "b" } }, { l: { link: "c" } });
    expect([kinds, files]).toEqual([{ l: "link" }, ["l -> b"]]);
  });

  it("[M15] the excludes of the sides merge like a set", async () => {
    const trees = memoryTrees();
    const root = async (garden: Garden, exclude?: readonly string[]): Promise<Digest> =>
      planted(trees, garden, exclude);
    const both = await mergeTrees(trees, {
      base: await root({}, ["old", "kept"]),
      ours: await root({ a: "a" }, ["kept", "ours"]),
      theirs: await root({ b: "b" }, ["old", "kept", "theirs"]),
    });
    expect((await trees.tree(both.tree)).exclude).toEqual(["kept", "ours", "theirs"]);
    const one = await mergeTrees(trees, {
      base: await root({}),
      ours: await root({ a: "a" }),
      theirs: await root({ b: "b" }, ["x"]),
    });
    expect((await trees.tree(one.tree)).exclude).toEqual(["x"]);
  });

  it("[M16] null is a workspace without files", async () => {
    const trees = memoryTrees();
    const tree = await planted(trees, { a: "a\n" });
    expect((await mergeTrees(trees, { base: null, ours: null, theirs: tree })).tree).toBe(tree);
    expect((await mergeTrees(trees, { base: tree, ours: tree, theirs: null })).tree).toBe(EMPTY_TREE);
    expect((await mergeTrees(trees, { base: null, ours: null, theirs: null })).conflicts).toEqual([]);
  });

  it("[M17] equal directories are not read, and a deep one is merged", async () => {
    const space = new MemorySpace();
    const trees = new Trees(space);
    const same = { big: { tree: { file: "never read\n" } } };
    const deep = (text: string): Garden => {
      let garden: Garden = { x: text };
      for (let depth = 0; depth < 300; depth++) garden = { d: { tree: garden }, ...same };
      return garden;
    };
    const sides = {
      base: await planted(trees, deep("1\n2\n3\n4\n5\n")),
      ours: await planted(trees, deep("1\n2\n3\n4\n6\n")),
      theirs: await planted(trees, deep("0\n2\n3\n4\n5\n")),
    };
    space.blobs.delete(await planted(memoryTrees(), same.big.tree));
    const merge = await mergeTrees(new Trees(space), sides);
    expect(merge.conflicts).toEqual([]);
    expect(merge.paths).toEqual([{ path: `${"d/".repeat(300)}x`, change: "modify" }]);
  });

  it("[M18] a file that is not in the store is an error that names it", async () => {
    const space = new MemorySpace();
    const trees = new Trees(space);
    const sides = {
      base: await planted(trees, { a: "1\n" }),
      ours: await planted(trees, { a: "2\n" }),
      theirs: await planted(trees, { a: "3\n" }),
    };
    space.blobs.delete(digestOf("2\n"));
    await expect(mergeTrees(trees, sides)).rejects.toThrow(MissingFileError);
  });

  it("[M19] conflicts are JSON, and are read back as they were or refused", async () => {
    const { merge } = await merged(
      { a: "1", l: { link: "1" }, d: { tree: { x: "x" } } },
      { a: "2", l: { link: "2" }, d: "file", m: "m" },
      { a: "3", l: { link: "3" }, d: { tree: { x: "y" } }, m: { tree: {} } },
    );
    const json = JSON.parse(JSON.stringify(merge.conflicts)) as Json;
    expect(conflictsOf(json)).toEqual(merge.conflicts);
    for (const bad of [
      {},
      [1],
      [{ path: "a" }],
      [{ path: "a", kind: "other" }],
      [{ path: "a", kind: "mode", ours: { kind: "file" } }],
      [{ path: "a", kind: "mode", ours: 1 }],
    ])
      expect(() => conflictsOf(bad as Json), JSON.stringify(bad)).toThrow(
        /record line|cannot be trusted|not described|conflict/,
      );
  });
});

describe("laws of merging trees", () => {
  const sides = fc.tuple(arbitraryGarden, arbitraryDeeds, arbitraryDeeds);

  it("[M20] a side that changed nothing has no say, and sides that agree are right", async () => {
    await fc.assert(
      fc.asyncProperty(arbitraryGarden, arbitraryGarden, async (one, other) => {
        const trees = memoryTrees();
        const [base, side] = [await planted(trees, one), await planted(trees, other)];
        for (const [ours, theirs] of [
          [side, base],
          [base, side],
          [side, side],
        ] as const) {
          const merge = await mergeTrees(trees, { base, ours, theirs });
          expect([merge.tree, merge.conflicts]).toEqual([side, []]);
        }
      }),
    );
  });

  it("[M21] swapped sides give the same tree when all goes together, and else the same conflicts", async () => {
    await fc.assert(
      fc.asyncProperty(sides, async ([garden, ourDeeds, theirDeeds]) => {
        const trees = memoryTrees();
        const base = await planted(trees, garden);
        const ours = await planted(trees, done(garden, ourDeeds));
        const theirs = await planted(trees, done(garden, theirDeeds));
        const one = await mergeTrees(trees, { base, ours, theirs });
        const other = await mergeTrees(trees, { base, ours: theirs, theirs: ours });
        expect(other.conflicts.map(({ path }) => path)).toEqual(one.conflicts.map(({ path }) => path));
        if (one.conflicts.length === 0) expect(other.tree).toBe(one.tree);
        expect(one.paths).toEqual(await diffTrees(trees, ours, one.tree));
      }),
      { numRuns: campaign(600) },
    );
  });

  it("[M22] everything that a side changed is in the result, or in a conflict", async () => {
    await fc.assert(
      fc.asyncProperty(sides, async ([garden, ourDeeds, theirDeeds]) => {
        const trees = memoryTrees();
        const base = await planted(trees, garden);
        const ours = await planted(trees, done(garden, ourDeeds));
        const theirs = await planted(trees, done(garden, theirDeeds));
        const merge = await mergeTrees(trees, { base, ours, theirs });
        const said = (path: string): boolean =>
          merge.conflicts.some((one) => one.path === path || path.startsWith(`${one.path}/`));
        for (const [side, other] of [
          [ours, theirs],
          [theirs, ours],
        ] as const)
          for (const path of await touched(trees, base, side)) {
            if (said(path)) continue;
            const [was, mine, yours, now] = [
              await entryAt(trees, base, path),
              await entryAt(trees, side, path),
              await entryAt(trees, other, path),
              await entryAt(trees, merge.tree, path),
            ];
            expect(problem(was, mine, yours, now), path).toBeUndefined();
          }
      }),
      { numRuns: campaign(1_000) },
    );
  });

  it("[M23] changes to different files all arrive", async () => {
    await fc.assert(
      fc.asyncProperty(
        arbitraryGarden,
        arbitraryDeeds,
        arbitraryDeeds,
        async (garden, ourDeeds, theirDeeds) => {
          const trees = memoryTrees();
          // Each side works in a directory of its own.
          const both = { left: { tree: garden }, right: { tree: garden } };
          const left = { tree: done(garden, ourDeeds) };
          const right = { tree: done(garden, theirDeeds) };
          const merge = await mergeTrees(trees, {
            base: await planted(trees, both),
            ours: await planted(trees, { ...both, left }),
            theirs: await planted(trees, { ...both, right }),
          });
          expect(merge.conflicts).toEqual([]);
          expect(merge.tree).toBe(await planted(trees, { left, right }));
        },
      ),
    );
  });
});

/** Every path whose own entry a side changed: for a directory, whether it is there and its mode. */
async function touched(trees: Trees, before: Digest, after: Digest): Promise<readonly string[]> {
  const rows = async (tree: Digest): Promise<Map<string, string>> => {
    const found = new Map<string, string>();
    for await (const { path, entry } of entriesOf(trees, tree)) found.set(path, JSON.stringify(own(entry)));
    return found;
  };
  const [olds, news] = [await rows(before), await rows(after)];
  return [...new Set([...olds.keys(), ...news.keys()])].filter((path) => olds.get(path) !== news.get(path));
}

function isFile(entry: TreeEntry | undefined): entry is TreeEntry & { kind: "file" } {
  return entry?.kind === "file";
}

function own(entry: TreeEntry | undefined): object {
  return entry?.kind === "tree" ? { kind: entry.kind, mode: entry.mode } : { ...entry };
}

/** What is wrong with the merged entry at a path that a side changed and no conflict names. */
function problem(
  was: TreeEntry | undefined,
  mine: TreeEntry | undefined,
  yours: TreeEntry | undefined,
  now: TreeEntry | undefined,
): string | undefined {
  const equal = (one: TreeEntry | undefined, other: TreeEntry | undefined): boolean =>
    JSON.stringify(own(one)) === JSON.stringify(own(other));
  if (equal(mine, now)) return undefined;
  // A directory that a side deleted stays for what the other put or changed in it.
  if (mine === undefined && was?.kind === "tree" && now?.kind === "tree" && yours?.kind === "tree")
    return undefined;
  // Both changed a file: what only one of them changed of it, content or mode, must be there.
  if (isFile(mine) && isFile(yours) && isFile(now)) {
    const old = isFile(was) ? was : undefined;
    const kept = (field: "mode" | "digest"): boolean =>
      mine[field] === old?.[field] || now[field] === mine[field] || yours[field] !== old?.[field];
    // Two other modes are never right without a conflict; two other contents can be.
    const isMode = mine.mode === old?.mode || yours.mode === old?.mode || mine.mode === yours.mode;
    if (kept("mode") && kept("digest") && isMode) return undefined;
  }
  return `was ${JSON.stringify(was)}, became ${JSON.stringify(mine)} and ${JSON.stringify(yours)}, is ${JSON.stringify(now)}`;
}
