import { describe, expect, it } from "vitest";
import type { FactOf, Json, Session } from "../../../session/index.js";
import { openStore } from "../../../store/index.js";
import { ImportError, type Imported } from "../exchange.js";

import { attack, expectAnswer } from "../testing/attack.js";
import { dataSource, hasData } from "../testing/data.js";
import { expectAllHeld, sourceOf } from "../testing/leaves.js";
import { tauBench } from "./read.js";

const path = "tau-bench/historical/gpt-4o-airline.json";
const task = { user_id: "ada_1", actions: [], instruction: "You are ada_1.", outputs: [] };
const policy = { role: "system", content: "Be kind." };
const user = { role: "user", content: "Cancel it." };
const asking = {
  role: "assistant",
  content: null,
  tool_calls: [{ id: "c1", type: "function", function: { name: "cancel", arguments: '{"id": "R1"}' } }],
};
const told = { role: "tool", tool_call_id: "c1", name: "cancel", content: "Error: no such flight" };
const bye = { role: "assistant", content: "It cannot be cancelled." };

function run(trial: number, reward: number, more: { readonly [field: string]: Json } = {}) {
  const info = { task, source: "user", user_cost: 0.5, reward_info: { reward, info: { r_actions: reward } } };
  return { task_id: 7, trial, reward, info, traj: [policy, user, asking, told, bye], ...more };
}

async function one(...runs: readonly Json[]): Promise<Imported> {
  const all = await tauBench.read(sourceOf("runs.json", runs as Json));
  expect(all.length).toBe(1);
  return all[0] as Imported;
}

function reportsIn(session: Session): readonly FactOf<"validation-report">[] {
  return [...session.history()].flatMap(({ fact }) => (fact.type === "validation-report" ? [fact] : []));
}

describe("tau-bench", () => {
  it("[T1] the trials of a task are branches of one session, in their order, and share its policy", async () => {
    const { session, name } = await one(run(2, 0), run(0, 1), run(1, 0));
    expect(name).toBe("task-7");
    const forks = session.lineage.filter(({ kind }) => kind === "fork");
    expect(forks.map(({ branch }) => branch)).toEqual(["trial-0", "trial-1", "trial-2"]);
    expect(new Set(forks.flatMap(({ parents }) => parents)).size).toBe(1);
    const systems = [...session.history()].filter(
      ({ fact }) => fact.type === "message-say" && fact.role === "system",
    );
    expect(systems.length).toBe(1);
    // A policy of its own stays with its trial, and a trial that is there twice is not lost.
    const apart = await one(run(0, 1), run(0, 1, { traj: [user, bye] }));
    expect(apart.session.lineage.map(({ branch }) => branch)).toEqual(
      expect.arrayContaining(["trial-0", "trial-0-again"]),
    );
    const many = await one(...Array.from({ length: 300 }, () => run(0, 1)));
    const names = many.session.parents.map(({ branch }) => branch);
    expect(names.slice(0, 4)).toEqual(["trial-0", "trial-0-again", "trial-0-again-2", "trial-0-again-3"]);
    expect(new Set(names).size).toBe(300);
    expect(Math.max(...names.map(({ length }) => length))).toBeLessThan(20);
  });

  it("[T2] one merge gathers the branches and says that it prefers none", async () => {
    const { session } = await one(run(0, 0), run(1, 1), run(2, 1), run(3, 0));
    expect(session.parents.length).toBe(4);
    expect(session.fact).toMatchObject({ type: "branch-merge", adopt: "none" });
    expect((session.fact as FactOf<"branch-merge">).why).toMatch(/gathered/);
    // No trial's conversation goes on: what all of them share does.
    expect(session.transcript.map(({ role }) => role)).toEqual(["system"]);
    expect(session.branch).toBe("main");
    expect((await one(run(0, 0))).session.lineage.some(({ kind }) => kind === "merge")).toBe(false);
  });

  it("[T3] each reward is a validation on its branch; a run that never ended says so", async () => {
    const unfinished = { task, source: "user" };
    const { session, notes } = await one(run(0, 0), run(1, 1), run(2, 0, { info: unfinished }));
    const [first, second, third] = session.parents.map((branch) => reportsIn(branch));
    expect(first).toMatchObject([{ name: "reward", passed: false, score: 0, detail: { reward: 0 } }]);
    expect(second).toMatchObject([{ passed: true, score: 1, detail: { info: { r_actions: 1 } } }]);
    expect(third).toMatchObject([{ passed: false, score: 0, detail: { ended: false } }]);
    expect(notes.join()).toMatch(/without reward_info/);
  });

  it("[T4] the conversation of a branch reads as it went", async () => {
    const { session } = await one(run(0, 0), run(1, 1));
    for (const branch of session.parents)
      expect(branch.transcript).toMatchObject([
        { role: "system", content: "Be kind." },
        { role: "user", content: "Cancel it." },
        {
          role: "assistant",
          content: [{ type: "tool-call", call: "c1", name: "cancel", input: { id: "R1" } }],
        },
        { role: "tool", call: "c1", name: "cancel", output: "Error: no such flight" },
        { role: "assistant", content: "It cannot be cancelled.", author: "tau-bench" },
      ]);
    expect(session.pending).toEqual([]);
  });

  it("[T8] the agent's words are replies of a model", async () => {
    const { session } = await one(run(0, 0));
    expect(session.usage.calls).toBe(2);
    const facts = [...session.history()].map(({ fact }) => fact);
    const asked = { model: "unknown", by: "agent:tau-bench" };
    expect(facts.filter(({ type }) => type === "model-call")).toMatchObject([asked, asked]);
    expect(facts.filter(({ type }) => type === "model-reply")).toMatchObject([
      { finish: "tool-calls" },
      { finish: "stop", content: "It cannot be cancelled." },
    ]);
  });

  it("[T4] each of many calls has its own result, also where nothing has an id", async () => {
    const calling = (...calls: readonly (readonly [name: string, id?: string])[]) => ({
      role: "assistant",
      content: null,
      tool_calls: calls.map(([name, id]) => ({
        type: "function",
        function: { name, arguments: "{}" },
        ...(id !== undefined && { id }),
      })),
    });
    const given = (content: string, name?: string, id?: string) => ({
      role: "tool",
      content,
      ...(name !== undefined && { name }),
      ...(id !== undefined && { tool_call_id: id }),
    });
    const results = async (...traj: readonly Json[]): Promise<readonly string[]> => {
      const { session } = await one(run(0, 1, { traj: [policy, user, ...traj] }));
      expect(session.pending).toEqual([]);
      const calls = [...session.history()].filter(({ fact }) => fact.type === "tool-call");
      return calls.map(({ id, fact }) => {
        const own = [...session.history()].flatMap((node) =>
          node.fact.type === "tool-result" && node.fact.of === id ? [node.fact.output] : [],
        );
        return `${(fact as FactOf<"tool-call">).name}: ${own.join()}`;
      });
    };
    const both = ["a: 1", "b: 2"];
    expect(await results(calling(["a"], ["b"]), given("1", "a"), given("2", "b"))).toEqual(both);
    expect(await results(calling(["a"], ["b"]), given("2", "b"), given("1", "a"))).toEqual(both);
    expect(await results(calling(["a"], ["b"]), given("1"), given("2"))).toEqual(both);
    expect(await results(calling(["a"], ["a"]), given("1", "a"), given("2", "a"))).toEqual(["a: 1", "a: 2"]);
    expect(await results(calling(["a", "x"], ["b", "y"]), given("2", "b"), given("1", "a"))).toEqual(both);
    expect(await results(calling(["a"], ["b"]), given("2", "b", "y"), given("1", "a", "x"))).toEqual(both);
    expect(
      await results(calling(["a", "x"], ["b", "x"]), given("1", "a", "x"), given("2", "b", "x")),
    ).toEqual(both);
    // An id that is used again is that of the newer call; what nobody asked for has a call of its own.
    expect(
      await results(calling(["a", "x"]), given("1", "a", "x"), calling(["b", "x"]), given("2", "b", "x")),
    ).toEqual(both);
    expect(await results(calling(["a", "x"]), given("1", "a", "x"), given("2", "b", "x"))).toEqual(both);
  });

  it.skipIf(!hasData(path))(
    "[T5] [T6] the 200 recorded runs are 50 sessions of four branches, with every reward and every value",
    async () => {
      const source = dataSource(path);
      expect(tauBench.fits(source)).toBe(true);
      const all = await tauBench.read(source);
      expect(all.length).toBe(50);
      const runs = JSON.parse(Buffer.from(source.bytes).toString()) as readonly {
        readonly task_id: number;
        readonly trial: number;
        readonly reward: number;
        readonly traj: readonly { readonly role: string; readonly content: string }[];
      }[];
      for (const { name, session } of all) {
        const trials = runs.filter(({ task_id }) => `task-${task_id}` === name);
        expect(session.parents.map((branch) => branch.branch)).toEqual(
          trials.map(({ trial }) => `trial-${trial}`),
        );
        for (const [index, branch] of session.parents.entries()) {
          expect(reportsIn(branch).map(({ score }) => score)).toEqual([trials[index]?.reward]);
          expect(branch.transcript.map(({ role }) => role)).toEqual(
            trials[index]?.traj.map(({ role }) => role),
          );
        }
      }
      const passed = all.flatMap(({ session }) => reportsIn(session).filter(({ passed }) => passed));
      expect(passed.length).toBe(84);
      for (const place of [0, 17, 49])
        expectAllHeld(
          runs.filter(({ task_id }) => task_id === place) as unknown as Json,
          all.filter(({ name }) => name === `task-${place}`).map(({ session }) => session),
          // Said by the type of the fact, and nothing said.
          (path, leaf) =>
            leaf === null ||
            (/^(tool|assistant)$/.test(String(leaf)) && path.endsWith(".role")) ||
            leaf === "function",
        );
      const again = await tauBench.read(source);
      expect(again.map(({ session }) => session.id)).toEqual(all.map(({ session }) => session.id));
      const store = await openStore("memory:");
      await store.save((all[3] as Imported).session, { name: "three" });
      expect((await store.check()).findings).toEqual([]);
      await store.close();
    },
  );

  it("[T7] a text that is not a list of runs is refused, and says where", async () => {
    const cases: readonly (readonly [Json, string])[] = [
      [{}, ""],
      [[], ""],
      [[7], "[0]"],
      [[run(0, 1), { ...run(1, 1), task_id: null }], "[1].task_id"],
      [[{ ...run(0, 1), reward: "1" }], "[0].reward"],
      [[{ ...run(0, 1), traj: [7] }], "[0].traj"],
      [[{ ...run(0, 1), traj: [policy, { role: "ghost", content: "" }] }], "[0].traj[1].role"],
      [[{ ...run(0, 1), traj: [{ ...asking, tool_calls: [7] }] }], "[0].traj[0].tool_calls[0]"],
    ];
    for (const [value, where] of cases) {
      const refused = await tauBench.read(sourceOf("runs.json", value)).catch((error: unknown) => error);
      expect(refused).toBeInstanceOf(ImportError);
      expect((refused as ImportError).data).toMatchObject({
        format: "tau-bench",
        source: "runs.json",
        where,
      });
    }
    await expect(tauBench.read(sourceOf("x", "\xff[".repeat(3)))).rejects.toThrow(/not JSON/);
    await expect(tauBench.read(sourceOf("x", Buffer.from([0xff])))).rejects.toThrow(/UTF-8/);
    await expectAnswer(
      tauBench,
      sourceOf("x", JSON.stringify([run(0, 1)]).replace('"user_cost":0.5', '"user_cost":1e999')),
    );
    const runs = [run(0, 0), run(1, 1)] as Json;
    await attack(tauBench, [sourceOf("runs.json", runs)], 150, () => runs);
  });
});
