import { deepStrictEqual, equal, ok } from "node:assert";
import type { ExecOptions } from "../../sandbox/index.js";
import { check, done, ended, newId, promise, run, type SandboxCase } from "./case.js";

const odd = [
  "plain",
  "",
  " ",
  "-n",
  "--",
  "it's",
  'say "hi"',
  "two\nlines\n",
  "tab\tand\rreturn",
  "Grüße 日本 🙂",
  "$HOME `id` $(id) $x",
  "back\\slash\\",
  "*",
  "~",
  "#comment",
  "a=b;c&d|e>f<g(h)",
  "!",
];

export const commandCases: readonly SandboxCase[] = [
  check("[E1] a command ends with its code: 0 is ok, another is an error", async (sandbox) => {
    for (const [command, code] of [
      ["true", 0],
      ["false", 1],
      ["exit 7", 7],
      ["exit 255", 255],
      ["(exit 3)", 3],
    ] as const) {
      const result = await run(sandbox, command);
      deepStrictEqual([command, result.code, result.outcome], [command, code, code === 0 ? "ok" : "error"]);
      deepStrictEqual([result.cut, result.signal, result.why], [0, undefined, undefined]);
      ok(result.milliseconds >= 0 && result.milliseconds < 60_000, `it took ${result.milliseconds} ms`);
    }
    deepStrictEqual([(await run(sandbox, ["true"])).code, (await run(sandbox, ["false"])).code], [0, 1]);
  }),

  check("[E2] a missing program is code 127 of the shell, and unstarted without one", async (sandbox) => {
    const name = `nothing-${newId()}`;
    const shell = await run(sandbox, `${name} argument`);
    deepStrictEqual([shell.outcome, shell.code], ["error", 127]);
    ok(shell.err.includes(name), `the error does not name the program: ${shell.err}`);
    const bare = await run(sandbox, [name, "argument"]);
    deepStrictEqual([bare.outcome, bare.code], ["unstarted", null]);
    ok(bare.why?.includes(name), `the reason does not name the program: ${bare.why}`);
  }),

  check("[E3] arguments arrive as they are given, whatever is in them", async (sandbox) => {
    const expected = odd.map((argument) => `<${argument}>`).join("");
    equal(await done(sandbox, ["printf", "<%s>", ...odd]), expected);
    // And the name of the program is not a word of a shell either.
    await sandbox.files.write("odd name;echo", "#!/bin/sh\nprintf '%s' \"$1\"\n", { mode: 0o755 });
    equal(await done(sandbox, ["./odd name;echo", "a  b"]), "a  b");
  }),

  check("[E4] a text is a program of the shell: pipes, quotes, here-documents", async (sandbox) => {
    equal(
      await done(sandbox, "x=1; y='a  b'; echo \"$x $y\" | tr a-z A-Z && echo two # comment"),
      "1 A  B\ntwo\n",
    );
    equal(await done(sandbox, "cat <<'END'\n  indented $x\n\ttab\nEND\n"), "  indented $x\n\ttab\n");
    equal(
      await done(sandbox, "for i in 1 2 3; do\n  if [ $i = 2 ]; then continue; fi\n  echo $i\ndone"),
      "1\n3\n",
    );
    equal(await done(sandbox, "printf '%s' '日本 🙂'"), "日本 🙂");
    equal(await done(sandbox, ""), "");
    equal(await done(sandbox, "# nothing"), "");
    const syntax = await run(sandbox, "if then (");
    deepStrictEqual([syntax.outcome, syntax.out], ["error", ""]);
    ok(syntax.err.length > 0, "a mistake is not told");
  }),

  check("[E5] a command runs where it is told to, by default in the workspace", async (sandbox) => {
    await sandbox.files.write("deep/er/a.txt", "here");
    await sandbox.files.write("a.txt", "top");
    equal(await done(sandbox, "cat a.txt"), "top");
    equal(await done(sandbox, "cat a.txt", { directory: "deep/er" }), "here");
    equal(await done(sandbox, ["cat", "er/a.txt"], { directory: "./deep/" }), "here");
    equal(await done(sandbox, "pwd", { directory: "/" }), "/\n");
    for (const directory of ["nowhere", "a.txt", "../", "deep/../../x", "/nowhere/at/all"]) {
      const { outcome, code, why } = await run(sandbox, "echo > began", { directory });
      deepStrictEqual([directory, outcome, code, typeof why], [directory, "unstarted", null, "string"]);
    }
    equal(await sandbox.files.stat("began"), undefined);
  }),

  promise("[E6] variables come from the spec and, for one command, from the call", async ({ open }) => {
    const sandbox = await open({ env: { FIRST: "of the spec", SECOND: "of the spec" } });
    const value = "line one\nline 'two' \"$FIRST\" = ü";
    const show = 'printf \'%s|\' "$FIRST" "$SECOND" "$THIRD"';
    equal(
      await done(sandbox, show, { env: { SECOND: "of the call", THIRD: value } }),
      `of the spec|of the call|${value}|`,
    );
    equal(await done(sandbox, show), "of the spec|of the spec||");
    equal(await done(sandbox, ["sh", "-c", show], { env: { THIRD: "" } }), "of the spec|of the spec||");
  }),

  promise("[E7] nothing of the environment of the host is visible", async ({ open }) => {
    const canary = `canary-${newId()}`;
    process.env.OPENRATH_CANARY = canary;
    try {
      const sandbox = await open();
      const look = "env; set; cat /proc/self/environ /proc/1/environ /proc/$PPID/environ 2>/dev/null; true";
      for (const options of [{}, { env: { OTHER: "1" } }]) {
        const { out, err } = await run(sandbox, look, options);
        ok(out.length > 0, "nothing of an environment was found");
        ok(!out.includes(canary) && !err.includes(canary), "the environment of the host can be read");
        ok(!out.includes("OPENRATH_CANARY"), "the names of the host's variables can be read");
      }
    } finally {
      delete process.env.OPENRATH_CANARY;
    }
  }),

  promise("[E8] secrets are in the environment of commands and in no record", async ({ open, own }) => {
    const value = `s3cr3t-${newId()}`;
    const sandbox = await open({ secrets: ["TOKEN"] }, { secrets: { TOKEN: value, OTHER: "not asked for" } });
    equal(await done(sandbox, 'printf \'%s|%s\' "$TOKEN" "$OTHER"'), `${value}|`);
    const fork = own(await sandbox.fork({ id: newId() }));
    equal(await done(fork, "printf %s $TOKEN"), value);
    const recorded = JSON.stringify([sandbox.ref, fork.ref, await sandbox.status(), sandbox.capabilities]);
    ok(!recorded.includes(value), "the value of a secret is part of the record");
  }),

  check("[E9] a command leaves only files: no directory, variable or function", async (sandbox) => {
    await done(sandbox, "mkdir sub && cd sub && X=1 && export X && f() { echo f; } && echo done > ../a.txt");
    equal(await done(sandbox, "printf '%s|' \"$X\"; cat a.txt"), "|done\n");
    equal((await run(sandbox, "f")).code, 127);
    await run(sandbox, "exit 3");
    equal(await done(sandbox, "echo on"), "on\n");
  }),

  check("[E10] commands run side by side and can wait for each other", async (sandbox) => {
    const wait = (mine: string, other: string) =>
      `: > ${mine}; until [ -e ${other} ]; do sleep 0.02; done; echo saw ${other}`;
    const both = [sandbox.exec(wait("a", "b")), sandbox.exec(wait("b", "a"))];
    deepStrictEqual(
      (await Promise.all(both.map(ended))).map(({ out }) => out),
      ["saw b\n", "saw a\n"],
    );
    equal(new Set(both.map(({ id }) => id)).size, 2);
    const many = await Promise.all(
      Array.from({ length: 12 }, (_, place) => run(sandbox, `echo ${place}; echo ${place} > f${place}`)),
    );
    deepStrictEqual(
      many.map(({ out }) => out),
      many.map((_, place) => `${place}\n`),
    );
    equal((await sandbox.files.list()).length, 14);
  }),

  check("[E11] what cannot be a command is a result, and nothing throws", async (sandbox) => {
    for (const command of ["echo \0", [], [""], ["echo", "\0"]]) {
      const { outcome, code, why } = await run(sandbox, command);
      deepStrictEqual([outcome, code, typeof why], ["unstarted", null, "string"]);
    }
    equal(await done(sandbox, "echo on"), "on\n");
  }),

  check("[E12] a command may be a hundred thousand characters long", async (sandbox) => {
    const long = "x".repeat(50_000);
    equal(await done(sandbox, `printf '%s' '${long}'\n# ${"y".repeat(50_000)}`), long);
    equal(await done(sandbox, ["printf", "%s", long]), long);
  }),

  check("[E13] arguments of wrong types are a result with the reason; none throws", async (sandbox) => {
    const calls: readonly (readonly [unknown, unknown?])[] = [
      ...[[3], [null], [undefined], [{}], [["echo", 3]], [[null]], [["echo"], null], ["echo", 3]],
      ...[
        { directory: 3 },
        { env: { A: 1 } },
        { env: ["A=1"] },
        { env: { "A=B": "1" } },
        { env: { "": "" } },
      ].map((options) => ["echo", options]),
      ...[
        { stdin: 3 },
        { stdin: ["a"] },
        { wall: "soon" },
        { wall: Number.NaN },
        { wall: -1 },
        { output: "all" },
      ].map((options) => ["echo", options]),
      ...[{ cwd: "/" }, { signal: "stop" }, { pty: 80 }, { background: "yes" }].map((options) => [
        "echo",
        options,
      ]),
    ] as never;
    for (const [command, options] of calls) {
      const what = JSON.stringify([command, options]);
      const { outcome, code, why } = await run(sandbox, command as string, options as ExecOptions);
      deepStrictEqual([what, outcome, code, typeof why], [what, "unstarted", null, "string"]);
    }
    equal(await done(sandbox, "echo on"), "on\n");
  }),
];
