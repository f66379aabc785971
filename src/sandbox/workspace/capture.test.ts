import { execFileSync, spawn } from "node:child_process";
import {
  chmodSync,
  chownSync,
  closeSync,
  ftruncateSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { digestOf, EMPTY_TREE } from "../../session/index.js";
import { PIECE_BYTES, Trees, ZERO_PIECE } from "../trees.js";
import { capture } from "./capture.js";
import { entriesOf, entryAt } from "./entries.js";
import { StatCache } from "./stat-cache.js";
import { coarseFolder, folder, newTrees, Space, turnsDuring } from "./testing/space.js";
import { asOrdinaryUser } from "./testing/user.js";

/** Waits until nothing that is there is fresh. */
const settle = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 40));

async function pathsOf(trees: Trees, tree: string): Promise<string[]> {
  const paths: string[] = [];
  for await (const { path, entry } of entriesOf(trees, tree))
    paths.push(entry.kind === "link" ? `${path} -> ${entry.target}` : `${path} ${entry.mode.toString(8)}`);
  return paths;
}

async function textAt(trees: Trees, tree: string, path: string): Promise<string> {
  const entry = await entryAt(trees, tree, path);
  if (entry?.kind !== "file") throw new Error(`${path} is no file`);
  return Buffer.from(await trees.blob(entry.digest)).toString("utf8");
}

/** A tree taken with nothing known before. */
async function fresh(root: string, exclude?: readonly string[]): Promise<string> {
  const options = { cache: new StatCache(), ...(exclude !== undefined && { exclude }) };
  return (await capture(root, newTrees().trees, options)).tree;
}

describe("the tree of a directory", () => {
  it("[C1] holds files, modes, links and empty directories, whatever is hidden or ignored elsewhere", async () => {
    const root = folder();
    const { trees } = newTrees();
    mkdirSync(join(root, ".git", "refs"), { recursive: true });
    writeFileSync(join(root, ".git", "HEAD"), "ref: refs/heads/main\n");
    writeFileSync(join(root, ".gitignore"), "*.log\nnode_modules\n");
    writeFileSync(join(root, "a.log"), "ignored");
    mkdirSync(join(root, "node_modules", "x"), { recursive: true });
    writeFileSync(join(root, "node_modules", "x", ".npmrc"), "");
    writeFileSync(join(root, "run.sh"), "#!/bin/sh\n");
    chmodSync(join(root, "run.sh"), 0o755);
    writeFileSync(join(root, "private"), "");
    chmodSync(join(root, "private"), 0o600);
    symlinkSync("/etc/passwd", join(root, "link"));
    symlinkSync("nowhere", join(root, "dangling"));
    symlinkSync(".", join(root, "loop"));
    const snapshot = await capture(root, trees, { cache: new StatCache() });
    expect(await pathsOf(trees, snapshot.tree)).toEqual([
      ".git 755",
      ".git/HEAD 644",
      ".git/refs 755",
      ".gitignore 644",
      "a.log 644",
      "dangling -> nowhere",
      "link -> /etc/passwd",
      "loop -> .",
      "node_modules 755",
      "node_modules/x 755",
      "node_modules/x/.npmrc 644",
      "private 600",
      "run.sh 755",
    ]);
    expect(await textAt(trees, snapshot.tree, "a.log")).toBe("ignored");
    expect(snapshot).toMatchObject({ files: 9, bytes: 21 + 19 + 7 + 10, skipped: [] });
  });

  it("[C2] is the same wherever and in whatever order things were made, and nothing is the empty tree", async () => {
    const [one, other, empty] = [folder(), folder(), folder()];
    const names = ["b", "a", "c", "B", "a b", "ä", "__proto__"];
    for (const name of names) writeFileSync(join(one, name), name);
    for (const name of names.toReversed()) writeFileSync(join(other, name), name);
    expect(await fresh(one)).toBe(await fresh(other));
    expect(await fresh(empty)).toBe(EMPTY_TREE);
    writeFileSync(join(other, "b"), "c");
    expect(await fresh(one)).not.toBe(await fresh(other));
  });

  it.runIf(process.platform === "linux")(
    "[C3] entries that it cannot hold are listed, and nothing waits for them",
    async () => {
      const root = folder();
      mkdirSync(join(root, "a"));
      execFileSync("mkfifo", [join(root, "a", "pipe")]);
      const server = createServer().listen(join(root, "socket"));
      await new Promise((resolve) => server.once("listening", resolve));
      onTestFinished(() => void server.close());
      const cache = new StatCache();
      const { trees } = newTrees();
      const told = [
        { path: "a/pipe", why: "it is a pipe" },
        { path: "socket", why: "it is a socket" },
      ];
      expect((await capture(root, trees, { cache })).skipped).toEqual(told);
      await settle();
      await capture(root, trees, { cache });
      const again = await capture(root, trees, { cache });
      expect(again.skipped).toEqual(told);
      expect(await pathsOf(trees, again.tree)).toEqual(["a 755"]);
    },
  );

  it("[C4] unreadable entries are listed, and the rest is taken", async (context) => {
    const root = folder();
    mkdirSync(join(root, "closed"));
    writeFileSync(join(root, "closed", "file"), "");
    writeFileSync(join(root, "unreadable"), "secret");
    writeFileSync(join(root, "readable"), "");
    chmodSync(join(root, "unreadable"), 0o000);
    chmodSync(join(root, "closed"), 0o000);
    const give = (uid: number): void => {
      for (const name of ["", "closed", "unreadable"]) chownSync(join(root, name), uid, uid);
    };
    if (!asOrdinaryUser(give)) context.skip("needs root, to become someone else");
    const cache = new StatCache();
    const { trees } = newTrees();
    const snapshot = await capture(root, trees, { cache });
    expect(snapshot.skipped.map(({ path }) => path)).toEqual(["closed", "unreadable"]);
    expect(await pathsOf(trees, snapshot.tree)).toEqual(["readable 644"]);
    await settle();
    expect(await capture(root, trees, { cache })).toEqual(snapshot);
    expect(await capture(root, trees, { cache })).toEqual(snapshot);
    chmodSync(join(root, "unreadable"), 0o644);
    chmodSync(join(root, "closed"), 0o755);
    const after = await capture(root, trees, { cache });
    expect(await pathsOf(trees, after.tree)).toEqual([
      "closed 755",
      "closed/file 644",
      "readable 644",
      "unreadable 644",
    ]);
  });

  it("[C5] excluded paths are not looked at, and the patterns are part of the tree", async () => {
    const root = folder();
    for (const path of [
      "node_modules/a",
      "src/node_modules/b",
      "src/dist",
      "dist/x",
      "docs/a.pdf",
      "docs/deep/b.pdf",
    ]) {
      mkdirSync(join(root, path, ".."), { recursive: true });
      writeFileSync(join(root, path), path);
    }
    const exclude = ["node_modules", "/dist", "docs/*.pdf", "src/dist/"];
    const cache = new StatCache();
    const { trees } = newTrees();
    const snapshot = await capture(root, trees, { cache, exclude });
    expect(await pathsOf(trees, snapshot.tree)).toEqual([
      "docs 755",
      "docs/deep 755",
      "docs/deep/b.pdf 644",
      "src 755",
      "src/dist 644",
    ]);
    expect((await trees.tree(snapshot.tree)).exclude).toEqual(exclude);
    const all = await capture(root, trees, { cache });
    expect((await pathsOf(trees, all.tree)).length).toBeGreaterThan(8);
    expect((await trees.tree(all.tree)).exclude).toBeUndefined();
    expect((await capture(root, trees, { cache, exclude })).tree).toBe(snapshot.tree);
  });

  it("[C6] only what changed is read and kept, in one commit when it is little", async () => {
    const root = folder();
    for (let index = 0; index < 60; index++) {
      mkdirSync(join(root, `d${index % 6}`, "deep"), { recursive: true });
      writeFileSync(join(root, `d${index % 6}`, "deep", `f${index}`), `${index}`);
    }
    const cache = new StatCache();
    const { space, trees } = newTrees();
    const first = await capture(root, trees, { cache });
    await settle();
    await capture(root, trees, { cache });
    const { puts } = space;
    expect((await capture(root, trees, { cache })).tree).toBe(first.tree);
    expect(space.puts).toBe(puts);
    // The file, its directory, the one above, the root.
    const { given } = space;
    writeFileSync(join(root, "d3", "deep", "f3"), "changed");
    const second = await capture(root, trees, { cache });
    expect([space.given - given, space.puts - puts]).toEqual([4, 1]);
    expect(second.tree).toBe(await fresh(root));
    expect([second.files, second.bytes]).toEqual([60, first.bytes + 6]);
  });

  it("[C6] any change is seen: content, mode, kind, name, place, and back again", async () => {
    const root = folder();
    const at = (path: string): string => join(root, path);
    mkdirSync(at("a/b"), { recursive: true });
    mkdirSync(at("c"));
    writeFileSync(at("a/one"), "1");
    writeFileSync(at("a/b/two"), "2");
    const changes: (() => void)[] = [
      () => writeFileSync(at("a/one"), "other"),
      () => chmodSync(at("a/one"), 0o700),
      () => chmodSync(at("a"), 0o700),
      () => renameSync(at("a/b"), at("c/b")),
      () => renameSync(at("c/b/two"), at("c/two")),
      () => rmSync(at("a/one")),
      () => symlinkSync("../c", at("a/one")),
      () => renameSync(at("a/one"), at("link")),
      () => symlinkSync("../d", at("a/one")),
      () => rmSync(at("a/one")),
      () => mkdirSync(at("a/one")),
      () => rmSync(at("c"), { recursive: true }),
      () => writeFileSync(at("c"), "a file now"),
      () => linkSync(at("c"), at("a/hard")),
      () => writeFileSync(at("a/hard"), "both of them"),
      () => rmSync(at("a"), { recursive: true }),
    ];
    const cache = new StatCache();
    const { trees } = newTrees();
    let last = (await capture(root, trees, { cache })).tree;
    for (const [index, change] of changes.entries()) {
      change();
      const { tree } = await capture(root, trees, { cache });
      expect(tree, `${index}`).not.toBe(last);
      expect(tree, `${index}`).toBe(await fresh(root));
      last = tree;
      if (index % 3 === 0) await settle();
    }
  });

  it.each([
    ["any", folder],
    ["one that stamps by the tick", coarseFolder],
  ])(
    "[C7] a change that leaves size and times as they were is seen, however soon it comes: %s",
    async (_, place) => {
      const root = place();
      const path = join(root, "file");
      const cache = new StatCache();
      const { trees } = newTrees();
      const then = new Date(1_600_000_000_000);
      for (let count = 0; count < 300; count++) {
        const text = String(1000 + count);
        const fd = openSync(path, "w");
        writeSync(fd, text);
        closeSync(fd);
        utimesSync(path, then, then);
        const { tree } = await capture(root, trees, { cache });
        expect(await textAt(trees, tree, "file")).toBe(text);
      }
    },
  );

  it("[C7] also when everything was certain, and only the time of change tells", async () => {
    const root = folder();
    mkdirSync(join(root, "d"));
    const path = join(root, "d", "file");
    const then = new Date(1_600_000_000_000);
    writeFileSync(path, "one");
    utimesSync(path, then, then);
    const cache = new StatCache();
    const { trees } = newTrees();
    for (const text of ["two", "six", "ten"]) {
      await settle();
      await capture(root, trees, { cache });
      const fd = openSync(path, "r+");
      writeSync(fd, text);
      closeSync(fd);
      utimesSync(path, then, then);
      const { tree } = await capture(root, trees, { cache });
      expect(await textAt(trees, tree, "d/file")).toBe(text);
    }
  });

  it("[C8] a file that is written to all the time is taken as it was read, and read again until it rests", async () => {
    const root = folder();
    writeFileSync(join(root, "steady"), "steady");
    const program = `
      const fs = require("node:fs");
      const fd = fs.openSync(process.argv[1] + "/log", "a");
      fs.writeSync(1, ".");
      for (let count = 0; ; count++) {
        if (count % 5000 === 4999) fs.ftruncateSync(fd, 0);
        fs.writeSync(fd, "line " + count + "\\n");
      }`;
    const child = spawn(process.execPath, ["-e", program, root], { stdio: ["ignore", "pipe", "inherit"] });
    child.on("error", () => undefined);
    onTestFinished(() => void child.kill("SIGKILL"));
    await new Promise((resolve) => child.stdout.once("data", resolve));
    const cache = new StatCache();
    const { trees } = newTrees();
    for (let count = 0; count < 60; count++) {
      const { tree, skipped } = await capture(root, trees, { cache });
      expect(skipped).toEqual([]);
      const log = await entryAt(trees, tree, "log");
      if (log?.kind !== "file") throw new Error("no log");
      expect((await trees.blob(log.digest)).length).toBe(log.size);
    }
    const ended = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGKILL");
    await ended;
    const { tree } = await capture(root, trees, { cache });
    expect(await textAt(trees, tree, "log")).toBe(readFileSync(join(root, "log"), "utf8"));
  });

  it("[C9] long files are kept in pieces of a fixed length, and only what is longer than one", async () => {
    const root = folder();
    const write = (name: string, size: number): void => {
      const fd = openSync(join(root, name), "w");
      ftruncateSync(fd, size);
      writeSync(fd, "end", size - 3);
      closeSync(fd);
    };
    write("one", PIECE_BYTES);
    write("two", PIECE_BYTES + 3);
    write("five", 5 * PIECE_BYTES);
    let most = 0;
    class Watched extends Space {
      override putBlobs(blobs: readonly Uint8Array[]): Promise<readonly string[]> {
        most = Math.max(
          most,
          blobs.reduce((sum, { length }) => sum + length, 0),
        );
        return super.putBlobs(blobs);
      }
    }
    const trees = new Trees(new Watched());
    const { tree } = await capture(root, trees, { cache: new StatCache() });
    const counts: unknown[] = [];
    for (const name of ["one", "two", "five"]) {
      const entry = await entryAt(trees, tree, name);
      if (entry?.kind !== "file" && entry?.kind !== "parts") throw new Error(name);
      const parts = entry.kind === "parts" ? await trees.parts(entry.digest) : [entry.digest];
      counts.push([entry.kind, entry.size - statSync(join(root, name)).size, parts.length]);
      const pieces: Uint8Array[] = [];
      for await (const piece of trees.pieces(entry)) pieces.push(piece);
      expect(Buffer.concat(pieces).equals(readFileSync(join(root, name)))).toBe(true);
    }
    expect(counts).toEqual([
      ["file", 0, 1],
      ["parts", 0, 2],
      ["parts", 0, 5],
    ]);
    expect(most).toBeLessThanOrEqual(3 * PIECE_BYTES);
  });

  it("[C11] a file whose times changed and whose bytes did not is not kept again", async () => {
    const root = folder();
    writeFileSync(join(root, "a"), "same");
    const cache = new StatCache();
    const { space, trees } = newTrees();
    const before = await capture(root, trees, { cache });
    const { given } = space;
    writeFileSync(join(root, "a"), "same");
    expect(await capture(root, trees, { cache })).toEqual(before);
    expect(space.given).toBe(given);
  });

  it("[C12] when the blobs were collected, everything is read and kept again", async () => {
    const root = folder();
    mkdirSync(join(root, "d"));
    writeFileSync(join(root, "d", "a"), "text");
    const cache = new StatCache();
    const { space, trees } = newTrees();
    const { tree } = await capture(root, trees, { cache });
    await settle();
    await capture(root, trees, { cache });
    space.blobs.clear();
    expect((await capture(root, trees, { cache })).tree).toBe(tree);
    expect(await textAt(new Trees(space), tree, "d/a")).toBe("text");
  });

  it("[C13] directories deeper than 250 are told and left out", async () => {
    const root = folder();
    let at = root;
    for (let depth = 0; depth < 252; depth++) at = join(at, "d");
    mkdirSync(at, { recursive: true });
    const cache = new StatCache();
    const { trees } = newTrees();
    const { skipped, tree } = await capture(root, trees, { cache });
    expect(skipped).toEqual([{ path: `${"d/".repeat(250)}d`, why: "it is more than 250 directories deep" }]);
    expect(await pathsOf(trees, tree)).toHaveLength(250);
  });

  it("[C14] in a large workspace, where threads share the look, every change is seen as well", async () => {
    const root = folder();
    for (let index = 0; index < 4_200; index++) {
      const directory = join(root, `d${index % 150}`);
      if (index < 150) mkdirSync(directory);
      writeFileSync(join(directory, `f${index}`), `${index}`);
    }
    const cache = new StatCache();
    const { space, trees } = newTrees();
    const first = await capture(root, trees, { cache });
    await settle();
    expect(await capture(root, trees, { cache })).toEqual(first);
    await settle();
    const { puts } = space;
    expect(await capture(root, trees, { cache })).toEqual(first);
    expect(space.puts).toBe(puts);
    const changes: (() => void)[] = [
      () => writeFileSync(join(root, "d149", "f149"), "0"),
      () => writeFileSync(join(root, "d7", "new"), ""),
      () => rmSync(join(root, "d11"), { recursive: true }),
      () => chmodSync(join(root, "d12", "f12"), 0o600),
      () => renameSync(join(root, "d13"), join(root, "moved")),
    ];
    for (const [index, change] of changes.entries()) {
      change();
      const [one, other] = [capture(root, trees, { cache }), capture(root, trees, { cache })];
      expect(await other).toEqual(await one);
      if (index % 2 === 0) expect((await one).tree, `${index}`).toBe(await fresh(root));
    }
    // The same cache for the same files at another path.
    renameSync(join(root, "moved"), join(root, "d13"));
    renameSync(root, `${root}-moved`);
    onTestFinished(() => rmSync(`${root}-moved`, { recursive: true, force: true }));
    expect((await capture(`${root}-moved`, trees, { cache })).tree).toBe(await fresh(`${root}-moved`));
  });

  it("[C18] a hole is one piece that is kept once, and others get a turn while long files are read", async () => {
    const root = folder();
    const hole = (name: string, size: number, end = ""): void => {
      const fd = openSync(join(root, name), "w");
      ftruncateSync(fd, size);
      if (end !== "") writeSync(fd, end, size - end.length);
      closeSync(fd);
    };
    hole("hole", 12 * PIECE_BYTES);
    hole("ended", 3 * PIECE_BYTES + 5, "end");
    expect(digestOf(Buffer.alloc(PIECE_BYTES))).toBe(ZERO_PIECE);
    const { space, trees } = newTrees();
    let tree = "";
    const turns = await turnsDuring(async () => {
      ({ tree } = await capture(root, trees, { cache: new StatCache() }));
    });
    expect(turns).toBeGreaterThanOrEqual(12);
    // The piece of zeros, the end of the other, two lists of pieces, and the tree.
    expect(space.given).toBe(5);
    expect([...space.blobs.values()].filter(({ length }) => length === PIECE_BYTES)).toHaveLength(1);
    for (const [name, size, end] of [
      ["hole", 12 * PIECE_BYTES, "\0\0\0"],
      ["ended", 3 * PIECE_BYTES + 5, "end"],
    ] as const) {
      const entry = await entryAt(trees, tree, name);
      if (entry?.kind !== "parts") throw new Error(`${name} is not kept in pieces`);
      const pieces: Uint8Array[] = [];
      for await (const piece of trees.pieces(entry)) pieces.push(piece);
      const bytes = Buffer.concat(pieces);
      expect([bytes.length, bytes.subarray(-3).toString("latin1")]).toEqual([size, end]);
      expect(bytes.equals(readFileSync(join(root, name)))).toBe(true);
    }
  });

  it("[C19] additions beyond the limit are an error, holes in full, and earlier content does not count", async () => {
    const root = folder();
    const { space, trees } = newTrees();
    const cache = new StatCache();
    const limit = 2_000;
    writeFileSync(join(root, "first"), "x".repeat(1_500));
    const first = await capture(root, trees, { cache, limit });
    writeFileSync(join(root, "first"), "y".repeat(1_600));
    writeFileSync(join(root, "second"), "y".repeat(1_500));
    const second = await capture(root, trees, { cache, limit });
    expect(second.bytes).toBe(3_100);
    mkdirSync(join(root, "deep"));
    const fd = openSync(join(root, "deep", "hole"), "w");
    ftruncateSync(fd, 1024 ** 4);
    closeSync(fd);
    const given = space.given;
    await expect(capture(root, trees, { cache, limit })).rejects.toMatchObject({
      code: "snapshot-too-large",
      data: { path: "deep/hole", bytes: 1024 ** 4, limit },
      hint: expect.stringContaining("limits: { disk }"),
    });
    expect(space.given).toBe(given);
    rmSync(join(root, "deep", "hole"));
    writeFileSync(join(root, "deep", "fits"), "");
    expect((await capture(root, trees, { cache, limit })).files).toBe(3);
    // The blobs were collected, so everything is read again: none of it is new.
    space.blobs.clear();
    expect((await capture(root, trees, { cache, limit })).bytes).toBe(3_100);
    expect(first.tree).not.toBe(second.tree);
  });

  it("[C17] it can be given up, and what fails leaves nothing that the next one would believe", async () => {
    const root = folder();
    for (let index = 0; index < 200; index++) writeFileSync(join(root, `${index}`), `${index}`);
    const cache = new StatCache();
    const { space, trees } = newTrees();
    class Full extends Space {
      override async putBlobs(): Promise<never> {
        throw new Error("the disk is full");
      }
    }
    await expect(capture(root, new Trees(new Full()), { cache })).rejects.toThrow("full");
    const { tree } = await capture(root, trees, { cache });
    expect(await textAt(new Trees(space), tree, "7")).toBe("7");
    await expect(capture(join(root, "none"), trees, { cache: new StatCache() })).rejects.toMatchObject({
      code: "file-failed",
    });
    await expect(
      capture(root, trees, { cache: new StatCache(), signal: AbortSignal.abort() }),
    ).rejects.toThrow("aborted");
  });
});
