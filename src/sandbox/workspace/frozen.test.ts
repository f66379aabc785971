import { existsSync, mkdirSync, readdirSync, utimesSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Digest } from "../../session/index.js";
import type { Trees } from "../trees.js";
import { capture } from "./capture.js";
import { checkout } from "./checkout.js";
import { frozen } from "./frozen.js";
import { StatCache } from "./stat-cache.js";
import { end, lineOf, startChild } from "./testing/child.js";
import { modelOf } from "./testing/model.js";
import { folder, newTrees, type Space } from "./testing/space.js";

async function treeOf(trees: Trees, text: string, files = 1): Promise<Digest> {
  const root = folder();
  mkdirSync(join(root, "src"), { mode: 0o700 });
  for (let index = 0; index < files; index++)
    writeFileSync(join(root, "src", `${index}`), `${text} ${index}`);
  return (await capture(root, trees, { cache: new StatCache() })).tree;
}

/** The blobs as files, for other processes. */
function written(space: Space): string {
  const path = folder();
  for (const [digest, bytes] of space.blobs) writeFileSync(join(path, digest), bytes);
  return path;
}

const kept = (path: string): string[] => readdirSync(dirname(path)).sort();

describe("checkouts that workspaces share", () => {
  it("[K13] a tree is checked out once, whole, and found again", async () => {
    const { space, trees } = newTrees();
    const cache = folder();
    const tree = await treeOf(trees, "a");
    const one = await frozen(cache, trees, tree);
    const copy = folder();
    await checkout(copy, trees, tree, { cache: new StatCache() });
    expect(modelOf(one.path)).toEqual(modelOf(copy));
    writeFileSync(join(one.path, "mark"), "");
    space.blobs.clear();
    const other = await frozen(cache, trees, tree);
    expect(other.path).toBe(one.path);
    expect(existsSync(join(other.path, "mark"))).toBe(true);
    expect(readdirSync(join(dirname(one.path), "..", "new"))).toEqual([]);
    await one.release();
    await one.release();
    await other.release();
  });

  it("[K13] many who want it at once, in this process and others, all get it", async () => {
    const { space, trees } = newTrees();
    const cache = folder();
    const tree = await treeOf(trees, "many", 200);
    const blobs = written(space);
    const body = `
      const [cache, tree] = process.argv.slice(2);
      process.stdin.once("data", async () => {
        const { path } = await frozen(cache, trees, tree);
        console.log(path);
        process.exit();
      });`;
    const children = Array.from({ length: 4 }, () => startChild(blobs, body, [cache, tree]));
    const lines = children.map(lineOf);
    for (const child of children) child.stdin?.write("go\n");
    const here = await Promise.all([1, 2, 3].map(() => frozen(cache, trees, tree)));
    expect(new Set([...(await Promise.all(lines)), ...here.map(({ path }) => path)]).size).toBe(1);
    const path = here[0]?.path ?? "";
    expect((await capture(path, trees, { cache: new StatCache() })).tree).toBe(tree);
    expect(kept(path)).toEqual([tree]);
    expect(readdirSync(join(dirname(path), "..", "new"))).toEqual([]);
  });

  it("[K14] those that nobody uses go when there are too many, those used longest ago first; one in use stays", async () => {
    const { trees } = newTrees();
    const cache = folder();
    const list = await Promise.all(["a", "b", "c", "d", "e"].map((text) => treeOf(trees, text)));
    const [used, old, newer, next, last] = list as [Digest, Digest, Digest, Digest, Digest];
    const holding = await frozen(cache, trees, used);
    for (const [index, tree] of [old, newer].entries()) {
      const { path, release } = await frozen(cache, trees, tree);
      await release();
      const then = new Date(Date.now() - 100_000 + index * 1_000);
      utimesSync(join(path, "..", "..", "sizes", tree), then, then);
    }
    const three = await frozen(cache, trees, next, { keep: { count: 3 } });
    expect(kept(three.path)).toEqual([used, newer, next].sort());
    await three.release();
    const none = await frozen(cache, trees, last, { keep: { count: 0 } });
    expect(kept(none.path)).toEqual([used, last].sort());
    expect(modelOf(holding.path).size).toBe(2);
    await none.release();
    await holding.release();
    const bytes = await frozen(cache, trees, old, { keep: { bytes: 1 } });
    expect(kept(bytes.path)).toEqual([old]);
    await bytes.release();
  });

  it("[K14] a process that died uses nothing, one that lives does; its unfinished work goes", async () => {
    const { space, trees } = newTrees();
    const cache = folder();
    const [dead, alive, mine] = await Promise.all(
      ["dead", "alive", "mine"].map((text) => treeOf(trees, text)),
    );
    const blobs = written(space);
    const body = `
      const [cache, tree] = process.argv.slice(2);
      console.log((await frozen(cache, trees, tree)).path);
      process.stdin.resume();`;
    const [one, other] = [
      startChild(blobs, body, [cache, dead ?? ""]),
      startChild(blobs, body, [cache, alive ?? ""]),
    ];
    const [path] = await Promise.all([lineOf(one), lineOf(other)]);
    // What is being made has its maker's name.
    const owner = readdirSync(join(dirname(path ?? ""), "..", "use", dead ?? ""))[0] ?? "";
    mkdirSync(join(dirname(path ?? ""), "..", "new", owner, "half"), { recursive: true });
    await end(one);
    const here = await frozen(cache, trees, mine ?? "", { keep: { count: 0 } });
    expect(kept(here.path)).toEqual([alive, mine].sort());
    expect(readdirSync(join(dirname(here.path), "..", "new"))).toEqual([]);
    await end(other);
    await here.release();
  });

  it("[K15] checkouts from before the last start of the machine are not used, and go after a day", async () => {
    const { trees } = newTrees();
    const cache = folder();
    const tree = await treeOf(trees, "a");
    const { path } = await frozen(cache, trees, tree);
    const shelf = join(dirname(path), "..");
    const boot = /^(.*)-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.exec(basename(shelf));
    if (boot === null) return;
    const elsewhere = folder();
    const before = join(elsewhere, `${boot[1]}-00000000-0000-0000-0000-000000000000`);
    const recent = join(elsewhere, `${boot[1]}-00000000-0000-0000-0000-000000000001`);
    for (const each of [before, recent]) {
      mkdirSync(join(each, "trees", tree), { recursive: true });
      mkdirSync(join(each, "sizes"));
    }
    utimesSync(join(before, "sizes"), 0, 0);
    const again = await frozen(elsewhere, trees, tree);
    expect(modelOf(again.path).size).toBe(2);
    expect([existsSync(before), existsSync(recent)]).toEqual([false, true]);
  });

  it("[K13] a failure leaves nothing half made", async () => {
    const { space, trees } = newTrees();
    const cache = folder();
    const tree = await treeOf(trees, "a");
    const blobs = [...space.blobs];
    for (const [digest, bytes] of blobs) if (bytes.length < 5) space.blobs.delete(digest);
    await expect(frozen(cache, trees, tree)).rejects.toMatchObject({ code: "file-withheld" });
    for (const [digest, bytes] of blobs) space.blobs.set(digest, bytes);
    const { path } = await frozen(cache, trees, tree);
    expect(kept(path)).toEqual([tree]);
    expect(readdirSync(join(dirname(path), "..", "new"))).toEqual([]);
    await expect(frozen(join(path, "src", "0"), trees, tree)).rejects.toMatchObject({ code: "file-failed" });
  });
});

describe("a checkout by a process that is killed", () => {
  it("[K7] is put right by the next one, whenever it was", async () => {
    const { space, trees } = newTrees();
    const [one, other] = [await treeOf(trees, "one", 300), await treeOf(trees, "other", 310)];
    const blobs = written(space);
    const root = folder();
    const body = `
      const [root, ...wanted] = process.argv.slice(2);
      console.log("ready");
      const cache = new StatCache();
      for (let count = 0; ; count++) await checkout(root, trees, wanted[count % wanted.length], { cache });`;
    for (let round = 0; round < 6; round++) {
      const child = startChild(blobs, body, [root, one, other]);
      await lineOf(child);
      await new Promise((resolve) => setTimeout(resolve, 10 + round * 17));
      await end(child);
      const wanted = round % 2 === 0 ? one : other;
      await checkout(root, trees, wanted, { cache: new StatCache() });
      expect((await capture(root, trees, { cache: new StatCache() })).tree).toBe(wanted);
    }
  });
});
