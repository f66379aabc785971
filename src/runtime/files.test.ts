import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { folder, git, hasGit } from "../sandbox/workspace/testing/git.js";
import type { Session } from "../session/index.js";
import type { Rath } from "./index.js";
import { rathOf } from "./testing/rath.js";
import { all, only } from "./testing/record.js";

/** A folder with some of everything. */
function work(text = "one\n"): string {
  const path = folder();
  mkdirSync(join(path, "src", "deep"), { recursive: true });
  mkdirSync(join(path, "cache"));
  writeFileSync(join(path, "a.txt"), text);
  writeFileSync(join(path, "src", "deep", "run.sh"), "true\n");
  chmodSync(join(path, "src", "deep", "run.sh"), 0o755);
  writeFileSync(join(path, "cache", "big.log"), "log\n");
  writeFileSync(join(path, "src", "old.log"), "log\n");
  symlinkSync("a.txt", join(path, "link"));
  return path;
}

const pathsOf = async (rath: Rath, session: Session): Promise<readonly string[]> =>
  [...(await (await rath.filesAt(session)).paths())].sort();

describe("importing files", () => {
  it("[F1] gives a session the files of a folder, and says where they are from", async () => {
    const rath = rathOf();
    const path = work();
    const start = rath.start("go");
    const session = await rath.importFiles(start, path);
    expect(session.soleParent?.id).toBe(start.id);
    expect(session.host).toBe(rath);
    expect(session.fact).toMatchObject({
      type: "workspace-import",
      source: path,
      after: session.files.tree,
      files: 5,
      by: "runtime",
    });
    expect(start.files.tree).toBe(null);
    expect(await pathsOf(rath, session)).toEqual([
      "a.txt",
      "cache/big.log",
      "link",
      "src/deep/run.sh",
      "src/old.log",
    ]);
    const out = join(folder(), "out");
    const files = await rath.filesAt(session);
    expect(await files.text("a.txt")).toBe("one\n");
    await files.checkout(out);
    expect((await rath.importFiles(start, out)).files.tree).toBe(session.files.tree);
    // A later one takes the place of the files before.
    const later = await rath.importFiles(session, work("two\n"));
    expect(await (await rath.filesAt(later)).text("a.txt")).toBe("two\n");
    expect(await (await rath.filesAt(session)).text("a.txt")).toBe("one\n");
  });

  it("[F1] leaves out what is excluded, and the record says what that was", async () => {
    const rath = rathOf();
    const session = await rath.importFiles(rath.start("go"), work(), { exclude: ["cache/", "*.log"] });
    expect(await pathsOf(rath, session)).toEqual(["a.txt", "link", "src/deep/run.sh"]);
    const { tree } = session.files;
    const text = Buffer.from((await (await rath.store()).blob(tree as string)) as Uint8Array).toString();
    expect(JSON.parse(text)).toMatchObject({ exclude: expect.arrayContaining(["cache/", "*.log"]) });
  });

  it("[F1] keeps them with the session", async () => {
    const rath = rathOf();
    await rath.save(await rath.importFiles(rath.start("go"), work()), "kept");
    const store = await rath.store();
    expect(await store.gc({ all: true })).toMatchObject({ blobs: 0 });
    const loaded = await rath.load("kept");
    expect(await (await rath.filesAt(loaded)).text("src/deep/run.sh")).toBe("true\n");
    expect((await store.check()).findings).toEqual([]);
  });

  it("[F3] from anything but a folder, or for anything but a session, is refused", async () => {
    const rath = rathOf();
    const start = rath.start("go");
    const missing = join(folder(), "missing");
    await expect(rath.importFiles(start, missing)).rejects.toMatchObject({ hint: expect.any(String) });
    await expect(rath.importFiles(start, { git: missing }, { exclude: ["*.log"] })).rejects.toMatchObject({
      code: "run-refused",
      hint: expect.stringContaining("exclude"),
    });
    await expect(rath.importFiles("x" as never, work())).rejects.toMatchObject({ code: "not-a-session" });
    await expect(rath.exportGit(undefined as never, missing)).rejects.toMatchObject({
      code: "not-a-session",
    });
    await expect(rath.filesAt({} as never)).rejects.toMatchObject({ code: "not-a-session" });
    expect(await (await rath.store()).names()).toEqual([]);
  });
});

describe.skipIf(!hasGit)("files from and to git (needs git)", () => {
  /** A repository with two commits, and what is not committed. */
  function repository(): { readonly path: string; readonly first: string; readonly second: string } {
    const path = folder();
    git(path, "init", "-q", "-b", "main");
    writeFileSync(join(path, "a.txt"), "one\n");
    git(path, "add", ".");
    git(path, "commit", "-q", "-m", "one");
    const first = git(path, "rev-parse", "HEAD").trim();
    writeFileSync(join(path, "a.txt"), "two\n");
    mkdirSync(join(path, "src"));
    writeFileSync(join(path, "src", "b.txt"), "b\n");
    git(path, "add", ".");
    git(path, "commit", "-q", "-m", "two");
    const second = git(path, "rev-parse", "HEAD").trim();
    writeFileSync(join(path, "a.txt"), "not committed\n");
    writeFileSync(join(path, "new.txt"), "new\n");
    return { path, first, second };
  }

  it("[F1] a commit is taken in as it is, the newest unless one is named", async () => {
    const rath = rathOf();
    const { path, first, second } = repository();
    const newest = await rath.importFiles(rath.start("go"), { git: path });
    expect(newest.fact).toMatchObject({
      type: "workspace-import",
      source: `${path}#${second}`,
      files: 2,
      bytes: 6,
      by: "runtime",
    });
    expect(await pathsOf(rath, newest)).toEqual(["a.txt", "src/b.txt"]);
    expect(await (await rath.filesAt(newest)).text("a.txt")).toBe("two\n");
    for (const commit of [first, first.slice(0, 10), "main~1"]) {
      const older = await rath.importFiles(rath.start("go"), { git: path, commit });
      expect(older.fact).toMatchObject({ source: `${path}#${first}` });
      expect(await pathsOf(rath, older)).toEqual(["a.txt"]);
    }
    expect(git(path, "status", "--porcelain").split("\n").filter(Boolean)).toHaveLength(2);
  });

  it("[F3] a commit or a repository that is not there is refused with what to do", async () => {
    const rath = rathOf();
    const { path } = repository();
    for (const source of [
      { git: path, commit: "nowhere" },
      { git: folder() },
      { git: join(path, "missing") },
    ])
      await expect(rath.importFiles(rath.start("go"), source)).rejects.toMatchObject({
        code: expect.stringMatching(/^git-/),
        hint: expect.stringMatching(/\w/),
      });
  });

  it("[F2] each change of a session's files is a commit that names its session", async () => {
    const rath = rathOf();
    const { path, second } = repository();
    const before = git(path, "status", "--porcelain");
    const one = await rath.importFiles(rath.start("go"), { git: path });
    const two = await rath.importFiles(one.say("and then"), work("three\n"), { exclude: ["*.log"] });
    const done = await rath.exportGit(two.say("done"), path, { branch: "rath/fix", onto: "main" });
    expect(done.branch).toBe("rath/fix");
    expect(done.commits.at(-1)?.commit).toBe(done.head);
    expect(done.commits.at(-1)?.session).toBe(two.id);
    const message = git(path, "log", "-1", "--format=%B", "rath/fix");
    expect(message).toContain(two.id);
    expect(git(path, "show", "rath/fix:a.txt")).toBe("three\n");
    expect(git(path, "ls-tree", "-r", "rath/fix", "src/deep/run.sh")).toMatch(/^100755 /);
    expect(git(path, "merge-base", "rath/fix", "main").trim()).toBe(second);
    expect([git(path, "status", "--porcelain"), git(path, "rev-parse", "main").trim()]).toEqual([
      before,
      second,
    ]);
    expect(await rath.exportGit(two, path, { branch: "rath/fix", onto: "main" })).toEqual(done);
    // What was written comes back as the same files.
    const back = await rath.importFiles(rath.start("again"), { git: path, commit: "rath/fix" });
    expect(await pathsOf(rath, back)).toEqual(["a.txt", "link", "src/deep/run.sh"]);
    expect(only(all(back, "workspace-import")).source).toBe(`${path}#${done.head}`);
  });

  it("[F2] creates a missing repository, on the branch rath unless another is named", async () => {
    const rath = rathOf();
    const session = await rath.importFiles(rath.start("go"), work());
    const path = join(folder(), "new.git");
    const done = await rath.exportGit(session, path);
    expect(done.branch).toBe("rath");
    expect(git(path, "show", "rath:src/deep/run.sh")).toBe("true\n");
    await expect(rath.exportGit(rath.start("no files"), path)).rejects.toMatchObject({
      code: expect.stringMatching(/^git-/),
    });
  });
});
