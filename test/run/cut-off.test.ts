import { mkdirSync, readFileSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Session } from "openrath";
import { openStore } from "openrath/store";
import { describe, expect, it } from "vitest";
import { type Bench, heard } from "../demo/command.js";
import { benchOf } from "./bench.js";

describe.concurrent("a run that was cut off", { timeout: 180_000 }, () => {
  it("[X9] is stopped cleanly by Ctrl-C, and gone on with in a run of its own", async (context) => {
    const bench = benchOf(context);
    const child = bench.start({ WAIT: "heed" }, "run", "slow.mjs", "--input", "a", "--name", "stopped");
    const ended = heard(child);
    await logged(bench, "wait");
    child.kill("SIGINT");
    const { code, stderr } = await ended;
    expect({ code, stderr }).toEqual({
      code: 130,
      stderr: expect.stringMatching(/was stopped[\s\S]*rath resume stopped/),
    });
    expect(
      (await bench.json<{ name: string; status: string }[]>("list")).find(({ name }) => name === "stopped")
        ?.status,
    ).toBe("cancelled");
    const again = await bench.rath("resume", "stopped");
    expect(again).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/all done[\s\S]*finished stopped-again/),
    });
    expect(log(bench)).toEqual(["first", "wait", "wait"]);
  });

  it("[X9] ends at once with the second Ctrl-C where something does not heed the first", async (context) => {
    const bench = benchOf(context);
    const child = bench.start(
      { WAIT: "ignore" },
      "run",
      "slow.mjs#deploy",
      "--input",
      "a",
      "--name",
      "stubborn",
    );
    const ended = heard(child);
    await logged(bench, "deploy");
    child.kill("SIGINT");
    await recorded(bench, "stubborn", "run-cancel");
    child.kill("SIGINT");
    expect((await ended).code).toBe(130);
    // Nobody knows what became of the write that was under way.
    const resumed = await bench.rath("resume", "stubborn");
    expect(resumed).toMatchObject({ code: 4, stdout: expect.stringContaining("--settle done") });
  });

  it("[X10] [X32] goes on after kill -9, by the program that the record names, with nothing done twice", async (context) => {
    const bench = benchOf(context);
    const child = bench.start({ WAIT: "ignore" }, "run", "slow.mjs", "--input", "a", "--name", "killed");
    const ended = heard(child);
    await logged(bench, "wait");
    child.kill("SIGKILL");
    expect((await ended).signal).toBe("SIGKILL");
    expect((await bench.rath("show", "killed")).stdout).toMatch(
      /was cut off[\s\S]*next: npx rath resume killed\n/,
    );
    expect((await bench.rath("resume", "killed")).stdout).toContain("all done");
    expect(log(bench)).toEqual(["first", "wait", "wait"]);
    const file = join(bench.folder, "slow.mjs");
    writeFileSync(file, `${readFileSync(file, "utf8")}// changed\n`);
    expect(await bench.rath("replay", "killed")).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/has changed since it was run[\s\S]*--with/),
    });
    expect(await bench.rath("replay", "killed", "--with", "slow.mjs")).toMatchObject({
      code: 0,
      stderr: expect.stringContaining("differs from the recorded program"),
    });
    unlinkSync(file);
    expect(await bench.rath("replay", "killed")).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/no such file[\s\S]*--with/),
    });
  });

  it("[X10] a session that no program is noted of says so", async (context) => {
    const bench = benchOf(context);
    mkdirSync(bench.home, { recursive: true });
    const store = await openStore(`sqlite:${bench.home}/rath.db`);
    await store.save(Session.start("by hand"), { name: "by-hand" });
    await store.close();
    expect(await bench.rath("resume", "by-hand")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("--with FILE"),
    });
  });

  it.for([
    ["done", "settled as done", ["--value", '"by hand"'], 0, 1],
    ["again", "to be executed again", [], 0, 2],
    ["failed", "settled as failed", ["--why", "it is not there"], 1, 1],
  ] as const)(
    "[X7] a write that nobody knows the end of waits, and is settled as %s",
    async ([decision, said, more, code, times], context) => {
      const bench = benchOf(context);
      const child = bench.start(
        { WAIT: "ignore" },
        "run",
        "slow.mjs#deploy",
        "--input",
        "a",
        "--name",
        "deploy",
      );
      const ended = heard(child);
      await logged(bench, "deploy");
      child.kill("SIGKILL");
      await ended;
      const resumed = await bench.rath("resume", "deploy");
      expect(resumed).toMatchObject({
        code: 4,
        stdout: expect.stringMatching(/the outcome of deploy[\s\S]*--settle again/),
      });
      const settled = await bench.rath("answer", "deploy", "--settle", decision, ...more);
      expect(settled).toMatchObject({ code: 0, stdout: expect.stringContaining(said) });
      expect((await bench.rath("resume", "deploy")).code).toBe(code);
      expect(log(bench).length).toBe(times);
    },
  );

  it("[X8] [X32] a run that fails says what to type, and a retry repeats nothing that was finished", async (context) => {
    const bench = benchOf(context);
    const failed = await bench.rath("run", "slow.mjs#fails", "--input", "a", "--name", "order");
    expect(failed).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/service is down[\s\S]*rath log order[\s\S]*rath resume order --retry/),
    });
    expect(failed.stderr).not.toMatch(/^\s+at /m);
    expect((await bench.rath("resume", "order")).code).toBe(1);
    const shown = (await bench.rath("show", "order")).stdout;
    expect(shown).toMatch(/because .*service is down[\s\S]*next: npx rath resume order --retry\n/);
    const again = await bench.with({ HEALTHY: "1" }, "resume", "order", "--retry", "--name", "order-2");
    expect(again).toMatchObject({ code: 0, stdout: expect.stringContaining("finished order-2") });
    expect(log(bench)).toEqual(["first"]);
    expect((await bench.rath("replay", "order-2")).code).toBe(0);
  });

  it("[X13] whatever was told before a kill is in the record", async (context) => {
    const bench = benchOf(context);
    const child = bench.start(
      { WAIT: "ignore" },
      "run",
      "slow.mjs",
      "--input",
      "a",
      "--name",
      "told",
      "--events",
    );
    const ended = heard(child);
    await logged(bench, "wait");
    child.kill("SIGKILL");
    const { stdout } = await ended;
    const told = stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as { id: string; fact: { type: string } });
    expect(told.map(({ fact }) => fact.type)).toContain("step-call");
    const store = await openStore(`sqlite:${bench.home}/rath.db`);
    for (const { id } of told) expect(await store.has(id)).toBe(true);
    await store.close();
  });

  it("[X11] a replay asks nobody and ends in the same id; another program is told where it differs; a what-if goes on", async (context) => {
    const bench = benchOf(context);
    const { id } = await bench.json<{ id: string }>("run", "poem.mjs", "--input", "Write.", "--name", "poem");
    expect(await bench.json("replay", "poem")).toMatchObject({ same: true, id, changed: false });
    const other = await bench.rath("replay", "poem", "--with", "bolder.mjs");
    expect(other).toMatchObject({ code: 3, stdout: expect.stringMatching(/not the same/) });
    const bold = await bench.json<{ id: string; name: string; answer: string }>(
      "replay",
      "poem",
      "--mode",
      "what-if",
      "--with",
      "bolder.mjs",
    );
    expect(bold).toMatchObject({ name: "poem-what-if", answer: "A BOLD poem." });
    expect(bold.id).not.toBe(id);
    // Its own program is noted too.
    expect(await bench.json("replay", "poem-what-if")).toMatchObject({ same: true, id: bold.id });
    expect(await bench.json("replay", "poem")).toMatchObject({ same: true, id });
    expect(await bench.json("replay", "poem", "--at", id.slice(0, 12))).toMatchObject({ same: true, id });
  });
});

/** What the steps of a program have done, in order. */
function log(bench: Bench): readonly string[] {
  return readFileSync(join(bench.folder, "log.txt"), "utf8").trim().split("\n");
}

/** What is under way can be told only by what it does. */
async function logged(bench: Bench, word: string): Promise<void> {
  await until(async () => log(bench).includes(word));
}

async function recorded(bench: Bench, name: string, type: string): Promise<void> {
  await until(async () => {
    const store = await openStore(`sqlite:${bench.home}/rath.db`);
    try {
      const { id } = (await store.names({ under: "run/" }))[0] ?? { id: name };
      const children = await store.children(id);
      const lines = await Promise.all(children.map((child) => store.line(child)));
      return lines.some((line) => line?.includes(type));
    } finally {
      await store.close();
    }
  });
}

async function until(holds: () => Promise<boolean>): Promise<void> {
  for (let turn = 0; turn < 600; turn++) {
    if (await holds().catch(() => false)) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error("it never happened");
}
