import { deepStrictEqual, equal, ok } from "node:assert";
import { until } from "../runner.js";
import { check, done, newId, promise, run, type SandboxCase, text } from "./case.js";

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
    await until(
      "the beginning of the command",
      async () => (await sandbox.files.stat("began")) !== undefined,
    );
    const fork = own(await sandbox.fork({ id: newId() }));
    await fork.files.write("go", "");
    await sandbox.files.write("go", "");
    equal((await execution.result).outcome, "ok");
    equal(await done(fork, "ls"), "began\ngo\n");
    equal(await done(sandbox, "ls"), "began\ngo\nlate\n");
  }),
];
