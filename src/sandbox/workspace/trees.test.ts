import { describe, expect, it } from "vitest";
import { digestOf, EMPTY_TREE, writeTree } from "../../session/index.js";
import { Trees } from "../trees.js";
import { newTrees } from "./testing/space.js";

describe("trees of a blob space", () => {
  it("[C15] a tree that was kept is read back, also by someone else, and null is the empty one", async () => {
    const { space, trees } = newTrees();
    const [digest] = await trees.put([Buffer.from("hi")]);
    const tree = {
      entries: [{ kind: "file" as const, name: "a", mode: 0o644, size: 2, digest: digest ?? "" }],
    };
    const { id, bytes } = trees.written(tree);
    expect(id).toBe(digestOf(writeTree(tree)));
    // Known before it is kept: it is not read back.
    expect(await trees.tree(id)).toEqual(tree);
    await trees.put([bytes]);
    expect(await new Trees(space).tree(id)).toEqual(tree);
    expect((await trees.tree(null)).entries).toEqual([]);
    expect((await trees.tree(EMPTY_TREE)).entries).toEqual([]);
  });

  it("[C15] a file is read whole or piece by piece", async () => {
    const { trees } = newTrees();
    const parts = await trees.put([Buffer.from("one "), Buffer.from("two")]);
    const [list] = await trees.put([Buffer.from(JSON.stringify(parts))]);
    const read = async (kind: "file" | "parts", digest = "") => {
      const pieces: Uint8Array[] = [];
      for await (const piece of trees.pieces({ kind, digest })) pieces.push(piece);
      return Buffer.concat(pieces).toString();
    };
    expect(await read("parts", list)).toBe("one two");
    expect(await read("file", parts[1])).toBe("two");
    expect(await trees.parts(list ?? "")).toEqual(parts);
  });

  it("[C15] missing content is named by its digest", async () => {
    const { trees, space } = newTrees();
    const missing = "0".repeat(64);
    const told = { code: "file-withheld", data: { digest: missing } };
    await expect(trees.tree(missing)).rejects.toMatchObject(told);
    await expect(trees.blob(missing)).rejects.toMatchObject(told);
    await expect(trees.parts(missing)).rejects.toMatchObject(told);
    const before = space.puts;
    expect(await trees.put([])).toEqual([]);
    expect(space.puts).toBe(before);
  });

  it("[C15] remembering has a limit", async () => {
    const { trees, space } = newTrees();
    const ids: string[] = [];
    for (let index = 0; index < 20_002; index++) {
      const { id, bytes } = trees.written({ entries: [{ kind: "link", name: "a", target: `${index}` }] });
      space.blobs.set(id, bytes);
      ids.push(id);
    }
    space.blobs.clear();
    await expect(trees.tree(ids[0] ?? "")).rejects.toMatchObject({ code: "file-withheld" });
    expect((await trees.tree(ids.at(-1) ?? "")).entries).toHaveLength(1);
  });
});
