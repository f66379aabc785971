import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Digest, EMPTY_TREE, type PathChange, type TreeEntry } from "../../session/index.js";
import { campaign } from "../../session/testing/campaign.js";
import type { Trees } from "../trees.js";
import { diffTrees, edited, entriesOf, entryAt, type TreeEdit, totalsOf } from "./entries.js";
import { newTrees, type Space } from "./testing/space.js";

const file = (text: string, mode = 0o644) => ({
  kind: "file" as const,
  mode,
  size: text.length,
  digest: text.charCodeAt(0).toString(16).padStart(64, "0"),
});
const link = (target: string) => ({ kind: "link" as const, target });
const empty = (mode = 0o755) => ({ kind: "tree" as const, mode, digest: EMPTY_TREE });

async function treeOf(trees: Trees, things: { [path: string]: TreeEdit["entry"] }): Promise<Digest> {
  return edited(
    trees,
    null,
    Object.entries(things).map(([path, entry]) => ({ path, entry })),
  );
}

async function changesOf(
  before: { [path: string]: TreeEdit["entry"] },
  after: { [path: string]: TreeEdit["entry"] },
): Promise<string[]> {
  const { trees } = newTrees();
  const [one, other] = [await treeOf(trees, before), await treeOf(trees, after)];
  return (await diffTrees(trees, one, other)).map(({ path, change }) => `${change} ${path}`);
}

describe("what differs between trees", () => {
  it("[D1] paths are added, modified and deleted, sorted by path", async () => {
    const before = { a: file("1"), "b/c": file("1"), "b/d": file("1"), "b-c": file("1"), z: file("1") };
    const after = { a: file("1"), "b/c": file("2"), "b/e/f": file("1"), "b-c": file("2"), z: link("a") };
    expect(await changesOf(before, after)).toEqual([
      "modify b-c",
      "modify b/c",
      "delete b/d",
      "add b/e/f",
      "modify z",
    ]);
  });

  it("[D1] another mode or another kind is a modification", async () => {
    expect(await changesOf({ a: file("1") }, { a: file("1", 0o755) })).toEqual(["modify a"]);
    expect(await changesOf({ a: link("x") }, { a: link("y") })).toEqual(["modify a"]);
    expect(await changesOf({ a: file("1") }, { "a/b": file("1") })).toEqual(["modify a", "add a/b"]);
    expect(await changesOf({ "a/b": file("1") }, { a: link("1") })).toEqual(["modify a", "delete a/b"]);
    expect(await changesOf({ a: file("1") }, { a: empty() })).toEqual(["modify a"]);
  });

  it("[D2] a directory is named when it comes or goes empty, or gets another mode; else what is in it speaks", async () => {
    expect(await changesOf({}, { a: empty(), b: file("1") })).toEqual(["add a", "add b"]);
    expect(await changesOf({ "x/a": empty() }, { x: empty() })).toEqual(["delete x/a"]);
    expect(await changesOf({ a: empty() }, { "a/b": file("1") })).toEqual(["add a/b"]);
    expect(await changesOf({ "a/b": file("1") }, { a: empty() })).toEqual(["delete a/b"]);
    expect(await changesOf({ a: empty() }, { a: empty(0o700) })).toEqual(["modify a"]);
    expect(await changesOf({}, { "a/b/c": empty() })).toEqual(["add a/b/c"]);
  });

  it("[D3] equal sub-trees are not looked into, and null is the empty tree", async () => {
    const { space, trees } = newTrees();
    const one = await treeOf(trees, { "same/b": file("1"), "other/a": file("1") });
    const other = await edited(trees, one, [{ path: "other/a", entry: file("2") }]);
    const same = await entryAt(trees, one, "same");
    const watched = watch(space);
    expect(await diffTrees(watched.trees, one, other)).toEqual([{ path: "other/a", change: "modify" }]);
    expect(watched.asked).not.toContain(same?.kind === "tree" && same.digest);
    expect(await diffTrees(trees, one, one)).toEqual([]);
    expect(await diffTrees(trees, null, null)).toEqual([]);
    expect(await diffTrees(trees, null, one)).toHaveLength(2);
    expect(await diffTrees(trees, one, null)).toHaveLength(2);
  });

  it("[D4] a tree is gone through path by path, and asked for one path", async () => {
    const { trees } = newTrees();
    const tree = await treeOf(trees, {
      "b/c/d": file("1"),
      "b/l": link("c"),
      "a.txt": file("1"),
      "b-": empty(),
    });
    const paths: string[] = [];
    for await (const { path } of entriesOf(trees, tree)) paths.push(path);
    expect(paths).toEqual(["a.txt", "b", "b/c", "b/c/d", "b/l", "b-"]);
    expect(await entryAt(trees, tree, "b/c/d")).toMatchObject({ kind: "file", name: "d" });
    expect(await entryAt(trees, tree, "b/l/d")).toBeUndefined();
    expect(await entryAt(trees, tree, "a.txt/x")).toBeUndefined();
    expect(await entryAt(trees, tree, "none")).toBeUndefined();
    expect(await entryAt(trees, tree, "")).toMatchObject({ kind: "tree", digest: tree });
    await expect(entryAt(trees, tree, "../x")).rejects.toMatchObject({ code: "path-refused" });
    expect(await totalsOf(trees, tree)).toEqual({ files: 3, bytes: 2 });
    expect(await totalsOf(trees, EMPTY_TREE)).toEqual({ files: 0, bytes: 0 });
  });

  it("[D5] a tree is edited without a directory: paths are set and taken away, and what is excluded stays so", async () => {
    const { space, trees } = newTrees();
    const { id, bytes } = trees.written({ entries: [{ ...file("1"), name: "a" }], exclude: ["*.log"] });
    await trees.put([bytes]);
    const after = await edited(trees, id, [
      { path: "a", entry: null },
      { path: "none/at/all", entry: null },
      { path: "b/c", entry: file("2") },
      { path: "b/d", entry: file("2") },
      { path: "b/c", entry: null },
      { path: "b/d/below", entry: link("x") },
    ]);
    const fresh = watch(space).trees;
    const paths: string[] = [];
    for await (const { path } of entriesOf(fresh, after)) paths.push(path);
    expect(paths).toEqual(["b", "b/d", "b/d/below"]);
    expect((await fresh.tree(after)).exclude).toEqual(["*.log"]);
    expect(await edited(trees, id, [])).toBe(id);
    await expect(edited(trees, id, [{ path: ".", entry: null }])).rejects.toMatchObject({
      code: "path-refused",
    });
  });

  it("[D6] of random trees, the differences are those of their paths, both ways", async () => {
    const name = fc.constantFrom("a", "b", "b-", "b.", "__proto__", "\udcff");
    const path = fc.array(name, { minLength: 1, maxLength: 3 }).map((names) => names.join("/"));
    const thing = fc.oneof(
      fc.constantFrom(file("1"), file("2"), file("1", 0o755)),
      fc.constantFrom(link("x"), link("y")),
      fc.constantFrom(empty(), empty(0o700)),
    );
    const edits = fc.array(fc.record({ path, entry: fc.option(thing, { freq: 4 }) }), { maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(edits, edits, async (first, second) => {
        const { trees } = newTrees();
        const before = await edited(trees, null, first);
        const after = await edited(trees, before, second);
        const expected = compared(await flat(trees, before), await flat(trees, after));
        expect(await diffTrees(trees, before, after)).toEqual(expected);
        expect(await diffTrees(trees, after, before)).toEqual(expected.map(turned));
      }),
      { numRuns: campaign(600) },
    );
  });
});

type Flat = Map<string, { readonly entry: TreeEntry; readonly isEmpty: boolean }>;

async function flat(trees: Trees, tree: Digest): Promise<Flat> {
  const found: Flat = new Map();
  for await (const { path, entry } of entriesOf(trees, tree))
    found.set(path, { entry, isEmpty: entry.kind !== "tree" || entry.digest === EMPTY_TREE });
  return found;
}

/** The rules of the promise, path by path. */
function compared(before: Flat, after: Flat): PathChange[] {
  const changes: PathChange[] = [];
  for (const path of [...new Set([...before.keys(), ...after.keys()])].sort((one, other) =>
    one < other ? -1 : 1,
  )) {
    const [old, now] = [before.get(path), after.get(path)];
    if (old === undefined) {
      if (now?.isEmpty === true) changes.push({ path, change: "add" });
    } else if (now === undefined) {
      if (old.isEmpty) changes.push({ path, change: "delete" });
    } else if (said(old.entry) !== said(now.entry)) changes.push({ path, change: "modify" });
  }
  return changes;
}

/** What is compared of an entry: of a directory, not what is in it. */
function said(entry: TreeEntry): string {
  return JSON.stringify(entry.kind === "tree" ? ["tree", entry.mode] : entry);
}

function turned({ path, change }: PathChange): PathChange {
  return { path, change: change === "add" ? "delete" : change === "delete" ? "add" : change };
}

/** Trees that tell which of their blobs were asked for. */
function watch(space: Space): { readonly trees: Trees; readonly asked: Digest[] } {
  const asked: Digest[] = [];
  const { trees, space: copy } = newTrees();
  copy.blob = async (digest) => {
    asked.push(digest);
    return space.blobs.get(digest);
  };
  return { trees, asked };
}
