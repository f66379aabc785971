import { deepStrictEqual, equal, ok } from "node:assert";
import { PIECE_BYTES } from "../../sandbox/index.js";
import { EMPTY_TREE } from "../../session/index.js";
import { skip, within } from "../runner.js";
import {
  check,
  done,
  ended,
  isTold,
  promise,
  refused,
  run,
  type SandboxCase,
  sameBytes,
  text,
} from "./case.js";
import { type Files, readAll, treeIdOf } from "./expected.js";
import { watching } from "./stream.js";

/** A bit of everything that a tree can hold. */
const everything: Files = {
  "README.md": "# Read me\n",
  "run.sh": { mode: 0o755, content: "#!/bin/sh\necho hi\n" },
  "private.key": { mode: 0o600, content: "secret" },
  "read-only": { mode: 0o444, content: "" },
  "no-one": { mode: 0o400, content: "x" },
  empty: { in: {} },
  closed: { mode: 0o700, in: { "a.bin": Uint8Array.from([0, 255, 128, 10]) } },
  ".git": { in: { HEAD: "ref: refs/heads/main\n", objects: { in: { pack: { in: {} } } } } },
  vendor: { in: { inner: { in: { ".git": { in: { config: "[core]\n" } }, "a.c": "int a;\n" } } } },
  ".gitignore": "ignored\n",
  ignored: "not ignored here\n",
  src: { in: { deep: { in: { er: { in: { "x.ts": "export {};\n" } } } } } },
  "link-file": { link: "README.md" },
  "link-dir": { link: "src/deep" },
  "link-out": { link: "/etc/passwd" },
  "link-none": { link: "no where" },
};

const makeEverything = [
  "printf '# Read me\\n' > README.md",
  "printf '#!/bin/sh\\necho hi\\n' > run.sh; chmod 755 run.sh",
  "printf secret > private.key; chmod 600 private.key",
  ": > read-only; chmod 444 read-only; printf x > no-one; chmod 400 no-one",
  "mkdir empty closed; cp bytes closed/a.bin; rm bytes; chmod 700 closed",
  "mkdir -p .git/objects/pack vendor/inner/.git; printf 'ref: refs/heads/main\\n' > .git/HEAD",
  "printf '[core]\\n' > vendor/inner/.git/config; printf 'int a;\\n' > vendor/inner/a.c",
  "printf 'ignored\\n' > .gitignore; printf 'not ignored here\\n' > ignored",
  "mkdir -p src/deep/er; printf 'export {};\\n' > src/deep/er/x.ts",
  "ln -s README.md link-file; ln -s src/deep link-dir; ln -s /etc/passwd link-out; ln -s 'no where' link-none",
].join("\n");

export const treeCases: readonly SandboxCase[] = [
  promise("[T1] an empty workspace is the empty tree", async ({ open }) => {
    const { tree, files, bytes, skipped } = await (await open()).snapshot();
    deepStrictEqual({ tree, files, bytes, skipped }, { tree: EMPTY_TREE, files: 0, bytes: 0, skipped: [] });
  }),

  check("[T2] a tree is exactly the files: bytes, modes, links, directories", async (sandbox, { trees }) => {
    await sandbox.files.write("bytes", Uint8Array.from([0, 255, 128, 10]));
    await done(sandbox, makeEverything);
    const snapshot = await sandbox.snapshot();
    const listing = async (id: string) =>
      (await trees.tree(id)).entries.map(({ name, kind }) => [name, kind]);
    deepStrictEqual(
      (await listing(snapshot.tree)).map(([name]) => name),
      Object.keys(everything).sort(),
    );
    equal(snapshot.tree, treeIdOf(everything), "the files are there, but not as they should be");
    deepStrictEqual(snapshot.skipped, []);
    const { files, bytes } = await readAll(trees, snapshot.tree);
    deepStrictEqual([snapshot.files, snapshot.bytes], [files, bytes]);
  }),

  promise("[T3] the same files are the same tree, whatever made them, in any order", async ({ open }) => {
    const [one, two] = [await open(), await open({ env: { OTHER: "1" } })];
    await one.files.write("b/c.txt", "text\n");
    await one.files.write("a.txt", "");
    await one.files.make("d");
    await done(
      two,
      "mkdir d; : > a.txt; mkdir b; sleep 0.05; echo more > b/c.txt; echo text > b/c.txt; echo x > y; rm y",
    );
    const [first, second] = [await one.snapshot(), await two.snapshot()];
    equal(first.tree, second.tree);
    equal(first.tree, treeIdOf({ "a.txt": "", b: { in: { "c.txt": "text\n" } }, d: { in: {} } }));
  }),

  check("[T4] a change makes another tree that shares the rest", async (sandbox, { trees }) => {
    await sandbox.files.write("a/one.txt", "one");
    await sandbox.files.write("b/two.txt", "two");
    const before = await sandbox.snapshot();
    await done(sandbox, "printf TWO > b/two.txt");
    const after = await sandbox.snapshot();
    ok(after.tree !== before.tree, "a change of the same length was not seen");
    const [was, is] = [await readAll(trees, before.tree), await readAll(trees, after.tree)];
    equal(
      [...is.trees].filter((id) => was.trees.has(id)).length,
      1,
      "the directory that did not change is shared",
    );
    await done(sandbox, "printf two > b/two.txt");
    equal((await sandbox.snapshot()).tree, before.tree);
    await done(sandbox, "chmod 600 b/two.txt");
    ok((await sandbox.snapshot()).tree !== before.tree, "a change of mode was not seen");
    await done(sandbox, "chmod 644 b/two.txt; mv b/two.txt b/three.txt");
    equal(
      (await sandbox.snapshot()).tree,
      treeIdOf({ a: { in: { "one.txt": "one" } }, b: { in: { "three.txt": "two" } } }),
    );
    equal((await sandbox.snapshot()).tree, (await sandbox.snapshot()).tree);
  }),

  check("[T5] a long file is kept in pieces", async (sandbox, { trees, open }) => {
    const [long, just] = [Buffer.alloc(PIECE_BYTES * 2 + 5, "ab"), Buffer.alloc(PIECE_BYTES, "x")];
    await sandbox.files.write("long", long);
    await sandbox.files.write("just", just);
    const { tree } = await sandbox.snapshot();
    equal(tree, treeIdOf({ long, just }));
    const [, entry] = (await trees.tree(tree)).entries;
    ok(entry?.kind === "parts", `it is kept as ${entry?.kind}`);
    equal((await trees.parts(entry.digest)).length, 3);
    const other = await open({}, { tree });
    sameBytes(await other.files.read("long"), long, "the file of the tree");
  }),

  promise("[T6] what is excluded is left out, and the tree says so", async ({ trees, open }) => {
    const exclude = ["node_modules", "*.log", "build/out"];
    const sandbox = await open({ exclude });
    await done(
      sandbox,
      "mkdir -p node_modules/x src/node_modules build/out; echo > node_modules/x/a; echo > a.log; echo > src/b.log; echo > src/a.ts; echo > build/out/b; echo > build/in",
    );
    const { tree, files } = await sandbox.snapshot();
    equal(tree, treeIdOf({ build: { in: { in: "\n" } }, src: { in: { "a.ts": "\n" } } }, exclude));
    deepStrictEqual([(await trees.tree(tree)).exclude, files], [exclude, 2]);
    const other = await open({ exclude }, { tree });
    equal((await other.snapshot()).tree, tree);
    await done(other, "echo > c.log");
    equal((await other.snapshot()).tree, tree);
  }),

  check("[T7] what a tree cannot hold is told, and the rest is kept", async (sandbox, { trees }) => {
    await sandbox.files.write("dir/a.txt", "a");
    if ((await run(sandbox, "mkfifo dir/pipe")).outcome !== "ok")
      skip("there is nothing here that a tree cannot hold");
    equal((await sandbox.files.stat("dir/pipe"))?.kind, "other");
    const { tree, skipped } = await within("a snapshot beside a pipe", sandbox.snapshot());
    deepStrictEqual(
      skipped.map(({ path, why }) => [path, typeof why]),
      [["dir/pipe", "string"]],
    );
    equal(tree, treeIdOf({ dir: { in: { "a.txt": "a" } } }));
    equal((await readAll(trees, tree)).files, 1);
    await refused(["file-not-a-file", "file-failed"], "reading a pipe", () =>
      within("reading a pipe", sandbox.files.read("dir/pipe")),
    );
  }),

  check(
    "[T8] a sandbox opens with exactly a tree; odd names go through unchanged",
    async (sandbox, { open }) => {
      await sandbox.files.write("bytes", Uint8Array.from([0, 255, 128, 10]));
      await done(sandbox, makeEverything);
      for (const name of ["new\nline", "Twin", "twin", "é", "e\u0301", "n".repeat(255)])
        await sandbox.files.write(`odd/${name}/${name}`, name);
      const { tree } = await sandbox.snapshot();
      const other = await open({}, { tree });
      equal(other.ref.tree, tree);
      equal((await other.snapshot()).tree, tree);
      equal(await done(other, "./run.sh; cat link-file src/deep/er/x.ts"), "hi\n# Read me\nexport {};\n");
      equal(text(await other.files.read("odd/Twin/Twin")), "Twin");
    },
  ),

  promise("[T9] a snapshot while files change can be read", async ({ capabilities, trees, open }) => {
    if (!isTold(capabilities, "streaming")) skip("files change between commands only");
    const sandbox = await open();
    const execution = sandbox.exec(
      "i=0; echo begun; until [ -e stop ]; do i=$((i+1)); d=d$((i%5)); mkdir -p $d; echo $i > $d/f$((i%13)); rm -rf d$(((i+2)%5)); mv $d/f$((i%13)) moved 2>/dev/null; done",
    );
    await within("the beginning", watching(execution).saw("begun"));
    for (let round = 0; round < 8; round++) {
      const { tree } = await within("a snapshot", sandbox.snapshot());
      await readAll(trees, tree);
    }
    await sandbox.files.write("stop", "");
    equal((await ended(execution)).outcome, "ok");
    const { tree } = await sandbox.snapshot();
    equal((await (await open({}, { tree })).snapshot()).tree, tree);
  }),
];
