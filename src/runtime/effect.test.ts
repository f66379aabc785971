import { describe, expect, it } from "vitest";
import type { Json, Session } from "../session/index.js";
import { openStore } from "../store/index.js";
import {
  type Attempt,
  type CancelledError,
  type Outcome,
  perform,
  performAll,
  type Rath,
  waitFor,
} from "./index.js";
import { fragile } from "./testing/fragile.js";
import { moduleOf } from "./testing/module.js";
import { blind, clockOf, rathOf, storeOf, urlOf } from "./testing/rath.js";
import { all, factsOf, made, only, typesOf } from "./testing/record.js";
import { errorIn, gate, until, valueIn, World } from "./testing/world.js";

describe("what is durable", () => {
  it.each(["write", "idempotent"] as const)(
    "[T5] the request of a %s is durable before it starts",
    async (effect) => {
      const store = fragile(await storeOf());
      const rath = rathOf({ store });
      const world = new World();
      const seen: boolean[] = [];
      const module = moduleOf("m", async (session) => {
        const sides = ["a", "b", "c"].map((name) =>
          perform(
            session.fork(name).say(name),
            world.step(name, {
              effect,
              give: ({ request }: Attempt) => {
                seen.push(store.kept.has(request.id));
                return name;
              },
            }),
          ),
        );
        const ends = await Promise.all(sides);
        return (ends[0] as Session).merge(ends.slice(1));
      });
      await rath.run(module, rath.start("go"), { name: "n" });
      expect(seen).toEqual([true, true, true]);
    },
  );

  it("[T5] each attempt of a write is said, and durable, before it is made; the last one has the outcome", async () => {
    const store = fragile(await storeOf());
    const rath = rathOf({ store });
    const world = new World();
    const known: number[] = [];
    const module = moduleOf("m", async (session) =>
      perform(
        session,
        world.step("w", {
          effect: "write",
          retry: { attempts: 3, wait: 0, when: () => true },
          give: async ({ number, request }: Attempt) => {
            let starts = 0;
            for await (const { fact } of store.history("n"))
              if (fact.type === "effect-start" && fact.of === request.id) starts += 1;
            known.push(starts);
            if (number < 3) throw new Error(`attempt ${number}`);
            return "done";
          },
        }),
      ),
    );
    const ended = await rath.run(module, rath.start("go"), { name: "n" });
    expect(known).toEqual([1, 2, 3]);
    expect(all(ended, "effect-start").map(({ attempt }) => attempt)).toEqual([1, 2, 3]);
    expect(all(ended, "effect-fail").map(({ attempt, error }) => [attempt, error.message])).toEqual([
      [1, "attempt 1"],
      [2, "attempt 2"],
    ]);
    expect(new Set(all(ended, "effect-start").map(({ key }) => key))).toEqual(new Set(world.keys));
  });

  it("[T5] a read is not worth a write of its own", async () => {
    const store = fragile(await storeOf());
    const rath = rathOf({ store });
    const world = new World();
    const module = moduleOf("m", async (session) => {
      let next = session;
      for (let turn = 0; turn < 20; turn++)
        next = await perform(next, world.step("r", { effect: turn % 2 === 0 ? "read" : "pure" }));
      return next;
    });
    const ended = await rath.run(module, rath.start("go"));
    expect(all(ended, "effect-start")).toEqual([]);
    expect(store.saves()).toBe(2);
  });

  it("[T5] all branches become durable together: at every moment the store holds a state in which the run really was", async () => {
    const inner = await storeOf();
    const store = fragile(inner);
    const rath = rathOf({ store });
    const world = new World();
    const heads: string[][] = [];
    const save = store.save.bind(store);
    const watched = new Proxy(store, {
      get: (target, key) =>
        key === "save"
          ? async (...args: Parameters<typeof save>) => {
              const saved = await save(...args);
              heads.push((await inner.names()).map(({ id }) => id));
              return saved;
            }
          : Reflect.get(target, key, target),
    });
    void rath;
    const host = rathOf({ store: watched });
    const module = moduleOf("m", async (session) => {
      const ends = await Promise.all(
        [0, 1, 2, 3].map(async (branch) => {
          let next = session.fork(`${branch}`);
          for (let turn = 0; turn < 3; turn++)
            next = await perform(
              next.say(`${turn}`),
              world.step(`${branch}-${turn}`, { effect: "write", takes: branch }),
            );
          return next;
        }),
      );
      return (ends[0] as Session).merge(ends.slice(1));
    });
    const ended = await host.run(module, host.start("go"), { name: "n" });
    expect(heads.length).toBeGreaterThan(6);
    const order = new Map([...ended.history()].map((session) => [session.id, session.fact.seq ?? -1]));
    for (const names of heads) {
      const seqs = new Set<number>();
      for await (const { id, fact } of inner.history(names))
        if (fact.run !== undefined) seqs.add(order.get(id) as number);
      // Closed under creation: nothing that was made before the newest is missing.
      expect(seqs.size).toBe(Math.max(...seqs) + 1);
    }
  });

  it("[T5] observers hear of a fact only when it is durable", async () => {
    const store = fragile(await storeOf());
    const rath = rathOf({ store });
    const world = new World();
    const early: string[] = [];
    const heard: string[] = [];
    rath.observe((seen) => {
      if (seen.kind !== "fact") return;
      heard.push(seen.session.id);
      if (!store.kept.has(seen.session.id)) early.push(seen.session.fact.type);
    });
    const module = moduleOf("m", async (session) => {
      const [a, b] = await Promise.all([
        perform(session.fork("a").say("x"), world.step("a", { effect: "write" })),
        perform(session.fork("b").say("y"), world.step("b", { takes: 2 })),
      ]);
      return (a as Session).merge(b as Session);
    });
    const ended = await rath.run(module, rath.start("go"));
    expect(early).toEqual([]);
    expect(new Set(heard)).toEqual(new Set([...ended.history()].slice(1).map(({ id }) => id)));
  });
});

describe("a write in doubt", () => {
  /** Stops the runtime while the write is under way, and gives a way to open another one on the same store. */
  async function crashed(
    url: string,
    world: World,
    more: Partial<Parameters<World["step"]>[1]> = {},
  ): Promise<{ open: () => Rath; module: ReturnType<typeof moduleOf> }> {
    const hold = gate();
    let crashing = true;
    const module = moduleOf("m", async (session) => {
      const one = await perform(
        session,
        world.step("pay", {
          effect: "write",
          input: { amount: 3 },
          give: () => (crashing ? hold.passed : "paid again"),
          ...more,
        }),
      );
      return one.say(
        one.fact.type === "step-result" ? `ok ${String(valueIn(one))}` : `failed ${errorIn(one).message}`,
      );
    });
    const rath = rathOf({ store: url });
    const running = rath.run(module, rath.start("go"), { name: "n" }).catch(() => {});
    await until(() => world.count("pay") > 0);
    await rath.close();
    await running;
    crashing = false;
    return { open: () => rathOf({ store: url }), module };
  }

  it.each(["sqlite"] as const)(
    "[T6] is pending work after a crash, and never repeated in silence: %s",
    async (kind) => {
      const world = new World();
      const { open, module } = await crashed(urlOf(kind), world);
      for (let round = 0; round < 3; round++) {
        const rath = open();
        const suspended = await rath.resume("n", module);
        expect(suspended.fact.type).toBe("run-suspend");
        expect(await rath.pending("n")).toMatchObject([
          { type: "step-call", what: "pay", doubt: true, answered: false },
        ]);
        expect(world.count("pay")).toBe(1);
        await rath.close();
      }
    },
  );

  it.each([
    ["done", { value: { receipt: 7 } }, "ok [object Object]", 1],
    ["done", {}, "ok null", 1],
    ["failed", { why: "the bank says no" }, "failed the bank says no", 1],
    ["failed", { error: { name: "BankError", message: "no funds" } }, "failed no funds", 1],
    ["again", {}, "ok paid again", 2],
  ] as const)("[T6] a person settles it: %s %j", async (decision, more, said, count) => {
    const world = new World();
    const { open, module } = await crashed(urlOf("sqlite"), world);
    const rath = open();
    const suspended = await rath.resume("n", module);
    const answer = await rath.settle("n", { by: "user:ada", decision, ...more });
    expect(await rath.pending("n")).toMatchObject([{ answered: true }]);
    const ended = await rath.resume("n", module);
    expect((ended.transcript.at(-1) as { content: string }).content).toBe(said);
    expect(world.count("pay")).toBe(count);
    expect(only(all(ended, "effect-settle"))).toMatchObject({ by: "user:ada", decision });
    const take = only(made(ended, "answer-take"));
    expect(take.parents[1]?.id).toBe(answer);
    expect(take.fact).toMatchObject({ of: only(made(ended, "step-call")).id, answer });
    expect(ended.pending).toEqual([]);
    expect(ended.descendsFrom(suspended)).toBe(false);
    const store = await rath.store();
    expect((await store.names()).map(({ name }) => name)).toEqual(["n"]);
    expect((await blind(store).replay("n", module, { mode: "verify" })).id).toBe(ended.id);
    expect(world.count("pay")).toBe(count);
  });

  it("[T6] a call that a process is making right now is not in doubt, and cannot be settled", async () => {
    const url = urlOf("sqlite");
    const world = new World();
    const hold = gate();
    const module = moduleOf("m", (session) =>
      perform(session, world.step("pay", { effect: "write", give: () => hold.passed })),
    );
    const rath = rathOf({ store: url });
    const running = rath.run(module, rath.start("go"), { name: "n" });
    await until(() => world.count("pay") === 1);
    const other = rathOf({ store: url });
    await expect(other.settle("n", { by: "user:ada", decision: "again" })).rejects.toMatchObject({
      code: "answer-refused",
      message: expect.stringContaining("still runs"),
    });
    hold.open();
    expect((await running).fact.type).toBe("run-end");
    expect(world.count("pay")).toBe(1);
  });

  it("[T6] it can be settled before anybody resumes, and a second crash is a second doubt", async () => {
    const world = new World();
    const url = urlOf("sqlite");
    const { open, module } = await crashed(url, world);
    const first = open();
    await first.settle("n", { by: "user:ada", decision: "again" });
    await expect(first.settle("n", { by: "user:eve", decision: "done" })).rejects.toMatchObject({
      code: "answer-refused",
    });
    await first.close();
    const inner = await openStore(url);
    // The save that would keep the outcome of the second attempt never happens.
    const probe = fragile(inner, 2, "before");
    const dying = rathOf({ store: probe });
    await dying.resume("n", module).catch(() => {});
    expect(world.count("pay")).toBe(2);
    await inner.close();
    const second = open();
    const suspended = await second.resume("n", module);
    expect(suspended.pending).toMatchObject([{ what: "pay", doubt: true }]);
    expect(world.count("pay")).toBe(2);
    await second.settle("n", { by: "user:ada", decision: "done", value: "twice" });
    const ended = await second.resume("n", module);
    expect((ended.transcript.at(-1) as { content: string }).content).toBe("ok twice");
    expect(all(ended, "effect-settle").map(({ decision }) => decision)).toEqual(["again", "done"]);
    expect(world.count("pay")).toBe(2);
    expect((await second.replay("n", module, { mode: "verify" })).id).toBe(ended.id);
  });

  it.each([
    ["the outcome", { type: "step-result", value: "found" } as Outcome, "ok found", 1],
    ["again", "again", "ok paid again", 2],
    ["unknown", "unknown", undefined, 1],
    ["an error", new Error("no idea"), undefined, 1],
  ] as const)("[T6] a reconciler finds out: %s", async (_what, found, said, count) => {
    const world = new World();
    const asked: { key: string; number: number; request: string }[] = [];
    const { open, module } = await crashed(urlOf("sqlite"), world, {
      reconcile: async ({ key, number, request }: Attempt) => {
        asked.push({ key, number, request: request.id });
        if (found instanceof Error) throw found;
        return found;
      },
    });
    const rath = open();
    const session = await rath.resume("n", module);
    expect(asked).toHaveLength(1);
    expect(asked[0]).toMatchObject({ key: world.keys[0], number: 1 });
    expect(world.count("pay")).toBe(count);
    expect(new Set(world.keys).size).toBe(1);
    if (said === undefined) {
      expect(session.pending).toMatchObject([{ id: asked[0]?.request, doubt: true }]);
      return;
    }
    expect((session.transcript.at(-1) as { content: string }).content).toBe(said);
    expect((await rath.replay("n", module, { mode: "verify" })).id).toBe(session.id);
    expect(asked).toHaveLength(1);
  });

  it("[T6] one that was approved before is settled all the same, and what is recorded hangs where it belongs", async () => {
    const world = new World();
    const url = urlOf("sqlite");
    const hold = gate();
    let crashing = true;
    const module = moduleOf("m", async (session) =>
      perform(
        session,
        world.step("pay", {
          effect: "write",
          approval: { what: "3 coins" },
          give: () => (crashing ? hold.passed : "x"),
        }),
      ),
    );
    const first = rathOf({ store: url });
    await first.run(module, first.start("go"), { name: "n" });
    await first.approve("n", { by: "user:ada" });
    const running = first.resume("n", module).catch(() => {});
    await until(() => world.count("pay") > 0);
    await first.close();
    await running;
    crashing = false;
    const rath = rathOf({ store: url });
    await rath.resume("n", module);
    await rath.settle("n", { by: "user:ada", decision: "done", value: "paid" });
    const ended = await rath.resume("n", module);
    expect(world.count("pay")).toBe(1);
    const request = only(made(ended, "step-call"));
    const ask = only(made(ended, "approval-ask"));
    expect(all(ended, "answer-take").map(({ of }) => of)).toEqual([ask.id, request.id]);
    // As the record says, so does the value: what a loaded session shows is what the run gave back.
    const loaded = await rath.load("n");
    const shape = (session: Session) =>
      [...session.history()].map(({ id, depth, parents }) => [id, depth, parents.map((one) => one.id)]);
    expect(new Map(shape(ended).map((one) => [one[0], one]))).toEqual(
      new Map(shape(loaded).map((one) => [one[0], one])),
    );
    for (const session of ended.history())
      expect(session.parents.map(({ id }) => id)).toEqual(JSON.parse(session.line).parents);
    expect((await rath.replay("n", module, { mode: "verify" })).id).toBe(ended.id);
  });

  it.each(["pure", "read", "idempotent"] as const)(
    "[T6] a %s effect that was cut off is done again",
    async (effect) => {
      const world = new World();
      const { open, module } = await crashed(urlOf("sqlite"), world, { effect });
      const rath = open();
      const ended = await rath.resume("n", module);
      expect(ended.fact.type).toBe("run-end");
      expect(world.count("pay")).toBe(2);
      if (effect === "idempotent") expect(new Set(world.keys).size).toBe(1);
    },
  );

  it("[T6] a request that merely waits is not in doubt: for an approval, or for a call that meets it at a key", async () => {
    const world = new World();
    const url = urlOf("sqlite");
    const hold = gate();
    let crashing = true;
    const module = moduleOf("m", async (session) =>
      performAll(session, [
        world.step("first", {
          effect: "write",
          conflicts: ["file"],
          give: () => (crashing ? hold.passed : "x"),
        }),
        world.step("second", { effect: "write", conflicts: ["file"] }),
        world.step("third", { effect: "write", approval: { what: "third" } }),
      ]),
    );
    const first = rathOf({ store: url });
    const running = first.run(module, first.start("go"), { name: "n" }).catch(() => {});
    await until(() => world.count("first") > 0);
    for (let turn = 0; turn < 50; turn++) await new Promise(setImmediate);
    await first.close();
    await running;
    crashing = false;
    const rath = rathOf({ store: url });
    const suspended = await rath.resume("n", module);
    expect(suspended.pending.filter(({ doubt }) => doubt).map(({ what }) => what)).toEqual(["first"]);
    expect(world.calls).toEqual(["first"]);
    await rath.settle("n", { by: "user:ada", decision: "failed", why: "it did not" });
    const later = await rath.resume("n", module);
    expect(world.calls).toEqual(["first", "second"]);
    expect(later.pending.map(({ type }) => type)).toEqual(["step-call", "approval-ask"]);
    await rath.approve("n", { by: "user:ada" });
    const ended = await rath.resume("n", module);
    expect(ended.fact).toMatchObject({ type: "run-end" });
    expect(world.calls).toEqual(["first", "second", "third"]);
    expect((await rath.replay("n", module, { mode: "verify" })).id).toBe(ended.id);
  });
});

describe("effects side by side", () => {
  it("[E1] are requested in order and recorded as they complete", async () => {
    const rath = rathOf();
    const world = new World();
    const gates = ["a", "b", "c", "d"].map(() => gate());
    const module = moduleOf("m", async (session) =>
      performAll(
        session,
        gates.map(({ passed }, index) =>
          world.step("abcd"[index] as string, { give: () => passed.then(() => index) }),
        ),
      ),
    );
    let told = 0;
    rath.observe(() => told++);
    const running = rath.run(module, rath.start("go"));
    await until(() => world.calls.length >= 4);
    for (const index of [2, 0, 3, 1]) {
      gates[index]?.open();
      for (let turn = 0; turn < 10; turn++) await new Promise(setImmediate);
    }
    const ended = await running;
    expect(world.calls).toEqual(["a", "b", "c", "d"]);
    expect(typesOf(ended).slice(2, -1)).toEqual([
      ...Array(4).fill("step-call"),
      ...Array(4).fill("step-result"),
    ]);
    expect(all(ended, "step-call").map(({ name }) => name)).toEqual(["a", "b", "c", "d"]);
    expect(all(ended, "step-result").map(({ value }) => value)).toEqual([2, 0, 3, 1]);
    expect((await rath.replay(ended.id, module, { mode: "verify" })).id).toBe(ended.id);
  });

  it("[E1] none at all is nothing", async () => {
    const rath = rathOf();
    const module = moduleOf("m", async (session) => performAll(session, []));
    expect(typesOf(await rath.run(module, rath.start("go")))).toEqual([
      "session-start",
      "run-start",
      "run-end",
    ]);
  });

  it("[E1] those that share a conflict key run one after the other, in order; the others do not wait", async () => {
    const rath = rathOf();
    const world = new World();
    const running = new Set<string>();
    const together: string[][] = [];
    const ended = await rath.run(
      moduleOf("m", async (session) =>
        performAll(
          session,
          [
            ["a", ["x"]],
            ["b", ["y"]],
            ["c", ["x", "y"]],
            ["d", []],
            ["e", ["y"]],
            ["f", ["x"]],
            ["g", ["z"]],
          ].map(([name, conflicts]) =>
            world.step(name as string, {
              conflicts: conflicts as string[],
              give: async () => {
                running.add(name as string);
                together.push([...running].sort());
                await new Promise((resolve) => setTimeout(resolve, 2));
                running.delete(name as string);
                if (name === "c") throw new Error("it fails, and the next one still comes");
                return name as Json;
              },
            }),
          ),
        ),
      ),
      rath.start("go"),
    );
    expect(ended.fact).not.toHaveProperty("error");
    expect(world.calls.slice(0, 4)).toEqual(["a", "b", "d", "g"]);
    expect(world.calls[4]).toBe("c");
    expect(world.calls.slice(5).sort()).toEqual(["e", "f"]);
    const keys: { [name: string]: string[] } = {
      a: ["x"],
      b: ["y"],
      c: ["x", "y"],
      d: [],
      e: ["y"],
      f: ["x"],
      g: ["z"],
    };
    for (const names of together)
      for (const one of names)
        for (const other of names)
          if (one < other) expect(keys[one]?.filter((key) => keys[other]?.includes(key))).toEqual([]);
    expect(together.some((names) => names.length >= 4)).toBe(true);
  });
});

describe("how an effect comes out", () => {
  const circle: { self?: unknown } = {};
  circle.self = circle;
  it.each([
    [
      "throws an error",
      () => Promise.reject(Object.assign(new RangeError("too much"), { code: "E_MUCH" })),
      { name: "RangeError", message: "too much", code: "E_MUCH" },
    ],
    [
      "throws at once",
      () => {
        throw new Error("now");
      },
      { name: "Error", message: "now" },
    ],
    ["throws a text", () => Promise.reject("text"), { name: "Thrown", message: "text" }],
    ["throws nothing", () => Promise.reject(undefined), { name: "Thrown", message: "undefined" }],
    ["throws a circle", () => Promise.reject(circle), { name: "Thrown" }],
    ["throws a BigInt", () => Promise.reject(1n), { name: "Thrown", message: "1" }],
    ["gives a BigInt", () => 1n, { code: "content-refused" }],
    ["gives a function", () => () => 1, { code: "content-refused" }],
    ["gives NaN", () => Number.NaN, { code: "content-refused" }],
    ["gives a circle", () => circle, { code: "content-refused" }],
    ["gives undefined", () => undefined, {}],
    ["gives a Map", () => new Map([[1, 2]]), {}],
  ])("[E2] one that %s is a failure that says so, and the run goes on", async (_what, give, expected) => {
    const store = await storeOf();
    const rath = rathOf({ store });
    const world = new World();
    const module = moduleOf("m", async (session) => {
      const [bad, good] = [
        world.step("bad", { give: give as () => unknown }),
        world.step("good", { takes: 1 }),
      ];
      const both = await performAll(session, [bad, good]);
      return perform(both, world.step("after"));
    });
    const ended = await rath.run(module, rath.start("go"));
    expect(only(all(ended, "step-failure")).error).toMatchObject(expected);
    expect(all(ended, "step-result").map(({ value }) => value)).toEqual(["good", "after"]);
    expect(ended.fact).not.toHaveProperty("error");
    expect((await blind(store).replay(ended.id, module, { mode: "verify" })).id).toBe(ended.id);
  });

  it("[E2] lone surrogates, NUL, __proto__ and what else JavaScript can hold come back as they were", async () => {
    const url = urlOf("sqlite");
    const rath = rathOf({ store: url });
    const world = new World();
    const odd = JSON.parse(
      '{"__proto__":{"x":1},"a\\u0000b":"\\ud800","\\u2028":["\\u2029",0.1,1e300]}',
    ) as Json;
    const module = moduleOf("m", async (session) =>
      perform(session, world.step("odd", { give: odd, input: odd })),
    );
    const ended = await rath.run(module, rath.start("go"), { name: "n" });
    await rath.close();
    const again = await blind(url).replay("n", module, { mode: "verify" });
    expect(again.id).toBe(ended.id);
    expect(JSON.stringify(valueIn(again.parents[0] as Session))).toBe(JSON.stringify(odd));
  });

  it("[E2] one that takes too long is told to stop, and what it brings later is not looked at", async () => {
    const store = await storeOf();
    const rath = rathOf({ store });
    const world = new World();
    const hold = gate<string>();
    const module = moduleOf("m", async (session) => {
      const late = await perform(session, world.step("slow", { timeout: 5, give: () => hold.passed }));
      return perform(late, world.step("after"));
    });
    const ended = await rath.run(module, rath.start("go"));
    expect(only(all(ended, "step-failure")).error).toMatchObject({ name: "TimeoutError", code: "timeout" });
    expect(world.signals[0]?.aborted).toBe(true);
    hold.open("late");
    await new Promise(setImmediate);
    expect((await blind(store).replay(ended.id, module, { mode: "verify" })).id).toBe(ended.id);
    expect(all(ended, "step-result").map(({ value }) => value)).toEqual(["after"]);
  });
});

describe("a write of which nobody knows how it ended", () => {
  const lost = (code: string): Error => Object.assign(new Error("gone"), { code });

  it.each([
    ["ran out of time", { timeout: 20, give: () => new Promise<never>(() => {}) }, "timeout"],
    ["lost its connection", { give: () => Promise.reject(lost("ECONNRESET")) }, "ECONNRESET"],
    [
      "lost its connection, further in",
      { give: () => Promise.reject(new Error("fetch failed", { cause: lost("UND_ERR_SOCKET") })) },
      undefined,
    ],
  ])("[T6] because it %s is in doubt, not tried again, and settled", async (_how, going, code) => {
    const store = await storeOf();
    const rath = rathOf({ store });
    const world = new World();
    const module = moduleOf("m", async (session) =>
      perform(session, world.step("pay", { effect: "write", retry: { attempts: 3, wait: 1 }, ...going })),
    );
    const suspended = await rath.run(module, rath.start("go"), { name: "n" });
    expect(suspended.fact.type).toBe("run-suspend");
    expect(suspended.pending).toMatchObject([{ what: "pay", doubt: true }]);
    expect(only(all(suspended, "effect-doubt"))).toMatchObject({
      attempt: 1,
      error: code === undefined ? { message: "fetch failed" } : { code },
    });
    expect((await blind(store).replay("n", module)).id).toBe(suspended.id);
    await rath.settle("n", { by: "user:ada", decision: "done", value: 7 });
    const ended = await rath.resume("n", module);
    expect(only(all(ended, "step-result")).value).toBe(7);
    expect(world.calls).toEqual(["pay"]);
    expect((await blind(store).replay("n", module, { mode: "verify" })).id).toBe(ended.id);
  });

  it("[T6] is looked into by its reconciler, unless it still goes on", async () => {
    for (const stops of [true, false]) {
      const rath = rathOf();
      const world = new World();
      let asked = 0;
      const module = moduleOf("m", async (session) =>
        perform(
          session,
          world.step("pay", {
            effect: "write",
            timeout: 10,
            give: ({ signal }) =>
              new Promise((_resolve, reject) => {
                if (stops) signal.addEventListener("abort", () => reject(signal.reason));
              }),
            reconcile: async () => {
              asked += 1;
              return { type: "step-result", value: "found" };
            },
          }),
        ),
      );
      const session = await rath.run(module, rath.start("go"), { name: "n" });
      expect([stops, session.fact.type, asked]).toEqual(
        stops ? [true, "run-end", 1] : [false, "run-suspend", 0],
      );
      expect(world.calls).toEqual(["pay"]);
    }
  });

  it("[T6] is tried again as often as failures are, where its reconciler knows that it did not happen", async () => {
    const store = await storeOf();
    const rath = rathOf({ store });
    const world = new World();
    const module = moduleOf("m", async (session) =>
      perform(
        session,
        world.step("pay", {
          effect: "write",
          timeout: 1,
          takes: 10_000,
          retry: { attempts: 3, wait: 1 },
          reconcile: async () => "again",
        }),
      ),
    );
    const ended = await rath.run(module, rath.start("go"), { name: "n" });
    expect(world.calls).toHaveLength(3);
    expect(all(ended, "effect-doubt")).toHaveLength(3);
    expect(only(all(ended, "step-failure")).error).toMatchObject({ code: "timeout" });
    expect((await blind(store).replay("n", module, { mode: "verify" })).id).toBe(ended.id);
  });

  it("[T6] but that says in the end how it went is believed", async () => {
    const rath = rathOf();
    const world = new World();
    const module = moduleOf("m", async (session) =>
      perform(
        session,
        world.step("pay", {
          effect: "write",
          timeout: 10,
          give: ({ signal }) =>
            new Promise((resolve) => {
              signal.addEventListener("abort", () => resolve("paid, at the last moment"));
            }),
        }),
      ),
    );
    const ended = await rath.run(module, rath.start("go"));
    expect(only(all(ended, "step-result")).value).toBe("paid, at the last moment");
  });

  it.each([
    ["nobody was reached", () => lost("ECONNREFUSED"), {}],
    ["the failure says so", () => Object.assign(lost("ECONNRESET"), { isRetryable: true }), {}],
    ["its owner says so", () => lost("ECONNRESET"), { when: () => true }],
  ])("[E3] is tried again where %s", async (_why, error, more) => {
    const rath = rathOf();
    const world = new World();
    const module = moduleOf("m", async (session) =>
      perform(
        session,
        world.step("pay", {
          effect: "write",
          retry: { attempts: 3, wait: 1, ...more },
          give: ({ number }) => (number < 3 ? Promise.reject(error()) : "paid"),
        }),
      ),
    );
    const ended = await rath.run(module, rath.start("go"));
    expect(only(all(ended, "step-result")).value).toBe("paid");
    expect(world.calls).toHaveLength(3);
  });
});

describe("attempts", () => {
  const flaky =
    (times: number, error: () => unknown) =>
    ({ number }: Attempt) => {
      if (number <= times) throw error();
      return `attempt ${number}`;
    };
  const passing =
    (more: object = {}) =>
    () =>
      Object.assign(new Error("busy"), { isRetryable: true, ...more });

  it("[E3] are repeated with growing waits and chance in them, each a fact with its error and wait", async () => {
    const chances = [0, 1, 0.5, 0.25];
    const rath = rathOf({ random: () => chances.shift() ?? 0 });
    const world = new World();
    const module = moduleOf("m", async (session) =>
      perform(
        session,
        world.step("s", { retry: { attempts: 5, wait: 8, most: 20 }, give: flaky(4, passing()) }),
      ),
    );
    const ended = await rath.run(module, rath.start("go"));
    // Half is fixed, half is chance: 8, 16, then at most 20.
    expect(all(ended, "effect-fail").map(({ attempt, wait }) => [attempt, wait])).toEqual([
      [1, 4],
      [2, 16],
      [3, 15],
      [4, 13],
    ]);
    for (const { error } of all(ended, "effect-fail")) expect(error).toMatchObject({ message: "busy" });
    expect(only(all(ended, "step-result")).value).toBe("attempt 5");
    expect((await rath.replay(ended.id, module, { mode: "verify" })).id).toBe(ended.id);
    expect(world.calls).toHaveLength(5);
  });

  it("[E5] wait as long as they must, though another request of the batch is done meanwhile", async () => {
    const rath = rathOf();
    const world = new World();
    const other = gate();
    const controller = new AbortController();
    const module = moduleOf("m", async (session) =>
      performAll(session, [
        world.step("busy", { retry: { attempts: 2, wait: 3_600_000 }, give: flaky(1, passing()) }),
        world.step("other", { give: () => other.passed.then(() => null) }),
      ]),
    );
    const turns = async (): Promise<void> => {
      for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve));
    };
    const run = rath.run(module, rath.start("go"), { signal: controller.signal });
    await until(() => world.count("busy") === 1 && world.count("other") === 1);
    await turns();
    other.open();
    await turns();
    controller.abort(new Error("enough"));
    const error = (await run.catch((thrown: unknown) => thrown)) as CancelledError;
    expect(world.calls).toEqual(["busy", "other"]);
    // The other one was done while the first one waited.
    const types = typesOf(error.session as Session);
    expect(types.indexOf("effect-fail")).toBeGreaterThan(-1);
    expect(types.indexOf("step-result")).toBeGreaterThan(types.indexOf("effect-fail"));
  });

  it.each([
    ["retryAfter", { retryAfter: 3 }, 3],
    ["data.retryAfter", { data: { retryAfter: 2 } }, 2],
    ["a header in milliseconds", { responseHeaders: { "retry-after-ms": "4" } }, 4],
    ["a header in seconds", { responseHeaders: { "retry-after": "0.003" } }, 3],
  ])("[E3] wait as long as they are asked to: %s", async (_how, more, wait) => {
    const rath = rathOf();
    const world = new World();
    const ended = await rath.run(
      moduleOf("m", async (session) =>
        perform(
          session,
          world.step("s", { retry: { attempts: 2, wait: 60_000 }, give: flaky(1, passing(more)) }),
        ),
      ),
      rath.start("go"),
    );
    expect(only(all(ended, "effect-fail")).wait).toBe(wait);
  });

  it("[E3] a Retry-After date is read by the host's clock", async () => {
    const { clock } = clockOf();
    const rath = rathOf({ clock });
    const world = new World();
    const date = new Date(clock() + 2000).toUTCString();
    const hold = new AbortController();
    const module = moduleOf("m", async (session) =>
      perform(
        session,
        world.step("s", {
          retry: { attempts: 2, wait: 60_000 },
          give: flaky(1, passing({ responseHeaders: { "retry-after": date } })),
        }),
      ),
    );
    const ended = await rath.run(module, rath.start("go"), { signal: hold.signal });
    expect(only(all(ended, "effect-fail")).wait).toBe(2000);
  });

  it.each([
    ["a plain error", () => new Error("wrong"), 1],
    [
      "what says that it will not pass",
      () => Object.assign(new Error("wrong"), { isRetryable: false, code: "ECONNRESET" }),
      1,
    ],
    ["a broken connection", () => Object.assign(new Error("reset"), { code: "ECONNRESET" }), 3],
    [
      "one deep inside",
      () => new Error("fetch failed", { cause: Object.assign(new Error("x"), { code: "UND_ERR_SOCKET" }) }),
      3,
    ],
  ])("[E3] transient failures are repeated, permanent ones are not: %s", async (_what, error, count) => {
    const rath = rathOf();
    const world = new World();
    const ended = await rath.run(
      moduleOf("m", async (session) =>
        perform(session, world.step("s", { retry: { wait: 0 }, give: flaky(9, error) })),
      ),
      rath.start("go"),
    );
    expect(world.count("s")).toBe(count);
    expect(all(ended, "effect-fail")).toHaveLength(count - 1);
    expect(all(ended, "step-failure")).toHaveLength(1);
  });

  it("[E3] a timed-out attempt is repeated, and the late answer of the first is not taken for the second's", async () => {
    const rath = rathOf();
    const world = new World();
    const hold = gate<string>();
    const second = gate<string>();
    const module = moduleOf("m", async (session) =>
      perform(
        session,
        world.step("s", {
          timeout: 500,
          retry: { wait: 0 },
          give: ({ number, signal }: Attempt) => {
            if (number > 1) return second.passed;
            signal.addEventListener("abort", () => {});
            return hold.passed;
          },
        }),
      ),
    );
    const running = rath.run(module, rath.start("go"));
    await until(() => world.calls.length >= 2);
    hold.open("first");
    for (let turn = 0; turn < 5; turn++) await new Promise(setImmediate);
    second.open("second");
    const ended = await running;
    expect(only(all(ended, "step-result")).value).toBe("second");
  });

  it("[E3] are counted on after a crash", async () => {
    const store = await storeOf();
    const world = new World();
    let failures = 2;
    const module = moduleOf("m", async (session) =>
      perform(
        session,
        world.step("w", {
          effect: "write",
          retry: { attempts: 3, wait: 0, when: () => true },
          give: ({ number }: Attempt) => {
            if (failures-- > 0) throw new Error(`${number}`);
            return number;
          },
        }),
      ),
    );
    // The third save is the second attempt's effect-start: with it the first failure becomes durable, and then all is over.
    const dying = rathOf({ store: fragile(store, 3, "after") });
    await dying.run(module, dying.start("go"), { name: "n" }).catch(() => {});
    expect(world.calls).toHaveLength(1);
    const rath = rathOf({ store: fragile(store) });
    await rath.resume("n", module);
    await rath.settle("n", { by: "user", decision: "again" });
    const ended = await rath.resume("n", module);
    expect(all(ended, "effect-start").map(({ attempt }) => attempt)).toEqual([1, 2, 3]);
    // One attempt is left, and it fails: there is no fourth.
    expect(only(all(ended, "step-failure")).error.message).toBe("3");
    expect(world.calls).toHaveLength(2);
  });

  it.each(["write", "idempotent"] as const)(
    "[E4] the key of a %s is the same at every attempt, after a crash, and for a reconciler",
    async (effect) => {
      const url = urlOf("sqlite");
      const world = new World();
      const hold = gate();
      let crashing = true;
      const reconciled: string[] = [];
      const module = moduleOf("m", async (session) =>
        performAll(session, [
          world.step("s", {
            effect,
            retry: { wait: 0, when: () => true },
            reconcile: async ({ key }) => {
              reconciled.push(key);
              return "again";
            },
            give: ({ number }: Attempt) => {
              if (number < 2) throw new Error("once more");
              return crashing ? hold.passed : "ok";
            },
          }),
          world.step("named", { effect, key: "order-41" }),
        ]),
      );
      const first = rathOf({ store: url });
      let named = false;
      first.observe((event) => {
        named ||= event.kind === "fact" && event.session.fact.type === "step-result";
      });
      const running = first.run(module, first.start("go"), { name: "n" }).catch(() => {});
      // Whoever is killed before the other one is recorded has that one in doubt too.
      await until(() => world.count("s") >= 2 && named);
      await first.close();
      await running;
      crashing = false;
      const rath = rathOf({ store: url });
      const ended = await rath.resume("n", module);
      expect(ended.fact.type).toBe("run-end");
      const keys = world.calls.map((name, index) => [name, world.keys[index]] as const);
      const own = new Set(keys.filter(([name]) => name === "s").map(([, key]) => key));
      expect(own.size).toBe(1);
      expect(world.count("s")).toBeGreaterThan(2);
      for (const key of reconciled) expect(own.has(key)).toBe(true);
      expect(keys.filter(([name]) => name === "named").every(([, key]) => key === "order-41")).toBe(true);
    },
  );

  it("[E4] two requests that look alike have different keys", async () => {
    const rath = rathOf();
    const world = new World();
    await rath.run(
      moduleOf("m", async (session) => {
        const both = await performAll(session, [
          world.step("s", { effect: "write" }),
          world.step("s", { effect: "write" }),
        ]);
        return perform(both, world.step("s", { effect: "write" }));
      }),
      rath.start("go"),
    );
    expect(new Set(world.keys).size).toBe(3);
  });

  it("[E2] an effect of a run that nobody hosts is recorded as well", async () => {
    const world = new World();
    const module = moduleOf("m", async (session) =>
      waitFor(await perform(session, world.step("a")), { type: "timer-set", milliseconds: 1 }),
    );
    const rath = rathOf();
    const ended = await rath.run(module, rath.start("x"));
    expect(factsOf(ended).map(({ type }) => type)).toContain("timer-fire");
  });
});
