import { execFileSync } from "node:child_process";
import {
  appendFileSync,
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Digest } from "../../session/index.js";
import { Trees } from "../trees.js";
import { capture, captureOverlay } from "./capture.js";
import { checkout } from "./checkout.js";
import { entryAt } from "./entries.js";
import { StatCache } from "./stat-cache.js";
import { placeOf } from "./testing/model.js";
import { namespacedOverlay, overlay } from "./testing/overlay.js";
import { folder, newTrees } from "./testing/space.js";

/** A checkout of an example to lay an overlay over, and its tree. */
async function example(trees: Trees): Promise<{ lower: string; base: Digest }> {
  const source = folder();
  for (let index = 0; index < 60; index++) {
    const directory = join(source, `d${index % 5}`, `e${index % 3}`);
    mkdirSync(directory, { recursive: true });
    writeFileSync(join(directory, `f${index}`), `${index}`);
  }
  mkdirSync(join(source, "empty"));
  symlinkSync("d1", join(source, "link"));
  const { tree: base } = await capture(source, trees, { cache: new StatCache() });
  const lower = folder();
  await checkout(lower, trees, base, { cache: new StatCache(), alone: true });
  chmodSync(lower, 0o755);
  return { lower, base };
}

describe("the tree of an overlay", () => {
  it("[O1] without changes it is the one below, and nothing is kept", async (context) => {
    const { space, trees } = newTrees();
    const { lower, base } = await example(trees);
    const mount = overlay(lower);
    if (typeof mount === "string") return context.skip(mount);
    const { given } = space;
    const snapshot = await captureOverlay({ ...mount, base, trees, cache: new StatCache() });
    expect(snapshot).toEqual({ tree: base, files: 61, bytes: 110, skipped: [] });
    expect(space.given).toBe(given);
  });

  it("[O2] changes, deletions and directories that took the place of others are seen", async (context) => {
    const { trees } = newTrees();
    const { lower, base } = await example(trees);
    const mount = overlay(lower);
    if (typeof mount === "string") return context.skip(mount);
    const at = (path: string): string => join(mount.merged, path);
    const cache = new StatCache();
    const changes: (() => void)[] = [
      () => appendFileSync(at("d1/e1/f1"), "more"),
      () => rmSync(at("d1/e1/f16")),
      () => writeFileSync(at("d1/new"), "new"),
      () => chmodSync(at("d2"), 0o700),
      () => chmodSync(at("d2/e2/f2"), 0o600),
      () => rmSync(at("d3"), { recursive: true }),
      // Opaque: what was below shows no more.
      () => mkdirSync(at("d3/e0"), { recursive: true }),
      () => writeFileSync(at("d3/e0/f3"), "another"),
      () => rmSync(at("d4"), { recursive: true }),
      () => writeFileSync(at("d4"), "a file now"),
      () => rmSync(at("link")),
      () => mkdirSync(at("link/deep"), { recursive: true }),
      () => renameSync(at("d0/e0/f0"), at("d0/e0/f5")),
      () => rmSync(at("empty"), { recursive: true }),
      () => symlinkSync("d4", at("empty")),
      () => renameSync(at("d3"), at("d4-moved")),
      () => writeFileSync(at("d1/e1/f1"), "1"),
      () => rmSync(at("d1"), { recursive: true }),
    ];
    for (const [index, change] of changes.entries()) {
      change();
      const found = await captureOverlay({ ...mount, base, trees, cache });
      const whole = await capture(mount.merged, newTrees().trees, { cache: new StatCache() });
      expect(found, `${index}`).toEqual(whole);
    }
    const copy = folder();
    const { tree } = await captureOverlay({ ...mount, base, trees, cache });
    await checkout(copy, trees, tree, { cache: new StatCache() });
    expect((await capture(copy, trees, { cache: new StatCache() })).tree).toBe(tree);
  });

  it("[O3] it costs what changed: other directories are not read, nor files that were read before", async (context) => {
    const { space, trees } = newTrees();
    const { lower, base } = await example(trees);
    const mount = overlay(lower);
    if (typeof mount === "string") return context.skip(mount);
    const cache = new StatCache();
    writeFileSync(join(mount.merged, "d1", "e1", "big"), "x".repeat(100_000));
    await captureOverlay({ ...mount, base, trees, cache });
    await new Promise((resolve) => setTimeout(resolve, 40));
    await captureOverlay({ ...mount, base, trees, cache });
    const watched = new Trees({
      putBlobs: (blobs) => {
        for (const { length } of blobs) if (length > 50_000) throw new Error("the large file was kept again");
        return space.putBlobs(blobs);
      },
      blob: (digest) => space.blob(digest),
    });
    const looked: Digest[] = [];
    const { tree } = watched;
    watched.tree = (id) => {
      if (typeof id === "string") looked.push(id);
      return tree.call(watched, id);
    };
    await captureOverlay({ ...mount, base, trees: watched, cache });
    looked.length = 0;
    const { given } = space;
    writeFileSync(join(mount.merged, "d1", "e1", "small"), "x");
    await captureOverlay({ ...mount, base, trees: watched, cache });
    // The file, and three directories.
    expect(space.given - given).toBe(4);
    // Root, d1 and e1, before and after; what is counted anew is read again.
    expect(looked.length).toBeLessThanOrEqual(6);
    expect(readdirSync(mount.upper)).toEqual(["d1"]);
  });

  it("[O4] excluded paths, and entries that a tree cannot hold, are as in a directory", async (context) => {
    const { trees } = newTrees();
    const { lower, base } = await example(trees);
    const mount = overlay(lower);
    if (typeof mount === "string") return context.skip(mount);
    execFileSync("mkfifo", [join(mount.merged, "d1", "pipe")]);
    mkdirSync(join(mount.merged, "d1", "node_modules"));
    writeFileSync(join(mount.merged, "d1", "node_modules", "x"), "");
    const exclude = ["node_modules"];
    const found = await captureOverlay({ ...mount, base, trees, cache: new StatCache(), exclude });
    expect(found).toEqual(await capture(mount.merged, trees, { cache: new StatCache(), exclude }));
    expect(found.skipped).toEqual([{ path: "d1/pipe", why: "it is a pipe" }]);
    const nowhere = { ...mount, merged: join(lower, "none") };
    await expect(captureOverlay({ ...nowhere, base, trees, cache: new StatCache() })).rejects.toMatchObject({
      code: "file-failed",
    });
  });

  it("[O5] of random changes, it is the tree of the mount", async (context) => {
    const { trees } = newTrees();
    const { lower, base } = await example(trees);
    const first = overlay(lower);
    if (typeof first === "string") return context.skip(first);
    const path = fc.constantFrom(
      "d0",
      "d1",
      "d1/e1",
      "d1/e1/f1",
      "d0/e0/f0",
      "new",
      "d1/new",
      "d1/e1/new",
      "d0/\udcff",
      "link",
    );
    const step = fc.record({
      path,
      to: path,
      act: fc.constantFrom("write", "remove", "mkdir", "move", "chmod", "link", "capture"),
      text: fc.constantFrom("a", "b", "cc"),
    });
    const cache = new StatCache();
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
        for (const { path: name, to, act, text } of steps) {
          const [here, there] = [placeOf(first.merged, name), placeOf(first.merged, to)];
          try {
            if (act === "write") writeFileSync(here, text);
            else if (act === "remove") rmSync(here, { recursive: true, force: true });
            else if (act === "mkdir") mkdirSync(here, { recursive: true });
            else if (act === "move") renameSync(here, there);
            else if (act === "chmod" && !lstatSync(here).isSymbolicLink()) chmodSync(here, 0o700);
            else if (act === "link") symlinkSync(text, here);
            else if (act === "capture") await captureOverlay({ ...first, base, trees, cache });
          } catch {
            // What cannot be done is not done.
          }
        }
        const found = await captureOverlay({ ...first, base, trees, cache });
        expect(found).toEqual(await capture(first.merged, newTrees().trees, { cache: new StatCache() }));
      }),
      { numRuns: 60 },
    );
  });

  it("[O6] also of a mount in a user namespace, seen through its process", async (context) => {
    const { trees } = newTrees();
    const { lower, base } = await example(trees);
    const mount = await namespacedOverlay(lower);
    if (typeof mount === "string") return context.skip(mount);
    const cache = new StatCache();
    expect((await captureOverlay({ ...mount, base, trees, cache })).tree).toBe(base);
    writeFileSync(join(mount.merged, "d1", "e1", "new"), "from here");
    rmSync(join(mount.merged, "d2"), { recursive: true });
    mkdirSync(join(mount.merged, "d2"));
    const found = await captureOverlay({ ...mount, base, trees, cache });
    expect(found).toEqual(await capture(mount.merged, trees, { cache: new StatCache() }));
    expect(await entryAt(trees, found.tree, "d1/e1/new")).toMatchObject({ kind: "file", size: 9 });
    expect(await entryAt(trees, found.tree, "d2/e2")).toBeUndefined();
  });
});
