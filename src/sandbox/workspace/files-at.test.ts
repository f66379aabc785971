import {
  existsSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { type Digest, EMPTY_TREE, Session } from "../../session/index.js";
import { openStore } from "../../store/index.js";
import { FileError, MissingFileError, PathRefusedError, UnmergedFilesError } from "../error.js";
import { Trees } from "../trees.js";
import { diffTrees } from "./entries.js";
import { filesAt } from "./files-at.js";
import { mergeTrees } from "./merge.js";
import { whoChanged } from "./step.js";
import { folder } from "./testing/git.js";
import { type Garden, listed, MemorySpace, memoryTrees, planted } from "./testing/planted.js";

/** The session after someone changed its files. */
async function changed(trees: Trees, session: Session, garden: Garden, of?: string): Promise<Session> {
  const [before, after] = [session.files.tree, await planted(trees, garden)];
  return session.append({
    type: "workspace-change",
    before,
    after,
    paths: await diffTrees(trees, before, after),
    ...(of !== undefined && { of }),
  });
}

function imported(session: Session, after: Digest): Session {
  return session.append({ type: "workspace-import", source: "here", after, files: 1, bytes: 1 });
}

describe("the files of a session", () => {
  it("[A1] any session's files are read: listed, as bytes, as text, links and modes", async () => {
    const space = new MemorySpace();
    const session = await changed(new Trees(space), Session.start("task"), {
      "a.txt": "text ü\n",
      bin: Uint8Array.of(0xff, 0),
      d: { tree: { run: { file: "#!", mode: 0o755 }, e: { tree: {} } }, mode: 0o700 },
      l: { link: "\udcffa" },
    });
    const later = await changed(new Trees(space), session, {});
    const files = filesAt(session, space);
    expect(await files.tree()).toBe(session.files.tree);
    expect(await files.list()).toEqual([
      { name: "a.txt", kind: "file", size: 8, mode: 0o644 },
      { name: "bin", kind: "file", size: 2, mode: 0o644 },
      { name: "d", kind: "directory", size: 0, mode: 0o700 },
      { name: "l", kind: "link", size: 2, mode: 0o777 },
    ]);
    expect((await files.list("./d/")).map(({ name }) => name)).toEqual(["e", "run"]);
    expect(await files.text("a.txt")).toBe("text ü\n");
    expect([...(await files.read("bin"))]).toEqual([0xff, 0]);
    expect(await files.link("l")).toBe("\udcffa");
    expect(await files.paths()).toEqual(["a.txt", "bin", "d/run", "l"]);
    expect([await files.has("d/e"), await files.has("d/x"), await files.has("a.txt/x")]).toEqual([
      true,
      false,
      false,
    ]);
    expect(await filesAt(later, space).paths()).toEqual([]);
  });

  it("[A1] also of a session that was loaded from a store, and straight from the store", async () => {
    const store = await openStore("memory:");
    onTestFinished(() => store.close());
    const trees = new Trees(store);
    const trunk = await changed(trees, Session.start("task"), { a: "1\n" });
    const left = await changed(trees, trunk.fork("left"), { a: "1\n", b: "b\n" });
    const right = await changed(trees, trunk.fork("right"), { a: "2\n" });
    await store.save(left.merge(right), { name: "merged" });
    const loaded = await store.load("merged");
    expect(await filesAt(loaded, store).paths()).toEqual(["a", "b"]);
    expect(await filesAt(loaded, store).text("a")).toBe("2\n");
    expect((await whoChanged(loaded, "a")).map(({ id }) => id)).toEqual([right.id, trunk.id]);
  });

  it("[A2] a failed read says why: nothing there, a directory, other bytes than text, out of the workspace, through a link", async () => {
    const trees = memoryTrees();
    const session = await changed(trees, Session.start(), {
      d: { tree: {} },
      l: { link: "d" },
      bin: Uint8Array.of(0xff),
      f: "f",
    });
    const files = filesAt(session, trees);
    for (const [attempt, error] of [
      [files.read("nothing"), FileError],
      [files.read("d"), FileError],
      [files.read("l"), FileError],
      [files.link("f"), FileError],
      [files.list("f"), FileError],
      [files.list("nothing"), FileError],
      [files.text("bin"), FileError],
      [files.read("../f"), PathRefusedError],
      [files.read("/etc/passwd"), PathRefusedError],
      [files.read("l/x"), PathRefusedError],
      [files.has("l/x"), PathRefusedError],
    ] as const)
      await expect(attempt).rejects.toThrow(error);
    expect(() => filesAt({} as never, trees)).toThrow(/not a session/);
    const lost = filesAt(
      Session.start().append({ type: "workspace-change", before: null, after: "0".repeat(64), paths: [] }),
      trees,
    );
    await expect(lost.paths()).rejects.toThrow(MissingFileError);
  });

  it("[A3] a session without files has an empty workspace", async () => {
    const files = filesAt(Session.start("task"), memoryTrees());
    expect([await files.tree(), await files.list(), await files.paths(), await files.has("x")]).toEqual([
      EMPTY_TREE,
      [],
      [],
      false,
    ]);
    const to = join(folder(), "new");
    await files.checkout(to);
    expect(existsSync(to)).toBe(true);
  });

  it("[A4] checked out anywhere, but over other files only when told so, and through no planted link", async () => {
    const trees = memoryTrees();
    const session = await changed(trees, Session.start(), {
      d: { tree: { run: { file: "#!", mode: 0o755 } }, mode: 0o700 },
      l: { link: "d/run" },
      e: { tree: {} },
    });
    const to = join(folder(), "deep", "er");
    const files = filesAt(session, trees);
    await files.checkout(to);
    expect([
      readFileSync(join(to, "d/run"), "utf8"),
      readlinkSync(join(to, "l")),
      statSync(join(to, "e")).isDirectory(),
    ]).toEqual(["#!", "d/run", true]);
    expect([statSync(join(to, "d/run")).mode & 0o777, statSync(join(to, "d")).mode & 0o777]).toEqual([
      0o755, 0o700,
    ]);
    await expect(files.checkout(to)).rejects.toThrow(/not empty/);
    const [other, outside] = [folder(), folder()];
    symlinkSync(outside, join(other, "d"));
    mkdirSync(join(other, "extra"));
    writeFileSync(join(other, "extra", "file"), "x");
    await expect(files.checkout(other)).rejects.toMatchObject({ code: "directory-not-empty" });
    expect(existsSync(join(other, "extra", "file"))).toBe(true);
    await files.checkout(other, { replace: true });
    expect(existsSync(join(other, "extra"))).toBe(false);
    expect(existsSync(join(outside, "run"))).toBe(false);
    expect(readFileSync(join(other, "d/run"), "utf8")).toBe("#!");
  });

  it("[A5] changes and patches from any other session to this one", async () => {
    const trees = memoryTrees();
    const one = await changed(trees, Session.start(), { a: "1\n", b: "b\n" });
    const two = await changed(trees, one.fork("x"), { a: "2\n", c: "c\n" });
    expect(await filesAt(two, trees).changesSince(one)).toEqual([
      { path: "a", change: "modify" },
      { path: "b", change: "delete" },
      { path: "c", change: "add" },
    ]);
    expect(await filesAt(one, trees).changesSince(two)).toHaveLength(3);
    expect(await filesAt(two, trees).changesSince(Session.start())).toEqual([
      { path: "a", change: "add" },
      { path: "c", change: "add" },
    ]);
    expect(await filesAt(two, trees).patchSince(one, { paths: ["a"] })).toContain("-1\n+2\n");
  });

  it("[A6] branches that came together are merged when asked for; where they do not go together, the paths are named", async () => {
    const trees = memoryTrees();
    const trunk = await changed(trees, Session.start(), { a: "1\n2\n3\n4\n5\n", b: "b\n" });
    const left = await changed(trees, trunk.fork("left"), { a: "one\n2\n3\n4\n5\n", b: "b\n" });
    const right = await changed(trees, trunk.fork("right"), { a: "1\n2\n3\n4\nfive\n", b: "b\n", c: "c\n" });
    const third = await changed(trees, trunk.fork("third"), { a: "1\n2\n3\n4\n5\n", b: "B\n" });
    const merged = left.merge([right, third]);
    expect(merged.files.unmerged).toHaveLength(2);
    const files = filesAt(merged, trees);
    expect(await listed(trees, await files.tree())).toEqual([
      'a 644 "one\\n2\\n3\\n4\\nfive\\n"',
      'b 644 "B\\n"',
      'c 644 "c\\n"',
    ]);
    expect((await files.changesSince(left)).map(({ path }) => path)).toEqual(["a", "b", "c"]);

    const clash = await changed(trees, trunk.fork("clash"), { a: "uno\n2\n3\n4\n5\n", b: "b\n" });
    const unmerged = left.merge(clash);
    const error = await filesAt(unmerged, trees)
      .read("b")
      .catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(UnmergedFilesError);
    expect((error as UnmergedFilesError).data).toEqual({
      session: unmerged.id,
      conflicts: [{ path: "a", kind: "content" }],
    });
    expect((error as UnmergedFilesError).hint).toContain("mergeFiles");
    await expect(filesAt(left, trees).changesSince(unmerged)).rejects.toThrow(UnmergedFilesError);
    // A side that was adopted needs no merge.
    expect(await filesAt(left.merge(clash, { adopt: "theirs" }), trees).text("a")).toContain("uno");
  });

  it("[A6] files that were missing are asked for again", async () => {
    const space = new MemorySpace();
    const trees = new Trees(space);
    const trunk = await changed(trees, Session.start(), { a: "1\n" });
    const left = await changed(trees, trunk.fork("left"), { a: "1\n", b: "b\n" });
    const right = await changed(trees, trunk.fork("right"), { a: "1\n", c: "c\n" });
    const files = filesAt(left.merge(right), new Trees(space));
    const kept = space.blobs.get(right.files.tree as string) as Uint8Array;
    space.blobs.delete(right.files.tree as string);
    await expect(files.paths()).rejects.toThrow(MissingFileError);
    await space.putBlobs([kept]);
    expect(await files.paths()).toEqual(["a", "b", "c"]);
  });
});

describe("who changed a path", () => {
  it("[A7] the facts that changed it, newest first, with the call they are of", async () => {
    const trees = memoryTrees();
    const start = imported(Session.start(), await planted(trees, { a: "1\n", d: { tree: { x: "x\n" } } }));
    const call = start.append({ type: "tool-call", name: "write", input: { path: "a" } });
    const one = await changed(trees, call, { a: "2\n", d: { tree: { x: "x\n" } } }, call.id);
    const two = await changed(trees, one.say("then"), { a: "2\n", d: { tree: { x: "y\n" } } });
    const three = await changed(trees, two, { d: { tree: { x: "y\n" } } });
    expect((await whoChanged(three, "a")).map(({ id, change, of }) => [id, change, of])).toEqual([
      [three.id, "delete", undefined],
      [one.id, "modify", call.id],
    ]);
    expect((await whoChanged(three, "a", { trees })).at(-1)).toMatchObject({
      id: start.id,
      type: "workspace-import",
      change: "add",
    });
    expect((await whoChanged(three, "d/")).map(({ id }) => id)).toEqual([two.id]);
    expect(await whoChanged(three, "d/x", { limit: 1, trees })).toMatchObject([
      { id: two.id, change: "modify", by: "tool" },
    ]);
    expect((await filesAt(three, trees).whoChanged("d/x")).map(({ id }) => id)).toEqual([two.id, start.id]);
    expect(await whoChanged(three, "nothing", { trees })).toEqual([]);
    await expect(whoChanged(three, "../a")).rejects.toThrow(PathRefusedError);
  });

  it("[A8] through merges: branches that were taken count, others do not, shared past counts once", async () => {
    const trees = memoryTrees();
    const trunk = await changed(trees, Session.start(), { a: "1\n", b: "1\n" });
    const left = await changed(trees, trunk.fork("left"), { a: "2\n", b: "1\n" });
    const right = await changed(trees, trunk.fork("right").say("x"), { a: "1\n", b: "2\n" });
    const ids = async (session: Session, path: string): Promise<readonly string[]> =>
      (await whoChanged(session, path)).map(({ id }) => id);
    expect(await ids(left.merge(right, { adopt: "ours" }), "b")).toEqual([trunk.id]);
    expect(await ids(left.merge(right, { adopt: 1 }), "b")).toEqual([right.id, trunk.id]);
    const both = left.merge(right);
    expect(await ids(both, "a")).toEqual([left.id, trunk.id]);
    const merge = await mergeTrees(trees, {
      base: trunk.files.tree,
      ours: left.files.tree,
      theirs: right.files.tree,
    });
    const merged = both.append({
      type: "workspace-merge",
      base: trunk.files.tree,
      ours: left.files.tree as string,
      theirs: right.files.tree as string,
      after: merge.tree,
      paths: merge.paths,
      conflicts: [],
    });
    expect(await ids(merged, "b")).toEqual([merged.id, right.id, trunk.id]);
    expect(await whoChanged(merged.detach(), "b", { trees })).toMatchObject([
      { type: "session-detach", change: "add" },
    ]);
  });
});
