import { execFileSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { Folder } from "./folder.js";
import { placeOf } from "./testing/model.js";
import { folder, turnsDuring } from "./testing/space.js";
import { asOrdinaryUser } from "./testing/user.js";

const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString("utf8");
const refused = { code: "path-refused" };
const isLinux = process.platform === "linux";

function workspace(): { root: string; outside: string; files: Folder } {
  const root = folder();
  const outside = folder();
  writeFileSync(join(outside, "secret.txt"), "secret");
  return { root, outside, files: new Folder(root) };
}

describe("the files of a workspace", () => {
  it("[F1] written bytes are read back, directories on the way are made, and entries are listed by name", async () => {
    const { files } = workspace();
    await files.write("src/deep/a.txt", "ä text");
    await files.write("src/b.bin", Uint8Array.of(0, 255, 10));
    await files.write("src/empty", "");
    expect(text(await files.read("src/deep/a.txt"))).toBe("ä text");
    expect([...(await files.read("./src//b.bin"))]).toEqual([0, 255, 10]);
    expect(await files.read("src/empty")).toHaveLength(0);
    expect(await files.list("src")).toEqual([
      { name: "b.bin", kind: "file", size: 3, mode: 0o644 },
      { name: "deep", kind: "directory", size: expect.any(Number), mode: 0o755 },
      { name: "empty", kind: "file", size: 0, mode: 0o644 },
    ]);
    expect((await files.list()).map(({ name }) => name)).toEqual(["src"]);
    expect(await files.list("src/deep/")).toHaveLength(1);
    expect(await files.stat("src/b.bin")).toEqual({ name: "b.bin", kind: "file", size: 3, mode: 0o644 });
    expect(await files.stat("src")).toMatchObject({ kind: "directory" });
    expect(await files.stat("")).toMatchObject({ name: "", kind: "directory" });
    expect(await files.stat("nothing/here")).toBeUndefined();
    expect(await files.stat("src/b.bin/below")).toBeUndefined();
  });

  it("[F1] a write that ends leaves nothing else behind, and one that fails leaves what was there", async () => {
    const { root, files } = workspace();
    await files.write("a", "one");
    await files.write("a", "two");
    await expect(files.write("a", 5 as unknown as string)).rejects.toMatchObject({
      code: "sandbox-call-refused",
    });
    expect(await files.list()).toHaveLength(1);
    expect(readFileSync(join(root, "a"), "utf8")).toBe("two");
  });

  it.each(["../x", "a/../../x", "/etc/passwd", "a\0b", "x".repeat(300)])(
    "[F2] the path %j is refused by every call",
    async (path) => {
      const { files } = workspace();
      const calls = [
        files.read(path),
        files.write(path, ""),
        files.list(path),
        files.stat(path),
        files.link(path),
        files.make(path),
        files.remove(path),
        files.move(path, "to"),
        files.write("there", "").then(() => files.move("there", path)),
      ];
      for (const call of calls) await expect(call).rejects.toMatchObject(refused);
    },
  );

  it("[F3] a link on the way is refused by every call, wherever it leads", async () => {
    const { root, outside, files } = workspace();
    mkdirSync(join(root, "real"));
    writeFileSync(join(root, "real", "secret.txt"), "inside");
    for (const target of [outside, "real", ".", "nowhere"]) {
      await files.remove("way");
      symlinkSync(target, join(root, "way"));
      const calls = [
        files.read("way/secret.txt"),
        files.write("way/secret.txt", "changed"),
        files.list("way"),
        files.stat("way/secret.txt"),
        files.link("way/secret.txt"),
        files.make("way/new"),
        files.remove("way/secret.txt"),
        files.move("way/secret.txt", "stolen"),
        files.move("real/secret.txt", "way/moved"),
      ];
      for (const call of calls) await expect(call).rejects.toMatchObject(refused);
    }
    expect(readFileSync(join(outside, "secret.txt"), "utf8")).toBe("secret");
    expect(readFileSync(join(root, "real", "secret.txt"), "utf8")).toBe("inside");
    expect(existsSync(join(outside, "new"))).toBe(false);
  });

  it("[F3] a link at the end is told, removed, moved and replaced, and not followed", async () => {
    const { root, outside, files } = workspace();
    symlinkSync(join(outside, "secret.txt"), join(root, "link"));
    await expect(files.read("link")).rejects.toMatchObject(refused);
    expect(await files.stat("link")).toMatchObject({ kind: "link" });
    expect(await files.link("link")).toBe(join(outside, "secret.txt"));
    await files.move("link", "moved");
    expect(lstatSync(join(root, "moved")).isSymbolicLink()).toBe(true);
    await files.write("moved", "mine");
    expect(lstatSync(join(root, "moved")).isFile()).toBe(true);
    symlinkSync(outside, join(root, "folder"));
    await files.remove("folder");
    await expect(files.link("moved")).rejects.toMatchObject({ code: "file-failed" });
    expect(readFileSync(join(outside, "secret.txt"), "utf8")).toBe("secret");
  });

  it("[F4] a file is replaced: its other names keep their bytes, its mode stays unless one is given", async () => {
    const { root, outside, files } = workspace();
    linkSync(join(outside, "secret.txt"), join(root, "hard"));
    chmodSync(join(root, "hard"), 0o750);
    await files.write("hard", "new");
    expect(readFileSync(join(outside, "secret.txt"), "utf8")).toBe("secret");
    expect(statSync(join(root, "hard")).mode & 0o777).toBe(0o750);
    await files.write("hard", "new", { mode: 0o600 });
    expect(statSync(join(root, "hard")).mode & 0o777).toBe(0o600);
  });

  it.runIf(isLinux)("[F5] pipes, sockets and devices are not opened: the answer comes at once", async () => {
    const { root, files } = workspace();
    execFileSync("mkfifo", [join(root, "pipe")]);
    const server = createServer().listen(join(root, "socket"));
    await new Promise((resolve) => server.once("listening", resolve));
    onTestFinished(() => void server.close());
    for (const name of ["pipe", "socket"]) {
      await expect(files.read(name)).rejects.toMatchObject({ code: "file-not-a-file" });
      expect(await files.stat(name)).toMatchObject({ kind: "other" });
    }
    await files.write("pipe", "a file now");
    expect(text(await files.read("pipe"))).toBe("a file now");
    await files.remove("socket");
    expect((await files.list()).map(({ name, kind }) => `${name} ${kind}`)).toEqual(["pipe file"]);
  });

  it("[F6] a directory is removed with all that is in it, and links in it are not followed", async () => {
    const { root, outside, files } = workspace();
    await files.write("a/b/c.txt", "");
    symlinkSync(outside, join(root, "a", "b", "out"));
    symlinkSync("/", join(root, "a", "root"));
    await files.remove("a");
    await files.remove("a");
    await files.remove("never/was");
    expect(await files.list()).toEqual([]);
    expect(readFileSync(join(outside, "secret.txt"), "utf8")).toBe("secret");
    for (const path of ["", ".", "./"]) await expect(files.remove(path)).rejects.toMatchObject(refused);
  });

  it.runIf(isLinux)("[F6] however deep it is", async () => {
    const { root, files } = workspace();
    // Deeper than a path can be long, and than files can be open.
    const program = `
      const fs = require("node:fs");
      process.chdir(process.argv[1]);
      for (let depth = 0; depth < 1500; depth++) {
        fs.mkdirSync("directory");
        fs.writeFileSync("file", "");
        process.chdir("directory");
      }`;
    execFileSync(process.execPath, ["-e", program, root]);
    await files.remove("directory");
    expect((await files.list()).map(({ name }) => name)).toEqual(["file"]);
  });

  it("[F6] also what its owner may not enter or write to, as an ordinary user", async (context) => {
    const { root, files } = workspace();
    await files.write("a/closed/file", "");
    await files.write("a/fixed/below/file", "");
    chmodSync(join(root, "a", "closed"), 0o000);
    chmodSync(join(root, "a", "fixed", "below"), 0o555);
    chmodSync(join(root, "a", "fixed"), 0o555);
    const give = (uid: number): void => {
      for (const path of ["", "a", "a/closed", "a/fixed", "a/fixed/below"])
        chownSync(join(root, path), uid, uid);
    };
    if (!asOrdinaryUser(give)) context.skip("needs root, to become someone else");
    await files.remove("a");
    expect(await files.list()).toEqual([]);
  });

  it("[F7] directories are made once, and things are moved where no directory is", async () => {
    const { root, files } = workspace();
    await files.make("a/b/c");
    await files.make("a/b");
    await files.make("");
    await files.write("a/file", "1");
    await files.write("other", "2");
    await files.move("other", "a/file");
    expect(text(await files.read("a/file"))).toBe("2");
    await files.move("a/b", "moved");
    expect(await files.stat("moved/c")).toMatchObject({ kind: "directory" });
    await expect(files.move("moved", "a")).rejects.toMatchObject({ code: "file-failed" });
    await expect(files.move("a/file", "moved")).rejects.toMatchObject({ code: "file-failed" });
    await expect(files.move("nothing", "x")).rejects.toMatchObject({ code: "file-missing" });
    await expect(files.move("a", "a/below")).rejects.toMatchObject({ code: "file-failed" });
    await expect(files.move("a", "no/where")).rejects.toMatchObject({ code: "file-missing" });
    await expect(files.move("", "x")).rejects.toMatchObject(refused);
    await expect(files.move("a", "")).rejects.toMatchObject(refused);
    await expect(files.make("a/file")).rejects.toMatchObject({ code: "file-not-a-directory" });
    expect(readFileSync(join(root, "a", "file"), "utf8")).toBe("2");
  });

  it("[F8] calls wait for each other: they happen in the order in which they were made", async () => {
    const { files } = workspace();
    const long = "x".repeat(200_000);
    const calls = Array.from({ length: 50 }, (_, index) => files.write("a", `${index} ${long}`));
    const read = files.read("a");
    const moved = files.move("a", "b");
    const failed = files.read("a");
    await expect(failed).rejects.toMatchObject({ code: "file-missing" });
    await Promise.all([...calls, moved]);
    expect(text(await read)).toMatch(/^49 /);
  });

  it.each([
    "new\nline",
    "\udcff\udcfe bytes",
    "é".repeat(127),
    "x".repeat(255),
    "__proto__",
    "constructor",
    "-rf",
    "--",
    " ",
    "*",
    "a\\b",
    "\u202e",
    "...",
    "CON",
    "\ufffd",
  ])("[F9] the name %j is a name like others", async (name) => {
    const { root, files } = workspace();
    await files.write(`${name}/${name}`, "here");
    expect(text(await files.read(`${name}/${name}`))).toBe("here");
    expect((await files.list()).map((entry) => entry.name)).toEqual([name]);
    expect((await files.list(name)).map((entry) => entry.name)).toEqual([name]);
    await files.write(`${name}x`.slice(-1), "there");
    await files.move(`${name}/${name}`, `${name}/moved`);
    expect(readFileSync(placeOf(root, `${name}/moved`), "utf8")).toBe("here");
    await files.remove(name);
    expect(await files.stat(name)).toBeUndefined();
  });

  it("[F9] case twins are two names", async (context) => {
    const { root, files } = workspace();
    writeFileSync(join(root, "case"), "");
    if (existsSync(join(root, "CASE"))) context.skip("this file system does not tell them apart");
    await files.write("Case", "1");
    await files.write("cASE", "2");
    expect(text(await files.read("Case"))).toBe("1");
    expect(await files.list()).toHaveLength(3);
  });

  it("[F11] files that root makes belong to the owner of the directory", async (context) => {
    if (process.geteuid?.() !== 0) context.skip("needs root");
    const { root, files } = workspace();
    chownSync(root, 1234, 1235);
    await files.write("a/b", "");
    writeFileSync(join(root, "c"), "");
    chownSync(join(root, "c"), 77, 78);
    await files.write("c", "again");
    const owner = (path: string): string =>
      `${statSync(join(root, path)).uid}:${statSync(join(root, path)).gid}`;
    expect([owner("a"), owner("a/b"), owner("c")]).toEqual(["1234:1235", "1234:1235", "77:78"]);
  });

  it("[F13] an impossible call is refused with its path and the obstacle", async () => {
    const { root, files } = workspace();
    await files.write("file", "");
    await files.make("folder");
    const cases: [Promise<unknown>, string][] = [
      [files.read("nothing"), "file-missing"],
      [files.read("no/where"), "file-missing"],
      [files.read("folder"), "file-not-a-file"],
      [files.read(""), "file-not-a-file"],
      [files.read("file/below"), "file-not-a-directory"],
      [files.write("folder", ""), "file-not-a-file"],
      [files.write("", ""), "file-not-a-file"],
      [files.write("file/below", ""), "file-not-a-directory"],
      [files.list("file"), "file-not-a-directory"],
      [files.list("nothing"), "file-missing"],
      [files.link("nothing"), "file-missing"],
      [files.link("file"), "file-failed"],
    ];
    for (const [call, code] of cases)
      await expect(call, code).rejects.toMatchObject({ code, data: { path: expect.any(String) } });
    renameSync(root, `${root}-gone`);
    onTestFinished(() => renameSync(`${root}-gone`, root));
    await expect(files.list()).rejects.toMatchObject({ code: "file-failed" });
  });

  it("[F15] a long directory and a long path let others have a turn", async () => {
    const { root, files } = workspace();
    mkdirSync(join(root, "many"));
    for (let index = 0; index < 6_000; index++) writeFileSync(join(root, "many", `${index}`), "");
    // A call that gives no turns has two at the most, on a machine of any speed.
    expect(await turnsDuring(() => files.list("many"))).toBeGreaterThan(2);
    const path = `${"d/".repeat(1_000)}x`;
    await files.write("x", "x");
    expect(await turnsDuring(() => files.write(path, "x"))).toBeGreaterThan(2);
    expect(text(await files.read(path))).toBe("x");
    await files.remove("d");
    expect((await files.list()).map(({ name }) => name)).toEqual(["many", "x"]);
  });

  it("[F14] a file that pretends to be longer than memory is refused", async () => {
    const { root, files } = workspace();
    writeFileSync(join(root, "long"), "");
    truncateSync(join(root, "long"), 600 * 1024 ** 2);
    await expect(files.read("long")).rejects.toMatchObject({ code: "file-failed" });
  });
});
