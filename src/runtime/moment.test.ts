import { getEventListeners } from "node:events";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { Session } from "../session/index.js";
import type { SaveOptions } from "../store/index.js";
import { NameTakenError, NotOpenError } from "./error.js";
import { AnswerError, CancelledError, perform, waitFor } from "./index.js";
import { moduleOf } from "./testing/module.js";
import { blind, rathOf, storeOf } from "./testing/rath.js";
import { all, typesOf } from "./testing/record.js";
import { slow } from "./testing/slow.js";
import { gate, until, World } from "./testing/world.js";

afterEach(() => {
  vi.restoreAllMocks();
});

const awaitGo = (session: Session): Promise<Session> =>
  waitFor(session, { type: "signal-await", name: "go" });

describe("somebody else acts in between", () => {
  it.each(["ends", "waits"])(
    "[T11] a process that read the record before another went on does nothing again: a run that %s",
    async (then) => {
      const store = await storeOf();
      const world = new World();
      const hold = gate();
      let crashing = true;
      const module = moduleOf("m", async (session) => {
        const read = await perform(
          session,
          world.step("slow", { effect: "idempotent", give: () => (crashing ? hold.passed : 1) }),
        );
        const paid = await perform(read, world.step("pay", { effect: "write" }));
        return then === "ends" ? paid : awaitGo(paid);
      });
      const first = rathOf({ store });
      const running = first.run(module, first.start("go"), { name: "n" }).catch(() => {});
      await until(() => world.count("slow") > 0);
      await first.close();
      await running;
      crashing = false;
      const arrived = gate();
      const may = gate();
      const late = rathOf({
        store: slow(store, {
          lease: () => {
            arrived.open();
            return may.passed;
          },
        }),
      });
      const second = late.resume("n", module);
      await arrived.passed;
      const quick = await rathOf({ store }).resume("n", module);
      may.open();
      expect((await second).id).toBe(quick.id);
      expect(world.count("pay")).toBe(1);
    },
  );

  it("[A2] a second answer is refused, though the first was taken in after it had looked", async () => {
    const store = await storeOf();
    const world = new World();
    const module = moduleOf("m", (session) =>
      perform(session, world.step("pay", { effect: "write", approval: { what: { pay: 1 } } })),
    );
    const rath = rathOf({ store });
    await rath.run(module, rath.start("go"), { name: "n" });
    const arrived = gate();
    const may = gate();
    const other = rathOf({
      store: slow(store, {
        save: () => {
          arrived.open();
          return may.passed;
        },
      }),
    });
    const rejected = other.reject("n", { by: "user:bea", why: "no" });
    await arrived.passed;
    await rath.approve("n", { by: "user:ada" });
    const ended = await rath.resume("n", module);
    may.open();
    await expect(rejected).rejects.toBeInstanceOf(AnswerError);
    expect(all(ended, "approval-give").map(({ by }) => by)).toEqual(["user:ada"]);
    expect((await store.names()).map(({ name }) => name)).toEqual(["n"]);
  });

  it("[H4] a run that was brought here does not take the name of somebody else", async () => {
    const [there, here] = [await storeOf(), await storeOf()];
    const far = rathOf({ store: there });
    const near = rathOf({ store: here });
    const module = moduleOf("m", awaitGo);
    const suspended = await far.run(module, far.start("theirs"), { name: "issue" });
    const mine = await near.save(near.start("mine"), "issue");
    await here.import(there.export(suspended.id));
    await near.signal(suspended.id, "go", 1, "user:ada");
    const error = await near.resume(suspended.id, module).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(NameTakenError);
    expect(error).toMatchObject({ code: "name-conflict", data: { name: "issue", actual: mine.id } });
    expect(await here.head("issue")).toBe(mine.id);
    // As the hint says.
    await here.point("mine", mine.id);
    await here.forget("issue");
    const ended = await near.resume(suspended.id, module);
    expect([ended.fact.type, await here.head("issue")]).toEqual(["run-end", ended.id]);
  });

  it("[H2] a runtime that is closed while a run takes its lease calls nothing and keeps no lease", async () => {
    const store = await storeOf();
    const entered: string[] = [];
    const module = moduleOf("m", (session) => {
      entered.push(session.id);
      return awaitGo(session);
    });
    const rath = rathOf({ store });
    await rath.run(module, rath.start("go"), { name: "n" });
    for (const use of ["resume", "run"] as const) {
      const arrived = gate();
      const may = gate();
      const closing = rathOf({
        store: slow(store, {
          lease: () => {
            arrived.open();
            return may.passed;
          },
        }),
      });
      const before = entered.length;
      const begun =
        use === "resume"
          ? closing.resume("n", module)
          : closing.run(module, closing.start("x"), { name: "other" });
      const failed = begun.catch((error: unknown) => error);
      await arrived.passed;
      await closing.close();
      may.open();
      expect(await failed).toMatchObject({ code: expect.stringMatching(/^(run|runtime)-closed$/) });
      expect(entered.length).toBe(before);
    }
    // Whoever comes next need not wait.
    expect((await rath.resume("n", module)).fact.type).toBe("run-suspend");
    await rath.run(module, rath.start("x"), { name: "other" });
    await rath.close();
    await expect(rath.resume("n", module)).rejects.toBeInstanceOf(NotOpenError);
  });
});

describe("a cancellation", () => {
  it("[C1] that comes while the run takes its lease is recorded before the body begins, and replays", async () => {
    const store = await storeOf();
    const world = new World();
    const arrived = gate();
    const may = gate();
    const module = moduleOf("m", (session) => perform(session, world.step("a")));
    const rath = rathOf({
      store: slow(store, {
        lease: () => {
          arrived.open();
          return may.passed;
        },
      }),
    });
    const running = rath.run(module, rath.start("go"), { name: "n" }).catch((thrown: unknown) => thrown);
    await arrived.passed;
    expect(rath.cancel("n", "too early")).toBe(true);
    await new Promise(setImmediate);
    may.open();
    const error = await running;
    expect(error).toMatchObject({ code: "cancelled", data: { why: "too early" } });
    expect(world.calls).toEqual([]);
    const { session } = error as CancelledError;
    expect(all(session as Session, "run-cancel")).toHaveLength(1);
    expect((await blind(store).replay("n", module, { mode: "verify" })).id).toBe(session?.id);
  });

  it("[C1] that comes while the run writes its suspension finds no run, and the run can be resumed", async () => {
    const store = await storeOf();
    const arrived = gate();
    const may = gate();
    const module = moduleOf("m", awaitGo);
    const rath = rathOf({
      store: slow(store, {
        save: async (session: Session) => {
          if (session.fact.type !== "run-suspend") return;
          arrived.open();
          await may.passed;
        },
      }),
    });
    const running = rath.run(module, rath.start("go"), { name: "n" });
    await arrived.passed;
    expect(rath.cancel("n")).toBe(false);
    may.open();
    expect((await running).fact.type).toBe("run-suspend");
    await rath.signal("n", "go", 1, "user:ada");
    expect((await rath.resume("n", module)).fact.type).toBe("run-end");
  });

  it("[C1] that comes while a write is only being noted keeps it from beginning", async () => {
    const store = await storeOf();
    const world = new World();
    const controller = new AbortController();
    const module = moduleOf("m", (session) => perform(session, world.step("pay", { effect: "write" })));
    const rath = rathOf({
      store: slow(store, {
        save: async (session: Session) => {
          if (session.fact.type !== "effect-start") return;
          controller.abort(new Error("stop"));
          await new Promise((resolve) => setTimeout(resolve, 5));
        },
      }),
    });
    const error = await rath
      .run(module, rath.start("go"), { name: "n", signal: controller.signal })
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(CancelledError);
    expect(world.calls).toEqual([]);
    const { session } = error as CancelledError;
    expect(session?.pending).toEqual([]);
    expect((await blind(store).replay("n", module, { mode: "verify" })).id).toBe(session?.id);
  });

  it("[C2] does not hide how a write failed", async () => {
    const rath = rathOf();
    const world = new World();
    const controller = new AbortController();
    const hold = gate();
    const module = moduleOf("m", (session) =>
      perform(session, world.step("pay", { effect: "write", give: () => hold.passed })),
    );
    const running = rath
      .run(module, rath.start("go"), { name: "n", signal: controller.signal })
      .catch((thrown: unknown) => thrown);
    await until(() => world.count("pay") > 0);
    controller.abort(new Error("stop"));
    hold.refuse(new Error("card declined"));
    const { session } = (await running) as CancelledError;
    expect(all(session as Session, "step-failure")[0]?.error).toMatchObject({ message: "card declined" });
  });

  it("[C1] that comes while the run looks whether somebody has answered ends it, and does not suspend it", async () => {
    const store = await storeOf();
    const controller = new AbortController();
    const module = moduleOf("m", awaitGo);
    const rath = rathOf({
      store: slow(store, {
        head: async (name: string) => {
          if (!name.startsWith("answer/")) return;
          controller.abort(new Error("stop"));
          await new Promise((resolve) => setTimeout(resolve, 5));
        },
      }),
    });
    const error = await rath
      .run(module, rath.start("go"), { name: "n", signal: controller.signal })
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(CancelledError);
    const { session } = error as CancelledError;
    expect((await blind(store).replay("n", module, { mode: "verify" })).id).toBe(session?.id);
  });

  it("[C1] that comes while the suspension is being written comes too late, and nothing of it is half recorded", async () => {
    const store = await storeOf();
    const controller = new AbortController();
    const module = moduleOf("m", awaitGo);
    const rath = rathOf({
      store: slow(store, {
        save: async (session: Session, _options: SaveOptions) => {
          if (session.fact.type !== "run-suspend") return;
          controller.abort(new Error("stop"));
          await new Promise((resolve) => setTimeout(resolve, 5));
        },
      }),
    });
    const suspended = await rath.run(module, rath.start("go"), { name: "n", signal: controller.signal });
    expect(typesOf(suspended)).toEqual(["session-start", "run-start", "signal-await", "run-suspend"]);
    expect((await rath.replay("n", module)).id).toBe(suspended.id);
    await rath.signal("n", "go", 1, "user:ada");
    expect((await rath.resume("n", module)).fact.type).toBe("run-end");
  });

  it("[C1] a signal that outlives its runs does not hold them", async () => {
    const rath = rathOf();
    const { signal } = new AbortController();
    const module = moduleOf("m", (session) => perform(session, new World().step("s")));
    for (let round = 0; round < 3; round++) await rath.run(module, rath.start("go"), { signal });
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });
});

describe("time", () => {
  it("[T7] a timer that is longer than the platform's timers is waited for to its end", async () => {
    const set = globalThis.setTimeout;
    const asked: number[] = [];
    vi.spyOn(globalThis, "setTimeout").mockImplementation(((job: () => void, wait = 0) => {
      if (wait > 2 ** 31 - 1) throw new Error("no such timer");
      asked.push(wait);
      return set(job, wait > 100_000 ? 1 : wait);
    }) as never);
    const rath = rathOf({ patience: Number.POSITIVE_INFINITY, clock: () => 0 });
    const days = 60 * 86_400_000;
    const module = moduleOf("m", (session) => waitFor(session, { type: "timer-set", milliseconds: days }));
    expect((await rath.run(module, rath.start("go"))).fact.type).toBe("run-end");
    expect(asked.filter((wait) => wait > 100_000).reduce((sum, wait) => sum + wait, 0)).toBe(days);
  });

  it("[T5] facts are durable before long, though nothing asks for it", async () => {
    const store = await storeOf();
    const world = new World();
    const hold = gate();
    const module = moduleOf("m", async (session) =>
      perform(await perform(session, world.step("read")), world.step("more", { give: () => hold.passed })),
    );
    const rath = rathOf({ store });
    const heard: string[] = [];
    rath.observe((seen) => {
      if (seen.kind === "fact") heard.push(seen.session.fact.type);
    });
    const running = rath.run(module, rath.start("go"), { name: "n" }).catch(() => {});
    await until(() => heard.includes("step-result"));
    await rath.close();
    await running;
    hold.open();
    await rathOf({ store }).resume("n", module);
    expect(world.calls).toEqual(["read", "more", "more"]);
  });
});

describe("observers", () => {
  it("[H1] may be asynchronous: what they throw later changes nothing either", async () => {
    const warned: Error[] = [];
    vi.spyOn(process, "emitWarning").mockImplementation(((warning: Error) => {
      warned.push(warning);
    }) as never);
    const rath = rathOf();
    rath.observe(async () => {
      throw new Error("later");
    });
    const module = moduleOf("m", (session) => perform(session, new World().step("s")));
    expect((await rath.run(module, rath.start("go"))).fact.type).toBe("run-end");
    await until(() => warned.length > 0);
    expect(warned[0]?.message).toBe("later");
  });
});
