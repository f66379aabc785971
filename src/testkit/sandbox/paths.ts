import { deepStrictEqual, equal, ok } from "node:assert";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Sandbox, SandboxFiles } from "../../sandbox/index.js";
import { bytesOfName } from "../../sandbox/index.js";
import { skip } from "../runner.js";
import { check, done, namesIn, refused, type SandboxCase, text } from "./case.js";

/** Every call that takes a path. */
const calls: { readonly [name: string]: (files: SandboxFiles, path: string) => Promise<unknown> } = {
  read: (files, path) => files.read(path),
  write: (files, path) => files.write(path, "planted"),
  list: (files, path) => files.list(path),
  stat: (files, path) => files.stat(path),
  link: (files, path) => files.link(path),
  make: (files, path) => files.make(path),
  remove: (files, path) => files.remove(path),
  "move from": (files, path) => files.move(path, "moved"),
  "move to": (files, path) => files.move("a.txt", path),
};

const oddNames = [
  "new\nline",
  "tab\there",
  " lead and trail ",
  "quote'\"`$(id)",
  "back\\slash",
  "-rf",
  "*?[a]",
  "…",
  "日本語🙂",
  // One letter in two forms, which are two names.
  "\u00e9",
  "e\u0301",
  "Twin",
  "twin",
  ".hidden",
  "...",
  "con",
  "x".repeat(255),
  "ü".repeat(127),
];

export const pathsCases: readonly SandboxCase[] = [
  check("[F20] a path that leads out of the workspace is refused by every call", async ({ files }) => {
    await files.write("a.txt", "text");
    await files.make("dir");
    for (const [name, call] of Object.entries(calls))
      for (const path of [
        "..",
        "../x",
        "dir/../../x",
        "dir/..",
        "/",
        "/etc/passwd",
        "/workspace/a.txt",
        "a\0b",
      ])
        await refused("path-refused", `${name} ${JSON.stringify(path)}`, () => call(files, path));
    for (const [name, call] of Object.entries(calls))
      await refused("path-refused", `${name} of a name that is too long`, () => call(files, "y".repeat(256)));
    equal(text(await files.read("a.txt")), "text");
    deepStrictEqual(await namesIn(files), ["a.txt", "dir"]);
  }),

  check("[F21] no call goes through a link, wherever it leads", async (sandbox) => {
    const { files } = sandbox;
    await files.write("a.txt", "text");
    await files.write("dir/inside.txt", "inside");
    await done(
      sandbox,
      "ln -s dir in; ln -s /workspace/dir abs; ln -s .. up; ln -s /tmp out; ln -s nowhere none; ln -s loop loop; ln -s in twice",
    );
    for (const [name, call] of Object.entries(calls))
      for (const link of ["in", "abs", "up", "out", "none", "loop", "twice"])
        for (const path of [`${link}/inside.txt`, `${link}/new/deep.txt`])
          await refused("path-refused", `${name} ${path}`, () => call(files, path));
    equal(
      await done(sandbox, "cat dir/inside.txt; ls dir; ls"),
      "insideinside.txt\na.txt\nabs\ndir\nin\nloop\nnone\nout\ntwice\nup\n",
    );
  }),

  check("[F22] a link at the end of a path is not followed, and a write replaces it", async (sandbox) => {
    const { files } = sandbox;
    await files.write("secret.txt", "secret");
    await files.write("dir/inside.txt", "inside");
    await done(sandbox, "ln -s secret.txt file; ln -s dir folder; ln -s nowhere none; ln -s /tmp out");
    for (const path of ["file", "folder", "none", "out"]) {
      await refused("path-refused", `reading ${path}`, () => files.read(path));
      await refused("path-refused", `listing ${path}`, () => files.list(path));
      await refused("path-refused", `making ${path}`, () => files.make(path));
      await files.write(path, "written");
      deepStrictEqual([(await files.stat(path))?.kind, text(await files.read(path))], ["file", "written"]);
    }
    equal(
      await done(sandbox, "cat secret.txt dir/inside.txt; ls dir; ls"),
      "secretinsideinside.txt\ndir\nfile\nfolder\nnone\nout\nsecret.txt\n",
    );
  }),

  check("[F23] a link that a command has planted opens nothing of the host", async (sandbox) => {
    await sandbox.files.write("a.txt", "text");
    await onHost(async (folder) => {
      writeFileSync(join(folder, "secret.txt"), "secret of the host");
      const names = await planted(sandbox, folder);
      for (const [name, call] of Object.entries(calls))
        for (const link of names)
          for (const path of [`${link}/secret.txt`, `${link}/new.txt`])
            await refused("path-refused", `${name} ${path}`, () => call(sandbox.files, path));
      for (const link of names) {
        await refused("path-refused", `listing ${link}`, () => sandbox.files.list(link));
        await sandbox.files.remove(link);
      }
      deepStrictEqual(readdirSync(folder), ["secret.txt"]);
      equal(readFileSync(join(folder, "secret.txt"), "utf8"), "secret of the host");
    });
  }),

  check("[F24] any name that a file can have is kept, here and there", async (sandbox) => {
    const { files } = sandbox;
    for (const name of oddNames) await files.write(name, `content of ${name}`);
    const sorted = [...oddNames].sort();
    deepStrictEqual(await namesIn(files), sorted);
    for (const name of oddNames) {
      equal(text(await files.read(name)), `content of ${name}`);
      equal(await done(sandbox, ["cat", `./${name}`]), `content of ${name}`);
    }
    await done(sandbox, ["mkdir", ...oddNames.map((name) => `./dir ${name}`.slice(0, 100))]);
    await done(sandbox, ["cp", ...oddNames.map((name) => `./${name}`), "./dir Twin/"]);
    deepStrictEqual(await namesIn(files, "dir Twin"), sorted);
  }),

  check("[F25] names that are not UTF-8 keep their bytes", async (sandbox, { capabilities, open }) => {
    if (capabilities.names !== "bytes") skip("names of this kind of sandbox are text");
    // A byte that is not UTF-8 stands as U+DC00 and itself.
    const name = "a\udcffb\udc80";
    await done(
      sandbox,
      "printf text > \"$(printf 'a\\377b\\200')\"; ln -s \"$(printf 'a\\377b\\200')\" link",
    );
    deepStrictEqual(
      (await sandbox.files.list()).map((entry) => entry.name),
      [name, "link"],
    );
    equal(text(await sandbox.files.read(name)), "text");
    equal(await sandbox.files.link("link"), name);
    await sandbox.files.write(`dir\udcfe/${name}`, "other");
    const { stdout } = await sandbox.exec("cat \"$(printf 'dir\\376/a\\377b\\200')\"; ls").result;
    const listing = Buffer.concat([
      bytesOfName(name),
      Buffer.from("\n"),
      bytesOfName("dir\udcfe"),
      Buffer.from("\nlink\n"),
    ]);
    deepStrictEqual(Buffer.from(stdout), Buffer.concat([Buffer.from("other"), listing]));
    const other = await open({}, { tree: (await sandbox.snapshot()).tree });
    equal(text(await other.files.read(`dir\udcfe/${name}`)), "other");
    equal((await other.snapshot()).tree, (await sandbox.snapshot()).tree);
  }),

  check("[F26] half a character and a character spelled in bytes are not names", async ({ files }) => {
    await files.write("\u00e9", "one file, one name");
    for (const path of [
      "a\ud800",
      "\udc00",
      "dir/\udfff/x",
      "\udcc3\udca9",
      "dir/\udce2\udc82\udcac/x",
      "\udc61",
    ]) {
      await refused("path-refused", JSON.stringify(path), () => files.write(path, ""));
      await refused("path-refused", JSON.stringify(path), () => files.read(path));
    }
    deepStrictEqual(await namesIn(files), ["\u00e9"]);
  }),
];

/** Makes different links to a folder of the host, and returns their names. */
async function planted(sandbox: Sandbox, folder: string): Promise<readonly string[]> {
  const up = "../".repeat(20);
  await done(sandbox, ["ln", "-s", folder, "absolute"]);
  await done(sandbox, ["ln", "-s", `${up}${folder.slice(1)}`, "relative"]);
  await done(sandbox, ["ln", "-s", "absolute", "chained"]);
  await done(sandbox, ["ln", "-s", `/proc/self/root${folder}`, "proc"]);
  return ["absolute", "relative", "chained", "proc"];
}

/** A folder of the host that only the suite knows. */
export async function onHost(use: (folder: string) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "openrath-outside-"));
  try {
    ok(folder.startsWith("/") || folder.includes(":"), "the folder of the host has no absolute path");
    await use(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
