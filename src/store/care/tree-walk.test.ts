import { describe, expect, it } from "vitest";
import { type Digest, digestOf, Session, writeTree } from "../../session/index.js";
import { TreeWalk, treesIn } from "./tree-walk.js";

const A = "a".repeat(64);

describe("a walk through trees", () => {
  it("[S121] goes as deep as directories are nested, and enters each tree once", () => {
    const texts = new Map<Digest, Buffer>();
    const put = (text: string): Digest => {
      const bytes = Buffer.from(text);
      texts.set(digestOf(bytes), bytes);
      return digestOf(bytes);
    };
    let tree = put(writeTree({ entries: [] }));
    for (let level = 0; level < 100_000; level++)
      tree = put(
        writeTree({
          entries: ["a", "b"].map((name) => ({ kind: "tree", name, mode: 0o755, digest: tree })),
        }),
      );
    const walk = new TreeWalk();
    expect(walk.add(tree)).toBe(true);
    expect(walk.add(tree)).toBe(false);
    let entered = 0;
    for (let node = walk.next(); node !== undefined; node = walk.next()) {
      walk.enter(node, texts.get(node.digest) as Buffer);
      entered += 1;
    }
    expect(entered).toBe(100_001);
    expect(walk.add(tree)).toBe(false);
  });

  it("[S120] refuses what is not a tree, or not the pieces of a file", () => {
    const walk = new TreeWalk();
    const node = { kind: "tree", digest: A, path: "" } as const;
    for (const text of ["", "no tree", "[]", '{"tree":2,"entries":[]}', '{"tree":1, "entries":[]}'])
      expect(() => walk.enter(node, Buffer.from(text)), text).toThrow("tree");
    expect(() => walk.enter(node, Buffer.from([0xff]))).toThrow("not text");
    const parts = { ...node, kind: "parts" } as const;
    for (const text of ["", "{}", '["a"]', `["${A}", "${A}"]`, `"${A}"`, `["${A}",1]`])
      expect(() => walk.enter(parts, Buffer.from(text)), text).toThrow("parts of a file");
    expect(walk.enter(parts, Buffer.from(`["${A}"]`))).toEqual([{ kind: "piece", digest: A, path: "" }]);
  });

  it("[S115] knows every kind of line that names trees, and no other", () => {
    const session = Session.start("hi");
    const [B, C, D] = ["b", "c", "d"].map((digit) => digit.repeat(64)) as [string, string, string];
    const opened = {
      type: "sandbox-open",
      sandbox: "box",
      incarnation: 1,
      provider: "p",
      isolation: "none",
      spec: {},
      status: {},
      capabilities: {},
    } as const;
    const paths = [{ path: "x".repeat(9000), change: "add" }] as const;
    for (const [fact, trees] of [
      [{ type: "workspace-import", source: "x", after: A, files: 1, bytes: 1 }, [A]],
      [{ type: "workspace-change", before: null, after: A, paths }, [A]],
      [{ type: "workspace-change", before: A, after: B, paths: [] }, [A, B]],
      [
        { type: "workspace-merge", base: null, ours: null, theirs: C, after: D, paths, conflicts: [] },
        [C, D],
      ],
      [
        { type: "workspace-merge", base: A, ours: B, theirs: C, after: D, paths: [], conflicts: [] },
        [A, B, C, D],
      ],
      [{ type: "workspace-resolve", merge: A, after: B, paths: [], choices: "ours", by: "user:ada" }, [B]],
      [{ ...opened, tree: A }, [A]],
      [{ ...opened, tree: null }, []],
      [{ type: "tool-call", name: "look", input: { type: "workspace-import", after: A } }, []],
      [{ type: "note", text: JSON.stringify({ type: "workspace-import", after: A }) }, []],
    ] as const)
      expect(treesIn(session.append(fact as never).line), JSON.stringify(fact).slice(0, 90)).toEqual(trees);
    const placed = session.append({ type: "workspace-import", source: "x", after: A, files: 1, bytes: 1 });
    expect(treesIn(placed.detach().line)).toEqual([A]);
    expect(treesIn(session.detach().line)).toEqual([]);
    expect(treesIn(session.line)).toEqual([]);
  });
});
