import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { campaign } from "../../session/testing/campaign.js";
import { ConflictChoiceError, UnresolvedConflictsError } from "../error.js";
import type { Trees } from "../trees.js";
import { type Choices, resolveTree, sideOf } from "./conflict.js";
import { diffTrees, entryAt } from "./entries.js";
import { type MergedTree, mergeTrees } from "./merge.js";
import { arbitraryDeeds, arbitraryGarden, done } from "./testing/arbitrary-tree.js";
import { type Garden, listed, memoryTrees, planted } from "./testing/planted.js";

async function clash(
  base: Garden,
  ours: Garden,
  theirs: Garden,
): Promise<{ trees: Trees; merge: MergedTree }> {
  const trees = memoryTrees();
  const merge = await mergeTrees(trees, {
    base: await planted(trees, base),
    ours: await planted(trees, ours),
    theirs: await planted(trees, theirs),
  });
  return { trees, merge };
}

const three = [
  { a: "1\n", b: "1\n", same: "s\n" },
  { a: "2\n", b: "2\n", same: "s\n" },
  { a: "3\n", b: "3\n", same: "s\n" },
] as const;

describe("resolving conflicts", () => {
  it("[M30] each path gets what was chosen: a side, a text, bytes, an entry, nothing", async () => {
    const { trees, merge } = await clash(...three);
    const files = async (choices: Choices): Promise<readonly string[]> =>
      listed(trees, (await resolveTree(trees, merge, choices)).tree);
    expect(await files({ a: "ours", b: "theirs" })).toEqual([
      'a 644 "2\\n"',
      'b 644 "3\\n"',
      'same 644 "s\\n"',
    ]);
    expect(await files({ a: "base", b: "delete" })).toEqual(['a 644 "1\\n"', 'same 644 "s\\n"']);
    expect(await files({ a: { text: "both\n" }, b: { bytes: Uint8Array.of(0), mode: 0o755 } })).toEqual([
      'a 644 "both\\n"',
      `b 755 ${JSON.stringify("\0")}`,
      'same 644 "s\\n"',
    ]);
    const entry = sideOf((await entryAt(trees, merge.tree, "same")) as never);
    expect(await files({ a: { entry }, b: { entry: { kind: "link", target: "a" } } })).toEqual([
      'a 644 "s\\n"',
      "b -> a",
      'same 644 "s\\n"',
    ]);
  });

  it("[M30] one word settles all, and the answer says what changed and what was chosen", async () => {
    const { trees, merge } = await clash(...three);
    const resolved = await resolveTree(trees, merge, "theirs");
    expect(resolved.tree).toBe(merge.sides.theirs);
    expect(resolved.paths).toEqual([
      { path: "a", change: "modify" },
      { path: "b", change: "modify" },
    ]);
    expect(resolved.choices).toEqual({ a: "theirs", b: "theirs" });
    const text = await resolveTree(trees, merge, { a: { text: "x" }, b: "ours" });
    expect(text.choices).toEqual({ a: sideOf((await entryAt(trees, text.tree, "a")) as never), b: "ours" });
  });

  it("[M31] a conflict without a choice, a choice without a conflict and an unknown choice are errors that name them", async () => {
    const { trees, merge } = await clash(...three);
    const unresolved = await resolveTree(trees, merge, { a: "ours" }).catch((error: unknown) => error);
    expect(unresolved).toBeInstanceOf(UnresolvedConflictsError);
    expect((unresolved as UnresolvedConflictsError).data).toEqual({
      conflicts: [{ path: "b", kind: "content" }],
    });
    const unknown = await resolveTree(trees, merge, { a: "ours", b: "ours", same: "ours" }).catch(
      (error: unknown) => error,
    );
    expect(unknown).toBeInstanceOf(ConflictChoiceError);
    expect((unknown as ConflictChoiceError).data.paths).toEqual(["same"]);
    for (const choice of ["mine", { word: 1 }, null])
      await expect(resolveTree(trees, merge, { a: "ours", b: choice as never })).rejects.toThrow(
        ConflictChoiceError,
      );
    await expect(resolveTree(trees, merge, null as never)).rejects.toMatchObject({ code: "option-refused" });
  });

  it("[M32] a side that has nothing there is chosen by taking the path away, with directories only a conflict kept", async () => {
    const { trees, merge } = await clash(
      { d: { tree: { e: { tree: { x: "x\n" } } } }, k: { tree: { x: "x\n" } } },
      { k: { tree: {} } },
      { d: { tree: { e: { tree: { x: "X\n" } } } }, k: { tree: { x: "X\n" } } },
    );
    expect(merge.conflicts.map(({ path }) => path)).toEqual(["d/e/x", "k/x"]);
    const resolved = await resolveTree(trees, merge, "ours");
    expect(await listed(trees, resolved.tree)).toEqual(["k/ 755"]);
    expect(resolved.tree).toBe(merge.sides.ours);
  });

  it("[M33] a mode in conflict is settled apart from what is in the directory", async () => {
    const { trees, merge } = await clash(
      { d: { tree: { x: "x\n", y: "y\n" } } },
      { d: { tree: { x: "X\n", y: "1\n" }, mode: 0o700 } },
      { d: { tree: { x: "x\n", y: "2\n" }, mode: 0o711 } },
    );
    const resolved = await resolveTree(trees, merge, { d: "theirs", "d/y": "ours" });
    expect(await listed(trees, resolved.tree)).toEqual(["d/ 711", 'd/x 644 "X\\n"', 'd/y 644 "1\\n"']);
    await expect(resolveTree(trees, merge, { d: { text: "no" }, "d/y": "ours" })).rejects.toThrow(
      ConflictChoiceError,
    );
    expect(
      await listed(trees, (await resolveTree(trees, merge, { d: "delete", "d/y": "ours" })).tree),
    ).toEqual([]);
  });

  it("[M33] a directory or a file is chosen whole where the sides are of different kinds", async () => {
    const { trees, merge } = await clash(
      { a: "1\n" },
      { a: { tree: { x: "x\n" }, mode: 0o700 } },
      { a: { file: "2\n", mode: 0o755 } },
    );
    const files = async (choices: Choices): Promise<readonly string[]> =>
      listed(trees, (await resolveTree(trees, merge, choices)).tree);
    expect(await files("ours")).toEqual(["a/ 700", 'a/x 644 "x\\n"']);
    expect(await files("theirs")).toEqual(['a 755 "2\\n"']);
    expect(await files({ a: { text: "3\n" } })).toEqual(['a 755 "3\\n"']);
  });

  it("[M34] after a choice for all, every path in conflict is as that side has it", async () => {
    await fc.assert(
      fc.asyncProperty(arbitraryGarden, arbitraryDeeds, arbitraryDeeds, async (garden, one, other) => {
        const trees = memoryTrees();
        const merge = await mergeTrees(trees, {
          base: await planted(trees, garden),
          ours: await planted(trees, done(garden, one)),
          theirs: await planted(trees, done(garden, other)),
        });
        for (const side of ["ours", "theirs", "base"] as const) {
          const resolved = await resolveTree(trees, merge, side);
          expect(resolved.paths).toEqual(await diffTrees(trees, merge.tree, resolved.tree));
          for (const { path, kind } of merge.conflicts) {
            const [is, was] = [
              await entryAt(trees, resolved.tree, path),
              await entryAt(trees, merge.sides[side], path),
            ];
            if (kind === "mode" && was?.kind === "tree")
              expect(is).toMatchObject({ kind: "tree", mode: was.mode });
            else expect(is).toEqual(was);
          }
        }
      }),
      { numRuns: campaign(400) },
    );
  });
});
