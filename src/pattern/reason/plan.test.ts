import { describe, expect, it } from "vitest";
import { agent } from "../../agent/index.js";
import { scripted } from "../../agent/model/index.js";
import { BudgetError, openRath } from "../../runtime/index.js";
import { signal, stateOf, step, withState, workflow } from "../../workflow/index.js";
import { all, failed, ran } from "../../workflow/testing/ran.js";
import { deedsOf, PLAN, type PlanFailedError, planExecute, planOf } from "./index.js";

const plans = (...lists: readonly (readonly string[])[]) =>
  agent({
    name: "planner",
    model: scripted(...lists.map((steps) => JSON.stringify({ steps }))),
    output: PLAN,
  });

/** Does what it is told, and fails at tasks that say so. */
const worker = workflow("worker", async (session) => {
  const task = String((session.recent(1)[0] as { content?: unknown }).content);
  if (task.includes("throw")) throw new Error("it broke");
  if (task.includes("check"))
    return session
      .say("Looks fine.", { role: "assistant", by: "agent:worker" })
      .append({ type: "validation-report", name: "tests", passed: false, detail: "2 of 3 tests fail" });
  return session.say(`Did: ${task.split(": ").at(-1)}`, { role: "assistant", by: "agent:worker" });
});

describe("plan and execute", () => {
  it("[L1] does each step of a checked plan on its own branch, and keeps the plan on the record", async () => {
    const session = await ran(
      planExecute({ name: "build", planner: plans(["dig", "pour"]), executor: worker }),
    );
    expect(planOf(session, "build")).toEqual({
      version: 1,
      steps: [
        { task: "dig", state: "done", branch: "step 1" },
        { task: "pour", state: "done", branch: "step 2" },
      ],
    });
    expect(planOf(session)).toEqual(planOf(session, "build"));
    expect(planOf(session, "other")).toBeUndefined();
    const notes = all(session, "note").map((note) =>
      (note.steps as { state: string }[]).map(({ state }) => state),
    );
    expect(notes).toEqual([
      ["open", "open"],
      ["done", "open"],
      ["done", "done"],
    ]);
    const words = deedsOf(session).filter(({ by }) => by.startsWith("agent:"));
    expect(words.map(({ branch, by, did }) => [branch, by, did])).toEqual([
      ["main", "agent:planner", 'replied {"steps":["dig","pour"]}'],
      ["main", "agent:planner", 'checked output: passed ({"steps":["dig","pour"]})'],
      ["step 1", "agent:worker", "said Did: dig"],
      ["step 2", "agent:worker", "said Did: pour"],
    ]);
  });

  it("[L2] plans what is left anew after a failure, from where the failed step began", async () => {
    const planner = plans(["dig", "throw it", "pour"], ["check it", "paint"], ["pour", "paint"]);
    const session = await ran(planExecute({ name: "build", planner, executor: worker }));
    expect(planOf(session)).toEqual({
      version: 3,
      steps: [
        { task: "dig", state: "done", branch: "step 1" },
        { task: "throw it", state: "failed", branch: "step 2", why: "it broke" },
        { task: "pour", state: "dropped" },
        {
          task: "check it",
          state: "failed",
          branch: "step 4",
          why: "tests did not pass: 2 of 3 tests fail",
        },
        { task: "paint", state: "dropped" },
        { task: "pour", state: "done", branch: "step 6" },
        { task: "paint", state: "done", branch: "step 7" },
      ],
    });
    const said = JSON.stringify(session.transcript);
    // The planner was told; what the failed step said stays on its branch.
    expect(said).toContain("Step 2 of the plan (throw it) failed: it broke");
    expect(said).not.toContain("Looks fine.");
    expect(
      deedsOf(session).some(({ branch, did }) => branch === "step 4" && did === "said Looks fine."),
    ).toBe(true);
    const busy = agent({
      name: "busy",
      model: scripted((_prompt, turn) => ({ tool: "none", input: { turn } })),
      maxSteps: 2,
    });
    const stopped = await failed(
      planExecute({ name: "build", planner: plans(["dig"]), executor: busy, replans: 0 }),
    );
    expect(stopped.error).toMatchObject({ data: { why: "its limit of 2 steps is reached" } });
  });

  it("[L3] gives up after so many plans, and says where", async () => {
    const planner = plans(["throw 1"], ["throw 2"], ["throw 3"]);
    const { error, session } = await failed(
      planExecute({ name: "build", planner, executor: worker, replans: 1 }),
    );
    expect(error).toMatchObject({
      code: "plan-failed",
      data: { task: "throw 2", why: "it broke", replans: 1 },
    });
    expect(planOf((error as PlanFailedError).session)?.steps.map(({ state }) => state)).toEqual([
      "failed",
      "failed",
    ]);
    expect(all(session, "budget-stop")).toMatchObject([{ limit: "plans", allowed: 2 }]);
    expect(all(session, "model-reply").length).toBe(2);
  });

  it("[L4] refuses an answer that is not a plan", async () => {
    const says = (text: string) => agent({ name: "planner", model: scripted(text) });
    for (const [planner, gave] of [
      [says("First dig, then pour."), "First dig"],
      [plans(["a", "b", "c"]), "a plan of 3 steps"],
    ] as const) {
      const { error } = await failed(planExecute({ name: "build", planner, executor: worker, maxSteps: 2 }));
      expect(error).toMatchObject({ code: "pattern-answer", message: expect.stringContaining(gave) });
    }
    const stubborn = agent({ name: "planner", model: scripted("no", "no", "no"), output: PLAN });
    expect(
      (await failed(planExecute({ name: "build", planner: stubborn, executor: worker }))).error,
    ).toMatchObject({
      code: "output-refused",
    });
    for (const [options, reason] of [
      [{ name: "", planner: worker, executor: worker }, /name/],
      [{ name: "x", executor: worker }, /planner/],
      [{ name: "x", planner: worker, executor: 7 }, /executor/],
      [{ name: "x", planner: worker, executor: worker, replans: -1 }, /replans/],
      [{ name: "x", planner: worker, executor: worker, replan: 1 }, /no option "replan"/],
    ] as const)
      expect(() => planExecute(options as never)).toThrow(reason);
    const flow = planExecute({ name: "x", planner: plans(["a"]), executor: worker });
    expect(stateOf(withState(flow, { replans: 0, "planner.instructions": "Plan." }))).toMatchObject({
      replans: 0,
      "planner.instructions": "Plan.",
    });
  });

  it("[L5] is ended by a spent budget and a wait, and goes on in another runtime", async () => {
    const rath = openRath({ store: "memory:" });
    const asks = agent({ name: "asks", model: scripted((_prompt, turn) => `Did ${turn}.`) });
    const flow = planExecute({ name: "build", planner: plans(["a", "b", "c"]), executor: asks });
    const spent = await rath.run(flow, rath.start("go"), { name: "b", budget: { steps: 2 } });
    expect(all(spent, "budget-stop").at(-1)).toMatchObject({ limit: "steps", allowed: 2 });
    expect(planOf(spent)?.steps.map(({ state }) => state)).toEqual(["done", "failed", "open"]);
    expect(all(spent, "model-reply").length).toBe(2);
    const none = await rath.run(flow, rath.start("go"), { budget: { tokens: 1 } });
    expect([planOf(none), all(none, "model-reply")]).toEqual([undefined, []]);
    const poor = workflow("poor", async (session) => {
      throw new BudgetError(session, { limit: "steps", allowed: 1, spent: 1, asked: 1 });
    });
    expect(
      (await failed(planExecute({ name: "p", planner: plans(["a"]), executor: poor }))).error,
    ).toBeInstanceOf(BudgetError);
    await rath.close();

    const store = await openRath({ store: "memory:" }).store();
    let done = 0;
    const count = step("count", () => ++done, { effect: "read" });
    const waits = () =>
      planExecute({
        name: "build",
        planner: plans(["dig", "pour"]),
        executor: workflow("slow", { count, nap: signal("go on") }, async (session, parts) => {
          const counted = await parts.count.call(session);
          return parts.nap.forward(counted.session);
        }),
      });
    const first = openRath({ store });
    const suspended = await first.run(waits(), first.start("go"), { name: "s" });
    expect([suspended.fact.type, done]).toEqual(["run-suspend", 1]);
    const second = openRath({ store });
    let session = suspended;
    while (session.fact.type === "run-suspend") {
      await second.signal("s", "go on", null, "user:ada");
      session = await second.resume("s", waits());
    }
    expect([session.fact.type, done]).toEqual(["run-end", 2]);
    expect(planOf(session)?.steps.map(({ state }) => state)).toEqual(["done", "done"]);
    expect((await second.replay("s", waits(), { mode: "verify" })).id).toBe(session.id);
    expect(done).toBe(2);
  });
});
