import { deepStrictEqual, equal, ok } from "node:assert";
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { PIECE_BYTES } from "../../sandbox/index.js";
import { digestOf, EMPTY_TREE } from "../../session/index.js";
import { skip, within } from "../runner.js";
import type { Bench, SandboxCase } from "./case.js";
import { begun, check, done, ended, isTold, newId, promise, refused, run, sameBytes, text } from "./case.js";
import { type Files, readAll, treeIdOf } from "./expected.js";
import { onHost } from "./paths.js";
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
    sameBytes(await (await open({}, { tree })).files.read("long"), long, "the file of the tree");
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

export const restoreCases: readonly SandboxCase[] = [
  promise("[R1] a restored workspace is exactly what the tree says, modes included", async (bench) => {
    const { sandbox, tree } = await filled(bench);
    await done(
      sandbox,
      "echo changed > a.txt; rm run.sh; mkdir -p more/deep; echo > more/deep/x; echo > dir/extra; chmod 777 dir dir/b.txt; rm link; mv empty full; echo > full/y",
    );
    await sandbox.restore(tree);
    equal((await sandbox.snapshot()).tree, tree);
    equal(await done(sandbox, "cat a.txt; ./run.sh; cat dir/b.txt; ls -A . dir empty"), shown);
  }),

  promise("[R2] files, directories and links take each other's place", async (bench) => {
    const { sandbox, tree } = await filled(bench);
    await done(
      sandbox,
      "rm -r a.txt dir empty link; mkdir -p a.txt/b; echo > a.txt/b/c; echo > dir; ln -s dir empty; mkdir link; echo > link/x; rm run.sh; ln -s a.txt run.sh",
    );
    const swapped = await sandbox.snapshot();
    await sandbox.restore(tree);
    equal((await sandbox.snapshot()).tree, tree);
    await sandbox.restore(swapped.tree);
    equal((await sandbox.snapshot()).tree, swapped.tree);
    equal(await done(sandbox, "cat a.txt/b/c; cat dir"), "\n\n");
  }),

  promise("[R3] a restore follows no link that was planted, inside or out", async (bench) => {
    const { sandbox, tree } = await filled(bench);
    await onHost(async (folder) => {
      writeFileSync(join(folder, "b.txt"), "of the host");
      await done(sandbox, [
        "sh",
        "-c",
        'rm -r dir empty a.txt; ln -s "$1" dir; ln -s "$1" empty; ln -s "$1/b.txt" a.txt',
        "sh",
        folder,
      ]);
      await sandbox.restore(tree);
      deepStrictEqual(readdirSync(folder), ["b.txt"]);
      equal((await sandbox.snapshot()).tree, tree);
      equal(text(await sandbox.files.read("dir/b.txt")), "b");
    });
    await done(
      sandbox,
      "mkdir other; echo other > other/b.txt; rm -r dir; ln -s other dir; ln -s ../run.sh other/run.sh",
    );
    const { tree: planted } = await sandbox.snapshot();
    await sandbox.restore(tree);
    equal((await sandbox.snapshot()).tree, tree);
    await sandbox.restore(planted);
    equal(await done(sandbox, "cat dir/b.txt other/b.txt"), "other\nother\n");
  }),

  promise("[R4] no tree is an empty workspace", async (bench) => {
    const { sandbox } = await filled(bench);
    await sandbox.restore(null);
    deepStrictEqual(await sandbox.files.list(), []);
    equal((await sandbox.snapshot()).tree, EMPTY_TREE);
    equal(await done(sandbox, "ls -A; echo new > a.txt; cat a.txt"), "new\n");
  }),

  promise("[R5] what nobody may write to or look into is restored all the same", async (bench) => {
    const { sandbox, tree } = await filled(bench);
    await done(
      sandbox,
      "mkdir -p shut/in; echo > shut/in/x; chmod 000 shut/in/x; chmod 555 shut/in; chmod 555 shut; chmod 500 dir; chmod 000 a.txt empty",
    );
    await sandbox.restore(tree);
    equal((await sandbox.snapshot()).tree, tree);
    await done(sandbox, "mkdir ro; echo in > ro/a; chmod 444 ro/a; chmod 555 ro");
    const closed = await sandbox.snapshot();
    await done(sandbox, "chmod 755 ro; rm -r ro");
    await sandbox.restore(closed.tree);
    equal((await sandbox.snapshot()).tree, closed.tree);
    equal((await sandbox.files.stat("ro"))?.mode, 0o555);
  }),

  promise("[R6] a tree that is not kept is refused, and the files stay", async (bench) => {
    const { sandbox, tree } = await filled(bench);
    await refused("file-withheld", "a tree that is not there", () => sandbox.restore(digestOf("no tree")));
    equal((await sandbox.snapshot()).tree, tree);
    equal(await done(sandbox, "cat dir/b.txt"), "b");
  }),

  check("[R7] processes go on through a restore, and see the files it brings", async (sandbox) => {
    await sandbox.files.write("go", "go\n");
    const { tree } = await sandbox.snapshot();
    await sandbox.files.remove("go");
    const execution = sandbox.exec("echo > began; until [ -s go ]; do sleep 0.02; done; cat go");
    await begun(sandbox);
    await sandbox.restore(tree);
    const { outcome, out } = await ended(execution);
    deepStrictEqual([outcome, out], ["ok", "go\n"]);
    equal((await sandbox.snapshot()).tree, tree);
  }),

  check("[R8] restores and changes in turn always give the tree that was asked for", async (sandbox) => {
    const made: string[] = [];
    for (let round = 0; round < 6; round++) {
      await run(
        sandbox,
        `mkdir -p d${round % 3}; echo ${round} > d${round % 3}/f; echo same > s; [ ${round} -lt 3 ] || rm -r d${(round + 1) % 3}`,
      );
      made.push((await sandbox.snapshot()).tree);
    }
    for (const place of [3, 0, 5, 1, 1, 4, 2]) {
      const tree = made[place] ?? "";
      await sandbox.restore(tree);
      equal((await sandbox.snapshot()).tree, tree);
    }
    await done(sandbox, "echo changed > s");
    await sandbox.restore(made[2] ?? "");
    equal((await sandbox.snapshot()).tree, made[2]);
  }),
];

const files = {
  "a.txt": "a\n",
  "run.sh": { mode: 0o755, content: "#!/bin/sh\necho ran\n" },
  dir: { mode: 0o750, in: { "b.txt": { mode: 0o640, content: "b" } } },
  empty: { in: {} },
  link: { link: "dir/b.txt" },
} as const;

const shown = "a\nran\nb.:\na.txt\ndir\nempty\nlink\nrun.sh\n\ndir:\nb.txt\n\nempty:\n";

/** A sandbox with files of all kinds, and the tree they are. */
async function filled({ open }: Bench) {
  const sandbox = await open();
  await done(
    sandbox,
    "echo a > a.txt; printf '#!/bin/sh\\necho ran\\n' > run.sh; chmod 755 run.sh; mkdir dir empty; printf b > dir/b.txt; chmod 750 dir; chmod 640 dir/b.txt; ln -s dir/b.txt link",
  );
  const { tree } = await sandbox.snapshot();
  equal(tree, treeIdOf(files));
  return { sandbox, tree };
}

export const forkCases: readonly SandboxCase[] = [
  promise("[Y1] a fork has the same files, and names its parent", async ({ provider, open, own }) => {
    const sandbox = await open({ env: { NAME: "value" } });
    await done(sandbox, "mkdir -p dir/empty; echo a > dir/a.txt; chmod 600 dir/a.txt; ln -s a.txt dir/link");
    const id = newId();
    const fork = own(await sandbox.fork({ id }));
    const { ref } = fork;
    deepStrictEqual([ref.id, ref.incarnation, ref.provider], [id, 1, provider.name]);
    deepStrictEqual(ref.parent, { id: sandbox.ref.id, incarnation: 1, by: "fork" });
    deepStrictEqual(ref.spec, sandbox.ref.spec);
    equal((await fork.snapshot()).tree, (await sandbox.snapshot()).tree);
    equal(ref.tree, (await sandbox.snapshot()).tree);
    equal(await done(fork, "cat dir/link; echo $NAME"), "a\nvalue\n");
    const third = own(await sandbox.fork({ id, incarnation: 3 }));
    equal(third.ref.incarnation, 3);
    await third.files.write("dir/a.txt", "third");
    equal(text(await fork.files.read("dir/a.txt")), "a\n");
  }),

  check("[Y2] a fork and where it comes from never see each other's changes", async (sandbox, { own }) => {
    await done(
      sandbox,
      "mkdir -p dir/deep; echo 1 > same; echo 1 > dir/deep/x; echo 1 > gone; echo 1 > mode",
    );
    const { tree } = await sandbox.snapshot();
    const fork = own(await sandbox.fork({ id: newId() }));
    const still = own(await sandbox.fork({ id: newId() }));
    // In place, which is where copies that share something give themselves away.
    await done(
      fork,
      "echo fork >> same; echo fork > dir/deep/x; rm gone; chmod 600 mode; mkdir new; mv dir/deep dir/er",
    );
    await done(sandbox, "echo parent >> same; echo more > dir/deep/y; rm mode; echo parent > gone");
    equal(await done(fork, "cat same dir/er/x; ls; ls dir/er"), "1\nfork\nfork\ndir\nmode\nnew\nsame\nx\n");
    equal(
      await done(sandbox, "cat same dir/deep/x gone; ls; ls dir/deep"),
      "1\nparent\n1\nparent\ndir\ngone\nsame\nx\ny\n",
    );
    equal((await still.snapshot()).tree, tree);
    await fork.restore(tree);
    equal((await fork.snapshot()).tree, tree);
    equal(await done(sandbox, "cat same"), "1\nparent\n");
  }),

  check(
    "[Y3] forks of forks stand on their own when those before them are gone",
    async (sandbox, { own }) => {
      await sandbox.files.write("step", "0");
      let last = sandbox;
      for (let step = 1; step <= 4; step++) {
        const next = own(await last.fork({ id: newId() }));
        await next.files.write(`made-${step}`, "");
        await done(next, `printf ${step} > step`);
        equal(text(await last.files.read("step")), `${step - 1}`);
        await last.destroy();
        last = next;
      }
      equal(await done(last, "cat step; ls"), "4made-1\nmade-2\nmade-3\nmade-4\nstep\n");
      equal((await run(sandbox, "true")).outcome, "unstarted");
    },
  ),

  check("[Y4] many forks at once", async (sandbox, { own }) => {
    for (let place = 0; place < 50; place++) await sandbox.files.write(`d${place % 5}/f${place}`, `${place}`);
    const forks = (await Promise.all(Array.from({ length: 8 }, () => sandbox.fork({ id: newId() })))).map(
      own,
    );
    await Promise.all(forks.map((fork, place) => done(fork, `echo ${place} > d0/f0; echo ${place} > new`)));
    const seen = await Promise.all(forks.map((fork) => done(fork, "cat d0/f0 new; find . -type f | wc -l")));
    deepStrictEqual(
      seen.map((out) => out.split(/\s+/).filter(Boolean).map(Number)),
      forks.map((_, place) => [place, place, 51]),
    );
    equal(text(await sandbox.files.read("d0/f0")), "0");
    ok(new Set(forks.map(({ ref }) => ref.id)).size === 8);
  }),

  check("[Y5] processes are not forked: a fork begins at rest", async (sandbox, { own }) => {
    const execution = sandbox.exec("echo > began; until [ -e go ]; do sleep 0.02; done; echo late > late");
    await begun(sandbox);
    const fork = own(await sandbox.fork({ id: newId() }));
    await fork.files.write("go", "");
    await sandbox.files.write("go", "");
    equal((await execution.result).outcome, "ok");
    equal(await done(fork, "ls"), "began\ngo\n");
    equal(await done(sandbox, "ls"), "began\ngo\nlate\n");
  }),
];
