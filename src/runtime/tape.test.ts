import { describe, expect, it } from "vitest";
import { digestsOf, type FactInput, type Json, type Session } from "../session/index.js";
import {
  DivergenceError,
  type Module,
  NotARunError,
  perform,
  performAll,
  TapeEndedError,
  waitFor,
} from "./index.js";
import { fragile } from "./testing/fragile.js";
import { moduleOf } from "./testing/module.js";
import { blind, rathOf, storeOf } from "./testing/rath.js";
import { all, factsOf, made, only, typesOf } from "./testing/record.js";
import { gate, until, valueIn, World } from "./testing/world.js";

describe("the same fact", () => {
  it("[T2] the same note appended many times to one session is as many sessions, each found again at its place", async () => {
    const store = await storeOf();
    const rath = rathOf({ store });
    const note = { type: "note", kind: "x", value: 1 } as const;
    const module = moduleOf("repeats", async (session) => {
      const twins = Array.from({ length: 5 }, () => session.append(note));
      let end = twins[2] as Session;
      // Which of the twins goes on must be found again, too.
      end = end.say("third").merge((twins[4] as Session).say("fifth"), { adopt: "ours" });
      return end.append(note).append(note);
    });
    const ended = await rath.run(module, rath.start("go"));
    expect(all(ended, "note")).toHaveLength(7);
    expect(new Set(made(ended, "note").map(({ id }) => id)).size).toBe(7);
    expect((await blind(store).replay(ended.id, module, { mode: "verify" })).id).toBe(ended.id);
  });

  it.each([
    ["in the line", 4096, "short"],
    ["in a blob", 4096, "long ".repeat(2000)],
    ["in a salted blob", 0, "short"],
  ])(
    "[T2] keys in another order make no difference, and the recorded bytes are kept: %s",
    async (_where, inline, text) => {
      const store = await storeOf();
      const rath = rathOf({ store });
      const world = new World();
      let turned = false;
      const order = (value: { readonly [key: string]: Json }): { readonly [key: string]: Json } =>
        turned ? Object.fromEntries(Object.entries(value).reverse()) : value;
      const module = moduleOf("turns", async (session) => {
        const noted = session.append({
          type: "note",
          ...order({ kind: "k", value: order({ a: 1, b: [order({ c: text, d: null })] }), zeta: 2 }),
        } as FactInput);
        return perform(noted, world.step("s", { input: order({ one: text, two: 2 }) }));
      });
      const ended = await rath.run(module, rath.start("go", { inline }));
      const lines = [...ended.history()].map(({ line }) => line);
      turned = true;
      const again = await blind(store).replay(ended.id, module, { mode: "verify" });
      expect(again.id).toBe(ended.id);
      expect([...again.history()].map(({ line }) => line)).toEqual(lines);
      expect(world.calls).toEqual(["s"]);
    },
  );

  it("[T2] one character more, one key more, a number instead of its text are other facts", async () => {
    const store = await storeOf();
    const rath = rathOf({ store });
    let value: Json = { a: 1 };
    const module = moduleOf("notes", async (session) => session.append({ type: "note", kind: "k", value }));
    const ended = await rath.run(module, rath.start("go"));
    for (const other of [{ a: "1" }, { a: 1, b: null }, { A: 1 }, [1], { a: 1.5 }, {}] as const) {
      value = other;
      await expect(rath.replay(ended.id, module)).rejects.toBeInstanceOf(DivergenceError);
    }
    value = { a: 1 };
    expect((await rath.replay(ended.id, module)).id).toBe(ended.id);
  });

  it("[T2] content that looks like the record's own fields is content", async () => {
    const store = await storeOf();
    const rath = rathOf({ store });
    const world = new World();
    const id = "a".repeat(64);
    const odd: Json = {
      of: id,
      fact: { type: "step-result", at: "x", run: "y", seq: 1, by: "user", of: id },
      text: `"fact":{"type":"note","at":"","run":"","seq":0,"by":"user","of":"${id}"`,
      parents: [id],
    };
    const module = moduleOf("odd", async (session) => {
      const one = await perform(session, world.step("a", { give: odd, input: odd }));
      return perform(
        one.append({ type: "note", kind: "n", of: id, value: odd }),
        world.step("b", { give: odd }),
      );
    });
    const ended = await rath.run(module, rath.start("go"));
    expect((await blind(store).replay(ended.id, module, { mode: "verify" })).id).toBe(ended.id);
    expect(world.calls).toEqual(["a", "b"]);
  });

  it("[T2] merges and roots are found again by their parents in order", async () => {
    const store = await storeOf();
    const rath = rathOf({ store });
    let turned = false;
    const module = moduleOf("merges", async (session) => {
      const [a, b] = [session.fork("a").say("1"), session.fork("b").say("2")];
      session.detach({ why: "one" }).say("x");
      session.detach({ why: "one" }).say("y");
      return turned ? b.merge(a) : a.merge(b);
    });
    const ended = await rath.run(module, rath.start("go"));
    expect((await blind(store).replay(ended.id, module, { mode: "verify" })).id).toBe(ended.id);
    turned = true;
    await expect(rath.replay(ended.id, module)).rejects.toBeInstanceOf(DivergenceError);
  });
});

describe("the order of outcomes", () => {
  /** Whoever comes first decides what happens next, in as many ways as promises can be combined. */
  function racing(world: World, delay: () => number): Module {
    const leg = (session: Session, name: string): Promise<Session> =>
      perform(session.fork(name), world.step(name, { takes: delay() }));
    return moduleOf("racing", async (session) => {
      const first = await Promise.race(["a", "b", "c"].map((name) => leg(session, name)));
      const order: Session[] = [];
      const rest = await Promise.all(
        ["d", "e", "f"].map(async (name) => {
          const ended = await leg(first, name);
          order.push(ended);
          return ended;
        }),
      );
      const merged = (order[0] as Session).merge(order.slice(1), { adopt: "ours" });
      const any = await Promise.any([
        leg(merged, "g"),
        leg(merged, "h").then(() => Promise.reject(new Error("never first"))),
      ]);
      const all = await performAll(
        any.say(`${rest.length}`),
        ["i", "j", "k"].map((name) => world.step(name, { takes: delay() })),
      );
      return all.say(
        [...all.history()].flatMap(({ fact }) => (fact.type === "step-result" ? [fact.value] : [])).join(),
      );
    });
  }

  it("[T3] races, merges in order of completion and parallel effects replay exactly, 50 times", async () => {
    const store = await storeOf();
    const rath = rathOf({ store });
    const world = new World();
    let seed = 7;
    const delay = (): number => {
      seed = (seed * 1103515245 + 12345) % 2147483648;
      return seed % 7;
    };
    const ids = new Set<string>();
    const words = new Set<string>();
    for (let round = 0; round < 50; round++) {
      const ended = await rath.run(racing(world, delay), rath.start("go"));
      const { length } = world.calls;
      const again = await blind(store).replay(ended.id, racing(world, delay), { mode: "verify" });
      expect(again.id).toBe(ended.id);
      expect(world.calls).toHaveLength(length);
      ids.add(ended.id);
      words.add(String((ended.transcript.at(-1) as { content: string }).content));
    }
    expect(ids.size).toBe(50);
    // Otherwise nothing was raced.
    expect(words.size).toBeGreaterThan(5);
  });

  it("[T3] effects that finish in the same tick are told one at a time, each after all that the last one set in motion", async () => {
    const store = await storeOf();
    const rath = rathOf({ store });
    const world = new World();
    const hold = gate();
    const order: string[] = [];
    const module = moduleOf("burst", async (session) => {
      const ends = await Promise.all(
        ["a", "b", "c", "d"].map(async (name) => {
          const ended = await perform(
            session.fork(name),
            world.step(name, { give: () => hold.passed.then(() => name) }),
          );
          order.push(name);
          // Many microtasks later it is still alone.
          for (let turn = 0; turn < 50; turn++) await null;
          order.push(name);
          return ended.say(name);
        }),
      );
      return (ends[0] as Session).merge(ends.slice(1));
    });
    const running = rath.run(module, rath.start("go"));
    await until(() => world.calls.length >= 4);
    hold.open();
    const ended = await running;
    expect(order).toEqual(["a", "a", "b", "b", "c", "c", "d", "d"]);
    expect((await blind(store).replay(ended.id, module, { mode: "verify" })).id).toBe(ended.id);
    expect(order.slice(8)).toEqual(order.slice(0, 8));
  });

  it("[T3] the order is the record's, not that of the requests", async () => {
    const store = await storeOf();
    const rath = rathOf({ store });
    const gates = new Map(["a", "b", "c"].map((name) => [name, gate()]));
    const world = new World();
    const heard: string[] = [];
    const module = moduleOf("ordered", async (session) => {
      const ends = await Promise.all(
        [...gates].map(async ([name, { passed }]) => {
          const ended = await perform(
            session.fork(name),
            world.step(name, { give: () => passed.then(() => name) }),
          );
          heard.push(String(valueIn(ended)));
          return ended;
        }),
      );
      return (ends[0] as Session).merge(ends.slice(1)).say(heard.slice(-3).join());
    });
    const running = rath.run(module, rath.start("go"));
    for (const name of ["c", "a", "b"]) {
      const before = heard.length;
      gates.get(name)?.open();
      await until(() => heard.length !== before);
    }
    const ended = await running;
    expect(heard).toEqual(["c", "a", "b"]);
    expect((await blind(store).replay(ended.id, module, { mode: "verify" })).id).toBe(ended.id);
    expect(heard).toEqual(["c", "a", "b", "c", "a", "b"]);
  });
});

describe("a resume", () => {
  /** Two effects, then a crash. */
  async function cutOff(world: World, module: Module, at: number) {
    const store = await storeOf();
    const dying = rathOf({ store: fragile(store, at, "before") });
    await dying.run(module, dying.start("go"), { name: "n" }).catch(() => {});
    void world;
    return store;
  }

  it("[T4] calls nothing and writes nothing before the program has made every recorded fact again", async () => {
    const world = new World();
    let changed = false;
    const module = moduleOf("m", async (session) => {
      const [a, b] = await Promise.all([
        perform(session.fork("a"), world.step("a", { effect: "idempotent" })),
        perform(session.fork("b"), world.step("b", { effect: "idempotent", takes: 3 })),
      ]);
      const merged = (a as Session).merge(b as Session);
      // One branch is new and could go on at once; the recorded fact of the other one is not made any more.
      const sides = [perform(merged.fork("c"), world.step(changed ? "new" : "c", { effect: "idempotent" }))];
      if (!changed) sides.push(perform(merged.fork("d"), world.step("d", { effect: "idempotent" })));
      const [first] = await Promise.all(sides);
      return perform(first as Session, world.step("e", { effect: "idempotent" }));
    });
    const probe = fragile(await storeOf());
    const whole = rathOf({ store: probe });
    await whole.run(module, whole.start("go"));
    world.calls.length = 0;
    // The last save but one: both branches are recorded, e is not.
    const store = await cutOff(world, module, probe.saves() - 1);
    const before = {
      calls: [...world.calls],
      facts: (await store.check()).facts,
      head: await store.resolve("n"),
    };
    const rath = rathOf({ store });
    const observed: string[] = [];
    rath.observe((seen) => observed.push(seen.kind));
    changed = true;
    await expect(rath.resume("n", module)).rejects.toBeInstanceOf(DivergenceError);
    expect(world.calls).toEqual(before.calls);
    expect((await store.check()).facts).toBe(before.facts);
    expect(await store.resolve("n")).toBe(before.head);
    expect(observed).toEqual([]);
    // And it can still be resumed by the program that made it.
    changed = false;
    const ended = await rath.resume("n", module);
    expect(ended.fact).toMatchObject({ type: "run-end" });
    expect(world.count("a")).toBe(1);
    expect(world.count("b")).toBe(1);
  });

  it("[T4] a program that stops earlier than its record is a divergence", async () => {
    const world = new World();
    let short = false;
    const module = moduleOf("m", async (session) => {
      const one = await perform(session, world.step("a", { effect: "write" }));
      return short
        ? one
        : perform(
            await perform(one, world.step("b", { effect: "write" })),
            world.step("c", { effect: "write" }),
          );
    });
    const probe = fragile(await storeOf());
    const whole = rathOf({ store: probe });
    await whole.run(module, whole.start("go"));
    world.calls.length = 0;
    const store = await cutOff(world, module, probe.saves());
    short = true;
    const rath = rathOf({ store });
    const error = await rath.resume("n", module).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(DivergenceError);
    expect(error).toMatchObject({
      data: { expected: { fact: { type: "step-call", name: "b" } }, actual: null },
    });
    expect(world.calls).toEqual(["a", "b", "c"]);
  });

  it("[T4] facts that are appended while taking over get their place after all that is recorded", async () => {
    const world = new World();
    const module = moduleOf("m", async (session) => {
      const one = await perform(session, world.step("a", { effect: "write" }));
      // Not durable by themselves: they are made again, provisionally, while others are taken over.
      const noted = one.say("x").say("y");
      return perform(noted, world.step("b", { effect: "write" }));
    });
    const probe = fragile(await storeOf());
    const whole = rathOf({ store: probe });
    await whole.run(module, whole.start("go"));
    for (let at = 2; at <= probe.saves(); at++) {
      const store = await cutOff(world, module, at);
      const rath = rathOf({ store });
      let ended = await rath.resume("n", module);
      if (ended.fact.type === "run-suspend") {
        await rath.settle("n", { by: "user:ada", decision: "again" });
        ended = await rath.resume("n", module);
      }
      const seqs = factsOf(ended).flatMap(({ seq }) => (seq === undefined ? [] : [seq]));
      expect(new Set(seqs).size).toBe(seqs.length);
      for (const one of ended.history())
        for (const parent of one.parents)
          if (parent.fact.seq !== undefined && parent.fact.run === one.fact.run)
            expect(parent.fact.seq).toBeLessThan(one.fact.seq as number);
      expect((await blind(store).replay("n", module, { mode: "verify" })).id).toBe(ended.id);
    }
  });
});

describe("a replay", () => {
  it("[M1] ends in the recorded id with no effect, clock or chance consulted, whatever the run was made of", async () => {
    const store = await storeOf();
    const rath = rathOf({ store });
    const world = new World();
    let number = 0;
    const inner = moduleOf(
      "inner",
      async (session) => perform(session.say("in"), world.step("read", { spend: { steps: 1 }, takes: 1 })),
      { budget: { steps: 5, milliseconds: 60_000 } },
    );
    const module = moduleOf(
      "outer",
      async (session) => {
        let next: Session = await perform(session, world.step("draw", { give: () => ++number }));
        next = await perform(
          next,
          world.step("flaky", {
            retry: { attempts: 3, wait: 1, when: () => true },
            give: ({ number: attempt }) => (attempt < 3 ? Promise.reject(new Error("not yet")) : "at last"),
          }),
        );
        next = await waitFor(next, { type: "timer-set", milliseconds: 2 });
        const [a, b] = await Promise.all([inner.forward(next.fork("a")), inner.forward(next.fork("b"))]);
        return (a as Session).merge(b as Session);
      },
      { budget: { milliseconds: 60_000 } },
    );
    const ended = await rath.run(module, rath.start("go"), { budget: { milliseconds: 60_000 }, name: "n" });
    expect(ended.fact).not.toHaveProperty("error");
    const calls = [...world.calls];
    const { facts } = await store.check();
    for (const mode of ["replay", "verify", "resume"] as const) {
      const again = await blind(store).replay("n", module, { mode });
      expect([mode, again.id]).toEqual([mode, ended.id]);
    }
    expect(world.calls).toEqual(calls);
    expect((await store.check()).facts).toBe(facts);
  });

  it("[M1] leaves no trace: nobody is told, no name moves, no lease is taken", async () => {
    const store = await storeOf();
    const rath = rathOf({ store });
    const world = new World();
    const module = moduleOf("m", async (session) => perform(session, world.step("a")));
    const ended = await rath.run(module, rath.start("go"), { name: "n" });
    const lease = await store.lease("n", { owner: "somebody" });
    const names = await store.names();
    const seen: unknown[] = [];
    rath.observe((one) => seen.push(one));
    expect((await rath.replay("n", module)).id).toBe(ended.id);
    expect((await rath.replay("n", module, { mode: "verify" })).id).toBe(ended.id);
    expect(seen).toEqual([]);
    expect(await store.names()).toEqual(names);
    await lease.renew();
  });

  it("[M2] of a suspended run gives the recorded suspension", async () => {
    const store = await storeOf();
    const rath = rathOf({ store });
    const world = new World();
    const module = moduleOf("m", async (session) => {
      const [a, b] = await Promise.all([
        perform(session.fork("a"), world.step("a")),
        waitFor(session.fork("b"), { type: "signal-await", name: "s" }),
      ]);
      return (a as Session).merge(b as Session);
    });
    const suspended = await rath.run(module, rath.start("go"), { name: "n" });
    expect(suspended.fact.type).toBe("run-suspend");
    for (const mode of ["replay", "verify"] as const)
      expect((await blind(store).replay("n", module, { mode })).id).toBe(suspended.id);
    expect((await rath.resume("n", module)).id).toBe(suspended.id);
    expect(world.calls).toEqual(["a"]);
  });

  it("[M2] of a run that was cut off says what was under way", async () => {
    const store = await storeOf();
    const rath = rathOf({ store });
    const hold = gate();
    const world = new World();
    const module = moduleOf("m", async (session) => {
      const sides = [
        perform(session.fork("a"), world.step("left", { effect: "idempotent", give: () => hold.passed })),
        performAll(session.fork("b"), [
          world.step("right", { effect: "idempotent", give: () => hold.passed }),
          world.step("quick", { effect: "write" }),
        ]),
      ];
      const [a, b] = await Promise.all(sides);
      return (a as Session).merge(b as Session);
    });
    const running = rath.run(module, rath.start("go"), { name: "n" }).catch(() => {});
    await until(() => world.calls.length >= 3);
    // The outcome of the quick one is durable soon.
    for (let turn = 0; turn < 50; turn++) await new Promise(setImmediate);
    await rath.close();
    await running;
    for (const mode of ["replay", "verify"] as const) {
      const error = await blind(store)
        .replay("n", module, { mode })
        .catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(TapeEndedError);
      const { frontiers } = (error as TapeEndedError).data as { frontiers: { id: string; type: string }[] };
      const names = await Promise.all(
        frontiers.map(async ({ id }) => JSON.parse((await store.line(id)) as string).fact.name as string),
      );
      expect(names.sort()).toEqual(["left", "right"]);
    }
    expect(world.calls).toHaveLength(3);
    hold.open();
  });

  const base = (world: World, change: string): Module =>
    moduleOf(
      "m",
      async (session) => {
        const configured = session.append({
          type: "agent-configure",
          agent: "coder",
          instructions: change.startsWith("prompt") ? "Be brief!" : "Be brief.",
          tools: change === "tools" ? ["read"] : ["read", "write"],
        });
        const one = await perform(configured, world.step("a"));
        const names = change === "order" ? ["c", "b"] : ["b", "c"];
        let next = change === "branch" ? one.say("other") : one.say("this");
        for (const name of names) next = await perform(next, world.step(name));
        if (change === "less") return one;
        return change === "more" ? next.say("more") : next;
      },
      { state: { model: change.endsWith("state") ? "b" : "a" } },
    );

  it.each([
    ["prompt", { type: "agent-configure", instructions: "Be brief." }, { instructions: "Be brief!" }],
    ["tools", { type: "agent-configure", tools: ["read", "write"] }, { tools: ["read"] }],
    ["branch", { type: "message-say", content: "this" }, { content: "other" }],
    ["order", { type: "step-call", name: "b" }, { name: "c" }],
    ["less", { type: "run-end" }, undefined],
    ["more", { type: "run-end" }, { type: "message-say", content: "more" }],
    ["state", { type: "run-start", module: "m" }, { type: "run-start", module: "m" }],
    // Its digest differs too, but a fact says more.
    [
      "prompt and state",
      { type: "agent-configure", instructions: "Be brief." },
      { instructions: "Be brief!" },
    ],
  ])(
    "[M3] a changed %s is shown at the first fact that differs, with both sides",
    async (change, expected, actual) => {
      const store = await storeOf();
      const rath = rathOf({ store });
      const world = new World();
      const ended = await rath.run(base(world, ""), rath.start("go"), { name: "n" });
      const calls = [...world.calls];
      for (const mode of ["replay", "verify", "resume"] as const) {
        const error = (await rath
          .replay("n", base(world, change), { mode })
          .catch((thrown: unknown) => thrown)) as DivergenceError;
        expect(error).toBeInstanceOf(DivergenceError);
        expect(error.data).toMatchObject({ run: ended.fact.run, expected: { fact: expected } });
        if (actual !== undefined) {
          expect(error.data).toMatchObject({ actual: { fact: actual } });
          expect(error.message).toContain(JSON.stringify(Object.values(actual).at(-1)));
        }
        expect(error.message).toContain(JSON.stringify(Object.values(expected).at(-1)));
        // Both sides say where: the recorded one can be looked up.
        const side = error.data.expected as { id: string; parents: readonly string[] };
        expect(await store.has(side.id)).toBe(true);
      }
      expect(world.calls).toEqual(calls);
      expect((await rath.replay("n", base(world, ""), { mode: "verify" })).id).toBe(ended.id);
    },
  );

  it("[M3] a change that no recorded fact shows yet is told by the name of what was declared", async () => {
    const rath = rathOf();
    const part = (name: string, model: string): Module =>
      moduleOf(name, async (session) => session, { state: { model, limit: 3 } });
    const make = (model: string, of: string): Module =>
      moduleOf("m", async (session) => session, {
        state: { tone: "kind", model },
        parts: { first: part("first", "x"), second: part("second", of) },
      });
    await rath.run(make("a", "x"), rath.start("go"), { name: "n" });
    for (const [program, declared] of [
      [make("b", "x"), ["model"]],
      [make("a", "y"), ["part second: model"]],
      [make("b", "y"), ["model", "part second: model"]],
    ] as const) {
      const error = (await rath.replay("n", program).catch((thrown: unknown) => thrown)) as DivergenceError;
      expect(error).toBeInstanceOf(DivergenceError);
      expect(error.data.declared).toEqual(declared);
      expect(error.message).toContain(`What differs is ${declared.join(", ")}.`);
    }
  });

  it("[M6] a change deep inside is told by its full path", async () => {
    const rath = rathOf();
    const chain = (depth: number, model: string): Module =>
      moduleOf(`n${depth}`, async (session) => session, {
        state: depth === 7 ? { model } : {},
        parts: depth === 7 ? {} : { [`n${depth + 1}`]: chain(depth + 1, model), [`m${depth}`]: other },
      });
    const other = moduleOf("other", async (session) => session, { state: { tone: "kind" } });
    const start = await rath.run(chain(1, "a"), rath.start("go"), { name: "n" });
    const changed = chain(1, "b");
    const error = (await rath.replay("n", changed).catch((thrown: unknown) => thrown)) as DivergenceError;
    expect(error.data.declared).toEqual(["part n2 › n3 › n4 › n5 › n6 › n7: model"]);
    expect((await rath.replay("n", chain(1, "a"), { mode: "verify" })).id).toBe(start.id);
  });

  it("[M6] declarations stay short, however many modules there are", async () => {
    const rath = rathOf();
    const wide = (depth: number): Module =>
      moduleOf(`n${depth}`, async (session) => session, {
        state: { model: "a", tone: "kind" },
        parts:
          depth === 4
            ? {}
            : Object.fromEntries(Array.from({ length: 8 }, (_, place) => [`p${place}`, wide(depth + 1)])),
      });
    const ended = await rath.run(wide(0), rath.start("go"), { name: "n" });
    expect(JSON.stringify(only(all(ended, "run-start")).digests).length).toBeLessThan(4_000);
    expect((await rath.replay("n", wide(0), { mode: "verify" })).id).toBe(ended.id);
  });

  it("[M6] a changed say is told with the modules that say it, then and now", async () => {
    const rath = rathOf();
    const make = (text: string): Module => {
      const quiet = moduleOf("quiet", async (session) => session.fork("aside"));
      const inner = moduleOf("inner", async (session) => (await quiet.forward(session)).say(text));
      return moduleOf("outer", async (session) => inner.forward(session.say("first")));
    };
    await rath.run(make("hello"), rath.start("go"), { name: "n" });
    const error = (await rath.replay("n", make("bye")).catch((thrown: unknown) => thrown)) as DivergenceError;
    expect(error.data).toMatchObject({
      expected: { fact: { content: "hello" }, module: ["outer", "inner"] },
      actual: { fact: { content: "bye" }, module: ["outer", "inner"] },
    });
    expect(error.message).toContain('"hello"} in outer › inner');
    expect(error.message).toContain('"bye"} in outer › inner');
  });

  it("[M6] the path of the first value that differs is told, however long the values are", async () => {
    const rath = rathOf();
    const make = (to: string): Module =>
      moduleOf("m", async (session) =>
        session.append({ type: "note", kind: "mail", mail: { text: "x".repeat(1_000), to: ["ada", to] } }),
      );
    await rath.run(make("bob"), rath.start("go"), { name: "n" });
    const error = (await rath.replay("n", make("eve")).catch((thrown: unknown) => thrown)) as DivergenceError;
    expect(error.data.path).toBe("mail.to[1]");
    expect(error.message).toContain("What differs is mail.to[1].");
  });

  it("[M3] among branches that differ, the one that was recorded first is shown", async () => {
    const store = await storeOf();
    const rath = rathOf({ store });
    const world = new World();
    let changed = false;
    const module = moduleOf("m", async (session) => {
      const ends = await Promise.all(
        ["a", "b"].map(async (name) => {
          const one = await perform(session.fork(name), world.step(name));
          return perform(one, world.step(changed ? `${name}-new` : `${name}-old`));
        }),
      );
      return (ends[0] as Session).merge(ends.slice(1));
    });
    await rath.run(module, rath.start("go"), { name: "n" });
    changed = true;
    await expect(rath.replay("n", module)).rejects.toMatchObject({
      data: { expected: { fact: { name: "a-old" } }, actual: { fact: { name: "a-new" } } },
    });
  });

  it("[M5] of a session outside any run is a typed error", async () => {
    const store = await storeOf();
    const rath = rathOf({ store });
    const module = moduleOf("m", async (session) => session.say("x"));
    const plain = await rath.save(rath.start("go").say("by hand"), "plain");
    for (const mode of ["replay", "verify", "resume", "what-if"] as const) {
      await expect(rath.replay("plain", module, { mode })).rejects.toBeInstanceOf(NotARunError);
      await expect(rath.replay(plain.id, module, { mode })).rejects.toMatchObject({ code: "not-a-run" });
      await expect(rath.replay("nowhere", module, { mode })).rejects.toMatchObject({ code: "not-found" });
    }
  });

  it("[M5] of a run whose content was erased says so, and calls nothing", async () => {
    for (const what of ["step-result", "step-call", "message-say"] as const) {
      const store = await storeOf();
      const rath = rathOf({ store });
      const world = new World();
      const module = moduleOf("m", async (session) => {
        const one = await perform(
          session.say("private"),
          world.step("a", { input: "secret", give: "secret" }),
        );
        return perform(one.say(`it said ${String(valueIn(one))}`), world.step("b"));
      });
      const ended = await rath.run(module, rath.start("go", { inline: 0 }), { name: "n" });
      expect((await rath.replay("n", module, { mode: "verify" })).id).toBe(ended.id);
      const [digest] = digestsOf((made(ended, what)[0] as Session).line);
      await store.erase("n", { digests: [digest as string], why: "asked to", by: "user:ada" });
      for (const mode of ["replay", "verify", "resume"] as const) {
        const error = await blind(store)
          .replay(ended.id, module, { mode })
          .catch((thrown: unknown) => thrown);
        expect([what, mode, (error as { code?: string }).code]).toEqual([what, mode, "content-erased"]);
        expect((error as { data: object }).data).toMatchObject({ digest, reason: "erased" });
      }
      expect(world.calls).toEqual(["a", "b"]);
    }
  });

  it("[M1] a run on a long history, with content in blobs, replays to the same id", async () => {
    const store = await storeOf();
    const rath = rathOf({ store });
    const world = new World();
    const big = "x".repeat(10_000);
    const module = moduleOf("m", async (session) => {
      let next = session;
      for (let turn = 0; turn < 20; turn++)
        next = await perform(next.say(`${turn}${big}`), world.step("a", { give: big }));
      return next;
    });
    let start = rath.start("go", { inline: 0 });
    for (let turn = 0; turn < 300; turn++) start = start.say(`${turn}`);
    const ended = await rath.run(module, start);
    expect(typesOf(ended)).toHaveLength(301 + 62);
    expect((await blind(store).replay(ended.id, module, { mode: "verify" })).id).toBe(ended.id);
  });
});
