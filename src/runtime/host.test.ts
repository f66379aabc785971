import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { BeyondHorizonError, type Failure, RathError, Session } from "../session/index.js";
import { openStore } from "../store/index.js";
import { OutsideRunError, PendingWorkError, RunClosedError } from "./error.js";
import {
  DescentError,
  forward,
  hostServices,
  lane,
  type Module,
  type Observation,
  openRath,
  perform,
  performAll,
  pricesOf,
  RunFailedError,
  statusOf,
  waitFor,
} from "./index.js";
import { moduleOf } from "./testing/module.js";
import { blind, rathOf, storeOf, urlOf } from "./testing/rath.js";
import { all, factsOf, made, only, typesOf } from "./testing/record.js";
import { errorIn, gate, until, World } from "./testing/world.js";

describe("observers", () => {
  it("[H1] hear of each fact of a run once, in the order it was made, over suspensions and resumes", async () => {
    const url = urlOf("sqlite");
    const world = new World();
    const module = moduleOf("m", async (session) => {
      const ends = await Promise.all([
        perform(session.fork("a"), world.step("a", { effect: "write" })),
        waitFor(session.fork("b"), { type: "signal-await", name: "s" }),
      ]);
      return ends[0].merge(ends[1]);
    });
    const heard: string[] = [];
    const seqs: number[] = [];
    const listen = (rath: ReturnType<typeof rathOf>): void => {
      rath.observe((seen) => {
        if (seen.kind !== "fact") return;
        heard.push(seen.session.id);
        seqs.push(seen.session.fact.seq as number);
      });
    };
    const first = rathOf({ store: url });
    listen(first);
    const suspended = await first.run(module, first.start("go"), { name: "n" });
    await first.close();
    const second = rathOf({ store: url });
    listen(second);
    await second.signal("n", "s", 1, "user:ada");
    const ended = await second.resume("n", module);
    const facts = [...ended.history()].filter(({ fact }) => fact.run !== undefined).map(({ id }) => id);
    expect([...heard].sort()).toEqual([...facts, suspended.id].sort());
    expect(seqs).toEqual([...seqs].sort((one, other) => one - other));
    expect(new Set(heard).size).toBe(heard.length);
  });

  it("[H1] hear of deltas with their request, and none of it is recorded", async () => {
    const rath = rathOf();
    const world = new World();
    const seen: Observation[] = [];
    const stop = rath.observe((one) => {
      if (one.kind === "delta") seen.push(one);
    });
    let late: (() => void) | undefined;
    const module = moduleOf("m", async (session) =>
      perform(
        session,
        world.step("s", {
          give: ({ emit }) => {
            emit({ text: "hel" });
            emit("lo");
            late = () => emit("late");
            return "hello";
          },
        }),
      ),
    );
    const ended = await rath.run(module, rath.start("go"));
    const request = only(made(ended, "step-call"));
    expect(seen.map((one) => (one.kind === "delta" ? [one.request.id, one.delta] : []))).toEqual([
      [request.id, { text: "hel" }],
      [request.id, "lo"],
    ]);
    late?.();
    expect(seen).toHaveLength(2);
    expect((await rath.replay(ended.id, module, { mode: "verify" })).id).toBe(ended.id);
    expect(seen).toHaveLength(2);
    stop();
    await rath.run(module, rath.start("go"));
    expect(seen).toHaveLength(2);
  });

  it.each(["memory:", "sqlite"] as const)(
    "[H15] hear of a delta after the facts that it depends on: %s",
    async (kind) => {
      const rath = rathOf({ store: kind === "memory:" ? kind : urlOf(kind) });
      const world = new World();
      const known = new Set<string>();
      const heard: string[] = [];
      rath.observe((one) => {
        if (one.kind === "fact") {
          // Every fact comes after those that it was made from.
          if (one.session.fact.type !== "run-start")
            for (const parent of one.session.parentIds) expect(known).toContain(parent);
          known.add(one.session.id);
        } else expect(known).toContain(one.request.id);
        heard.push(one.kind === "fact" ? one.session.fact.type : "delta");
      });
      const talk = (name: string) =>
        world.step(name, {
          give: async ({ emit }) => {
            emit("a");
            await new Promise((resolve) => setTimeout(resolve, 1));
            emit("b");
            return name;
          },
        });
      const module = moduleOf("m", async (session) =>
        perform(await perform(await perform(session, talk("ask")), world.step("look")), talk("answer")),
      );
      await rath.run(module, rath.start("go"));
      expect(heard).toEqual([
        ...["run-start", "step-call", "delta", "delta", "step-result", "step-call", "step-result"],
        ...["step-call", "delta", "delta", "step-result", "run-end"],
      ]);
    },
  );

  it("[H1] change nothing, whatever they throw: the others hear, the run goes on, somebody is warned", async () => {
    const rath = rathOf();
    const world = new World();
    const warned = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
    let count = 0;
    rath.observe(() => {
      throw new Error("observer broke");
    });
    rath.observe(() => {
      // biome-ignore lint/style/useThrowOnlyError: anything may be thrown.
      throw undefined;
    });
    rath.observe(() => count++);
    const module = moduleOf("m", async (session) =>
      perform(session, world.step("s", { effect: "write", give: ({ emit }) => emit(1) ?? "x" })),
    );
    const ended = await rath.run(module, rath.start("go"));
    expect(ended.fact).not.toHaveProperty("error");
    // run-start, step-call, effect-start, step-result, run-end, and one delta.
    expect(count).toBe(6);
    expect(warned).toHaveBeenCalledTimes(12);
    warned.mockRestore();
  });

  it("[H1] may come or go while a fact is told", async () => {
    const rath = rathOf();
    const world = new World();
    const heard: string[] = [];
    const stop = rath.observe(() => {
      stop();
      heard.push("first");
      rath.observe(() => heard.push("second"));
    });
    await rath.run(
      moduleOf("m", async (session) => perform(session, world.step("s"))),
      rath.start("go"),
    );
    expect(heard.filter((one) => one === "first")).toHaveLength(1);
    expect(heard.length).toBeGreaterThan(1);
  });
});

describe("closing", () => {
  it.each(["sqlite"] as const)(
    "[H2] stops what is under way as a crash would: another runtime resumes it: %s",
    async (kind) => {
      const url = urlOf(kind);
      const world = new World();
      const hold = gate();
      let crashing = true;
      const after: string[] = [];
      const module = moduleOf("m", async (session) => {
        try {
          const ends = await Promise.all(
            ["a", "b"].map(async (name) => {
              const one = await perform(session.fork(name), world.step(`${name}1`, { effect: "write" }));
              return perform(
                one,
                world.step(`${name}2`, { effect: "idempotent", give: () => (crashing ? hold.passed : "x") }),
              );
            }),
          );
          return (ends[0] as Session).merge(ends.slice(1));
        } finally {
          after.push("finally");
        }
      });
      const first = rathOf({ store: url });
      const running = first.run(module, first.start("go"), { name: "n" }).catch((error: unknown) => error);
      await until(() => world.calls.length >= 4);
      await first.close();
      expect(await running).toBeInstanceOf(RunClosedError);
      expect(world.signals.slice(2).every((signal) => signal.aborted)).toBe(true);
      expect(after).toEqual([]);
      await expect(first.run(module, Session.start("x"))).rejects.toMatchObject({ code: "runtime-closed" });
      await first.close();
      crashing = false;
      const second = rathOf({ store: url });
      expect(await second.unfinished()).toMatchObject([{ name: "n", module: "m" }]);
      const ended = await second.resume("n", module);
      expect(ended.fact.type).toBe("run-end");
      expect(after).toEqual(["finally"]);
      for (const name of ["a1", "b1"]) expect(world.count(name)).toBe(1);
      for (const name of ["a2", "b2"]) expect(world.count(name)).toBe(2);
      expect((await second.replay("n", module, { mode: "verify" })).id).toBe(ended.id);
      // What the first one was told too late changes nothing.
      hold.open();
      for (let turn = 0; turn < 10; turn++) await new Promise(setImmediate);
      expect((await second.load("n")).id).toBe(ended.id);
    },
  );

  it("[H2] leaves a store that was handed over open, and closes the one it opened", async () => {
    const store = await storeOf();
    const handed = openRath({ store });
    await handed.save(handed.start("x"), "n");
    await handed.close();
    expect(await store.resolve("n")).toHaveLength(64);
    const own = openRath({ store: "memory:" });
    const opened = await own.store();
    await own[Symbol.asyncDispose]();
    await expect(opened.names()).rejects.toMatchObject({ code: "store-closed" });
    await expect(own.load("n")).rejects.toMatchObject({ code: "runtime-closed" });
  });

  it("[H2] closed twice at the same time, both wait until it is closed", async () => {
    const rath = openRath({ store: "memory:" });
    const opened = await rath.store();
    const first = rath.close();
    await rath.close();
    await expect(opened.names()).rejects.toMatchObject({ code: "store-closed" });
    await first;
  });

  it("[H2] the lease is given back: the next resume need not wait for it", async () => {
    const store = await storeOf();
    const world = new World();
    const hold = gate();
    let crashing = true;
    const module = moduleOf("m", async (session) =>
      perform(session, world.step("a", { give: () => (crashing ? hold.passed : 1) })),
    );
    for (const end of ["ended", "failed", "suspended", "closed"]) {
      const rath = rathOf({ store });
      crashing = end === "closed";
      const body: Module =
        end === "failed"
          ? moduleOf("f", async () => Promise.reject(new Error("no")))
          : end === "suspended"
            ? moduleOf("s", async (session) => waitFor(session, { type: "signal-await", name: "s" }))
            : module;
      const running = rath.run(body, rath.start("go"), { name: end }).catch(() => {});
      if (end === "closed") {
        await until(() => world.calls.length >= 2);
        await rath.close();
      }
      await running;
      const lease = await store.lease(end, { owner: "next" });
      await lease.release();
    }
  });
});

describe("without a runtime", () => {
  it("[H3] a module forwards all the same: recorded on the value, kept nowhere", async () => {
    const world = new World();
    const inner = moduleOf("inner", async (session) =>
      perform(session, world.step("a", { effect: "write" })),
    );
    const module = moduleOf("outer", async (session) => {
      const ends = await Promise.all([inner.forward(session.fork("x")), inner.forward(session.fork("y"))]);
      return waitFor(ends[0].merge(ends[1]), { type: "timer-set", milliseconds: 1 });
    });
    const start = Session.start("go");
    const ended = await module.forward(start);
    expect(ended.descendsFrom(start)).toBe(true);
    expect(ended.host).toBeUndefined();
    expect(typesOf(ended)).toEqual(
      expect.arrayContaining(["run-start", "module-enter", "step-result", "timer-fire", "run-end"]),
    );
    expect(world.calls).toEqual(["a", "a"]);
    const on = ended.say("more");
    expect(on.fact.run).toBeUndefined();
    // It can be kept, and replayed, by whoever has a store.
    const rath = rathOf();
    await rath.save(ended, "n");
    expect((await rath.replay("n", module, { mode: "verify" })).id).toBe(ended.id);
    expect(world.calls).toHaveLength(2);
    await expect(
      moduleOf("bad", async () => Promise.reject(new Error("no"))).forward(start),
    ).rejects.toBeInstanceOf(RunFailedError);
  });

  it("[H3] one that waits is suspended, and taken up by a runtime that it is given to", async () => {
    const module = moduleOf("m", async (session) => waitFor(session, { type: "signal-await", name: "s" }));
    const suspended = await module.forward(Session.start("go"));
    expect(suspended.pending).toMatchObject([{ what: "s" }]);
    await expect(module.forward(suspended)).rejects.toBeInstanceOf(PendingWorkError);
    const rath = rathOf();
    await rath.save(suspended, "n");
    await rath.signal("n", "s", 1, "user:ada");
    const ended = await rath.resume("n", module);
    expect(ended.fact.type).toBe("run-end");
  });

  it("[H3] effects are refused where nothing is recorded", async () => {
    const session = Session.start("go");
    const world = new World();
    await expect(perform(session, world.step("a"))).rejects.toBeInstanceOf(OutsideRunError);
    await expect(performAll(rathOf().start("go"), [world.step("a")])).rejects.toBeInstanceOf(OutsideRunError);
    await expect(waitFor(session, { type: "signal-await", name: "s" })).rejects.toMatchObject({
      code: "outside-run",
    });
    for (const use of [() => lane(session), () => hostServices(session), () => pricesOf(session)])
      expect(use).toThrow(OutsideRunError);
    expect(world.calls).toEqual([]);
    await expect(perform(undefined as unknown as Session, world.step("a"))).rejects.toMatchObject({
      code: "not-a-session",
    });
    await expect(
      forward(
        moduleOf("m", async (one) => one),
        {} as Session,
        async (one) => one,
      ),
    ).rejects.toMatchObject({ code: "not-a-session" });
  });

  it("[H3] prices and services are the host's", async () => {
    const prices = { m: { input: 1, output: 2 } };
    const rath = rathOf({ prices, clock: () => 86_400_000, random: () => 0.5, uuid: () => "id" });
    const module = moduleOf("m", async (session) => {
      expect(pricesOf(session)).toEqual(prices);
      const { now, time, random, uuid } = hostServices(session);
      return session.say(JSON.stringify([now(), time(), random(), uuid()]));
    });
    const ended = await rath.run(module, rath.start("go"));
    expect(ended.transcript.at(-1)).toMatchObject({
      content: JSON.stringify([86_400_000, "1970-01-02T00:00:00.000Z", 0.5, "id"]),
    });
    expect(factsOf(ended).every(({ at }) => at === "1970-01-02T00:00:00.000Z")).toBe(true);
  });
});

describe("what a module returns", () => {
  const elsewhere = Session.start("other");
  it.each([
    ["another session", async () => elsewhere],
    ["one from before", async (session: Session) => (session.parents[0] ?? session) as Session],
    ["a new root of it", async (session: Session) => session.say("x").detach()],
    ["nothing", async () => undefined as unknown as Session],
    ["something else", async () => ({ id: "x" }) as unknown as Session],
  ])(
    "[H5] must descend from what it was given: %s is refused, and the evidence stays",
    async (_what, give) => {
      const rath = rathOf();
      const world = new World();
      const body = async (session: Session): Promise<Session> => {
        await perform(session, world.step("a"));
        return give(session);
      };
      const inner = moduleOf("inner", body);
      for (const module of [
        moduleOf("outer", body),
        moduleOf("outer", async (session) => inner.forward(session.say("x"))),
      ]) {
        const error = (await rath
          .run(module, rath.start("go"))
          .catch((thrown: unknown) => thrown)) as RunFailedError;
        expect(error).toBeInstanceOf(RunFailedError);
        expect(["descent-broken", "not-a-session"]).toContain((error.cause as { code: string }).code);
        expect(all(error.session, "step-result")).toHaveLength(1);
        expect(error.session.fact).toHaveProperty("error");
        expect((await rath.replay(error.session.id, module, { mode: "verify" })).id).toBe(error.session.id);
      }
    },
  );

  it("[H5] a caller may catch it and go on", async () => {
    const rath = rathOf();
    const bad = moduleOf("bad", async () => elsewhere);
    const module = moduleOf("m", async (session) => {
      try {
        return await bad.forward(session);
      } catch (error) {
        expect(error).toBeInstanceOf(DescentError);
        return session.say("instead");
      }
    });
    const ended = await rath.run(module, rath.start("go"));
    expect(only(all(ended, "module-exit")).error).toMatchObject({ code: "descent-broken" });
    expect((await rath.replay(ended.id, module, { mode: "verify" })).id).toBe(ended.id);
  });

  it("[H5] the same session, unchanged, and a merge with others do descend", async () => {
    const rath = rathOf();
    const same = moduleOf("same", async (session) => session);
    const module = moduleOf("m", async (session) => {
      const one = await same.forward(session);
      return one.fork("a").merge(one.fork("b"));
    });
    const ended = await rath.run(module, rath.start("go"));
    expect(ended.fact).not.toHaveProperty("error");
    expect((await rath.run(same, ended)).fact).not.toHaveProperty("error");
    expect((await rath.replay(ended.id, module, { mode: "verify" })).id).toBe(ended.id);
  });
});

describe("unfinished work", () => {
  it("[H6] a session that waits is resumed, not run anew", async () => {
    const store = await storeOf();
    const rath = rathOf({ store });
    const world = new World();
    const module = moduleOf("m", async (session) => {
      const one = await perform(session, world.step("a", { effect: "write" }));
      return waitFor(one, { type: "signal-await", name: "s" });
    });
    const suspended = await rath.run(module, rath.start("go"), { name: "n" });
    for (const again of [
      await rath.run(module, suspended),
      await module.forward(await rath.load("n")),
      await rath.run(module, await rath.load(suspended.id)),
    ])
      expect(again.id).toBe(suspended.id);
    expect(world.calls).toEqual(["a"]);
    await rath.signal("n", "s", 1, "user:ada");
    const ended = await module.forward(suspended);
    expect(ended.fact.type).toBe("run-end");
    // And once it has ended, the old suspension leads to the end.
    expect((await rath.run(module, suspended)).id).toBe(ended.id);
    expect(world.calls).toEqual(["a"]);
    expect(await rath.unfinished()).toEqual([]);
  });

  it("[H6] one with a request that nobody answered is refused, and says what is pending", async () => {
    const rath = rathOf();
    const world = new World();
    const module = moduleOf("m", async (session) => perform(session, world.step("a")));
    const requests: [Session, string][] = [
      [rath.start("go").append({ type: "tool-call", name: "t", input: null }), "t"],
      [rath.start("go").append({ type: "step-call", name: "s" }).say("on top"), "s"],
      [rath.start("go").append({ type: "signal-await", name: "sig" }), "sig"],
    ];
    for (const [session, what] of requests) {
      await expect(rath.run(module, session)).rejects.toMatchObject({
        code: "work-pending",
        data: { pending: [{ what }] },
      });
      await expect(module.forward(session)).rejects.toBeInstanceOf(PendingWorkError);
    }
    expect(world.calls).toEqual([]);
  });

  it("[H6] a frontier of a suspended or crashed run is refused as well", async () => {
    const store = await storeOf();
    const rath = rathOf({ store });
    const world = new World();
    const module = moduleOf("m", async (session) =>
      perform(session, world.step("a", { effect: "write", approval: { what: 1 } })),
    );
    const suspended = await rath.run(module, rath.start("go"), { name: "n" });
    const frontier = await rath.load((suspended.parents[0] as Session).id);
    await expect(rath.run(module, frontier)).rejects.toBeInstanceOf(PendingWorkError);
    await expect(rath.run(module, suspended.say("on top of it"))).rejects.toBeInstanceOf(PendingWorkError);
    // Before the request nothing is pending: that is how one goes back.
    const before = await rath.load(only(made(suspended, "run-start")).id);
    expect((await rath.run(module, before.fork("again"))).fact.type).toBe("run-suspend");
    expect(world.calls).toEqual([]);
  });
});

describe("keeping", () => {
  it("[H3] sessions made outside a run are kept when they are saved, and loaded sessions are hosted", async () => {
    const url = urlOf("sqlite");
    const rath = rathOf({ store: url });
    const session = await rath.save(rath.start("go").say("more"), "n");
    await rath.close();
    const other = rathOf({ store: url });
    const loaded = await other.load("n");
    expect(loaded.id).toBe(session.id);
    expect(loaded.host).toBe(other);
    const world = new World();
    const ended = await moduleOf("m", async (one) => perform(one, world.step("a"))).forward(loaded);
    const store = await other.store();
    expect(await store.has(ended.id)).toBe(true);
    expect((await store.names()).map(({ name }) => name).sort()).toEqual(["n", `unnamed/${ended.fact.run}`]);
    expect(
      (
        await openStore(url).then(async (one) => ({
          found: await one.has(ended.id),
          closed: await one.close(),
        }))
      ).found,
    ).toBe(true);
  });
});

describe("what makes no sense", () => {
  it.each([
    ["nothing", undefined],
    ["an object", {}],
    ["a name alone", { name: "x" }],
    ["no name", { forward: async (session: Session) => session }],
    ["an empty name", { name: "", forward: async (session: Session) => session }],
  ])("[H7] %s instead of a module is refused before anything is recorded", async (_what, module) => {
    const store = await storeOf();
    const rath = rathOf({ store });
    await rath.run(
      moduleOf("m", async (session) => session),
      rath.start("go"),
      { name: "n" },
    );
    const { facts } = await store.check();
    for (const use of [
      () => rath.run(module as never, rath.start("go")),
      () => rath.resume("n", module as never),
      () => rath.replay("n", module as never, { mode: "what-if" }),
    ])
      await expect(use()).rejects.toMatchObject({ code: "run-refused", hint: expect.any(String) });
    expect((await store.check()).facts).toBe(facts);
  });

  it.each([[{ token: 5 }], [{ steps: Number.NaN }], [{ money: -1 }], [{ tokens: "9" }], [7], [[]]])(
    "[H7] the budget %j is refused: it would limit nothing",
    async (budget) => {
      const rath = rathOf();
      const module = moduleOf("m", async (session) => session);
      await expect(rath.run(module, rath.start("go"), { budget: budget as never })).rejects.toMatchObject({
        code: "run-refused",
        hint: expect.stringContaining("steps"),
      });
      expect(() => openRath({ budget: budget as never })).toThrow("Cannot open a runtime");
    },
  );

  it("[H7] a mode that there is not is refused", async () => {
    const rath = rathOf();
    const module = moduleOf("m", async (session) => session);
    await rath.run(module, rath.start("go"), { name: "n" });
    await expect(rath.replay("n", module, { mode: "verfy" as never })).rejects.toMatchObject({
      code: "run-refused",
      hint: expect.stringContaining('"verify"'),
    });
  });

  it("[H4] a name that another run has is refused with what to do, as the other one came out", async () => {
    const rath = rathOf();
    const make = (how: string): Module =>
      moduleOf(how, async (session) => {
        if (how === "failed") throw new Error("no");
        return how === "waiting" ? waitFor(session, { type: "signal-await", name: "s" }) : session;
      });
    for (const [how, hint] of [
      ["finished", "go on from where it ended"],
      ["failed", "go on from where it ended"],
      ["waiting", "rath.resume"],
    ] as const) {
      const first = await rath
        .run(make(how), rath.start("go"), { name: how })
        .catch((error: RunFailedError) => error.session);
      expect(statusOf(first)).toBe(how);
      await expect(rath.run(make("finished"), rath.start("go"), { name: how })).rejects.toMatchObject({
        code: "name-conflict",
        message: expect.stringContaining(`a run has this name that ${how === "waiting" ? "waits" : how}`),
        hint: expect.stringContaining(hint),
        data: { name: how, status: how, actual: first.id },
      });
    }
    await rath.save(rath.start("something"), "plain");
    await expect(rath.run(make("finished"), rath.start("go"), { name: "plain" })).rejects.toMatchObject({
      code: "name-conflict",
      data: { status: "open" },
    });
    expect(statusOf(rath.start("go"))).toBe("open");
  });

  it("[H4] later facts about the record do not change how a run came out", async () => {
    const rath = rathOf();
    const done = await rath.run(
      moduleOf("m", async (session) => session),
      rath.start("go"),
      { name: "n" },
    );
    const stored = await (await rath.store()).load("n");
    const signed = stored.append({
      type: "head-sign",
      of: done.id,
      key: "ada+0a1b2c3d",
      signature: "AA==",
      by: "user:ada",
    });
    expect([statusOf(done), statusOf(signed), statusOf(signed.say("more"))]).toEqual([
      "finished",
      "finished",
      "open",
    ]);
  });

  it("[H13] a long session that was opened at its horizon runs, resumes and replays as one that was not", async () => {
    const store = await openStore("memory:");
    let long = Session.start("go", { by: "user:ada" });
    for (let index = 0; index < 3000; index++) long = long.append({ type: "note", kind: "tick", index });
    await store.save(long, { name: "long" });
    // The first one prepares the place that the second one opens at.
    await store.load("long", { horizon: 10 });
    const opened = await store.load("long", { horizon: 10 });
    expect(() => [...opened.history()]).toThrow(BeyondHorizonError);
    const rath = openRath({ store });
    const world = new World();
    const module = moduleOf("count", (session) => perform(session, world.step("count")));
    const session = await rath.run(module, opened.say("and now"), { name: "r" });
    expect(statusOf(session)).toBe("finished");
    expect((await rath.replay("r", module, { mode: "verify" })).id).toBe(session.id);
    expect(world.calls).toEqual(["count"]);
    // So does one that only a merged side of goes back that far.
    const merged = Session.start("short").merge(opened, { adopt: "ours" });
    expect(statusOf(await rath.run(module, merged, { name: "m" }))).toBe("finished");
    // Where there is no store to ask, it is refused; nothing waits for ever.
    const bare = Session.restore(long.line, undefined, { inline: 4096 }, { id: long.id, depth: long.depth });
    await expect(module.forward(bare)).rejects.toBeInstanceOf(BeyondHorizonError);
    await rath.close();
  });

  it("[H21] a run on a long session reads only its newest part", async () => {
    const store = await openStore("memory:");
    let long = Session.start("go", { by: "user:ada" }).to("local");
    for (let index = 0; index < 20_000; index++) {
      long = long.append({ type: "note", kind: "tick", index });
      if (index % 2_000 === 0) await store.save(long, { name: "long" });
    }
    await store.save(long, { name: "long" });
    const rath = openRath({ store });
    const world = new World();
    const module = moduleOf("two", async (session) => {
      const one = await perform(session, world.step("one"));
      return perform(one, world.step("two"));
    });
    const session = await rath.run(module, await rath.load("long", { horizon: 3_000 }), { name: "r" });
    expect(statusOf(session)).toBe("finished");
    const verified = await rath.replay("r", module, { mode: "verify" });
    expect(verified.id).toBe(session.id);
    const next = await rath.run(module, await rath.load("r", { horizon: 3_000 }));
    expect(next.usage).toEqual(session.usage);
    for (const one of [session, verified, next]) expect(loadedFacts(one)).toBeLessThan(11_000);
    expect(loadedFacts(session)).toBeLessThan(3_100);
    // What needs all of it reads all of it.
    expect([...session.history()].length).toBe(session.depth + 1);
    expect(loadedFacts(session)).toBe(session.depth + 1);
    await expect(rath.load("long", { horizon: 0 })).rejects.toMatchObject({ code: "store-failed" });
    await rath.close();
  });

  it("[H7] names that the runtime keeps for itself are refused", async () => {
    const rath = rathOf();
    const module = moduleOf("m", async (session) => session);
    for (const name of ["run/x", "answer/x/y", "standing/x", ".x"]) {
      const refused = { code: "run-refused", message: expect.stringContaining("the runtime's own") };
      await expect(rath.run(module, rath.start("go"), { name })).rejects.toMatchObject(refused);
      await expect(rath.turn(module, name, "go")).rejects.toMatchObject(refused);
      await expect(rath.save(rath.start("go"), name)).rejects.toMatchObject(refused);
    }
    await rath.run(module, rath.start("go"), { name: "runs/x" });
    await expect(rath.replay("runs/x", module, { mode: "what-if", name: "run/y" })).rejects.toMatchObject({
      code: "run-refused",
    });
  });

  it("[H22] a new session has no name that is a place in another one, and one that has it goes on", async () => {
    const store = await storeOf();
    const rath = rathOf({ store });
    const module = moduleOf("m", async (session) => session);
    const refused = { code: "run-refused", message: expect.stringContaining("a place in another session") };
    for (const [name, other] of [
      ["x~3", "x-3"],
      ["x~", "x"],
      ["x@side", "x-side"],
      ["ada@example.com", "ada-example.com"],
    ] as const) {
      const hint = `choose another name: ${JSON.stringify(other)}`;
      await expect(rath.run(module, rath.start("go"), { name })).rejects.toMatchObject({ ...refused, hint });
      await expect(rath.turn(module, name, "go")).rejects.toMatchObject(refused);
      await expect(rath.stream(module, rath.start("go"), { name }).result).rejects.toMatchObject(refused);
      await expect(rath.save(rath.start("go"), name)).rejects.toMatchObject(refused);
    }
    expect(await store.names()).toEqual([]);
    for (const name of ["x~y", "@x", "~3", "x@"]) await rath.turn(module, name, "go");
    await store.save(rath.start("go"), { name: "old@side" });
    await rath.turn(module, "old@side", "on");
    await rath.run(module, await rath.load("old@side"), { name: "old@side" });
    expect(await rath.load("old@side")).toMatchObject({ fact: { type: "run-end" } });
  });

  it("[H7] an error whose data JSON has no words for still ends the run, with what can be said of it", async () => {
    const circle: { self?: unknown } = {};
    circle.self = circle;
    for (const [data, recorded] of [
      [{ at: new Date(0) }, { at: "1970-01-01T00:00:00.000Z" }],
      [{ big: 1n }, undefined],
      [circle, undefined],
      [{ plain: 1 }, { plain: 1 }],
    ] as const) {
      const store = await storeOf();
      const rath = rathOf({ store });
      const module = moduleOf("m", async () => {
        throw new RathError("mine", "no", { hint: "h", data: data as never });
      });
      const error = (await rath
        .run(module, rath.start("go"), { name: "n" })
        .catch((thrown: unknown) => thrown)) as RunFailedError;
      expect(error).toBeInstanceOf(RunFailedError);
      expect((error.session.fact as { error?: { data?: unknown } }).error?.data).toEqual(recorded);
      expect((await blind(store).replay("n", module, { mode: "verify" })).id).toBe(error.session.id);
    }
  });
});

describe("what is in the way", () => {
  it("[SR1] a runtime closes although its store could not be opened, and may open it later", async () => {
    const folder = join(mkdtempSync(join(tmpdir(), "openrath-host-")), "later");
    const rath = openRath({ store: `sqlite:${join(folder, "rath.db")}` });
    await expect(rath.store()).rejects.toMatchObject({ code: "store-not-a-store" });
    mkdirSync(folder);
    expect(await (await rath.store()).names()).toEqual([]);
    await rath.close();
    const never = openRath({ store: `sqlite:${join(folder, "no", "rath.db")}` });
    await expect(never.load("x")).rejects.toMatchObject({ code: "store-not-a-store" });
    await expect(never.close()).resolves.toBeUndefined();
    rmSync(join(folder, ".."), { recursive: true });
  });

  it("[SR2] errors of any length are recorded with a bound, and the run replays", async () => {
    const long = "x".repeat(3_000_000);
    const page = new World().step("page", { give: () => Promise.reject(new Error(long)) });
    const effect = moduleOf("effect", async (session) => {
      const asked = await perform(session, page);
      throw new Error(errorIn(asked).message);
    });
    const body = moduleOf("body", () =>
      Promise.reject(new RathError("too-long", long, { hint: "shorter", data: { long } })),
    );
    const rath = openRath({ store: "memory:" });
    for (const module of [effect, body]) {
      const failed: RunFailedError = await rath.run(module, rath.start("go"), { name: module.name }).then(
        () => Promise.reject(new Error("it must fail")),
        (error) => error,
      );
      const errors = [...failed.session.history()].flatMap(({ fact }) =>
        "error" in fact ? [fact.error as Failure] : [],
      );
      expect(errors.length).toBeGreaterThan(0);
      for (const error of errors) {
        expect(JSON.stringify(error).length).toBeLessThan(80_000);
        expect(error?.message.length).toBeLessThanOrEqual(8_192);
        expect(error?.message).toMatch(/… \[cut: 3000000 characters\]/);
      }
      const again = await rath
        .replay(module.name, module, { mode: "verify" })
        .catch((error) => error.session);
      expect(again.id).toBe(failed.session.id);
    }
    await rath.close();
  });
});

/** How many facts of a straight line are in memory. */
function loadedFacts(session: Session): number {
  let count = 1;
  for (let node = session; node.isPastLoaded && node.parents[0] !== undefined; node = node.parents[0])
    count += 1;
  return count;
}
