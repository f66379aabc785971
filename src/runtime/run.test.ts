import { describe, expect, it } from "vitest";
import { Session } from "../session/index.js";
import { RunClosedError } from "./error.js";
import { type Module, perform, RunFailedError, waitFor } from "./index.js";
import { moduleOf } from "./testing/module.js";
import { blind, rathOf, storeOf } from "./testing/rath.js";
import { all, factsOf, made, only, typesOf } from "./testing/record.js";
import { gate, until, World } from "./testing/world.js";

describe("a run", () => {
  it("[T1] goes from run-start to run-end, and every fact of it says when, who, which run and which place", async () => {
    const world = new World();
    const inner = moduleOf("inner", async (session) => perform(session, world.step("b")));
    const outer = moduleOf("outer", async (session) => {
      const one = await perform(session.say("hello"), world.step("a"));
      return (await inner.forward(one.fork("side"))).merge(one.fork("other").say("x"), { adopt: "ours" });
    });
    const rath = rathOf();
    const base = rath.start("go").say("before");
    const ended = await outer.forward(base);
    const facts = factsOf(ended).slice(2);
    expect(facts[0]?.type).toBe("run-start");
    expect(facts.at(-1)?.type).toBe("run-end");
    expect(facts.filter(({ type }) => type === "run-start" || type === "run-end")).toHaveLength(2);
    const run = facts[0]?.run;
    expect(run).toEqual(expect.any(String));
    for (const fact of facts) {
      expect(fact.run).toBe(run);
      expect(fact.by).toMatch(/^(agent|workflow|tool|runtime|service)/);
      expect(Number.isNaN(Date.parse(fact.at))).toBe(false);
    }
    expect(facts.map(({ seq }) => seq).sort((one, other) => (one as number) - (other as number))).toEqual(
      facts.map((_, index) => index),
    );
    for (const fact of factsOf(base)) expect([fact.run, fact.seq]).toEqual([undefined, undefined]);
    expect(all(ended, "module-enter").map(({ module }) => module)).toEqual(["inner"]);
  });

  it("[T1] runs of the same module on the same session at the same time never read each other's tapes", async () => {
    const store = await storeOf();
    const rath = rathOf({ store });
    const world = new World();
    let number = 0;
    const module = moduleOf("same", async (session) => {
      let next = session;
      for (let turn = 0; turn < 4; turn++)
        next = (await perform(next, world.step("draw", { give: () => ++number, takes: turn % 2 }))).say(
          "same",
        );
      return next;
    });
    const base = rath.start("go");
    const ends = await Promise.all(Array.from({ length: 6 }, () => rath.run(module, base)));
    expect(new Set(ends.map(({ id }) => id)).size).toBe(6);
    for (const end of ends) {
      const values = all(end, "step-result").map(({ value }) => value);
      const again = await blind(store).replay(end.id, module, { mode: "verify" });
      expect(all(again, "step-result").map(({ value }) => value)).toEqual(values);
    }
    expect(world.count("draw")).toBe(24);
  });

  it("[T1] a run that begins at the end, or in the middle, of another one has a tape of its own", async () => {
    const store = await storeOf();
    const rath = rathOf({ store });
    const world = new World();
    const module = moduleOf("same", async (session) =>
      perform(await perform(session, world.step("a")), world.step("b")),
    );
    const first = await rath.run(module, rath.start("go"));
    const second = await rath.run(module, first);
    const middle = await rath.load(
      only(made(first, "step-result").filter(({ fact }) => fact.type === "step-result" && fact.value === "a"))
        .id,
    );
    const third = await rath.run(module, middle.say("instead"));
    expect(world.calls).toEqual(["a", "b", "a", "b", "a", "b"]);
    for (const end of [first, second, third])
      expect((await blind(store).replay(end.id, module, { mode: "verify" })).id).toBe(end.id);
    expect(world.calls).toHaveLength(6);
  });

  it("[T1] a session from the middle of a run that is over still finds the whole run, wherever its name has gone", async () => {
    const store = await storeOf();
    const rath = rathOf({ store });
    const world = new World();
    const module = moduleOf("twice", async (session) =>
      perform(await perform(session, world.step("a")), world.step("b")),
    );
    const first = await rath.run(module, rath.start("go"), { name: "n" });
    const middle = (made(first, "step-result")[0] as Session).id;
    expect((await rath.replay(middle, module, { mode: "verify" })).id).toBe(first.id);
    const said = first.say("more");
    await rath.save(said, "n");
    expect((await rath.replay(middle, module, { mode: "verify" })).id).toBe(first.id);
    expect((await rath.replay("n", module, { mode: "verify" })).id).toBe(first.id);
    const second = await rath.run(module, said, { name: "n" });
    expect((await rath.resume(middle, module)).id).toBe(first.id);
    expect((await rath.replay(middle, module, { mode: "verify" })).id).toBe(first.id);
    expect(await store.resolve("n")).toBe(second.id);
    expect(world.calls).toEqual(["a", "b", "a", "b"]);
    await store.forget("n");
    expect((await rath.resume(middle, module)).id).toBe(first.id);
    expect(world.calls).toHaveLength(4);
  });

  it("[T9] does not end while anything is in flight, though nobody waits for it", async () => {
    const world = new World();
    const hold = gate();
    const rath = rathOf();
    let over = false;
    const module = moduleOf("careless", async (session) => {
      void perform(session.fork("left"), world.step("slow", { give: () => hold.passed.then(() => "late") }));
      return session.say("done");
    });
    const running = rath.run(module, rath.start("go")).then((session) => {
      over = true;
      return session;
    });
    await until(() => world.count("slow") > 0);
    for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate);
    expect(over).toBe(false);
    hold.open();
    const ended = await running;
    expect(all(ended, "step-result").map(({ value }) => value)).toEqual(["late"]);
    expect(ended.pending).toEqual([]);
    expect((await rath.replay(ended.id, module, { mode: "verify" })).id).toBe(ended.id);
  });

  it("[T9] its end has the result first and then every other leaf, so that one head exports all that a replay needs", async () => {
    const store = await storeOf();
    const rath = rathOf({ store });
    const world = new World();
    const module = moduleOf("leafy", async (session) => {
      const sides = ["a", "b", "c"].map((name) =>
        perform(session.fork(name), world.step(name, { takes: 1 })),
      );
      const [, b] = await Promise.all(sides);
      session.append({ type: "note", kind: "aside" });
      session.detach({ why: "another root" }).say("there");
      return (b as Session).say("chosen");
    });
    const ended = await rath.run(module, rath.start("go"));
    const [result, ...leaves] = ended.parents;
    expect(result?.fact).toMatchObject({ type: "message-say", content: "chosen" });
    expect(leaves).toHaveLength(4);
    expect(leaves.map(({ fact }) => fact.type).sort()).toEqual([
      "message-say",
      "note",
      "step-result",
      "step-result",
    ]);
    const other = await storeOf();
    await other.import(store.export(ended.id), { name: "copy" });
    expect((await blind(other).replay("copy", module, { mode: "verify" })).id).toBe(ended.id);
    expect(world.calls).toHaveLength(3);
  });

  it("[T9] a body that throws ends it too: once all is at rest, with the error, and replays to the same id", async () => {
    const store = await storeOf();
    const rath = rathOf({ store });
    const world = new World();
    const inner = moduleOf("inner", async (session) => {
      await perform(session, world.step("a"));
      throw new TypeError("no way");
    });
    const module = moduleOf("failing", async (session) => {
      void perform(session.fork("left"), world.step("slow", { takes: 5 })).then((next) => next.say("after"));
      return inner.forward(session);
    });
    const error = await rath.run(module, rath.start("go"), { name: "n" }).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(RunFailedError);
    const { session, cause, message } = error as RunFailedError;
    expect(cause).toBeInstanceOf(TypeError);
    expect(message).toContain("no way");
    expect(session.fact).toMatchObject({ type: "run-end", error: { name: "TypeError", message: "no way" } });
    expect(only(all(session, "module-exit"))).toMatchObject({ error: { message: "no way" } });
    expect(typesOf(session)).toContain("message-say");
    expect(all(session, "step-result")).toHaveLength(2);
    expect(await store.resolve("n")).toBe(session.id);
    expect((await blind(store).replay("n", module, { mode: "verify" })).id).toBe(session.id);
    expect(world.calls).toEqual(["slow", "a"]);
  });

  it.each([
    ["a string", "nothing"],
    ["null", null],
    ["undefined", undefined],
    ["an object", { deep: { value: 1 } }],
    ["a symbol", Symbol("s")],
    ["a circle", circle()],
    ["a BigInt", 7n],
  ])("[T9] a body that throws %s ends it as well", async (_what, thrown) => {
    const rath = rathOf();
    const module = moduleOf("odd", async (session) => {
      session.say("evidence");
      throw thrown;
    });
    const error = (await rath.run(module, rath.start("go")).catch((one: unknown) => one)) as RunFailedError;
    expect(error).toBeInstanceOf(RunFailedError);
    expect(error.cause).toBe(thrown);
    expect(error.session.fact).toMatchObject({ type: "run-end", error: { name: "Thrown" } });
    expect((await rath.replay(error.session.id, module, { mode: "verify" })).id).toBe(error.session.id);
  });

  it("[T12] a body that goes on after a suspension is told so, and nothing of it is kept", async () => {
    const store = await storeOf();
    const rath = rathOf({ store });
    const hold = gate();
    const late: unknown[] = [];
    const module = moduleOf("two minds", async (session) => {
      void hold.passed
        .then(() => session.say("too late"))
        .catch((error: unknown) => late.push(error))
        .then(() => perform(session, new World().step("too late")))
        .catch((error: unknown) => late.push(error))
        .then(() => waitFor(session, { type: "signal-await", name: "x" }))
        .catch((error: unknown) => late.push(error));
      return waitFor(session, { type: "signal-await", name: "go" });
    });
    const suspended = await rath.run(module, rath.start("go"), { name: "n" });
    expect(suspended.fact.type).toBe("run-suspend");
    const before = (await store.check()).facts;
    hold.open();
    for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate);
    expect(late).toHaveLength(3);
    for (const error of late) {
      expect(error).toBeInstanceOf(RunClosedError);
      expect(error).toMatchObject({ code: "run-closed", data: { run: suspended.fact.run } });
    }
    expect((await store.check()).facts).toBe(before);
    expect(await store.resolve("n")).toBe(suspended.id);
  });

  it("[T12] a body that goes on after its run was given up is told so", async () => {
    const store = await storeOf();
    const rath = rathOf({ store });
    const hold = gate();
    const reached = gate();
    let late: unknown;
    const module = moduleOf("slow", async (session) => {
      reached.open();
      await hold.passed;
      try {
        return session.say("too late");
      } catch (error) {
        late = error;
        throw error;
      }
    });
    const running = rath.run(module, rath.start("go")).catch((error: unknown) => error);
    await reached.passed;
    await rath.close();
    expect(await running).toBeInstanceOf(RunClosedError);
    hold.open();
    for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate);
    expect(late).toBeInstanceOf(RunClosedError);
  });

  it("[T12] facts after the end of a run are outside of it", async () => {
    const rath = rathOf();
    let kept: Session | undefined;
    const module = moduleOf("leaks", async (session) => {
      kept = session.say("inside");
      return kept;
    });
    const ended = await rath.run(module, rath.start("go"));
    const after = (kept as Session).say("after");
    expect([after.fact.run, after.fact.seq]).toEqual([undefined, undefined]);
    expect(after.host).toBe(rath);
    expect((await rath.replay(ended.id, module, { mode: "verify" })).id).toBe(ended.id);
    await expect(perform(kept as Session, new World().step("x"))).rejects.toBeInstanceOf(RunClosedError);
  });

  it("[M4] resuming a run that is over gives it back and does nothing", async () => {
    const store = await storeOf();
    const rath = rathOf({ store });
    const world = new World();
    const module = moduleOf("done", async (session) =>
      perform(session, world.step("w", { effect: "write" })),
    );
    const ended = await rath.run(module, rath.start("go"), { name: "n" });
    const { facts } = await store.check();
    for (const what of ["n", ended.id, (ended.parents[0] as Session).id])
      expect((await rath.resume(what, module)).id).toBe(ended.id);
    expect(world.calls).toEqual(["w"]);
    expect((await store.check()).facts).toBe(facts);
    expect(await rath.unfinished()).toEqual([]);
  });

  it("[M4] one that failed fails again, with the same record and without a call", async () => {
    const store = await storeOf();
    const rath = rathOf({ store });
    const world = new World();
    const module = moduleOf("fails", async (session) => {
      await perform(session, world.step("w", { effect: "write" }));
      throw new Error("no");
    });
    const fail = (work: Promise<Session>) =>
      work.then(
        () => undefined,
        (error: unknown) => error as RunFailedError,
      );
    const first = await fail(rath.run(module, rath.start("go"), { name: "n" }));
    const again = await fail(rath.resume("n", module));
    expect(again).toBeInstanceOf(RunFailedError);
    expect(again?.session.id).toBe(first?.session.id);
    expect(world.calls).toEqual(["w"]);
  });

  it("[M4] a run that is over is given back though its name is in other hands by now", async () => {
    const store = await storeOf();
    const rath = rathOf({ store });
    const world = new World();
    const module = moduleOf("done", async (session) => perform(session, world.step("a")));
    const ended = await rath.run(module, rath.start("go"), { name: "n" });
    const lease = await store.lease("n", { owner: "somebody" });
    expect((await rath.resume(ended.id, module)).id).toBe(ended.id);
    await lease.release();
  });

  it("[M4] resuming a run that is over with a program that ends otherwise is a divergence, not a second end", async () => {
    const store = await storeOf();
    const rath = rathOf({ store });
    let how: "ok" | "throw" | "aside" = "ok";
    const module: Module = moduleOf("moody", async (session) => {
      const next = session.say("a");
      const aside = session.say("b");
      if (how === "throw") throw new Error("now it fails");
      return how === "ok" ? next : aside;
    });
    const ended = await rath.run(module, rath.start("go"), { name: "n" });
    const { facts } = await store.check();
    for (const other of ["throw", "aside"] as const) {
      how = other;
      for (const mode of ["resume", "replay", "verify"] as const)
        await expect(rath.replay("n", module, { mode })).rejects.toMatchObject({
          code: "divergence",
          data: { expected: { fact: { type: "run-end" } } },
        });
    }
    expect((await store.check()).facts).toBe(facts);
    expect(await store.resolve("n")).toBe(ended.id);
  });

  it("[T1] the conversation of a run comes from its base and stays in its result", async () => {
    const rath = rathOf();
    const module = moduleOf("says", async (session) => session.say("answer", { role: "assistant" }));
    const ended = await rath.run(module, Session.start("question"));
    expect(ended.transcript.map((message) => (message as { content: string }).content)).toEqual([
      "question",
      "answer",
    ]);
  });
});

function circle(): object {
  const one: { self?: object } = {};
  one.self = one;
  return one;
}
