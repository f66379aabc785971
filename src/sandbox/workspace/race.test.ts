import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { RathError } from "../../session/index.js";
import { capture } from "./capture.js";
import { checkout } from "./checkout.js";
import { Folder } from "./folder.js";
import { StatCache } from "./stat-cache.js";
import { isUntouched, type Race, racer, SECRET } from "./testing/racer.js";
import { folder, newTrees } from "./testing/space.js";

const isLinux = process.platform === "linux";

/** A workspace in which another process swaps directories for links to a secret, all the time. */
async function contested(): Promise<Race & { readonly root: string }> {
  const root = folder();
  for (const directory of ["a", "b/inner"]) {
    mkdirSync(join(root, directory), { recursive: true });
    writeFileSync(join(root, directory, "file.txt"), "inside");
  }
  const race = await racer([join(root, "a"), join(root, "b"), join(root, "b", "inner")]);
  return { ...race, root };
}

describe("while someone swaps directories for links", () => {
  it.runIf(isLinux)("[F10] no call reads, writes, lists or removes anything outside", async () => {
    const { root, outside, isOver } = await contested();
    const files = new Folder(root);
    const seen: string[] = [];
    const look = async (call: Promise<unknown>): Promise<void> => {
      try {
        const answer = await call;
        seen.push(
          answer instanceof Uint8Array ? Buffer.from(answer).toString() : JSON.stringify(answer ?? null),
        );
      } catch (error) {
        if (!(error instanceof RathError)) throw error;
      }
    };
    for (let count = 0; !isOver(15 * count); count++) {
      await Promise.all([
        look(files.read("a/file.txt")),
        look(files.read("b/inner/file.txt")),
        look(files.read("a/secret.txt")),
        look(files.list("a")),
        look(files.list("b/inner")),
        look(files.stat("a/secret.txt")),
        look(files.write("a/file.txt", "inside")),
        look(files.write("b/inner/new.txt", "inside", { mode: 0o777 })),
        look(files.make("a/made/deep")),
        look(files.remove("a/made")),
        look(files.remove(count % 2 === 0 ? "a/secret.txt" : "b/inner/secret.txt")),
        look(files.move("a/file.txt", "b/inner/file.txt")),
        look(files.move("b/inner/secret.txt", "stolen")),
        look(files.remove("b/inner/inner")),
        look(files.link("a")),
      ]);
    }
    expect(isUntouched(outside)).toBe(true);
    expect(seen.some((answer) => answer.includes(SECRET) || answer.includes("secret.txt"))).toBe(false);
    expect(seen.filter((answer) => answer === "inside").length).toBeGreaterThan(10);
  });

  it.runIf(isLinux)("[C10] no tree holds anything from outside", async () => {
    const { root, isOver } = await contested();
    const { space, trees } = newTrees();
    const cache = new StatCache();
    const found = new Set<string>();
    for (let count = 0; !isOver(count); count++)
      found.add((await capture(root, trees, { cache: count % 3 === 0 ? new StatCache() : cache })).tree);
    expect(space.holds(SECRET)).toBe(false);
    expect(space.holds("secret.txt")).toBe(false);
    // It did see the workspace change.
    expect(found.size).toBeGreaterThan(2);
    expect(space.holds("inside")).toBe(true);
  });

  it.runIf(isLinux)(
    "[K4] no checkout writes, changes or removes anything outside, nor fails without a word",
    async () => {
      const source = folder();
      for (const path of ["a/file.txt", "a/inner/x", "b/inner/file.txt", "b/inner/secret.txt", "b/y"]) {
        mkdirSync(join(source, path, ".."), { recursive: true });
        writeFileSync(join(source, path), `wanted ${path}`, { mode: 0o600 });
      }
      const { trees } = newTrees();
      const one = (await capture(source, trees, { cache: new StatCache() })).tree;
      writeFileSync(join(source, "a", "file.txt"), "another");
      mkdirSync(join(source, "b", "inner", "empty"), { mode: 0o700 });
      const other = (await capture(source, trees, { cache: new StatCache() })).tree;
      const { root, outside, isOver } = await contested();
      const cache = new StatCache();
      let done = 0;
      for (let count = 0; !isOver(count); count++) {
        const known = count % 3 === 0 ? new StatCache() : cache;
        try {
          await checkout(root, trees, [one, other, null][count % 3] ?? null, {
            cache: known,
            ...(count % 5 === 0 && { from: other }),
          });
          done += 1;
        } catch (error) {
          if (!(error instanceof RathError)) throw error;
        }
      }
      expect(isUntouched(outside)).toBe(true);
      expect(done).toBeGreaterThan(10);
    },
  );
});
