import { describe, expect, it } from "vitest";
import type { Session } from "../session/index.js";
import {
  type Budget,
  BudgetError,
  perform,
  performAll,
  type Request,
  RunFailedError,
  type Spend,
  waitFor,
} from "./index.js";
import { moduleOf } from "./testing/module.js";
import { blind, clockOf, rathOf, storeOf, urlOf } from "./testing/rath.js";
import { all, factsOf, only } from "./testing/record.js";
import { gate, until, World } from "./testing/world.js";

/** A call to a model that says what it used. */
function call(
  world: World,
  spend: Spend,
  used: { input: number; output: number; cost?: number },
  takes = 0,
): Request {
  return {
    ...world.step("call", { spend }),
    fact: { type: "model-call", model: "m" },
    act: async ({ signal }) => {
      world.calls.push("call");
      if (takes > 0) await new Promise((resolve) => setTimeout(resolve, takes));
      if (signal.aborted) throw signal.reason;
      const { cost, ...usage } = used;
      return {
        type: "model-reply",
        content: "x",
        finish: "stop",
        usage,
        ...(cost !== undefined && { cost }),
      };
    },
    failed: (error) => ({ type: "model-failure", error }),
  };
}

describe("a budget", () => {
  it.each([
    ["steps", { steps: 3 }, { steps: 1 }, 3],
    ["tokens", { tokens: 100 }, { tokens: 10 }, 4],
    ["money", { money: 1 }, { money: 0.1 }, 4],
  ] as const)(
    "[B1] of %s: the call that would exceed it is not made",
    async (limit, budget, spend, count) => {
      const store = await storeOf();
      const rath = rathOf({ store });
      const world = new World();
      let caught: BudgetError | undefined;
      const module = moduleOf("m", async (session) => {
        let next = session;
        try {
          for (let turn = 0; turn < 20; turn++)
            next = await perform(next, call(world, spend, { input: 15, output: 9, cost: 0.25 }));
        } catch (error) {
          caught = error as BudgetError;
          next = (error as BudgetError).session.say("out of it");
        }
        return next;
      });
      const ended = await rath.run(module, rath.start("go"), { budget, name: "n" });
      expect(world.count("call")).toBe(count);
      expect(caught).toBeInstanceOf(BudgetError);
      const stop = only(all(ended, "budget-stop"));
      expect(stop).toMatchObject({
        limit,
        allowed: Object.values(budget)[0],
        asked: Object.values(spend)[0],
      });
      expect(stop.spent + stop.asked).toBeGreaterThan(stop.allowed);
      expect(stop.spent).toBeLessThanOrEqual(stop.allowed);
      expect(caught?.data).toMatchObject({ limit });
      expect((await blind(store).replay("n", module, { mode: "verify" })).id).toBe(ended.id);
      expect(world.count("call")).toBe(count);
    },
  );

  it("[B1] exactly as much as is allowed is allowed, also where sums of money are not exact", async () => {
    const rath = rathOf();
    const world = new World();
    const module = moduleOf("m", async (session) => {
      let next = session;
      for (let turn = 0; turn < 10; turn++)
        next = await perform(next, call(world, { steps: 1, money: 0.1 }, { input: 0, output: 0, cost: 0.1 }));
      return next;
    });
    const ended = await rath.run(module, rath.start("go"), { budget: { steps: 10, money: 1 } });
    expect(world.count("call")).toBe(10);
    expect(all(ended, "budget-stop")).toEqual([]);
    await expect(rath.run(module, rath.start("go"), { budget: { money: 0.99 } })).rejects.toBeInstanceOf(
      RunFailedError,
    );
    for (const [money, count] of [
      [0.3, 3],
      [0.7, 7],
      [0.29, 2],
    ] as const) {
      world.calls.length = 0;
      await expect(rath.run(module, rath.start("go"), { budget: { money } })).rejects.toBeInstanceOf(
        RunFailedError,
      );
      expect([money, world.count("call")]).toEqual([money, count]);
    }
  });

  it("[B1] a body that does not catch it fails, and the record says which limit", async () => {
    const rath = rathOf({ budget: { steps: 1 } });
    const world = new World();
    const module = moduleOf("m", async (session) =>
      perform(
        await perform(session, world.step("a", { spend: { steps: 1 } })),
        world.step("b", { spend: { steps: 1 } }),
      ),
    );
    const error = (await rath
      .run(module, rath.start("go"))
      .catch((thrown: unknown) => thrown)) as RunFailedError;
    expect(error).toBeInstanceOf(RunFailedError);
    expect(error.cause).toBeInstanceOf(BudgetError);
    expect(error.session.fact).toMatchObject({
      error: { code: "budget-exceeded", data: { limit: "steps", allowed: 1, spent: 1, asked: 1 } },
    });
    expect(error.session.parents[0]?.fact.type).toBe("budget-stop");
    expect(world.calls).toEqual(["a"]);
    // A run may say otherwise than the host.
    expect((await rath.run(module, rath.start("go"), { budget: { steps: 2 } })).fact.type).toBe("run-end");
  });

  it("[B1] several at once are one question: none of them is made when they do not all fit", async () => {
    const rath = rathOf();
    const world = new World();
    const module = moduleOf("m", async (session) =>
      performAll(
        session,
        ["a", "b", "c"].map((name) => world.step(name, { spend: { steps: 1 } })),
      ),
    );
    await expect(rath.run(module, rath.start("go"), { budget: { steps: 2 } })).rejects.toMatchObject({
      cause: { code: "budget-exceeded" },
    });
    expect(world.calls).toEqual([]);
  });

  it("[B1] of time: by the host's clock, and waiting for people, timers and signals is nobody's time", async () => {
    const store = await storeOf();
    const { clock, pass } = clockOf();
    const rath = rathOf({ store, clock });
    const world = new World();
    const slow = (name: string, milliseconds: number): Request =>
      world.step(name, {
        give: () => {
          pass(milliseconds);
          return name;
        },
      });
    const module = moduleOf("m", async (session) => {
      const one = await perform(session, slow("a", 400));
      const given = await waitFor(one, { type: "signal-await", name: "s" });
      const slept = await waitFor(given, { type: "timer-set", milliseconds: 10_000 });
      const two = await perform(slept, slow("b", 400));
      const three = await perform(two, slow("c", 400));
      return perform(three, slow("d", 1));
    });
    await rath.run(module, rath.start("go"), { budget: { milliseconds: 1000 }, name: "n" });
    pass(50_000);
    await rath.signal("n", "s", 1, "user:ada");
    await rath.resume("n", module);
    pass(10_000);
    const error = (await rath.resume("n", module).catch((thrown: unknown) => thrown)) as RunFailedError;
    expect(error).toBeInstanceOf(RunFailedError);
    expect(world.calls).toEqual(["a", "b", "c"]);
    expect(only(all(error.session, "budget-stop"))).toMatchObject({
      limit: "milliseconds",
      allowed: 1000,
      spent: 1200,
    });
    expect((await blind(store).replay("n", module, { mode: "verify" })).id).toBe(error.session.id);
  });

  it("[B1] of time: branches that wait side by side do not give more time than passed", async () => {
    const { clock, pass } = clockOf();
    const rath = rathOf({ clock });
    const world = new World();
    const module = moduleOf("m", async (session) => {
      const ends = await Promise.all(
        ["a", "b", "c", "d"].map((name) =>
          waitFor(session.fork(name), { type: "timer-set", milliseconds: 10_000 }),
        ),
      );
      const merged = (ends[0] as Session).merge(ends.slice(1));
      const one = await perform(merged, world.step("work", { give: () => pass(5000) ?? null }));
      return perform(one, world.step("more"));
    });
    await rath.run(module, rath.start("go"), { budget: { milliseconds: 1000 }, name: "n" });
    pass(10_000);
    await expect(rath.resume("n", module)).rejects.toMatchObject({
      cause: { data: { limit: "milliseconds", spent: 5000 } },
    });
    expect(world.calls).toEqual(["work"]);
  });

  it("[B1] that is spent between two calls on one session stops the second, on the tape too", async () => {
    const { clock, pass } = clockOf();
    const store = await storeOf();
    const rath = rathOf({ store, clock });
    const world = new World();
    const module = moduleOf("m", async (session) => {
      const first = perform(session, world.step("same"));
      pass(100);
      const second = perform(session, world.step("same")).catch(() => session.say("stopped"));
      return (await first).merge(await second);
    });
    const ended = await rath.run(module, rath.start("go"), { name: "n", budget: { milliseconds: 50 } });
    expect(all(ended, "budget-stop")).toHaveLength(1);
    expect(all(ended, "step-result")).toHaveLength(1);
    expect((await blind(store).replay("n", module, { mode: "verify" })).id).toBe(ended.id);
  });

  it("[B3] stops what is under way when the time is spent, and lets a write come to its end", async () => {
    const store = await storeOf();
    // By this clock no time passes before both are under way, however slow the machine is.
    const { clock, pass } = clockOf();
    const rath = rathOf({ store, clock });
    const world = new World();
    const never = gate();
    const write = gate<number>();
    const module = moduleOf("m", async (session) => {
      const both = await performAll(session, [
        world.step("never", { give: () => never.passed }),
        world.step("write", { effect: "write", give: () => write.passed }),
      ]);
      return perform(both, world.step("more"));
    });
    const running = rath
      .run(module, rath.start("go"), { name: "n", budget: { milliseconds: 50 } })
      .catch((thrown: unknown) => thrown as RunFailedError);
    await until(() => world.signals[0]?.aborted === true);
    expect(world.signals[1]?.aborted).toBe(false);
    pass(50);
    write.open(1);
    const error = (await running) as RunFailedError;
    expect(error).toMatchObject({ cause: { code: "budget-exceeded", data: { limit: "milliseconds" } } });
    expect(world.calls).toEqual(["never", "write"]);
    expect(only(all(error.session, "step-failure")).error).toMatchObject({ code: "timeout" });
    expect(all(error.session, "step-result")).toHaveLength(1);
    expect((await blind(store).replay("n", module, { mode: "verify" })).id).toBe(error.session.id);
  });

  it("[B1] is recorded, and holds on after a crash with what was spent before", async () => {
    const url = urlOf("sqlite");
    const world = new World();
    const hold = gate();
    const { clock, pass } = clockOf();
    let crashing = true;
    const inner = moduleOf(
      "inner",
      async (session) => {
        let next = session;
        for (let turn = 0; turn < 5; turn++)
          next = await perform(
            next,
            world.step(`${turn}`, {
              effect: "write",
              spend: { steps: 1 },
              give: () => (turn === 2 && crashing ? hold.passed : turn),
              reconcile: async () => ({ type: "step-result", value: turn }),
            }),
          );
        return next;
      },
      { budget: { steps: 4, milliseconds: 10_000 } },
    );
    const module = moduleOf("m", async (session) => inner.forward(session));
    const first = rathOf({ store: url, clock });
    const running = first
      .run(module, first.start("go"), { name: "n", budget: { steps: 100 } })
      .catch(() => {});
    await until(() => world.count("2") > 0);
    await first.close();
    await running;
    crashing = false;
    pass(9_000);
    const rath = rathOf({ store: url, clock });
    const error = (await rath.resume("n", module).catch((thrown: unknown) => thrown)) as RunFailedError;
    expect(error.session.fact).toMatchObject({ error: { data: { limit: "steps", allowed: 4, spent: 4 } } });
    expect(world.calls).toEqual(["0", "1", "2", "3"]);
    expect(all(error.session, "budget-set")).toMatchObject([{ limits: { steps: 4, milliseconds: 10_000 } }]);
    expect(factsOf(error.session).find(({ type }) => type === "run-start")).toMatchObject({
      digests: { budget: { steps: 100 } },
    });
  });

  it("[B1] of time: a module's time goes on over a crash, and does not begin anew with the resume", async () => {
    const url = urlOf("sqlite");
    const world = new World();
    const hold = gate();
    const { clock, pass } = clockOf();
    let crashing = true;
    const inner = moduleOf(
      "inner",
      async (session) => {
        const one = await perform(
          session,
          world.step("a", { effect: "idempotent", give: () => (crashing ? hold.passed : "a") }),
        );
        return perform(one, world.step("b"));
      },
      { budget: { milliseconds: 1000 } },
    );
    const module = moduleOf("m", async (session) => inner.forward(session));
    const first = rathOf({ store: url, clock });
    const running = first.run(module, first.start("go"), { name: "n" }).catch(() => {});
    await until(() => world.count("a") > 0);
    await first.close();
    await running;
    crashing = false;
    pass(5000);
    const rath = rathOf({ store: url, clock });
    await expect(rath.resume("n", module)).rejects.toMatchObject({
      cause: { data: { limit: "milliseconds", spent: 5000 } },
    });
    expect(world.calls).toEqual(["a", "a"]);
  });

  it("[B2] a module's budget holds for all modules in it, and the tighter one decides", async () => {
    const cases: [Budget, Budget, Budget, number, number][] = [
      [{ steps: 10 }, { steps: 3 }, { steps: 5 }, 3, 3],
      [{ steps: 2 }, { steps: 3 }, { steps: 5 }, 2, 2],
      [{ steps: 10 }, { steps: 9 }, { steps: 1 }, 1, 1],
      [{}, {}, {}, 6, 0],
    ];
    for (const [run, outer, inner, count, allowed] of cases) {
      const rath = rathOf();
      const world = new World();
      const innermost = moduleOf(
        "inner",
        async (session) => {
          let next = session;
          for (let turn = 0; turn < 6; turn++)
            next = await perform(next, world.step("x", { spend: { steps: 1 } }));
          return next;
        },
        { budget: inner },
      );
      const middle = moduleOf("middle", async (session) => innermost.forward(session));
      const module = moduleOf("outer", async (session) => middle.forward(session), { budget: outer });
      const ended = await rath
        .run(module, rath.start("go"), { budget: run })
        .catch((error: RunFailedError) => error.session);
      expect(world.count("x")).toBe(count);
      expect(all(ended, "budget-stop").map((stop) => stop.allowed)).toEqual(allowed === 0 ? [] : [allowed]);
      expect((await rath.replay(ended.id, module, { mode: "verify" })).id).toBe(ended.id);
    }
  });

  it("[B2] the next part has the budget that one part left, and no more", async () => {
    const rath = rathOf();
    const world = new World();
    const part = (count: number) =>
      moduleOf(
        `part ${count}`,
        async (session) => {
          let next = session;
          for (let turn = 0; turn < count; turn++)
            next = await perform(next, world.step("x", { spend: { steps: 1 } }));
          return next;
        },
        { budget: { steps: 3 } },
      );
    const module = moduleOf("m", async (session) => {
      let next = session;
      for (const count of [3, 1, 2]) next = await part(count).forward(next);
      return part(1).forward(next);
    });
    await expect(rath.run(module, rath.start("go"), { budget: { steps: 6 } })).rejects.toMatchObject({
      cause: { data: { allowed: 6, spent: 6 } },
    });
    expect(world.count("x")).toBe(6);
  });

  it("[B2] branches side by side share it exactly: what is under way counts with what it will cost", async () => {
    const store = await storeOf();
    const rath = rathOf({ store });
    const world = new World();
    const module = moduleOf("m", async (session) => {
      const ends = await Promise.allSettled(
        Array.from({ length: 10 }, async (_, branch) => {
          let next = session.fork(`${branch}`);
          for (let turn = 0; turn < 3; turn++)
            next = await perform(
              next,
              call(
                world,
                { steps: 1, tokens: 30, money: 0.01 },
                { input: 20, output: 10, cost: 0.01 },
                (branch * 7 + turn) % 4,
              ),
            );
          return next;
        }),
      );
      const alive = ends.flatMap((end) =>
        end.status === "fulfilled" ? [end.value] : [(end.reason as BudgetError).session],
      );
      return (alive[0] as Session).merge(alive.slice(1));
    });
    for (const [budget, count] of [
      [{ steps: 17 }, 17],
      [{ tokens: 30 * 11 + 29 }, 11],
      [{ steps: 30 }, 30],
      [{ money: 0.055 }, 5],
    ] as const) {
      world.calls.length = 0;
      const ended = await rath.run(module, rath.start("go"), { budget });
      expect([budget, world.count("call")]).toEqual([budget, count]);
      expect((await blind(store).replay(ended.id, module, { mode: "verify" })).id).toBe(ended.id);
      expect(world.count("call")).toBe(count);
    }
  });

  it("[B2] a call that failed or was rejected gives back what it had reserved", async () => {
    const rath = rathOf();
    const world = new World();
    const module = moduleOf("m", async (session) => {
      const bad = await perform(session, {
        ...call(world, { tokens: 80 }, { input: 1, output: 1 }),
        act: async () => Promise.reject(new Error("down")),
      });
      const asked = await perform(bad, {
        ...call(world, { tokens: 80 }, { input: 1, output: 1 }),
        approval: { what: 1 },
      });
      return perform(asked, call(world, { tokens: 80 }, { input: 40, output: 40 }));
    });
    await rath.run(module, rath.start("go"), { budget: { tokens: 100 }, name: "n" });
    await rath.reject("n", { by: "user:ada" });
    const ended = await rath.resume("n", module);
    expect(all(ended, "budget-stop")).toEqual([]);
    expect(world.count("call")).toBe(1);
  });
});
