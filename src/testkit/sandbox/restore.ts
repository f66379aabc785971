import { deepStrictEqual, equal } from "node:assert";
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { digestOf, EMPTY_TREE } from "../../session/index.js";
import { until } from "../runner.js";
import { type Bench, check, done, ended, promise, refused, run, type SandboxCase, text } from "./case.js";
import { treeIdOf } from "./expected.js";
import { onHost } from "./paths.js";

export const restoreCases: readonly SandboxCase[] = [
  promise("[R1] a restored workspace is exactly what the tree says, modes included", async (bench) => {
    const { sandbox, tree } = await begun(bench);
    await done(
      sandbox,
      "echo changed > a.txt; rm run.sh; mkdir -p more/deep; echo > more/deep/x; echo > dir/extra; chmod 777 dir dir/b.txt; rm link; mv empty full; echo > full/y",
    );
    await sandbox.restore(tree);
    equal((await sandbox.snapshot()).tree, tree);
    equal(await done(sandbox, "cat a.txt; ./run.sh; cat dir/b.txt; ls -A . dir empty"), shown);
  }),

  promise("[R2] files, directories and links take each other's place", async (bench) => {
    const { sandbox, tree } = await begun(bench);
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
    const { sandbox, tree } = await begun(bench);
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
    const { sandbox } = await begun(bench);
    await sandbox.restore(null);
    deepStrictEqual(await sandbox.files.list(), []);
    equal((await sandbox.snapshot()).tree, EMPTY_TREE);
    equal(await done(sandbox, "ls -A; echo new > a.txt; cat a.txt"), "new\n");
  }),

  promise("[R5] what nobody may write to or look into is restored all the same", async (bench) => {
    const { sandbox, tree } = await begun(bench);
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
    const { sandbox, tree } = await begun(bench);
    await refused("file-withheld", "a tree that is not there", () => sandbox.restore(digestOf("no tree")));
    equal((await sandbox.snapshot()).tree, tree);
    equal(await done(sandbox, "cat dir/b.txt"), "b");
  }),

  check("[R7] processes go on through a restore, and see the files it brings", async (sandbox) => {
    await sandbox.files.write("go", "go\n");
    const { tree } = await sandbox.snapshot();
    await sandbox.files.remove("go");
    const execution = sandbox.exec("echo > began; until [ -e go ]; do sleep 0.02; done; cat go");
    await until(
      "the beginning of the command",
      async () => (await sandbox.files.stat("began")) !== undefined,
    );
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
async function begun({ open }: Bench) {
  const sandbox = await open();
  await done(
    sandbox,
    "echo a > a.txt; printf '#!/bin/sh\\necho ran\\n' > run.sh; chmod 755 run.sh; mkdir dir empty; printf b > dir/b.txt; chmod 750 dir; chmod 640 dir/b.txt; ln -s dir/b.txt link",
  );
  const { tree } = await sandbox.snapshot();
  equal(tree, treeIdOf(files));
  return { sandbox, tree };
}
