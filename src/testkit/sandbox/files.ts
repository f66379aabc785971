import { deepStrictEqual, equal } from "node:assert";
import { check, done, namesIn, refused, run, type SandboxCase, sameBytes, text } from "./case.js";

export const filesCases: readonly SandboxCase[] = [
  check("[F1] written bytes and text are read back; directories are made on the way", async ({ files }) => {
    const bytes = Uint8Array.from({ length: 256 }, (_, value) => value);
    await files.write("a/b/c.bin", bytes);
    sameBytes(await files.read("a/b/c.bin"), bytes, "the file");
    await files.write("a/b/c.bin", "Grüße\n");
    equal(text(await files.read("a/b/c.bin")), "Grüße\n");
    await files.write("empty", "");
    equal((await files.read("empty")).length, 0);
    await files.write("./a//b/./d.txt", "same directory");
    deepStrictEqual(await namesIn(files, "a/b"), ["c.bin", "d.txt"]);
  }),

  check("[F2] commands see what was written, and the other way round, at once", async (sandbox) => {
    for (let round = 0; round < 10; round++) {
      await sandbox.files.write("in.txt", `${round}`);
      equal(await done(sandbox, "cat in.txt; printf %s $(( $(cat in.txt) * 2 )) > out.txt"), `${round}`);
      equal(text(await sandbox.files.read("out.txt")), `${round * 2}`);
    }
    await done(sandbox, "rm in.txt; mkdir made");
    equal(await sandbox.files.stat("in.txt"), undefined);
    equal((await sandbox.files.stat("made"))?.kind, "directory");
  }),

  check("[F3] a directory lists its entries by name, with kind, size and mode", async (sandbox) => {
    await sandbox.files.write("b.txt", "12345", { mode: 0o600 });
    await sandbox.files.write("a.sh", "", { mode: 0o755 });
    await sandbox.files.make("dir");
    await done(sandbox, "ln -s b.txt c-link; ln -s nowhere z-link; chmod 700 dir");
    const expected = [
      ["a.sh", "file", 0, 0o755],
      ["b.txt", "file", 5, 0o600],
      ["c-link", "link"],
      ["dir", "directory", 0o700],
      ["z-link", "link"],
    ];
    for (const path of [undefined, "", ".", "./"])
      deepStrictEqual(
        (await sandbox.files.list(path)).map(({ name, kind, size, mode }) =>
          kind === "file" ? [name, kind, size, mode] : kind === "link" ? [name, kind] : [name, kind, mode],
        ),
        expected,
      );
    deepStrictEqual(await sandbox.files.list("dir"), []);
  }),

  check("[F4] stat describes a path without following it, or finds nothing", async (sandbox) => {
    await sandbox.files.write("dir/a.txt", "12345");
    await done(sandbox, "ln -s a.txt dir/link; ln -s dir dirlink");
    const kinds = ["dir", "dir/a.txt", "dir/link", "dirlink", ".", "none", "none/at/all"];
    deepStrictEqual(await Promise.all(kinds.map(async (path) => (await sandbox.files.stat(path))?.kind)), [
      ...["directory", "file", "link", "link", "directory"],
      ...[undefined, undefined],
    ]);
    const { name, size } = (await sandbox.files.stat("dir/a.txt")) ?? {};
    deepStrictEqual([name, size], ["a.txt", 5]);
  }),

  check("[F5] a link says where it leads, and does not go there", async (sandbox) => {
    await done(
      sandbox,
      "ln -s ../../etc/passwd one; ln -s 'no such/ü' two; ln -s /workspace three; : > file",
    );
    deepStrictEqual(await Promise.all(["one", "two", "three"].map((path) => sandbox.files.link(path))), [
      "../../etc/passwd",
      "no such/ü",
      "/workspace",
    ]);
    await refused("file-missing", "the target of nothing", () => sandbox.files.link("none"));
    await refused("file-failed", "the target of a file", () => sandbox.files.link("file"));
  }),

  check("[F6] directories are made with their parents; existing ones stay", async (sandbox) => {
    await sandbox.files.make("a/b/c");
    await sandbox.files.write("a/b/c/file", "kept");
    await sandbox.files.make("a/b/c");
    await sandbox.files.make("");
    equal(await done(sandbox, "cat a/b/c/file; find . -type d | sort"), "kept.\n./a\n./a/b\n./a/b/c\n");
    await refused("file-not-a-directory", "a directory where a file is", () =>
      sandbox.files.make("a/b/c/file"),
    );
    await refused("file-not-a-directory", "one below a file", () => sandbox.files.make("a/b/c/file/d"));
  }),

  check("[F7] what is removed is gone, with all that is in it and nothing else", async (sandbox) => {
    await sandbox.files.write("keep/a.txt", "kept");
    await sandbox.files.write("dir/deep/b.txt", "");
    await done(sandbox, "ln -s ../keep dir/deep/link; ln -s keep link; ln -s nowhere dangling");
    for (const path of ["dir", "link", "dangling", "dir", "none/at/all"]) await sandbox.files.remove(path);
    equal(await done(sandbox, "find . | sort; cat keep/a.txt"), ".\n./keep\n./keep/a.txt\nkept");
    await sandbox.files.remove("keep/a.txt");
    deepStrictEqual(await sandbox.files.list("keep"), []);
  }),

  check("[F8] a move renames, and replaces anything that is not a directory", async (sandbox) => {
    const { files } = sandbox;
    await files.write("a.txt", "a", { mode: 0o600 });
    await files.write("b.txt", "b");
    await files.write("dir/c.txt", "c");
    await done(sandbox, "ln -s a.txt link");
    await files.move("a.txt", "b.txt");
    equal(text(await files.read("b.txt")), "a");
    equal((await files.stat("b.txt"))?.mode, 0o600);
    await files.move("link", "dir/link");
    equal(await files.link("dir/link"), "a.txt");
    await files.write("target", "t");
    await files.move("dir/link", "target");
    equal((await files.stat("target"))?.kind, "link");
    await files.move("dir", "moved");
    equal(await done(sandbox, "cat moved/c.txt; ls"), "cb.txt\nmoved\ntarget\n");
    await refused("file-missing", "a move of nothing", () => files.move("none", "x"));
    await refused(["file-not-a-file", "file-failed"], "a move onto a directory", () =>
      files.move("b.txt", "moved"),
    );
    await refused(["file-failed", "file-not-a-file"], "a move into itself", () =>
      files.move("moved", "moved/in"),
    );
    equal(text(await files.read("moved/c.txt")), "c");
  }),

  check("[F9] each thing that is not as it must be has an error of its own", async ({ files }) => {
    await files.write("dir/file", "text");
    await refused("file-missing", "reading nothing", () => files.read("none"));
    await refused("file-missing", "reading nothing in nothing", () => files.read("none/at/all"));
    await refused("file-not-a-file", "reading a directory", () => files.read("dir"));
    await refused("file-not-a-directory", "reading below a file", () => files.read("dir/file/x"));
    await refused("file-missing", "listing nothing", () => files.list("none"));
    await refused("file-not-a-directory", "listing a file", () => files.list("dir/file"));
    await refused("file-not-a-file", "writing onto a directory", () => files.write("dir", ""));
    await refused("file-not-a-directory", "writing below a file", () => files.write("dir/file/x", ""));
    equal(text(await files.read("dir/file")), "text");
  }),

  check("[F10] modes are kept: of new files, of replaced ones, and set by commands", async (sandbox) => {
    const { files } = sandbox;
    const mode = async (path: string) => (await files.stat(path))?.mode.toString(8);
    await files.write("plain/a.txt", "");
    deepStrictEqual([await mode("plain"), await mode("plain/a.txt")], ["755", "644"]);
    await files.write("run.sh", "#!/bin/sh\necho ran $1\n", { mode: 0o755 });
    equal(await done(sandbox, "./run.sh it"), "ran it\n");
    await files.write("run.sh", "#!/bin/sh\necho ran again\n");
    equal(await mode("run.sh"), "755");
    equal(await done(sandbox, ["./run.sh"]), "ran again\n");
    await files.write("run.sh", "", { mode: 0o640 });
    await done(sandbox, "chmod 400 plain/a.txt; : > made; mkdir new; chmod 711 plain");
    deepStrictEqual(await Promise.all(["run.sh", "plain/a.txt", "made", "new", "plain"].map(mode)), [
      ...["640", "400", "644", "755", "711"],
    ]);
    await files.write("plain/a.txt", "over what is read-only");
    deepStrictEqual(
      [await mode("plain/a.txt"), text(await files.read("plain/a.txt"))],
      ["400", "over what is read-only"],
    );
  }),

  check("[F11] files of twenty megabytes go both ways, whole", async (sandbox, { open }) => {
    const big = Buffer.alloc(20_000_000);
    for (let at = 0; at < big.length; at += 4) big.writeUInt32LE(Math.imul(at, 2_654_435_761) >>> 0, at);
    await sandbox.files.write("big.bin", big);
    equal(Number(await done(sandbox, "wc -c < big.bin")), big.length);
    await done(sandbox, "cp big.bin copy.bin");
    sameBytes(await sandbox.files.read("copy.bin"), big, "the copy");
    const { tree, bytes } = await sandbox.snapshot();
    equal(bytes, 2 * big.length);
    sameBytes(await (await open({}, { tree })).files.read("big.bin"), big, "the file of the tree");
  }),

  check("[F13] arguments of wrong types are refused, and nothing is written", async ({ files }) => {
    for (const content of [3, null, undefined, {}, ["a"], true])
      await refused("sandbox-call-refused", `the content ${JSON.stringify(content)}`, () =>
        files.write("d/a.txt", content as string),
      );
    for (const options of [
      3,
      null,
      "0644",
      { mode: "0644" },
      { mode: -1 },
      { mode: 1.5 },
      { mode: Number.NaN },
    ])
      await refused("sandbox-call-refused", `the options ${JSON.stringify(options)}`, () =>
        files.write("d/a.txt", "", options as { mode: number }),
      );
    for (const path of [3, null, {}, ["a"]] as never[])
      for (const call of [
        () => files.read(path),
        () => files.write(path, ""),
        () => files.list(path),
        () => files.stat(path),
        () => files.link(path),
        () => files.make(path),
        () => files.remove(path),
        () => files.move(path, "b"),
      ])
        await refused("path-refused", `the path ${JSON.stringify(path)}`, call);
    deepStrictEqual(await files.list(), []);
  }),

  check("[F12] many calls at once all land", async (sandbox) => {
    const places = Array.from({ length: 200 }, (_, place) => place);
    await Promise.all(places.map((place) => sandbox.files.write(`d${place % 7}/f${place}`, `${place}`)));
    const read = await Promise.all(places.map((place) => sandbox.files.read(`d${place % 7}/f${place}`)));
    deepStrictEqual(read.map(text), places.map(String));
    await Promise.all(
      places.map((place) =>
        place % 2 === 0
          ? sandbox.files.remove(`d${place % 7}/f${place}`)
          : sandbox.files.stat(`d0/f${place}`),
      ),
    );
    equal(Number(await done(sandbox, "find . -type f | wc -l")), 100);
    equal((await run(sandbox, "cat d1/f1")).out, "1");
  }),
];
