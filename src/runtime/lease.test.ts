import { describe, expect, it } from "vitest";
import type { Session } from "../session/index.js";
import { FencedError, openStore, type SaveOptions, type Store } from "../store/index.js";
import { type Module, perform } from "./index.js";
import { moduleOf } from "./testing/module.js";
import { blind, rathOf, storeOf, urlOf } from "./testing/rath.js";
import { all, stampsIn } from "./testing/record.js";
import { gate, until, World } from "./testing/world.js";

/** Milliseconds after which a lease is over that nobody renews. */
const SHORT = 200;

/** The store as a process sees it whose leases are over soon, as if it had slept; told of what it saved before it goes on. */
function sleepy(store: Store, saved: (session: Session) => Promise<void> = async () => {}): Store {
  return new Proxy(store, {
    get(target, key) {
      if (key === "lease") return (name: string) => target.lease(name, { milliseconds: SHORT });
      if (key === "save")
        return async (session: Session, options: SaveOptions) => {
          const id = await target.save(session, options);
          await saved(session);
          return id;
        };
      const value = Reflect.get(target, key, target) as unknown;
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

describe("two that resume one run", () => {
  it.each(["sqlite"] as const)(
    "[T11] one goes on; the other is told who has it, before it calls or writes anything: %s",
    async (kind) => {
      const url = urlOf(kind);
      const world = new World();
      const hold = gate();
      const module = moduleOf("m", async (session) => {
        const one = await perform(session, world.step("a", { effect: "write" }));
        return perform(one, world.step("b", { effect: "write", give: () => hold.passed.then(() => 1) }));
      });
      const first = rathOf({ store: url });
      const running = first.run(module, first.start("go"), { name: "n" });
      await until(() => world.count("b") > 0);
      const store = kind === "sqlite" ? await storeOf(url) : await first.store();
      const second = rathOf({ store });
      for (let round = 0; round < 3; round++) {
        const error = await second.resume("n", module).catch((thrown: unknown) => thrown);
        expect(error).toBeInstanceOf(FencedError);
        expect(error).toMatchObject({
          code: "name-fenced",
          data: { name: "n", owner: expect.any(String), until: expect.any(Number) },
        });
      }
      // Reading is free.
      await expect(second.replay("n", module)).rejects.toMatchObject({ code: "tape-ended" });
      expect(world.calls).toEqual(["a", "b"]);
      hold.open();
      const ended = await running;
      expect((await second.resume("n", module)).id).toBe(ended.id);
      expect(world.calls).toEqual(["a", "b"]);
    },
  );

  it("[T11] at the same moment: exactly one goes on", async () => {
    const url = urlOf("sqlite");
    const world = new World();
    const hold = gate();
    let crashing = true;
    const module = moduleOf("m", async (session) => {
      const one = await perform(session, world.step("a", { effect: "write" }));
      return perform(
        one,
        world.step("b", {
          effect: "idempotent",
          give: () => (crashing ? hold.passed : new Promise((resolve) => setTimeout(() => resolve(1), 20))),
        }),
      );
    });
    const first = rathOf({ store: url });
    const running = first.run(module, first.start("go"), { name: "n" }).catch(() => {});
    await until(() => world.count("b") > 0);
    await first.close();
    await running;
    crashing = false;
    const raths = Array.from({ length: 4 }, () => rathOf({ store: url }));
    const tries = await Promise.allSettled(raths.map((rath) => rath.resume("n", module)));
    const won = tries.flatMap((one) => (one.status === "fulfilled" ? [one.value.id] : []));
    expect(new Set(won).size).toBe(1);
    for (const one of tries) if (one.status === "rejected") expect(one.reason).toBeInstanceOf(FencedError);
    expect([world.count("a"), world.count("b")]).toEqual([1, 2]);
  });

  it.each(["write", "idempotent"] as const)(
    "[T15] a process that was stopped between its commit and the effect, and replaced, does not begin it: %s",
    async (effect) => {
      const url = urlOf("sqlite");
      const world = new World();
      const module = moduleOf("m", async (session) => {
        const one = await perform(session, world.step("note", { effect: "write" }));
        return perform(one.say("and now"), world.step("pay", { effect, reconcile: async () => "again" }));
      });
      const other = rathOf({ store: url });
      let ended: Session | undefined;
      // The last commit before the effect: this process sleeps until its lease is over and another one is done.
      const last = effect === "write" ? "effect-start" : "step-call";
      const replaced = async (session: Session): Promise<void> => {
        if (session.fact.type !== last || world.count("note") === 0) return;
        await new Promise((resolve) => setTimeout(resolve, SHORT + 20));
        ended ??= await other.resume("n", module);
      };
      const stopped = rathOf({ store: sleepy(await storeOf(url), replaced) });
      const error = await stopped.run(module, stopped.start("go"), { name: "n" }).catch((thrown) => thrown);
      expect(error).toBeInstanceOf(FencedError);
      expect(ended?.fact.type).toBe("run-end");
      expect(world.calls).toEqual(["note", "pay"]);
    },
  );

  it("[T15] a process that was stopped and not replaced renews its lease, and goes on", async () => {
    const world = new World();
    const store = await storeOf(urlOf("sqlite"));
    const woken = rathOf({
      store: sleepy(store, () => new Promise((resolve) => setTimeout(resolve, SHORT + 20))),
    });
    const module = moduleOf("m", async (session) => perform(session, world.step("pay", { effect: "write" })));
    const ended = await woken.run(module, woken.start("go"), { name: "n" });
    expect(ended.fact.type).toBe("run-end");
    expect(world.calls).toEqual(["pay"]);
  });

  it("[T11] a process that was replaced while it slept is fenced: it starts no write, and none of its lines is under the run", async () => {
    const url = urlOf("sqlite");
    const world = new World();
    const hold = gate();
    let stuck = true;
    const module = moduleOf("m", async (session) => {
      const one = await perform(session, world.step("a", { effect: "write" }));
      const two = await perform(
        one,
        world.step("slow", {
          effect: "idempotent",
          give: () => (stuck ? hold.passed.then(() => "stale") : "fresh"),
        }),
      );
      return perform(two.say("after"), world.step("pay", { effect: "write" }));
    });
    const inner = await storeOf(url);
    const stale = rathOf({ store: sleepy(inner) });
    const heard: string[] = [];
    const running = stale.run(module, stale.start("go"), { name: "n" }).catch((error: unknown) => error);
    await until(() => world.count("slow") > 0);
    await new Promise((resolve) => setTimeout(resolve, SHORT + 20));
    stale.observe((seen) => {
      if (seen.kind === "fact") heard.push(seen.session.id);
    });
    stuck = false;
    const other = rathOf({ store: url });
    const ended = await other.resume("n", module);
    expect(ended.fact.type).toBe("run-end");
    expect(world.calls).toEqual(["a", "slow", "slow", "pay"]);
    // The sleeper wakes.
    hold.open();
    const error = await running;
    expect(error).toBeInstanceOf(FencedError);
    expect(world.count("pay")).toBe(1);
    expect(heard).toEqual([]);
    const store = await openStore(url);
    expect(await store.resolve("n")).toBe(ended.id);
    const facts = [...ended.history()].filter(({ fact }) => fact.run !== undefined).length;
    expect(await stampsIn(store)).toEqual(new Map([[ended.fact.run, facts]]));
    // Not even as lines that nothing leads to.
    expect((await store.gc({ dryRun: true })).facts).toBe(0);
    expect(all(ended, "step-result").map(({ value }) => value)).toContain("fresh");
    await store.close();
    expect((await blind(url).replay("n", module, { mode: "verify" })).id).toBe(ended.id);
  });

  it("[T11] a lease that was lost while everything was quiet stops the run at its next write, not before it is needed", async () => {
    const inner = await storeOf();
    const world = new World();
    const hold = gate();
    const module = moduleOf("m", async (session) => {
      const one = await perform(session, world.step("read", { give: () => hold.passed.then(() => 1) }));
      return perform(one, world.step("pay", { effect: "write" }));
    });
    const stale = rathOf({ store: sleepy(inner) });
    const running = stale.run(module, stale.start("go"), { name: "n" }).catch((error: unknown) => error);
    await until(() => world.count("read") > 0);
    await new Promise((resolve) => setTimeout(resolve, SHORT + 20));
    const lease = await inner.lease("n", { owner: "somebody" });
    const before = (await inner.check()).facts;
    hold.open();
    expect(await running).toBeInstanceOf(FencedError);
    expect(world.calls).toEqual(["read"]);
    expect((await inner.check()).facts).toBe(before);
    await lease.release();
    const rath = rathOf({ store: inner });
    const ended = await rath.resume("n", module);
    expect(ended.fact.type).toBe("run-end");
    expect(world.count("pay")).toBe(1);
  });
});

describe("names", () => {
  const paying = (world: World): Module =>
    moduleOf("m", async (session) => perform(session, world.step("pay", { effect: "write" })));

  it("[H4] one that another writer holds stops a run before anything is called", async () => {
    const store = await storeOf();
    const world = new World();
    const rath = rathOf({ store });
    const lease = await store.lease("n", { owner: "somebody" });
    const { facts } = await store.check();
    await expect(rath.run(paying(world), rath.start("go"), { name: "n" })).rejects.toBeInstanceOf(
      FencedError,
    );
    expect(world.calls).toEqual([]);
    expect((await store.check()).facts).toBe(facts);
    await lease.release();
    expect((await rath.run(paying(world), rath.start("go"), { name: "n" })).fact.type).toBe("run-end");
  });

  it("[H4] one that stands somewhere else stops a run before anything is called, and stays there", async () => {
    const store = await storeOf();
    const world = new World();
    const rath = rathOf({ store });
    const base = rath.start("go");
    const here = await rath.save(base.say("here"), "n");
    for (const session of [rath.start("other"), base, base.say("elsewhere")]) {
      await expect(rath.run(paying(world), session, { name: "n" })).rejects.toMatchObject({
        code: "name-conflict",
        data: { name: "n", actual: here.id },
      });
      expect(await store.resolve("n")).toBe(here.id);
    }
    expect(world.calls).toEqual([]);
    expect(await rath.unfinished()).toEqual([]);
    // And it is free again at once.
    const ended = await rath.run(paying(world), here.say("from here"), { name: "n" });
    expect(await store.resolve("n")).toBe(ended.id);
  });

  it("[H4] two runs under one name in one process: the second is refused while the first is under way", async () => {
    const rath = rathOf();
    const world = new World();
    const hold = gate();
    const module = moduleOf("m", async (session) =>
      perform(session, world.step("a", { give: () => hold.passed.then(() => 1) })),
    );
    const base = rath.start("go");
    const first = rath.run(module, base, { name: "n" });
    await until(() => world.calls.length >= 1);
    await expect(rath.run(module, base, { name: "n" })).rejects.toBeInstanceOf(FencedError);
    expect(world.calls).toHaveLength(1);
    hold.open();
    const ended: Session = await first;
    const second = await rath.run(module, ended, { name: "n" });
    expect(await (await rath.store()).resolve("n")).toBe(second.id);
  });

  it("[H4] names that no store takes are refused before anything is called", async () => {
    const rath = rathOf();
    const world = new World();
    for (const name of ["", "x".repeat(10_000)])
      await expect(rath.run(paying(world), rath.start("go"), { name })).rejects.toMatchObject({
        code: expect.any(String),
      });
    expect(world.calls).toEqual([]);
  });

  it("[H4] the names that a run keeps for itself are gone when it is over", async () => {
    const store = await storeOf();
    const world = new World();
    const rath = rathOf({ store });
    const during: string[] = [];
    const module = moduleOf("m", async (session) => {
      const ends = await Promise.all(
        ["a", "b", "c"].map((name) =>
          perform(
            session.fork(name),
            world.step(name, {
              effect: "write",
              give: async () => {
                during.push(...(await store.names()).map(({ name: one }) => one));
                return 1;
              },
            }),
          ),
        ),
      );
      return (ends[0] as Session).merge(ends.slice(1));
    });
    const ended = await rath.run(module, rath.start("go"), { name: "n" });
    const run = ended.fact.run as string;
    expect(new Set(during)).toEqual(new Set(["n", `run/${run}`, `run/${run}/1`, `run/${run}/2`]));
    expect((await store.names()).map(({ name }) => name)).toEqual(["n"]);
    expect((await store.gc({ dryRun: true })).facts).toBe(0);
  });
});
