import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Fact, Session } from "openrath";
import { filesAt } from "openrath/sandbox";
import { openStore, type Store } from "openrath/store";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Bench, type Ended, shownNext } from "./command.js";

const bwrap = spawnSync("bwrap", ["--ro-bind", "/", "/", "true"]).status === 0;

type Document = {
  readonly name: string;
  readonly id: string;
  readonly killed: { readonly pid: number; readonly facts: number } | null;
  readonly replay: { readonly pid: number; readonly id: string };
  readonly rejection: string;
  readonly memory: { readonly id: string; readonly text: string; readonly because: readonly string[] };
  readonly [field: string]: unknown;
};

const bench = new Bench({ spawns: true });
let told: Ended;
let asJson: Ended;
let store: Store;

beforeAll(async () => {
  // Both at once, in one home: none is in the other's way.
  [told, asJson] = await Promise.all([bench.rath("demo"), bench.rath("demo", "--json")]);
  store = await openStore(`sqlite:${bench.home}/rath.db`);
}, 180_000);
afterAll(async () => {
  await store?.close();
  bench.remove();
});

const document = (): Document => JSON.parse(asJson.stdout) as Document;
const nameOf = (): string => /^(demo-\d): /.exec(told.stdout)?.[1] ?? "";
const session = (): Promise<Session> => store.load(nameOf());
async function facts<Type extends Fact["type"]>(
  type: Type,
): Promise<readonly (Extract<Fact, { type: Type }> & { id: string; branch: string })[]> {
  return [...(await session()).history()].flatMap(({ id, branch, fact }) =>
    fact.type === type ? [{ ...(fact as Extract<Fact, { type: Type }>), id, branch }] : [],
  );
}

describe("rath demo", () => {
  it("[N1] says what is a script and what is real, tells the story, and ends with the graph and what to type", () => {
    expect({ code: told.code, stderr: told.stderr }).toEqual({ code: 0, stderr: "" });
    expect(told.stdout).toMatch(/a script, which says so; nobody is asked/);
    expect(told.stdout).toMatch(bwrap ? /Sandbox: local \(bubblewrap/ : /Sandbox: host: NO isolation/);
    const story = [
      "read ISSUE.md",
      "recalled",
      "changed files: modified src/split.js",
      "rejected it",
      "forked the branch small",
      "forked the branch bold",
      "killed",
      "resumed",
      "merged branches and adopted",
      "accepted it",
      "remembered",
      "The graph",
      "the same id",
      "intact",
      "All as it should be.",
    ];
    let place = 0;
    for (const words of story) {
      const next = told.stdout.indexOf(words, place);
      expect(next, words).toBeGreaterThanOrEqual(place);
      place = next;
    }
    expect(told.stdout).toMatch(/^ {2}│ │ ╮$/m);
    expect(shownNext(told.stdout)[0]).toMatch(/rath fork demo-\d --at [0-9a-f]{12} --name second-try/);
  });

  it("[N2] the patch passes the visible tests, fails those held out, and is rejected with a reason", async () => {
    const [recalled] = await facts("memory-read");
    expect(recalled?.hits.some(({ text }) => text?.includes("whole cents"))).toBe(true);
    const reports = await facts("validation-report");
    const [visible, held, review] = reports.filter(({ name }) => name !== "output");
    expect(visible).toMatchObject({ name: "tests", passed: true, detail: { total: 3 } });
    expect(held).toMatchObject({ name: "tests", passed: false });
    expect(review).toMatchObject({
      name: "review",
      passed: false,
      by: "agent:validator",
      detail: { reason: expect.stringContaining("-0.04") },
    });
    const commands = await facts("command-run");
    expect(commands.length).toBeGreaterThanOrEqual(5);
    for (const { command, stdout, milliseconds } of commands) {
      expect(command).toMatch(/^node --test/);
      expect(JSON.stringify(stdout)).toMatch(/held out|add up/);
      expect(milliseconds).toBeGreaterThan(0);
    }
  });

  it("[N2] two repairs compete, the better one is merged with the missing test, and the files pass", async () => {
    const forks = await facts("branch-fork");
    expect(forks.map(({ name }) => name).sort()).toEqual(["bold", "regression", "small"]);
    const reports = (await facts("validation-report")).filter(({ name }) => name === "tests");
    const worth = (branch: string) =>
      reports.filter((one) => one.branch === branch).map(({ passed }) => passed);
    expect(worth("small")).toEqual([false]);
    expect(worth("bold")).toEqual([true, true]);
    const [first] = await facts("branch-merge");
    expect(first).toMatchObject({
      adopt: "ours",
      why: expect.stringMatching(/^bold: 12 of 12 .*small: 11 of 12/),
    });
    const files = filesAt(await session(), store);
    expect(await files.paths()).toEqual(
      expect.arrayContaining(["src/split.js", "test/fair.test.js", "test/split.test.js"]),
    );
    expect(await files.paths()).not.toContain("test/held-out.test.js");
    expect(await files.text("src/split.js")).toContain("upTo");
  });

  it("[N3] one process was killed, another went on, and a third replayed it to the same id", async () => {
    const { killed, replay, id, same } = document();
    expect(same).toBe(true);
    expect(replay.id).toBe(id);
    expect(killed?.facts).toBeGreaterThan(20);
    expect(new Set([killed?.pid, replay.pid, process.pid]).size).toBe(3);
    // What was finished was not done again: every request has one outcome, and no request was made twice.
    const answered = new Map<string, number>();
    for (const { fact } of (await session()).history())
      if (fact.type === "model-reply" || fact.type === "tool-result" || fact.type === "step-result")
        answered.set(fact.of, (answered.get(fact.of) ?? 0) + 1);
    expect([...answered.values()].every((times) => times === 1)).toBe(true);
    const replies = await facts("model-reply");
    expect(replies.length).toBe(16);
    const again = await bench.json<{ same: boolean; id: string }>("replay", nameOf());
    expect(again).toMatchObject({ same: true, id: (await session()).id });
  });

  it("[N4] what the failure taught is remembered because of the failure, the validator's word and the success", async () => {
    const { memory, rejection, name } = document();
    const line = JSON.parse((await store.line(memory.id)) ?? "{}");
    expect(JSON.stringify(line)).toContain("memory-write");
    const evidence = await Promise.all(memory.because.map(async (id) => (await store.load(id)).fact));
    expect(evidence).toMatchObject([
      { type: "validation-report", name: "tests", passed: false },
      { type: "validation-report", name: "review", passed: false, by: "agent:validator" },
      { type: "validation-report", name: "tests", passed: true },
    ]);
    expect(memory.because[1]).toBe(rejection);
    expect((await store.head(`memory/${name}`)) !== undefined).toBe(true);
  });

  it("[N5] is one document with --json", () => {
    expect(asJson).toMatchObject({ code: 0, stderr: "" });
    expect(asJson.stdout.trim().split("\n").length).toBe(1);
    expect(document()).toMatchObject({
      same: true,
      intact: true,
      accepted: true,
      status: "finished",
      model: "script",
    });
    const lines = readFileSync(String(document().file), "utf8").trim().split("\n");
    expect(lines.at(-1)).toBeDefined();
    expect(lines.length).toBeGreaterThanOrEqual(Number(document().facts));
  });

  it("[N1] leaves a dossier: a page for people, and a bundle that verifies anywhere", async () => {
    const { html, bundle } = document().dossier as { readonly html: string; readonly bundle: string };
    expect(readFileSync(html, "utf8")).toMatch(/^<!doctype html>/i);
    expect(readFileSync(html, "utf8")).toContain("Issue 41 is repaired");
    const elsewhere = new Bench({ spawns: true });
    const verified = await elsewhere.rath("verify", bundle);
    elsewhere.remove();
    expect(verified).toMatchObject({ code: 0, stdout: expect.stringContaining("intact") });
  });

  it("[N6] each has a name, a folder and a memory of its own", async () => {
    expect(new Set([nameOf(), document().name])).toEqual(new Set(["demo-1", "demo-2"]));
    const names = (await store.names()).map(({ name }) => name);
    for (const name of ["demo-1", "demo-2"]) {
      expect(names).toEqual(expect.arrayContaining([name, `memory/${name}`]));
      expect(readFileSync(join(bench.home, name, "program.mjs"), "utf8")).toContain(name);
    }
  });

  it("[N11] a newcomer forks at the rejected patch, runs another repair, compares and verifies, by what is shown", async () => {
    const output = async (command: string | undefined): Promise<string> => {
      const { code, stdout, stderr } = await bench.typed(command ?? "");
      expect({ command, code, stderr }).toEqual({ command, code: 0, stderr: "" });
      return stdout;
    };
    const forked = await output(shownNext(told.stdout)[0]);
    expect(shownNext(forked)[0]).toMatch(/rath run \S*again\.mjs --on second-try/);
    const ran = await output(shownNext(forked)[0]);
    expect(ran).toContain("Kept: 12 of 12 tests");
    expect(shownNext(ran)[0]).toMatch(new RegExp(`rath diff ${nameOf()} second-try`));
    const compared = await output(shownNext(ran)[0]);
    expect(compared).toMatch(/^\+.*Math\.trunc/m);
    expect(shownNext(compared)[0]).toMatch(/rath verify second-try/);
    await output(shownNext(compared)[0]);
  });
});
