import { deepStrictEqual, equal, ok } from "node:assert";
import { randomInt } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import type { Execution } from "../../sandbox/index.js";
import { skip, sleep, until, within } from "../runner.js";
import { begun, check, done, ended, isTold, namesIn, promise, run, type SandboxCase } from "./case.js";
import { watching } from "./stream.js";

export const endCases: readonly SandboxCase[] = [
  promise("[E40] a command that takes too long is ended, not its sandbox", async ({ capabilities, open }) => {
    if (!capabilities.limits.includes("wall")) skip("time is not limited");
    const sandbox = await open({ limits: { wall: 1500 } });
    const time = longTime();
    for (const command of [`echo begun > a.txt; sleep ${time}; echo late > b.txt`, ["sleep", `${time}`]]) {
      const { outcome, code, why, milliseconds } = await run(sandbox, command);
      deepStrictEqual([outcome, code, typeof why], ["timeout", null, "string"]);
      ok(milliseconds >= 1400, `it was ended after ${milliseconds} ms`);
    }
    await nobodyHas(time);
    equal(await done(sandbox, "cat a.txt; ls", { wall: 30_000 }), "begun\na.txt\n");
  }),

  promise("[E41] a command can have less or more time than its sandbox", async ({ capabilities, open }) => {
    if (!capabilities.limits.includes("wall")) skip("time is not limited");
    const sandbox = await open({ limits: { wall: 400 } });
    equal((await run(sandbox, "sleep 60", { wall: 150 })).outcome, "timeout");
    equal(await done(sandbox, "sleep 0.8; echo enough", { wall: 30_000 }), "enough\n");
  }),

  check(
    "[E42] the output before the end of a command is in its result",
    async (sandbox, { capabilities }) => {
      if (!isTold(capabilities, "partial")) skip("output comes when the command has ended");
      const { outcome, out, err } = await run(sandbox, "echo one; echo two >&2; sleep 60; echo three", {
        wall: 1500,
      });
      deepStrictEqual([outcome, out, err], ["timeout", "one\n", "two\n"]);
    },
  ),

  check("[E43] what was aborted before it began never begins", async (sandbox) => {
    const { outcome, code, why } = await run(sandbox, "echo > began", { signal: AbortSignal.abort() });
    deepStrictEqual([outcome, code, typeof why], ["unstarted", null, "string"]);
    equal(await sandbox.files.stat("began"), undefined);
  }),

  check("[E44] an abort ends a command with everything it started", async (sandbox) => {
    const [stop, time] = [new AbortController(), longTime()];
    const execution = sandbox.exec(`echo > began; (sleep ${time}); echo > late`, { signal: stop.signal });
    await begun(sandbox);
    stop.abort();
    const { outcome, code, why } = await ended(execution);
    deepStrictEqual([outcome, code, typeof why], ["killed", null, "string"]);
    await nobodyHas(time);
    deepStrictEqual(await namesIn(sandbox.files), ["began"]);
    equal(await done(sandbox, "echo on"), "on\n");
  }),

  check("[E45] a kill ends a command and all that it started; a second does nothing", async (sandbox) => {
    const time = longTime();
    const execution = sandbox.exec(`echo > began; sh -c 'sleep ${time}; :' | cat; echo > late`);
    await begun(sandbox);
    await within("the kill", execution.kill());
    const { outcome, code, signal } = await ended(execution);
    deepStrictEqual([outcome, code, signal], ["killed", null, "SIGKILL"]);
    await within("the second kill", execution.kill());
    await nobodyHas(time);
    equal(await sandbox.files.stat("late"), undefined);
    const quick = sandbox.exec("true");
    await ended(quick);
    await within("the kill of what has ended", quick.kill("SIGTERM"));
    equal((await quick.result).outcome, "ok");
  }),

  check(
    "[E46] a command can be asked to end, and may do its last work",
    async (sandbox, { capabilities }) => {
      if (!isTold(capabilities, "streaming"))
        skip("signals cannot be caught by commands that are interpreted");
      const execution = sandbox.exec(
        "trap 'echo bye > last; exit 3' TERM; echo ready; while :; do sleep 0.05; done",
      );
      await within("the beginning", watching(execution).saw("ready"));
      await execution.kill("SIGTERM");
      equal((await ended(execution)).code, 3);
      equal(await done(sandbox, "cat last"), "bye\n");
      const other = sandbox.exec("echo ready; exec sleep 60");
      await within("the beginning", watching(other).saw("ready"));
      await other.kill("SIGTERM");
      const { outcome, signal } = await ended(other);
      deepStrictEqual([outcome, signal], ["killed", "SIGTERM"]);
    },
  ),

  promise("[E47] time does not end a background command", async ({ capabilities, open }) => {
    const sandbox = await open({ limits: capabilities.limits.includes("wall") ? { wall: 300 } : {} });
    if (!capabilities.background) {
      const { outcome, why } = await run(sandbox, "echo > began", { background: true });
      deepStrictEqual([outcome, typeof why], ["unstarted", "string"]);
      skip("there are no background commands here; one that was asked for was refused");
    }
    const [first, second] = [longTime(), longTime()];
    const one = sandbox.exec(`echo > began; sleep ${first}`, { background: true });
    const two = sandbox.exec(`sleep ${second}`, { background: true });
    await begun(sandbox);
    await sleep(800);
    ok(await isRunning(one), "time ended it");
    equal(await done(sandbox, "echo meanwhile", { wall: 30_000 }), "meanwhile\n");
    await one.kill();
    equal((await ended(one)).outcome, "killed");
    await nobodyHas(first);
    ok(await isRunning(two), "the other one was ended too");
    await sandbox.destroy();
    const { outcome, code } = await ended(two);
    ok(outcome === "killed" || outcome === "lost", `it ended as ${outcome}`);
    equal(code, null);
    await nobodyHas(second);
  }),

  check("[E48] a command that runs when its sandbox is destroyed has not ended well", async (sandbox) => {
    const time = longTime();
    const execution = sandbox.exec(`echo > began; sleep ${time}`);
    await begun(sandbox);
    await within("the end of the sandbox", sandbox.destroy());
    const { outcome, code } = await ended(execution);
    ok(outcome === "killed" || outcome === "lost", `it ended as ${outcome}`);
    equal(code, null);
    await nobodyHas(time);
  }),

  check("[E49] processes left behind end with the sandbox", async (sandbox, { capabilities }) => {
    if (capabilities.isolation === "virtual") skip("it has no processes that could be left behind");
    const times = [longTime(), longTime(), longTime()];
    const leave = [
      `sleep ${times[0]} > /dev/null 2>&1 &`,
      // It keeps the output open.
      `sleep ${times[1]} &`,
      `(setsid sleep ${times[2]} > /dev/null 2>&1 < /dev/null &)`,
    ].join("\n");
    const { out, outcome } = await run(sandbox, `${leave}\necho left`);
    deepStrictEqual([out, outcome], ["left\n", "ok"]);
    equal(await done(sandbox, "echo on"), "on\n");
    const seen = times.map((time) => processesWith(time)?.length ?? 0);
    await sandbox.destroy();
    for (const time of times) await nobodyHas(time);
    if (seen.every((count) => count === 0)) skip("processes of this sandbox cannot be seen from here");
  }),

  check("[E50] endless output of a process left behind is read slowly", async (sandbox, { capabilities }) => {
    if (capabilities.isolation === "virtual") skip("it has no processes that could be left behind");
    const { outcome } = await run(sandbox, "yes & echo $! > process; exit 0");
    equal(outcome, "ok");
    const written = "awk '/^wchar/ { print $2 }' /proc/$(cat process)/io";
    const count = await run(sandbox, `${written}; sleep 2; ${written}`);
    const [first = Number.NaN, second = Number.NaN] = count.out.trim().split("\n").map(Number);
    if (Number.isNaN(second)) skip("what a process has written cannot be seen here");
    // Some megabytes; without a limit it is as much as we can read in two seconds.
    ok(second - first < 24 * 1024 ** 2, `${second - first} bytes were read in two seconds`);
    equal(await done(sandbox, "kill $(cat process) && echo on"), "on\n");
  }),
];

async function isRunning(execution: Execution): Promise<boolean> {
  return Promise.race([execution.result.then(() => false), sleep(50).then(() => true)]);
}

/** Waits until no process of this machine has the word, as far as that can be seen. */
async function nobodyHas(word: number): Promise<void> {
  await until(
    "the end of all processes of the command",
    () => (processesWith(word) ?? []).length === 0,
    10_000,
  );
}

/** A number that nobody else sleeps for: by it, a process is found on the host. */
function longTime(): number {
  return randomInt(100_000_000, 999_999_999);
}

/** The processes of this machine that have a word among their arguments; undefined where that cannot be seen. */
function processesWith(word: string | number): readonly number[] | undefined {
  let names: readonly string[];
  try {
    names = readdirSync("/proc");
  } catch {
    return undefined;
  }
  return names.filter((name) => /^\d+$/.test(name) && argumentsOf(name).includes(`${word}`)).map(Number);
}

function argumentsOf(process: string): readonly string[] {
  try {
    return readFileSync(`/proc/${process}/cmdline`, "utf8").split("\0");
  } catch {
    // It ended meanwhile, or is not ours to look at.
    return [];
  }
}
