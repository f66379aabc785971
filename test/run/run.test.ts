import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openStore } from "openrath/store";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Bench, shownNext } from "../demo/command.js";
import { writePrograms } from "./programs.js";

const bench = new Bench();
beforeAll(() => writePrograms(bench.folder));
afterAll(() => bench.remove());

type Outcome = {
  readonly name: string;
  readonly id: string;
  readonly status: string;
  readonly answer?: string;
};

describe.concurrent("rath run", { timeout: 180_000 }, () => {
  it("[X1] runs the default export, and notes what was run", async () => {
    const { code, stdout } = await bench.spawned("run", "stock.mjs", "--input", "hello", "--name", "first");
    expect(code).toBe(0);
    expect(stdout).toContain("You said: hello");
    expect(stdout).toMatch(/finished first [0-9a-f]{12}/);
    const store = await openStore(`sqlite:${bench.home}/rath.db`);
    const notes = [...(await store.load("first")).history()].flatMap(({ fact }) =>
      fact.type === "note" && fact.kind === "program" ? [fact] : [],
    );
    await store.close();
    const file = join(bench.folder, "stock.mjs");
    const digest = createHash("sha256").update(readFileSync(file)).digest("hex");
    expect(notes).toEqual([expect.objectContaining({ file, export: "default", digest, by: "runtime" })]);
  });

  it("[X1] runs an export by its name: a workflow, a step, and what a function makes", async () => {
    const [greet, count, made] = await Promise.all([
      bench.json<Outcome>("run", "stock.mjs#greet", "--name", "greet"),
      bench.json<Outcome>("run", "stock.mjs#count", "--name", "count"),
      bench.json<Outcome>("run", "stock.mjs#made", "--name", "made"),
    ]);
    expect(greet).toMatchObject({ name: "greet", status: "finished", answer: "Good morning." });
    expect(count).toMatchObject({ name: "count", status: "finished" });
    expect(made.answer?.split("\n")).toEqual([
      join(bench.folder, "stock.mjs"),
      bench.folder,
      expect.stringContaining("sqlite:"),
    ]);
  });

  it("[X1] a session that nobody named goes by the file, and the next one by the next number", async () => {
    const first = await bench.json<Outcome>("run", "poem.mjs", "--input", "a");
    const second = await bench.json<Outcome>("run", "poem.mjs", "--input", "b");
    expect([first.name, second.name]).toEqual(["poem-1", "poem-2"]);
  });

  it("[X2] a file says what its runs begin with, how the runtime is opened, and what can be typed next", async () => {
    const { stdout } = await bench.rath("run", "begin.mjs", "--name", "begun");
    expect(shownNext(stdout)).toEqual([expect.stringMatching(/rath show begun {3}# the first thing$/)]);
    const store = await openStore(`sqlite:${bench.home}/rath.db`);
    const facts = [...(await store.load("begun")).history()].map(({ fact }) => fact);
    await store.close();
    expect(facts[0]).toMatchObject({ type: "session-start", text: "From the file.", by: "service:cron" });
    expect(facts[1]).toMatchObject({
      type: "placement-change",
      sandbox: "virtual",
      spec: { limits: { wall: 1000 } },
    });
    const said = await bench.json<Outcome>("run", "begin.mjs", "--input", "From me.", "--by", "user:ada");
    expect(said.status).toBe("finished");
  });

  it.each([
    ["store.mjs", /the command chooses the store/],
    ["misspelt.mjs", /secretes[\s\S]*secrets/],
    ["misplaced.mjs", /sandbx/],
  ])("[X2] %s says something that is refused, and nothing is begun", async (file, problem) => {
    const { code, stderr } = await bench.rath("run", file, "--name", `refused ${file}`);
    expect(code).toBe(1);
    expect(stderr).toMatch(problem);
  });

  it.each([
    ["not-there.mjs", /there is no such file/],
    [".", /it is a folder/],
    ["broken.mjs", /could not be loaded/],
    ["throws.mjs", /not today/],
    ["empty.mjs", /exports nothing/],
    ["stock.mjs#great", /did you mean "stock.mjs#greet"/],
    ["stock.mjs#nothing", /is not a module/],
    ["stock.mjs#broken", /no luck/],
    ["stock.mjs#__proto__", /no export/],
  ])("[X3] %s cannot be run, and it is said why", async (file, problem) => {
    const { code, stderr, stdout } = await bench[file === "broken.mjs" ? "spawned" : "rath"](
      ...["run", file, "--name", "never"],
    );
    expect(stderr).toMatch(problem);
    expect(stderr).toContain("hint:");
    expect(stderr).not.toMatch(/^\s+at /m);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
  });

  it("[X3] TypeScript runs where Node runs it; elsewhere it is said what to do", async () => {
    const { code, stdout, stderr } = await bench.spawned("run", "typed.ts");
    if (code === 0) expect(stdout).toContain("typed");
    else
      expect({ code, stderr }).toEqual({
        code: 1,
        stderr: expect.stringMatching(/does not run TypeScript[\s\S]*tsc/),
      });
  });

  it("[X4] a program far from any package finds this copy of openrath, and its doors", async () => {
    const far = join(bench.folder, "far away");
    mkdirSync(far);
    writeFileSync(
      join(far, "a b.mjs"),
      'import { Session } from "openrath";\nimport { sandboxTools } from "openrath/tool";\nexport default { name: "far", forward: async (session) => session.say(String(session instanceof Session && sandboxTools().length > 3), { role: "assistant" }) };\n',
    );
    const { stdout } = await bench.spawned("run", join(far, "a b.mjs"), "--json");
    expect((JSON.parse(stdout) as Outcome).answer).toBe("true");
  });

  it("[X12] goes on from the end of a name, and branches from anywhere else", async () => {
    const one = await bench.json<Outcome>("run", "stock.mjs", "--input", "one", "--name", "talk");
    const two = await bench.json<Outcome>("run", "stock.mjs", "--input", "two", "--on", "talk");
    expect(two).toMatchObject({ name: "talk", answer: "You said: two" });
    const aside = await bench.json<Outcome>(
      "run",
      "stock.mjs",
      "--input",
      "three",
      "--on",
      one.id.slice(0, 12),
      "--name",
      "aside",
    );
    expect(aside).toMatchObject({ name: "aside", answer: "You said: three" });
    const store = await openStore(`sqlite:${bench.home}/rath.db`);
    const [talk, other] = [await store.load("talk"), await store.load("aside")];
    expect([talk.branch, other.branch]).toEqual(["main", "aside"]);
    expect(talk.transcript.length).toBe(4);
    expect(talk.id).toBe(two.id);
    await store.close();
  });

  it("[X12] the task comes from a file or a pipe", async () => {
    writeFileSync(join(bench.folder, "task.txt"), "from a file");
    const filed = await bench.json<Outcome>("run", "stock.mjs", "--input-file", "task.txt");
    expect(filed.answer).toBe("You said: from a file");
    const { stdout } = await bench.with({ stdin: "from a pipe" }, "run", "stock.mjs", "--input-file", "-");
    expect(stdout).toContain("You said: from a pipe");
  });

  it("[X12] a budget holds, and a sandbox begins with the files that it was given", async () => {
    const spent = await bench.json<Outcome>("run", "spends.mjs", "--budget", "steps=2", "--name", "spent");
    expect(spent).toMatchObject({ usage: { calls: 2 }, stopped: { limit: "steps", allowed: 2 } });
    mkdirSync(join(bench.folder, "work"));
    writeFileSync(join(bench.folder, "work", "hello.txt"), "hello from a folder");
    await bench.rath("run", "files.mjs", "--sandbox", "virtual", "--workspace", "work", "--name", "filed");
    const store = await openStore(`sqlite:${bench.home}/rath.db`);
    const values = [...(await store.load("filed")).history()].flatMap(({ fact }) =>
      fact.type === "step-result" ? [fact.value] : [],
    );
    await store.close();
    expect(values).toEqual(["hello from a folder"]);
  });

  it("[X13] every fact is a line, parents before children, and the last line says how it came out", async () => {
    const { stdout, code } = await bench.rath(
      "run",
      "poem.mjs",
      "--input",
      "x",
      "--name",
      "lines",
      "--events",
    );
    expect(code).toBe(0);
    const lines = stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    const { outcome } = lines.pop();
    expect(outcome).toMatchObject({ name: "lines", status: "finished", answer: "A short poem." });
    const known = new Set<string>(lines.map(({ id }) => id));
    const seen = new Set<string>();
    for (const { id, parents } of lines) {
      for (const parent of parents) expect(seen.has(parent) || !known.has(parent)).toBe(true);
      seen.add(id);
    }
    expect(lines.at(-1).id).toBe(outcome.id);
    expect(lines.map(({ fact }) => fact.type)).toContain("model-reply");
  });

  it("[X16] a program that leaves a server and a timer open ends with its command", async () => {
    expect(await bench.spawned("run", "open.mjs")).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("left open"),
    });
  });

  it("[X1] a name that is taken is refused, and it is said how to go on from its end", async () => {
    await bench.rath("run", "poem.mjs", "--input", "a", "--name", "taken");
    const { code, stderr } = await bench.rath("run", "poem.mjs", "--input", "b", "--name", "taken");
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining("--on taken") });
  });

  it("[X23] a kind of sandbox that there is not is refused, and nothing begins", async () => {
    const { code, stdout } = await bench.rath(
      ...["run", "poem.mjs", "--input", "a", "--name", "lunar", "--sandbox", "vitual", "--json"],
    );
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({
      error: {
        code: "place-unknown",
        hint: expect.stringContaining('did you mean "virtual"? the kinds are local'),
      },
    });
    expect(await bench.rath("show", "lunar")).toMatchObject({ code: 1 });
  });

  it("[X13] errors are one document too", async () => {
    const { stdout, stderr, code } = await bench.rath("run", "throws.mjs", "--json");
    expect({ code, stderr }).toEqual({ code: 1, stderr: "" });
    expect(JSON.parse(stdout)).toMatchObject({
      error: { code: "program-refused", hint: expect.any(String) },
    });
  });

  it.each([
    [["run"]],
    [["run", "poem.mjs", "--input", "a", "--input-file", "b"]],
    [["run", "poem.mjs", "--budget", "stepps=3"]],
    [["run", "poem.mjs", "--budget", "steps="]],
    [["run", "poem.mjs", "--by", "ada"]],
    [["run", "poem.mjs", "--name", "poem~1"]],
    [["run", "poem.mjs", "--name", "poem@small"]],
    [["approve", "poem-1", "--edit", "{"]],
    [["approve", "poem-1", "--id", ""]],
    [["answer", "poem-1"]],
    [["answer", "poem-1", "--settle", "maybe"]],
    [["answer", "poem-1", "--settle", "again", "--value", "1"]],
    [["replay", "poem-1", "--mode", "backwards"]],
  ])("[X14] %j exits with 2", async (args) => {
    const { code, stderr } = await bench.rath(...args);
    expect({ code, hint: stderr.includes("hint:") }).toEqual({ code: 2, hint: true });
  });
});
