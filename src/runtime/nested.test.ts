import { describe, expect, it } from "vitest";
import type { Session } from "../session/index.js";
import { failedAt, type Module, perform, performAll, type Request, waitFor } from "./index.js";
import { fragile } from "./testing/fragile.js";
import { moduleOf } from "./testing/module.js";
import { blind, rathOf, storeOf, urlOf } from "./testing/rath.js";
import { all, made, only } from "./testing/record.js";
import { gate, until, World } from "./testing/world.js";

/** A module used as a tool: it runs on a fork of its request. */
function inside(name: string, module: Module, more: Partial<Request> = {}): Request {
  return {
    fact: { type: "tool-call", name, input: null },
    effect: "pure",
    act: () => Promise.reject(new Error("it is no effect")),
    failed: (error) => ({ type: "tool-failure", error }),
    inside: {
      branch: name,
      body: (session) => module.forward(session),
      outcome: (session) => ({
        type: "tool-result",
        output: [...session.history()].filter(({ fact }) => fact.type === "step-result").length,
      }),
    },
    ...more,
  };
}

describe("a module used as a tool", () => {
  it("[T8] runs on a fork of the request, and the outcome joins the chain and its head", async () => {
    const store = await storeOf();
    const rath = rathOf({ store });
    const world = new World();
    const child = moduleOf("child", async (session) => perform(session, world.step("x", { takes: 2 })));
    const module = moduleOf("m", async (session) =>
      performAll(session, [world.step("a"), inside("sub", child), world.step("b", { takes: 4 })]),
    );
    const ended = await rath.run(module, rath.start("go"));
    const request = only(made(ended, "tool-call"));
    const fork = only(made(ended, "branch-fork"));
    expect(fork.parents.map(({ id }) => id)).toEqual([request.id]);
    const outcome = only(made(ended, "tool-result"));
    expect(outcome.parents).toHaveLength(2);
    expect(outcome.parents[1]?.fact.type).toBe("module-exit");
    expect(outcome.parents[1]?.descendsFrom(fork)).toBe(true);
    expect(outcome.fact).toMatchObject({ of: request.id, output: 1 });
    // The other calls of the step do not see what happens inside.
    expect(outcome.parents[0]?.descendsFrom(fork)).toBe(false);
    expect((await blind(store).replay(ended.id, module, { mode: "verify" })).id).toBe(ended.id);
    expect(world.calls.sort()).toEqual(["a", "b", "x"]);
  });

  it("[T8] one that gives no session is a failure, and the run goes on and replays", async () => {
    const store = await storeOf();
    const rath = rathOf({ store });
    const world = new World();
    const nothing = { name: "nothing", forward: async () => undefined } as never;
    const module = moduleOf("m", async (session) =>
      perform(await perform(session, inside("sub", nothing)), world.step("on")),
    );
    const ended = await rath.run(module, rath.start("go"));
    expect(only(made(ended, "tool-failure")).fact).toMatchObject({ error: { code: "not-a-session" } });
    expect(world.calls).toEqual(["on"]);
    expect((await blind(store).replay(ended.id, module, { mode: "verify" })).id).toBe(ended.id);
  });

  it("[T8] one that fails is an outcome that keeps its evidence", async () => {
    const store = await storeOf();
    const rath = rathOf({ store });
    const world = new World();
    const child = moduleOf("child", async (session) => {
      await perform(session, world.step("x"));
      throw new Error("sub failed");
    });
    const module = moduleOf("m", async (session) =>
      perform(await perform(session, inside("sub", child)), world.step("on")),
    );
    const ended = await rath.run(module, rath.start("go"));
    const outcome = only(made(ended, "tool-failure"));
    expect(outcome.fact).toMatchObject({ error: { message: "sub failed" } });
    expect(outcome.parents[1]?.fact).toMatchObject({ type: "module-exit", error: { message: "sub failed" } });
    expect(world.calls).toEqual(["x", "on"]);
    expect((await blind(store).replay(ended.id, module, { mode: "verify" })).id).toBe(ended.id);
  });

  it("[T8] one that fails while something of it goes on is joined where that has come to, on the tape too", async () => {
    const store = await storeOf();
    const rath = rathOf({ store });
    const world = new World();
    const module = moduleOf("m", (session) =>
      perform(session, {
        ...inside(
          "sub",
          moduleOf("none", async (given) => given),
        ),
        inside: {
          branch: "sub",
          body: async (fork) => {
            const first = perform(fork, world.step("first"));
            void perform(fork.fork("aside"), world.step("aside"));
            await first;
            throw new Error("sub failed");
          },
          outcome: () => ({ type: "tool-result", output: null }),
        },
      }),
    );
    const ended = await rath.run(module, rath.start("go"), { name: "n" });
    const outcome = only(made(ended, "tool-failure"));
    const aside = made(ended, "step-result").find(
      ({ fact }) => fact.type === "step-result" && fact.value === "aside",
    );
    expect(outcome.parents[1]?.id).toBe(aside?.id);
    expect((await blind(store).replay("n", module, { mode: "verify" })).id).toBe(ended.id);
  });

  it("[T8] two that fail with one and the same error each keep their own evidence, on the tape too", async () => {
    const store = await storeOf();
    const rath = rathOf({ store });
    const world = new World();
    const shared = new Error("always this one");
    const child = (name: string): Module =>
      moduleOf(name, async (session) => {
        await perform(session, world.step(name, { takes: name === "a" ? 4 : 1 }));
        session.say(name);
        throw shared;
      });
    const quick = (name: string): Module =>
      moduleOf(name, async (session) => {
        session.say(name);
        throw shared;
      });
    const module = moduleOf("m", async (session) => {
      const one = await performAll(session, [inside("a", child("a")), inside("b", child("b"))]);
      return performAll(one, [inside("c", quick("c")), inside("d", quick("d")), inside("e", quick("e"))]);
    });
    const ended = await rath.run(module, rath.start("go"));
    expect(made(ended, "tool-failure")).toHaveLength(5);
    for (const outcome of made(ended, "tool-failure")) {
      const request = outcome.fact.type === "tool-failure" ? outcome.fact.of : "";
      const exit = outcome.parents[1] as Session;
      expect(exit.fact.type).toBe("module-exit");
      const call = made(ended, "tool-call").find(({ id }) => id === request) as Session;
      expect(exit.descendsFrom(call)).toBe(true);
      expect(exit.branch).toBe((call.fact as { name: string }).name);
    }
    expect((await blind(store).replay(ended.id, module, { mode: "verify" })).id).toBe(ended.id);
    expect(failedAt(shared)).toBeDefined();
  });

  it("[T8] is entered again after a crash, never in doubt: what it had done stays done", async () => {
    const url = urlOf("sqlite");
    const world = new World();
    const hold = gate();
    let crashing = true;
    const child = moduleOf("child", async (session) => {
      const one = await perform(session, world.step("x", { effect: "write" }));
      return perform(
        one,
        world.step("y", { effect: "idempotent", give: () => (crashing ? hold.passed : "y") }),
      );
    });
    const grand = moduleOf("grand", async (session) => perform(session, inside("deep", child)));
    const module = moduleOf("m", async (session) =>
      performAll(session, [inside("sub", grand), world.step("w", { effect: "write" })]),
    );
    const first = rathOf({ store: url });
    const running = first.run(module, first.start("go"), { name: "n" }).catch(() => {});
    await until(() => world.count("y") > 0);
    for (let turn = 0; turn < 50; turn++) await new Promise(setImmediate);
    await first.close();
    await running;
    crashing = false;
    const rath = rathOf({ store: url });
    const ended = await rath.resume("n", module);
    expect(ended.fact.type).toBe("run-end");
    expect([world.count("x"), world.count("w"), world.count("y")]).toEqual([1, 1, 2]);
    expect(all(ended, "effect-settle")).toEqual([]);
    expect((await rath.replay("n", module, { mode: "verify" })).id).toBe(ended.id);
  });

  it("[T8] suspends with what it waits for, beside others that wait too, and goes on inside", async () => {
    const store = await storeOf();
    const rath = rathOf({ store });
    const world = new World();
    const finals: string[] = [];
    const child = (name: string): Module =>
      moduleOf(name, async (session) => {
        try {
          const given = await waitFor(session, { type: "signal-await", name });
          return await perform(given, world.step(name, { effect: "write", approval: { what: name } }));
        } finally {
          finals.push(name);
        }
      });
    const module = moduleOf("m", async (session) =>
      performAll(session, [
        inside("a", child("a")),
        inside("b", child("b"), { approval: { what: "run b" } }),
      ]),
    );
    const suspended = await rath.run(module, rath.start("go"), { name: "n" });
    expect(suspended.pending.map(({ type }) => type).sort()).toEqual([
      "approval-ask",
      "signal-await",
      "tool-call",
      "tool-call",
    ]);
    expect(suspended.pending.filter(({ type }) => type === "signal-await").map(({ what }) => what)).toEqual([
      "a",
    ]);
    expect(finals).toEqual([]);
    await rath.signal("n", "a", 1, "user:ada");
    await rath.approve("n", { by: "user:ada" });
    const second = await rath.resume("n", module);
    expect(world.calls).toEqual([]);
    expect(second.pending.filter(({ type }) => type === "signal-await").map(({ what }) => what)).toEqual([
      "b",
    ]);
    await rath.approve("n", { by: "user:ada" });
    await rath.signal("n", "b", 1, "user:ada");
    const third = await rath.resume("n", module);
    expect(world.calls).toEqual(["a"]);
    expect(finals).toEqual(["a"]);
    expect(third.fact.type).toBe("run-suspend");
    await rath.reject("n", { by: "user:ada", why: "no b" });
    finals.length = 0;
    const ended = await rath.resume("n", module);
    expect(ended.fact.type).toBe("run-end");
    expect(world.calls).toEqual(["a"]);
    expect(finals).toEqual(["a", "b"]);
    expect((await blind(store).replay("n", module, { mode: "verify" })).id).toBe(ended.id);
  });

  it("[T8] waits for its turn where conflict keys meet, and is not entered when the answer is no", async () => {
    const rath = rathOf();
    const world = new World();
    const child = (name: string): Module =>
      moduleOf(name, async (session) => perform(session, world.step(name, { takes: 2 })));
    const module = moduleOf("m", async (session) =>
      performAll(session, [
        inside("a", child("a"), { conflicts: ["k"] }),
        inside("b", child("b"), { conflicts: ["k"] }),
        inside("c", child("c"), { approval: { what: "c" } }),
      ]),
    );
    await rath.run(module, rath.start("go"), { name: "n" });
    expect(world.calls).toEqual(["a", "b"]);
    await rath.reject("n", { by: "user:ada" });
    const ended = await rath.resume("n", module);
    expect(world.calls).toEqual(["a", "b"]);
    expect(all(ended, "module-enter").map(({ module: name }) => name)).toEqual(["a", "b"]);
    const [first, second] = made(ended, "module-enter") as [Session, Session];
    const [done] = made(ended, "tool-result") as [Session];
    expect(first.fact.seq).toBeLessThan(done.fact.seq as number);
    expect(second.fact.seq).toBeGreaterThan(done.fact.seq as number);
    expect((await rath.replay("n", module, { mode: "verify" })).id).toBe(ended.id);
  });

  it("[T8] a crash at any write leaves it where it was, whatever it was in the middle of", async () => {
    const make = (world: World): Module => {
      const leaf = (name: string): Module =>
        moduleOf(name, async (session) => {
          const one = await perform(session.say(name), world.step(`${name}1`, { effect: "write" }));
          if (name === "bad") throw new Error("bad leaf");
          return perform(one, world.step(`${name}2`, { effect: "write" }));
        });
      const middle = moduleOf("middle", async (session) =>
        performAll(session, [inside("l", leaf("l")), inside("bad", leaf("bad"))]),
      );
      return moduleOf("m", async (session) => {
        const both = await performAll(session, [inside("sub", middle), world.step("w", { effect: "write" })]);
        return perform(both, world.step("last", { effect: "write" }));
      });
    };
    const probe = fragile(await storeOf());
    const whole = rathOf({ store: probe });
    const reference = new World();
    await whole.run(make(reference), whole.start("go"));
    expect(probe.saves()).toBeGreaterThan(5);
    for (let at = 2; at <= probe.saves(); at++) {
      const store = await storeOf();
      const world = new World();
      const module = make(world);
      const dying = rathOf({ store: fragile(store, at, "after") });
      await dying.run(module, dying.start("go"), { name: "n" }).catch(() => {});
      const rath = rathOf({ store: fragile(store) });
      let session = await rath.resume("n", module);
      for (let turn = 0; turn < 10 && session.fact.type === "run-suspend"; turn++) {
        for (const one of session.pending)
          if (one.doubt === true) {
            const done = world.count(one.what) > 0;
            await rath.settle("n", {
              by: "user",
              of: one.id,
              decision: done ? "done" : "again",
              ...(done && { value: one.what }),
            });
          }
        session = await rath.resume("n", module);
      }
      expect([at, session.fact.type]).toEqual([at, "run-end"]);
      expect([at, [...world.calls].sort()]).toEqual([at, [...reference.calls].sort()]);
      expect((await blind(store).replay("n", module, { mode: "verify" })).id).toBe(session.id);
    }
  });

  it("[T13] a retry does again what failed inside a module", async () => {
    const rath = rathOf();
    const world = new World();
    let broken = true;
    const child = moduleOf("child", async (session) => {
      const read = await perform(session, world.step("before"));
      const ended = await perform(
        read,
        world.step("frail", {
          give: () => {
            if (broken) throw new Error("not today");
            return "now";
          },
        }),
      );
      if (ended.fact.type === "step-failure") throw new Error(ended.fact.error.message);
      return ended;
    });
    const module = moduleOf("m", async (session) => {
      const ended = await perform(session, inside("sub", child));
      if (ended.fact.type === "tool-failure") throw new Error(ended.fact.error.message);
      return ended;
    });
    await expect(rath.run(module, rath.start("go"), { name: "n" })).rejects.toThrow("not today");
    broken = false;
    const again = await rath.retry("n", module, { name: "again" });
    expect(only(all(again, "tool-result")).output).toBe(2);
    expect(world.calls).toEqual(["before", "frail", "frail"]);
    expect((await rath.replay("again", module, { mode: "verify" })).id).toBe(again.id);
  });
});
