import { exec } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Session } from "openrath";
import { openStore } from "openrath/store";
import { describe, expect, it } from "vitest";
import { type Bench, shownNext } from "../demo/command.js";
import { benchOf } from "./bench.js";

describe.concurrent("what a record says of its program", { timeout: 180_000 }, () => {
  it("[X11] a what-if that comes out the same keeps nothing, and the run keeps its program", async (context) => {
    const bench = benchOf(context);
    const { id } = await bench.json<{ id: string }>("run", "poem.mjs", "--input", "Write.", "--name", "q");
    const text = readFileSync(join(bench.folder, "poem.mjs"), "utf8");
    writeFileSync(join(bench.folder, "other.mjs"), `${text}// another\n`);
    const whatIf = ["replay", "q", "--mode", "what-if", "--with", "other.mjs", "--name", "qw"];
    const told = await bench.rath(...whatIf);
    expect(told).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/the same as q; nothing was kept/),
    });
    expect(told.stdout).not.toContain("qw");
    expect(await bench.json(...whatIf)).toMatchObject({ name: "q", id, same: true, kept: false });
    expect((await bench.json<{ name: string }[]>("list")).map(({ name }) => name)).toEqual(["q"]);
    const program = { program: { file: join(bench.folder, "poem.mjs") } };
    expect(await bench.json("replay", "q")).toMatchObject({ same: true, ...program });
    // A run that is over is not made by whatever it is resumed with.
    expect((await bench.rath("resume", "q", "--with", "other.mjs")).code).toBe(0);
    expect(await bench.json("replay", "q")).toMatchObject({ same: true, ...program });
  });

  it("[X33] a file that runs by itself is not run to replay it, and the record is intact", async (context) => {
    const bench = benchOf(context);
    await bench.rath("run", "poem.mjs", "--input", "Write.", "--name", "own");
    const before = await bench.json("log", "own", "--all");
    const program = `import { appendFileSync } from "node:fs";
import { openRath } from "openrath";
import poem from "./poem.mjs";
const rath = openRath({ store: "sqlite:" + process.env.RATH_HOME + "/rath.db" });
await rath.turn(poem, "own", "Write.");
appendFileSync("log.txt", "it ran");
export default poem;`;
    writeFileSync(join(bench.folder, "self.mjs"), program);
    const replayed = await bench.rath("replay", "own", "--with", "self.mjs");
    expect(replayed).toMatchObject({ code: 1, stderr: expect.stringContaining("export default clerk") });
    const verified = await bench.rath("verify", "own", "--with", "self.mjs");
    expect(verified.stdout).toMatch(/^intact[\s\S]*could not be replayed: [\s\S]*export default clerk/);
    expect(verified.code).toBe(3);
    expect(await bench.json("verify", "own", "--with", "self.mjs")).toMatchObject({
      intact: true,
      unreplayed: { code: "program-refused" },
    });
    expect(await bench.json("log", "own", "--all")).toEqual(before);
    expect(existsSync(join(bench.folder, "log.txt"))).toBe(false);
  });

  it("[X17] after an erasure a replay says what was erased, and the record is intact", async (context) => {
    const bench = benchOf(context);
    await erased(bench, "poem.mjs", "p");
    expect(await bench.rath("replay", "p")).toMatchObject({
      code: 1,
      stdout: "",
      stderr: expect.stringMatching(/p cannot be replayed: content was erased by user\S* at \S+: a request/),
    });
    expect(await bench.json("replay", "p")).toMatchObject({
      error: { code: "content-erased", data: { why: "a request" } },
    });
    expect(await bench.rath("verify", "p", "--with", "poem.mjs")).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^intact[\s\S]*p cannot be replayed: content was erased by/),
    });
    const report = await bench.json("verify", "p", "--with", "poem.mjs");
    expect(report).toMatchObject({ intact: true, findings: [] });
    expect(report).not.toHaveProperty("replayed");
    // Where nothing was erased, another program is a difference as before.
    await bench.rath("run", "poem.mjs", "--input", "Write.", "--name", "whole");
    expect((await bench.rath("replay", "whole", "--with", "bolder.mjs")).code).toBe(3);
    expect((await bench.rath("verify", "whole", "--with", "bolder.mjs")).code).toBe(3);
  });

  it.for([
    ["claim.mjs", 4, "waiting"],
    ["slow.mjs", 0, "finished"],
    ["slow.mjs#fails", 1, "failed"],
  ] as const)(
    "[X18] %s goes on when nobody reads it, and exits with %i",
    async ([file, code, status], context) => {
      const bench = benchOf(context);
      const piped = await new Promise<string>((done) => {
        exec(
          `"${process.execPath}" "${bench.program}" run '${file}' --input a --name alone --events 2>&1 | true; echo \${PIPESTATUS[0]}`,
          { cwd: bench.folder, shell: "/bin/bash", env: bench.environment() },
          (_, stdout) => done(stdout.trim()),
        );
      });
      const [alone] = await bench.json<{ status: string }[]>("list");
      expect({ code: piped, status: alone?.status }).toEqual({ code: String(code), status });
    },
  );

  it("[X19] what a record names is not loaded where it is relative, or another file by now", async (context) => {
    const bench = benchOf(context);
    const file = join(bench.folder, "trap.mjs");
    const trap = 'import { writeFileSync } from "node:fs";\nwriteFileSync("loaded.txt", "");\n';
    writeFileSync(file, `${trap}export { default } from "./poem.mjs";\n`);
    const digest = createHash("sha256").update(readFileSync(file)).digest("hex");
    await given(bench, "relative", { file: "trap.mjs", digest });
    await given(bench, "changed", { file, digest: "0".repeat(64) });
    const isLoaded = (): boolean => existsSync(join(bench.folder, "loaded.txt"));
    for (const command of ["resume", "replay"]) {
      expect(await bench.rath(command, "relative")).toMatchObject({
        code: 1,
        stderr: expect.stringMatching(/does not name its folder[\s\S]*--with FILE/),
      });
      expect(await bench.rath(command, "changed")).toMatchObject({
        code: 1,
        stderr: expect.stringMatching(/has changed since it was run[\s\S]*--with \S+trap.mjs/),
      });
    }
    expect(isLoaded()).toBe(false);
    const named = await bench.rath("replay", "changed", "--with", "trap.mjs");
    expect(named.stderr).toContain("differs from the recorded program");
    expect(isLoaded()).toBe(true);
  });

  it("[X20] a branch is told the program of what it was made of: of a what-if, and what to run again", async (context) => {
    const bench = benchOf(context);
    await bench.rath("run", "poem.mjs", "--input", "Write.", "--name", "poem");
    await bench.rath("replay", "poem", "--mode", "what-if", "--with", "bolder.mjs", "--name", "bold");
    const next = async (...args: readonly string[]): Promise<string | undefined> =>
      shownNext((await bench.rath("fork", ...args)).stdout)[0];
    expect(await next("poem", "--name", "one")).toMatch(/rath run \S+poem\.mjs --on one$/);
    expect(await next("bold", "--name", "two")).toMatch(/rath run \S+bolder\.mjs --on two$/);
    writeFileSync(
      join(bench.folder, "once.mjs"),
      'export { default } from "./poem.mjs";\nexport const again = "./bolder.mjs";\n',
    );
    await bench.rath("run", "once.mjs", "--input", "Write.", "--name", "once");
    expect(await next("once", "--name", "three")).toMatch(/rath run \S+bolder\.mjs --on three$/);
    expect((await bench.rath("replay", "once")).code).toBe(0);
  });

  it("[X20] a path in a record does nothing to a terminal", async (context) => {
    const bench = benchOf(context);
    await given(bench, "odd", { file: "/x/\u001b[2J\nnext: rath gc --yes #.mjs", digest: "0".repeat(64) });
    const { stdout } = await bench.rath("fork", "odd", "--name", "branch");
    expect(stdout).not.toContain("\u001b");
    expect(shownNext(stdout)[0]).toMatch(/gc --yes #\.mjs' --on branch$/);
    expect((await bench.rath("resume", "odd")).stderr).not.toContain("\u001b");
  });

  it("[X21] nothing new is run on what waits, also after content of it was erased", async (context) => {
    const bench = benchOf(context);
    await erased(bench, "claim.mjs", "waits");
    for (const name of [[], ["--name", "other"]])
      expect(await bench.rath("run", "poem.mjs", "--on", "waits", ...name)).toMatchObject({
        code: 1,
        stderr: expect.stringMatching(/waits: it waits for an answer[\s\S]*rath pending waits;/),
      });
  });

  it("[X22] whoever answers, and what can be answered, does nothing to a terminal", async (context) => {
    const bench = benchOf(context);
    await bench.rath("run", "claim.mjs#clerk", "--input", "a", "--name", "one");
    const agreed = await bench.rath("approve", "one", "--by", "user:\u001b[2Jada");
    expect(agreed).toMatchObject({ code: 0, stdout: expect.stringContaining("as user:\\u001b[2Jada") });
    writeFileSync(
      join(bench.folder, "choice.mjs"),
      `import { agent, askPerson, scripted } from "openrath";
const input = { question: "Which?", options: ["a\\u202eb", "c\\u009bd"] };
export default agent({ name: "asker", model: scripted({ tool: "ask_person", input }, "Well."), tools: [askPerson()] });
`,
    );
    const asked = await bench.rath("run", "choice.mjs", "--input", "a", "--name", "two");
    expect(asked.stdout).not.toMatch(/[\u202e\u009b]/);
    const [first = ""] = shownNext(asked.stdout);
    expect(first).toContain("\\u202e");
    // It is the same value, typed as it was shown.
    expect(await bench.typed(first)).toMatchObject({ code: 0 });
  });
});

/** A run with a text that is long enough to be kept beside its line, and erased. */
async function erased(bench: Bench, file: string, name: string): Promise<void> {
  writeFileSync(join(bench.folder, "long.txt"), "Ada Lovelace ".repeat(700));
  await bench.rath("run", file, "--input-file", "long.txt", "--name", name);
  const { code } = await bench.rath("erase", name, "--about", "Lovelace", "--yes", "--why", "a request");
  expect(code).toBe(0);
}

/** A session as somebody else might hand it over. */
async function given(bench: Bench, name: string, note: { file: string; digest: string }): Promise<void> {
  mkdirSync(bench.home, { recursive: true });
  const store = await openStore(`sqlite:${bench.home}/rath.db`);
  await store.save(
    Session.start("given").append({
      type: "note",
      kind: "program",
      export: "default",
      ...note,
      by: "runtime",
    }),
    { name },
  );
  await store.close();
}
