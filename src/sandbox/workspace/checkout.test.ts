import {
  appendFileSync,
  chmodSync,
  chownSync,
  closeSync,
  existsSync,
  ftruncateSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type Digest, EMPTY_TREE } from "../../session/index.js";
import { PIECE_BYTES, Trees } from "../trees.js";
import { capture } from "./capture.js";
import { checkout } from "./checkout.js";
import { edited } from "./entries.js";
import { StatCache } from "./stat-cache.js";
import { modelOf } from "./testing/model.js";
import { coarseFolder, folder, newTrees, Space } from "./testing/space.js";
import { asOrdinaryUser } from "./testing/user.js";

const settle = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 40));

/** A directory with some of everything, and its tree. */
async function example(
  trees: Trees,
  root = folder(),
): Promise<{ root: string; tree: Digest; cache: StatCache }> {
  for (const directory of ["src/deep", "empty", "other"])
    mkdirSync(join(root, directory), { recursive: true });
  for (const [path, text] of [
    ["src/a.txt", "a"],
    ["src/deep/b.txt", "b"],
    ["other/c.txt", "c"],
    ["run", "#!/bin/sh"],
  ])
    writeFileSync(join(root, path ?? ""), text ?? "");
  chmodSync(join(root, "run"), 0o755);
  chmodSync(join(root, "empty"), 0o700);
  symlinkSync("src/a.txt", join(root, "link"));
  const cache = new StatCache();
  const { tree } = await capture(root, trees, { cache });
  return { root, tree, cache };
}

async function treeOf(root: string): Promise<Digest> {
  return (await capture(root, newTrees().trees, { cache: new StatCache() })).tree;
}

describe("a directory made what a tree says", () => {
  it("[K1] from nothing, and back to nothing", async () => {
    const { trees } = newTrees();
    const { root, tree } = await example(trees);
    const copy = folder();
    const cache = new StatCache();
    await checkout(copy, trees, tree, { cache });
    expect(modelOf(copy)).toEqual(modelOf(root));
    await checkout(copy, trees, null, { cache });
    expect(readdirSync(copy)).toEqual([]);
    await checkout(copy, trees, EMPTY_TREE, { cache: new StatCache() });
    await checkout(copy, trees, tree, { cache, from: null, alone: true });
    expect(await treeOf(copy)).toBe(tree);
  });

  it("[K2] in place: what is right already is not touched, with or without a cache", async () => {
    const { trees } = newTrees();
    const { root, tree, cache } = await example(trees);
    const numbers = (): unknown[] =>
      ["src/a.txt", "src/deep", "src/deep/b.txt", "run", "link", "empty"].map((path) => {
        const { ino, mtimeMs } = lstatSync(join(root, path));
        return [path, ino, mtimeMs];
      });
    const before = numbers();
    writeFileSync(join(root, "other", "c.txt"), "changed");
    writeFileSync(join(root, "other", "new"), "new");
    await checkout(root, trees, tree, { cache });
    expect(await treeOf(root)).toBe(tree);
    expect(numbers()).toEqual(before);
    rmSync(join(root, "other"), { recursive: true });
    await checkout(root, trees, tree, { cache: new StatCache() });
    expect(await treeOf(root)).toBe(tree);
    expect(numbers()).toEqual(before);
    chmodSync(join(root, "run"), 0o600);
    chmodSync(join(root, "src"), 0o700);
    await checkout(root, trees, tree, { cache });
    expect(await treeOf(root)).toBe(tree);
    expect(numbers()).toEqual(before);
  });

  it("[K2] whatever stands in its place is removed", async () => {
    const { trees } = newTrees();
    const { root, tree, cache } = await example(trees);
    for (const known of [cache, new StatCache()]) {
      for (const path of ["src", "run", "link", "empty", "other/c.txt"]) {
        rmSync(join(root, path), { recursive: true });
        if (path === "src") writeFileSync(join(root, path), "a file");
        else mkdirSync(join(root, path, "a", "directory"), { recursive: true });
      }
      writeFileSync(join(root, "stray"), "");
      await checkout(root, trees, tree, { cache: known });
      expect(await treeOf(root)).toBe(tree);
    }
  });

  it("[K3] planted links are removed and not followed, hard links not written through", async () => {
    const { trees } = newTrees();
    const { root, tree, cache } = await example(trees);
    const outside = folder();
    mkdirSync(join(outside, "deep"));
    for (const name of ["a.txt", "deep/b.txt", "c.txt", "run"]) writeFileSync(join(outside, name), "outside");
    chmodSync(join(outside, "run"), 0o600);
    const before = modelOf(outside);
    for (const known of [cache, new StatCache()]) {
      rmSync(join(root, "src"), { recursive: true });
      symlinkSync(outside, join(root, "src"));
      rmSync(join(root, "other"), { recursive: true });
      symlinkSync(outside, join(root, "other"));
      rmSync(join(root, "run"));
      symlinkSync(join(outside, "run"), join(root, "run"));
      rmSync(join(root, "empty"), { recursive: true });
      symlinkSync(join(outside, "deep"), join(root, "empty"));
      linkSync(join(outside, "a.txt"), join(root, "hard"));
      await checkout(root, trees, tree, { cache: known });
      expect(modelOf(outside)).toEqual(before);
      expect(await treeOf(root)).toBe(tree);
    }
    rmSync(join(root, "other", "c.txt"));
    writeFileSync(join(outside, "twin"), "c");
    linkSync(join(outside, "twin"), join(root, "other", "c.txt"));
    await checkout(root, trees, tree, { cache: new StatCache() });
    writeFileSync(join(root, "other", "c.txt"), "written");
    expect(readFileSync(join(outside, "twin"), "utf8")).toBe("c");
  });

  it("[K5] from a tree that it is for certain, only what differs is touched and nothing else looked at", async () => {
    const { space, trees } = newTrees();
    const { root, tree, cache } = await example(trees);
    writeFileSync(join(root, "src", "deep", "b.txt"), "changed");
    rmSync(join(root, "link"));
    mkdirSync(join(root, "src", "more"));
    const { tree: after } = await capture(root, trees, { cache });
    writeFileSync(join(root, "other", "stray"), "not looked at");
    for (const known of [cache, new StatCache()]) {
      const asked: Digest[] = [];
      const watched = new Trees({
        putBlobs: (blobs) => space.putBlobs(blobs),
        blob: (digest) => {
          asked.push(digest);
          return space.blob(digest);
        },
      });
      await checkout(root, watched, tree, { cache: known, from: after });
      expect(asked.length).toBeLessThan(9);
      expect(readFileSync(join(root, "src", "deep", "b.txt"), "utf8")).toBe("b");
      expect(readlinkSync(join(root, "link"))).toBe("src/a.txt");
      expect(existsSync(join(root, "src", "more"))).toBe(false);
      expect(existsSync(join(root, "other", "stray"))).toBe(true);
      await checkout(root, watched, after, { cache: known, from: tree });
      expect(readFileSync(join(root, "src", "deep", "b.txt"), "utf8")).toBe("changed");
    }
    rmSync(join(root, "other", "stray"));
    expect(await treeOf(root)).toBe(after);
    expect((await capture(root, trees, { cache })).tree).toBe(after);
  });

  it("[K6] a checkout is known afterwards: the next capture keeps nothing, and reads only what others could change", async () => {
    const { space, trees } = newTrees();
    const { tree } = await example(trees);
    const copy = folder();
    const cache = new StatCache();
    await checkout(copy, trees, tree, { cache, alone: true });
    await settle();
    const { puts } = space;
    expect((await capture(copy, trees, { cache })).tree).toBe(tree);
    expect((await capture(copy, trees, { cache })).tree).toBe(tree);
    expect(space.puts).toBe(puts);
    writeFileSync(join(copy, "run"), "x");
    await capture(copy, trees, { cache });
    expect(space.puts).toBe(puts + 1);
  });

  it("[K6] a change right after it is seen, also one that leaves size and times", async () => {
    const { trees } = newTrees();
    const { root, tree, cache } = await example(trees, coarseFolder());
    for (let count = 0; count < 200; count++) {
      writeFileSync(join(root, "src", "a.txt"), "b");
      await checkout(root, trees, tree, { cache, ...(count % 2 === 0 && { alone: true }) });
      writeFileSync(join(root, "src", "a.txt"), "x");
      if (count % 3 === 0) writeFileSync(join(root, "src", "stray"), "");
      const seen = await capture(root, trees, { cache });
      expect(seen.tree).not.toBe(tree);
      expect(seen.files).toBe(count % 3 === 0 ? 6 : 5);
    }
  });

  it("[K6] so is one that comes while the checkout goes on", async () => {
    const { space, trees } = newTrees();
    const source = folder();
    const place = coarseFolder();
    for (const name of ["a", "b"]) writeFileSync(join(source, name), `${name} is long enough`);
    const { tree } = await capture(source, trees, { cache: new StatCache() });
    for (let count = 0; count < 40; count++) {
      const root = join(place, `${count}`);
      mkdirSync(root);
      const slow = new Trees({
        putBlobs: (blobs) => space.putBlobs(blobs),
        blob: async (digest) => {
          const bytes = await space.blob(digest);
          if (bytes !== undefined && Buffer.from(bytes).toString().startsWith("b ")) {
            writeFileSync(join(root, "a"), "x is long enough");
            await settle();
          }
          return bytes;
        },
      });
      const cache = new StatCache();
      await checkout(root, slow, tree, { cache });
      expect((await capture(root, trees, { cache })).tree).not.toBe(tree);
    }
  });

  it("[K7] cut off in the middle, it is put right by the next one", async () => {
    const { space, trees } = newTrees();
    const { root, tree } = await example(trees);
    for (let cut = 0; cut < 5; cut++) {
      const copy = folder();
      const cache = new StatCache();
      writeFileSync(join(copy, "stray"), "");
      let left = cut;
      const failing = new Trees({
        putBlobs: (blobs) => space.putBlobs(blobs),
        blob: (digest) => {
          left -= 1;
          if (left < 0) throw new Error("cut off");
          return space.blob(digest);
        },
      });
      await expect(checkout(copy, failing, tree, { cache })).rejects.toThrow("cut off");
      // As a process that was killed leaves it: a file that was not moved into its place, and half of one.
      writeFileSync(join(copy, ".openrath-000000000000000000"), "half");
      if (existsSync(join(copy, "run"))) appendFileSync(join(copy, "run"), "half");
      await checkout(copy, trees, tree, { cache });
      expect(modelOf(copy)).toEqual(modelOf(root));
    }
  });

  it("[K8] excluded files stay where they are", async () => {
    const { trees } = newTrees();
    const root = folder();
    mkdirSync(join(root, "src", "node_modules"), { recursive: true });
    writeFileSync(join(root, "src", "node_modules", "x"), "kept");
    writeFileSync(join(root, "src", "a"), "a");
    const cache = new StatCache();
    const { tree } = await capture(root, trees, { cache, exclude: ["node_modules"] });
    writeFileSync(join(root, "src", "a"), "b");
    await checkout(root, trees, tree, { cache });
    await checkout(root, trees, tree, { cache: new StatCache() });
    expect(readFileSync(join(root, "src", "node_modules", "x"), "utf8")).toBe("kept");
    expect((await capture(root, trees, { cache, exclude: ["node_modules"] })).tree).toBe(tree);
    await checkout(root, trees, null, { cache });
    expect(readdirSync(root)).toEqual([]);
  });

  it("[K9] also into directories that their owner may not write to, as an ordinary user", async (context) => {
    const { trees } = newTrees();
    const { root, cache } = await example(trees);
    chmodSync(join(root, "src", "a.txt"), 0o444);
    chmodSync(join(root, "src", "deep"), 0o500);
    chmodSync(join(root, "src"), 0o555);
    const { tree } = await capture(root, trees, { cache });
    const copy = folder();
    if (!asOrdinaryUser((uid) => chownSync(copy, uid, uid)))
      context.skip("needs root, to become someone else");
    const known = new StatCache();
    await checkout(copy, trees, tree, { cache: known });
    expect((await capture(copy, trees, { cache: known })).tree).toBe(tree);
    const other = await edited(trees, tree, [{ path: "src/deep/b.txt", entry: null }]);
    await checkout(copy, trees, other, { cache: known });
    expect(readdirSync(join(copy, "src", "deep"))).toEqual([]);
    await checkout(copy, trees, tree, { cache: known, from: other });
    expect((await capture(copy, trees, { cache: new StatCache() })).tree).toBe(tree);
    await checkout(copy, trees, null, { cache: known });
    expect(readdirSync(copy)).toEqual([]);
  });

  it("[K10] files that root puts there belong to the owner of the workspace", async (context) => {
    if (process.geteuid?.() !== 0) context.skip("needs root");
    const { trees } = newTrees();
    const { tree } = await example(trees);
    const copy = folder();
    chownSync(copy, 1234, 1235);
    await checkout(copy, trees, tree, { cache: new StatCache() });
    for (const path of ["src", "src/deep/b.txt", "run"])
      expect([path, statSync(join(copy, path)).uid, statSync(join(copy, path)).gid]).toEqual([
        path,
        1234,
        1235,
      ]);
  });

  it("[K11] long files come back whole, and one that is there is not written again", async () => {
    const { trees } = newTrees();
    const root = folder();
    const bytes = Buffer.alloc(2 * PIECE_BYTES + 5);
    for (let at = 0; at < bytes.length; at += 4096) bytes.writeUInt32LE(at, at);
    writeFileSync(join(root, "long"), bytes);
    const { tree } = await capture(root, trees, { cache: new StatCache() });
    const copy = folder();
    await checkout(copy, trees, tree, { cache: new StatCache() });
    expect(readFileSync(join(copy, "long")).equals(bytes)).toBe(true);
    const { ino } = statSync(join(copy, "long"));
    await checkout(copy, trees, tree, { cache: new StatCache() });
    expect(statSync(join(copy, "long")).ino).toBe(ino);
    bytes[PIECE_BYTES] = 1;
    writeFileSync(join(copy, "long"), bytes);
    await checkout(copy, trees, tree, { cache: new StatCache() });
    expect(await treeOf(copy)).toBe(tree);
  });

  it("[K17] a piece of zeros becomes a hole", async () => {
    const { trees } = newTrees();
    const root = folder();
    const fd = openSync(join(root, "holes"), "w");
    writeSync(fd, "begin", 0);
    writeSync(fd, "middle", 3 * PIECE_BYTES);
    ftruncateSync(fd, 6 * PIECE_BYTES);
    closeSync(fd);
    const { tree } = await capture(root, trees, { cache: new StatCache() });
    const copy = folder();
    await checkout(copy, trees, tree, { cache: new StatCache() });
    expect(readFileSync(join(copy, "holes")).equals(readFileSync(join(root, "holes")))).toBe(true);
    expect(statSync(join(copy, "holes")).blocks * 512).toBeLessThan(3 * PIECE_BYTES);
    expect(await treeOf(copy)).toBe(tree);
  });

  it("[K11] files are copied from a checkout of the same tree where there is one, and what it lacks is read", async () => {
    const { space, trees } = newTrees();
    const { root, tree } = await example(trees);
    const like = folder();
    await checkout(like, trees, tree, { cache: new StatCache() });
    rmSync(join(like, "src"), { recursive: true });
    chmodSync(join(like, "other", "c.txt"), 0o600);
    const { size } = statSync(join(like, "run"));
    const planted = join(folder(), "planted");
    writeFileSync(planted, "x".repeat(size), { mode: 0o755 });
    rmSync(join(like, "run"));
    symlinkSync(planted, join(like, "run"));
    const asked: Digest[] = [];
    const watched = new Trees({
      putBlobs: (blobs) => space.putBlobs(blobs),
      blob: (digest) => {
        asked.push(digest);
        return space.blob(digest);
      },
    });
    const copy = folder();
    writeFileSync(join(copy, "run"), "something else");
    await checkout(copy, watched, tree, { cache: new StatCache(), like });
    expect(modelOf(copy)).toEqual(modelOf(root));
    expect(statSync(join(copy, "run")).ino).not.toBe(statSync(join(like, "run")).ino);
    // Four trees, and the four files that are not there, not the same, or behind a link.
    expect(asked).toHaveLength(4 + 4);
    // What is copied is never shared: anyone who writes to one of them writes to that one.
    const fresh = folder();
    await checkout(like, trees, tree, { cache: new StatCache() });
    await checkout(fresh, trees, tree, { cache: new StatCache(), like });
    for (const path of readdirSync(fresh, { recursive: true, withFileTypes: true }))
      if (path.isFile()) {
        const file = join(path.parentPath, path.name);
        expect(statSync(file).nlink).toBe(1);
        appendFileSync(file, "more");
      }
    expect(modelOf(like)).toEqual(modelOf(root));
  });

  it("[K12] a tree that cannot be had is told, and names that are not ours are refused", async () => {
    const { space, trees } = newTrees();
    const { tree } = await example(trees);
    const copy = folder();
    const lost = new Space();
    for (const [digest, bytes] of space.blobs) if (bytes.length !== 9) lost.blobs.set(digest, bytes);
    await expect(checkout(copy, new Trees(lost), tree, { cache: new StatCache() })).rejects.toMatchObject({
      code: "file-withheld",
    });
    await expect(checkout(copy, trees, "0".repeat(64), { cache: new StatCache() })).rejects.toMatchObject({
      code: "file-withheld",
    });
    await expect(checkout(join(copy, "none"), trees, tree, { cache: new StatCache() })).rejects.toMatchObject(
      {
        code: "file-failed",
      },
    );
    const digest = (await space.putBlobs([Buffer.from("x")]))[0] ?? "";
    const entry = { kind: "file" as const, mode: 0o644, size: 1, digest };
    // "é" in bytes, half of a character, and a name longer than any.
    for (const [name, code] of [
      ["\udcc3\udca9", "path-refused"],
      ["\ud800", "path-refused"],
      ["x".repeat(256), "file-failed"],
    ] as const) {
      const { id, bytes } = trees.written({ entries: [{ ...entry, name }] });
      await trees.put([bytes]);
      await expect(checkout(copy, trees, id, { cache: new StatCache() })).rejects.toMatchObject({ code });
    }
  });
});
