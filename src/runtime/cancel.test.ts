import { describe, expect, it } from "vitest";
import type { Session } from "../session/index.js";
import { CancelledError, lane, type Module, perform, performAll, type Rath, waitFor } from "./index.js";
import { moduleOf } from "./testing/module.js";
import { blind, rathOf, storeOf, urlOf } from "./testing/rath.js";
import { all, made, only, typesOf } from "./testing/record.js";
import { errorIn, gate, until, World } from "./testing/world.js";

/** Runs, cancels when told to, and gives the error. */
async function cancelled(
  rath: Rath,
  module: Module,
  when: () => Promise<void>,
  name = "n",
): Promise<CancelledError> {
  const controller = new AbortController();
  const running = rath.run(module, rath.start("go"), { name, signal: controller.signal }).then(
    (session) => {
      throw new Error(`it ended in ${session.fact.type}`);
    },
    (error: unknown) => error as CancelledError,
  );
  await when();
  controller.abort(new Error("enough"));
  return running;
}

const spin = async (turns = 10): Promise<void> => {
  for (let turn = 0; turn < turns; turn++) await new Promise(setImmediate);
};

describe("a cancellation", () => {
  it("[C1] reaches everything in its scope at once, is recorded, and replays at the same place", async () => {
    const store = await storeOf();
    const rath = rathOf({ store });
    const world = new World();
    const hold = gate();
    const seen: string[] = [];
    const inner = moduleOf("inner", async (session) => {
      try {
        return await perform(session, world.step("deep", { give: () => hold.passed }));
      } catch (error) {
        seen.push(`${(error as Error).name}`);
        throw error;
      }
    });
    const module = moduleOf("m", async (session) => {
      const one = await perform(session, world.step("before"));
      const ends = await Promise.all([
        inner.forward(one.fork("a")),
        perform(one.fork("b"), world.step("side", { give: () => hold.passed })),
        performAll(one.fork("c"), [
          world.step("pair", { give: () => hold.passed, conflicts: ["k"] }),
          world.step("queued", { conflicts: ["k"] }),
        ]),
        waitFor(one.fork("d"), { type: "signal-await", name: "s" }),
        perform(one.fork("e"), world.step("asks", { effect: "write", approval: { what: 1 } })),
        waitFor(one.fork("f"), { type: "timer-set", milliseconds: 600_000 }),
      ]);
      return ends[0].merge(ends.slice(1));
    });
    const error = await cancelled(rath, module, async () => {
      await until(() => world.calls.length >= 4);
    });
    expect(error).toBeInstanceOf(CancelledError);
    expect(error.data).toMatchObject({ why: "enough" });
    const ended = error.session as Session;
    expect(ended.fact).toMatchObject({ type: "run-end", error: { code: "cancelled" } });
    expect(only(all(ended, "run-cancel"))).toMatchObject({ why: "enough" });
    expect(ended.pending).toEqual([]);
    expect(all(ended, "wait-cancel")).toHaveLength(3);
    expect(world.calls.sort()).toEqual(["before", "deep", "pair", "side"]);
    expect(world.signals.slice(1).every((signal) => signal.aborted)).toBe(true);
    expect(seen).toEqual(["CancelledError"]);
    expect(await store.resolve("n")).toBe(ended.id);
    expect((await blind(store).replay("n", module, { mode: "verify" })).id).toBe(ended.id);
    await expect(rath.resume("n", module)).rejects.toMatchObject({ session: { id: ended.id } });
    hold.open();
    expect(world.calls).toHaveLength(4);
  });

  it("[C1] at any moment: the record replays to the same id", async () => {
    const store = await storeOf();
    const rath = rathOf({ store });
    let seed = 3;
    const chance = (most: number): number => {
      seed = (seed * 1103515245 + 12345) % 2147483648;
      return seed % most;
    };
    let cut = 0;
    for (let round = 0; round < 60; round++) {
      const world = new World();
      const delays = Array.from({ length: 40 }, () => chance(4));
      let at = 0;
      const takes = (): number => delays[at++ % delays.length] as number;
      const leaf = (name: string): Module =>
        moduleOf(name, async (session) => {
          let next = session;
          for (let turn = 0; turn < 3; turn++) {
            next = await perform(
              next,
              world.step(`${name}${turn}`, { takes: takes(), effect: turn === 1 ? "write" : "read" }),
            );
            next = next.say("on");
          }
          return next;
        });
      const module = moduleOf("m", async (session) => {
        const ends = await Promise.allSettled([
          leaf("a").forward(session.fork("a")),
          performAll(session.fork("b"), [
            world.step("x", { takes: takes() }),
            world.step("y", { takes: takes() }),
          ]),
          waitFor(session.fork("c"), { type: "timer-set", milliseconds: takes() }),
        ]);
        const alive = ends.flatMap((end) => (end.status === "fulfilled" ? [end.value] : []));
        let next =
          alive.length === 0
            ? session
            : alive.length === 1
              ? (alive[0] as Session)
              : (alive[0] as Session).merge(alive.slice(1));
        next = next.say(ends.map(({ status }) => status).join());
        // Whoever goes on after a cancellation is told again.
        return perform(next, world.step("last"));
      });
      const controller = new AbortController();
      const turns = chance(40);
      const running = rath
        .run(module, rath.start("go"), { signal: controller.signal })
        .catch((error: unknown) => {
          if (error instanceof CancelledError && error.session !== undefined) return error.session;
          throw error;
        });
      await spin(turns);
      if (chance(3) === 0) await new Promise((resolve) => setTimeout(resolve, chance(6)));
      controller.abort("stop");
      const ended = await running;
      if (typesOf(ended).includes("run-cancel")) cut += 1;
      const calls = world.calls.length;
      at = 0;
      expect((await blind(store).replay(ended.id, module, { mode: "verify" })).id).toBe(ended.id);
      expect(world.calls).toHaveLength(calls);
    }
    expect(cut).toBeGreaterThan(30);
  });

  it("[C1] before it begins: nothing is called", async () => {
    const rath = rathOf();
    const world = new World();
    const controller = new AbortController();
    controller.abort(new Error("never mind"));
    const module = moduleOf("m", async (session) => perform(session, world.step("a", { effect: "write" })));
    const error = (await rath
      .run(module, rath.start("go"), { name: "n", signal: controller.signal })
      .catch((thrown: unknown) => thrown)) as CancelledError;
    expect(error).toBeInstanceOf(CancelledError);
    expect(world.calls).toEqual([]);
    if (error.session !== undefined)
      expect((await rath.replay("n", module, { mode: "verify" })).id).toBe(error.session.id);
  });

  it("[C1] between two attempts: nobody waits for the next one", async () => {
    const store = await storeOf();
    const rath = rathOf({ store });
    const world = new World();
    const module = moduleOf("m", async (session) =>
      perform(
        session,
        world.step("s", {
          retry: { attempts: 5, wait: 600_000, most: 600_000, when: () => true },
          give: () => Promise.reject(new Error("busy")),
        }),
      ),
    );
    const error = await cancelled(rath, module, async () => {
      await until(() => world.calls.length >= 1);
      await spin();
    });
    expect(error).toBeInstanceOf(CancelledError);
    expect(world.calls).toEqual(["s"]);
    expect(errorIn(only(made(error.session as Session, "step-failure"))).code).toBe("cancelled");
    expect((await blind(store).replay("n", module, { mode: "verify" })).id).toBe(error.session?.id);
  });

  it("[C1] while a short timer runs: nobody waits for it", async () => {
    const rath = rathOf({ patience: 3_600_000 });
    const module = moduleOf("m", async (session) =>
      waitFor(session, { type: "timer-set", milliseconds: 600_000 }),
    );
    const error = await cancelled(rath, module, () => spin());
    expect(error).toBeInstanceOf(CancelledError);
    expect(typesOf(error.session as Session)).toContain("wait-cancel");
    expect(typesOf(error.session as Session)).not.toContain("timer-fire");
  });

  it("[C1] by name, from the host; and of a suspended run by resuming it with a signal", async () => {
    const store = await storeOf();
    const rath = rathOf({ store });
    const world = new World();
    const hold = gate();
    const module = moduleOf("m", async (session) =>
      perform(session, world.step("a", { give: () => hold.passed })),
    );
    const running = rath.run(module, rath.start("go"), { name: "n" }).catch((error: unknown) => error);
    await until(() => world.calls.length >= 1);
    expect(rath.cancel("other")).toBe(false);
    expect(rath.cancel("n", "by name")).toBe(true);
    expect(await running).toMatchObject({ code: "cancelled", data: { why: "by name" } });
    hold.open();

    const waiting = moduleOf("w", async (session) => waitFor(session, { type: "signal-await", name: "s" }));
    await rath.run(waiting, rath.start("go"), { name: "w" });
    const controller = new AbortController();
    controller.abort("no more");
    const error = (await rath
      .resume("w", waiting, { signal: controller.signal })
      .catch((thrown: unknown) => thrown)) as CancelledError;
    expect(error).toMatchObject({ code: "cancelled", data: { why: "no more" } });
    expect(only(all(error.session as Session, "wait-cancel"))).toMatchObject({
      of: only(made(error.session as Session, "signal-await")).id,
    });
    expect((await blind(store).replay("w", waiting, { mode: "verify" })).id).toBe(error.session?.id);
    await expect(rath.signal("w", "s", 1, "user:ada")).rejects.toMatchObject({ code: "answer-refused" });
    expect(await rath.unfinished()).toEqual([]);
  });

  it("[C1] a run that was done before it came ends as if it had not", async () => {
    const rath = rathOf();
    const world = new World();
    const controller = new AbortController();
    const module = moduleOf("m", async (session) => perform(session, world.step("a")));
    const ended = await rath.run(module, rath.start("go"), { signal: controller.signal });
    controller.abort();
    await spin();
    expect(typesOf(ended)).not.toContain("run-cancel");
    expect((await rath.replay(ended.id, module, { mode: "verify" })).id).toBe(ended.id);
  });

  it("[C1] of a lane stops only what happens there, and replays", async () => {
    const store = await storeOf();
    const rath = rathOf({ store });
    const world = new World();
    const hold = gate();
    const slow = moduleOf("slow", async (session) =>
      perform(session.say("slow"), world.step("slow", { give: () => hold.passed })),
    );
    const module = moduleOf("m", async (session) => {
      const lanes = ["a", "b"].map((name) => lane(session.fork(name)));
      const [a, b] = lanes as [ReturnType<typeof lane>, ReturnType<typeof lane>];
      const loser = slow.forward(b.session).catch((error: unknown) => error);
      const winner = await perform(a.session, world.step("quick"));
      b.cancel("somebody was quicker");
      const why = await loser;
      expect(why).toBeInstanceOf(CancelledError);
      await expect(perform(b.session, world.step("never"))).rejects.toBeInstanceOf(CancelledError);
      for (const one of lanes) one.leave();
      return perform(winner, world.step("after"));
    });
    const ended = await rath.run(module, rath.start("go"), { name: "n" });
    expect(ended.fact).not.toHaveProperty("error");
    expect(world.calls).toEqual(["slow", "quick", "after"]);
    expect(world.signals[0]?.aborted).toBe(true);
    expect(world.signals[2]?.aborted).toBe(false);
    expect(only(all(ended, "step-failure")).error).toMatchObject({
      code: "cancelled",
      data: { why: "somebody was quicker" },
    });
    expect(only(all(ended, "module-exit")).error).toMatchObject({ code: "cancelled" });
    expect((await blind(store).replay("n", module, { mode: "verify" })).id).toBe(ended.id);
    hold.open();
  });

  it("[C1] of a lane holds after a crash as well", async () => {
    const url = urlOf("sqlite");
    const world = new World();
    const hold = gate();
    let crashing = true;
    const module = moduleOf("m", async (session) => {
      const side = lane(session.fork("side"));
      const loser = waitFor(side.session, { type: "signal-await", name: "never" }).catch(() => "stopped");
      const winner = await perform(session.fork("main"), world.step("quick", { effect: "write" }));
      side.cancel("enough");
      const next = await perform(
        winner,
        world.step("slow", { effect: "idempotent", give: () => (crashing ? hold.passed : 1) }),
      );
      return next.say(String(await loser));
    });
    const first = rathOf({ store: url });
    const running = first.run(module, first.start("go"), { name: "n" }).catch(() => {});
    await until(() => world.count("slow") > 0);
    await first.close();
    await running;
    crashing = false;
    const rath = rathOf({ store: url });
    const ended = await rath.resume("n", module);
    expect(ended.fact.type).toBe("run-end");
    expect(ended.transcript.at(-1)).toMatchObject({ content: "stopped" });
    expect(world.count("quick")).toBe(1);
    expect((await rath.replay("n", module, { mode: "verify" })).id).toBe(ended.id);
  });
});

describe("a body that awaits something of its own", () => {
  it("[C3] is not waited for once it is cancelled, cannot go on, and replays to the same id", async () => {
    const store = await storeOf();
    const rath = rathOf({ store });
    const world = new World();
    const never = gate<string>();
    let late: unknown;
    const module = moduleOf("m", async (session) => {
      const one = await perform(session, world.step("a"));
      const word = await never.passed;
      try {
        return one.say(word);
      } catch (error) {
        late = error;
        throw error;
      }
    });
    const error = await cancelled(rath, module, () => until(() => world.count("a") > 0));
    expect(error).toBeInstanceOf(CancelledError);
    const ended = error.session as Session;
    expect(ended.fact).toMatchObject({ type: "run-end", error: { code: "cancelled" } });
    expect((await blind(store).replay("n", module, { mode: "verify" })).id).toBe(ended.id);
    await expect(rath.resume("n", module)).rejects.toMatchObject({ session: { id: ended.id } });
    never.open("at last");
    await until(() => late !== undefined);
    expect(late).toMatchObject({ code: "run-closed" });
    expect(await rath.unfinished()).toEqual([]);
  });

  it("[C3] and comes back in time ends as it likes", async () => {
    const rath = rathOf();
    const world = new World();
    const own = gate<string>();
    const module = moduleOf("m", async (session) => {
      const one = await perform(session, world.step("a"));
      return one.say(await own.passed);
    });
    const running = rath.run(module, rath.start("go"), { name: "n" });
    await until(() => world.count("a") > 0);
    await spin(20);
    rath.cancel("n", "enough");
    await spin(20);
    own.open("in time");
    const ended = await running;
    expect(ended.fact).not.toHaveProperty("error");
    expect(ended.transcript.at(-1)).toMatchObject({ content: "in time" });
  });
});

describe("a cancelled write", () => {
  it.each([
    ["was done all the same", (hold: Promise<unknown>) => hold.then(() => "done"), "step-result"],
    [
      "stopped",
      (_hold: Promise<unknown>, signal: AbortSignal) =>
        new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
      "step-failure",
    ],
    [
      "failed later",
      (hold: Promise<unknown>) => hold.then(() => Promise.reject(new Error("disk full"))),
      "step-failure",
    ],
  ] as const)(
    "[C2] is waited for, and its outcome is recorded as it came: it %s",
    async (_how, give, type) => {
      const store = await storeOf();
      const rath = rathOf({ store });
      const world = new World();
      const hold = gate();
      let over = false;
      const module = moduleOf("m", async (session) =>
        performAll(session, [
          world.step("w", { effect: "write", give: ({ signal }) => give(hold.passed, signal) }),
          world.step("r", { give: () => new Promise(() => {}) }),
        ]),
      );
      const running = cancelled(rath, module, async () => {
        await until(() => world.calls.length >= 2);
      }).finally(() => {
        over = true;
      });
      await until(() => world.signals[0]?.aborted === true);
      await spin(20);
      if (type === "step-result") expect(over).toBe(false);
      hold.open();
      const error = await running;
      expect(error).toBeInstanceOf(CancelledError);
      const ended = error.session as Session;
      const [call] = made(ended, "step-call") as [Session];
      const outcome = [...all(ended, "step-result"), ...all(ended, "step-failure")].find(
        ({ of }) => of === call.id,
      );
      expect(outcome?.type).toBe(type);
      if (type === "step-result") expect(outcome).toMatchObject({ value: "done" });
      expect(ended.pending).toEqual([]);
      expect((await blind(store).replay("n", module, { mode: "verify" })).id).toBe(ended.id);
    },
  );

  it("[C2] is in doubt when the process ends before its outcome is there, and is settled before the run ends", async () => {
    const url = urlOf("sqlite");
    const world = new World();
    const hold = gate();
    const module = moduleOf("m", async (session) =>
      perform(session, world.step("pay", { effect: "write", give: () => hold.passed })),
    );
    const first = rathOf({ store: url });
    const running = first.run(module, first.start("go"), { name: "n" }).catch(() => {});
    await until(() => world.count("pay") > 0);
    first.cancel("n", "enough");
    await spin(20);
    await first.close();
    await running;
    const rath = rathOf({ store: url });
    const controller = new AbortController();
    controller.abort("enough");
    const suspended = await rath.resume("n", module, { signal: controller.signal });
    expect(suspended.fact.type).toBe("run-suspend");
    expect(suspended.pending).toMatchObject([{ what: "pay", doubt: true }]);
    await rath.settle("n", { by: "user:ada", decision: "done", value: "paid" });
    const error = (await rath.resume("n", module).catch((thrown: unknown) => thrown)) as CancelledError;
    expect(error).toMatchObject({ code: "cancelled" });
    expect(only(all(error.session as Session, "step-result")).value).toBe("paid");
    expect(world.count("pay")).toBe(1);
    expect((await rath.replay("n", module, { mode: "verify" })).id).toBe(error.session?.id);
  });

  it("[C2] that is in doubt and settled as 'again' is not made again once the run is cancelled", async () => {
    const url = urlOf("sqlite");
    const world = new World();
    const hold = gate();
    const module = moduleOf("m", async (session) =>
      perform(session, world.step("pay", { effect: "write", give: () => hold.passed })),
    );
    const first = rathOf({ store: url });
    const running = first.run(module, first.start("go"), { name: "n" }).catch(() => {});
    await until(() => world.count("pay") > 0);
    await first.close();
    await running;
    const rath = rathOf({ store: url });
    const controller = new AbortController();
    controller.abort("enough");
    await rath.resume("n", module, { signal: controller.signal });
    await rath.settle("n", { by: "user:ada", decision: "again" });
    const error = (await rath.resume("n", module).catch((thrown: unknown) => thrown)) as CancelledError;
    expect(error).toMatchObject({ code: "cancelled" });
    expect(world.count("pay")).toBe(1);
    expect((await rath.replay("n", module, { mode: "verify" })).id).toBe(error.session?.id);
  });
});

it("[C4] is recorded in the name of its sender", async () => {
  const rath = rathOf({ store: await storeOf() });
  const hold = gate();
  const module = moduleOf("m", (session) =>
    perform(session, new World().step("deep", { give: () => hold.passed })),
  );
  const cancels: unknown[] = [];
  rath.observe((one) => {
    if (one.kind === "fact" && one.session.fact.type === "run-cancel") cancels.push(one.session.fact);
  });
  const stops = {
    name: () => rath.cancel("name", "enough", "user:ada"),
    signal: (stop: AbortController) => stop.abort(Object.assign(new Error("enough"), { by: "user:ada" })),
    nobody: (stop: AbortController) => stop.abort(Object.assign(new Error("enough"), { by: "somebody" })),
  };
  for (const [name, stop] of Object.entries(stops)) {
    const controller = new AbortController();
    const begun = new Promise((resolve) => rath.observe({ fact: resolve }));
    const running = rath.run(module, rath.start("go"), { name, signal: controller.signal });
    await begun;
    stop(controller);
    await expect(running).rejects.toBeInstanceOf(CancelledError);
  }
  expect(cancels).toMatchObject([
    { by: "user:ada", why: "enough" },
    { by: "user:ada", why: "enough" },
    { by: "runtime", why: "enough" },
  ]);
  expect(() => rath.cancel("name", "enough", "ada" as never)).toThrow("not a principal");
});
