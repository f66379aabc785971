import { describe, expect, it } from "vitest";
import { digestOf, type Json, type Session } from "../session/index.js";
import { openStore, type Store } from "../store/index.js";
import {
  AnswerError,
  canonical,
  lane,
  perform,
  performAll,
  type Rath,
  type Request,
  waitFor,
} from "./index.js";
import { fragile } from "./testing/fragile.js";
import { moduleOf } from "./testing/module.js";
import { blind, rathOf, storeOf, urlOf } from "./testing/rath.js";
import { all, made, only } from "./testing/record.js";
import { errorIn, gate, until, World } from "./testing/world.js";

const asking = (world: World, name: string, input: Json): Request =>
  world.step(name, { effect: "write", input, approval: { what: { name, input } } });

describe("an approval", () => {
  it("[A1] names the digest of exactly what was shown", async () => {
    const rath = rathOf();
    const world = new World();
    const module = moduleOf("m", async (session) =>
      perform(session, asking(world, "pay", { to: "bob", amount: 3 })),
    );
    const suspended = await rath.run(module, rath.start("go"), { name: "n" });
    expect(world.calls).toEqual([]);
    const [ask, ...more] = await rath.pending("n");
    expect(more).toEqual([]);
    const shown = { name: "pay", input: { to: "bob", amount: 3 } };
    expect(ask).toMatchObject({
      type: "approval-ask",
      shown,
      digest: digestOf(canonical(shown)),
      answered: false,
    });
    // The order of keys is no part of what was shown.
    expect(ask?.digest).toBe(digestOf(canonical({ input: { amount: 3, to: "bob" }, name: "pay" })));
    expect(suspended.pending.map(({ type }) => type)).toEqual(["step-call", "approval-ask"]);
    await rath.approve("n", { by: "user:ada", digest: ask?.digest as string, why: "fine" });
    const ended = await rath.resume("n", module);
    expect(world.calls).toEqual(["pay"]);
    expect(only(all(ended, "approval-give"))).toMatchObject({
      by: "user:ada",
      decision: "approve",
      digest: ask?.digest,
      why: "fine",
    });
    expect((await rath.replay("n", module, { mode: "verify" })).id).toBe(ended.id);
  });

  it.each([
    ["a call with other arguments", (world: World) => asking(world, "pay", { amount: 4 }), "divergence"],
    [
      "the same call with something else shown",
      (world: World) => ({
        ...asking(world, "pay", { amount: 3 }),
        approval: { what: { name: "pay", input: { amount: 4 } } },
      }),
      undefined,
    ],
    [
      "one byte more in what is shown",
      (world: World) => ({
        ...asking(world, "pay", { amount: 3 }),
        approval: { what: { name: "pay ", input: { amount: 3 } } },
      }),
      undefined,
    ],
  ])("[A1] does not cover %s: it is not executed", async (_what, changed, code) => {
    const store = await storeOf();
    const rath = rathOf({ store });
    const world = new World();
    let later = false;
    const module = moduleOf("m", async (session) =>
      perform(session, later ? changed(world) : asking(world, "pay", { amount: 3 })),
    );
    await rath.run(module, rath.start("go"), { name: "n" });
    await rath.approve("n", { by: "user:ada" });
    later = true;
    if (code === undefined) {
      // It is asked about anew: what was agreed to was something else.
      const suspended = await rath.resume("n", module);
      expect(suspended.fact.type).toBe("run-suspend");
      const { approval } = changed(world);
      expect(await rath.pending("n")).toMatchObject([{ shown: approval?.what, answered: false }]);
    } else await expect(rath.resume("n", module)).rejects.toMatchObject({ code });
    expect(world.calls).toEqual([]);
  });

  it("[A1] an answer by other means than approve, for another digest or by another kind of fact, lets nothing through", async () => {
    type Forge = (ask: Session, store: Store) => Session | Promise<Session>;
    const forges: { readonly [name: string]: Forge } = {
      digest: (ask) =>
        ask.append({
          type: "approval-give",
          by: "user:eve",
          of: ask.id,
          decision: "approve",
          digest: "0".repeat(64),
        }),
      "other request": (ask) =>
        ask.append({
          type: "approval-give",
          by: "user:eve",
          of: "1".repeat(64),
          decision: "approve",
          digest: (ask.fact as { digest: string }).digest,
        }),
      note: (ask) => ask.append({ type: "note", kind: "approve" }),
      signal: (ask) => ask.append({ type: "signal-give", by: "user:eve", of: ask.id, value: true }),
      settle: (ask) => ask.append({ type: "effect-settle", by: "user:eve", of: ask.id, decision: "again" }),
      elsewhere: async (ask) =>
        (ask.parents[0] as Session).append({
          type: "approval-give",
          by: "user:eve",
          of: ask.id,
          decision: "approve",
          digest: (ask.fact as { digest: string }).digest,
        }),
    };
    for (const [name, forge] of Object.entries(forges)) {
      const store = await storeOf();
      const rath = rathOf({ store });
      const world = new World();
      const module = moduleOf("m", async (session) => perform(session, asking(world, "pay", { amount: 3 })));
      const suspended = await rath.run(module, rath.start("go"), { name: "n" });
      const ask = await store.load(only(made(suspended, "approval-ask")).id);
      await store.save(await forge(ask, store), { name: `answer/${suspended.fact.run}/${ask.id}` });
      const after = await rath.resume("n", module).catch((error: unknown) => error as Error);
      expect([name, world.calls]).toEqual([name, []]);
      if (after instanceof Error) continue;
      if (after.fact.type !== "run-end") continue;
      expect([name, errorIn(after.parents[0] as Session).code]).toEqual([name, "approval-mismatch"]);
      for (const one of after.history())
        expect(one.parents.map(({ id }) => id)).toEqual(JSON.parse(one.line).parents);
      expect((await blind(store).replay("n", module, { mode: "verify" })).id).toBe(after.id);
    }
  });

  it("[A2] two that are asked in one step never answer each other", async () => {
    for (const order of [
      [0, 1],
      [1, 0],
    ] as const) {
      const rath = rathOf();
      const world = new World();
      const module = moduleOf("m", async (session) =>
        performAll(session, [asking(world, "a", 1), asking(world, "b", 1)]),
      );
      const suspended = await rath.run(module, rath.start("go"), { name: "n" });
      const asks = made(suspended, "approval-ask").map(({ id }) => id);
      expect(asks).toHaveLength(2);
      await expect(rath.approve("n", { by: "user:ada" })).rejects.toBeInstanceOf(AnswerError);
      const digests = (await rath.pending("n")).flatMap(({ digest }) =>
        digest === undefined ? [] : [digest],
      );
      // The digest of one does not do for the other.
      await expect(
        rath.approve("n", { by: "user:ada", ask: asks[0] as string, digest: digests[1] as string }),
      ).rejects.toBeInstanceOf(AnswerError);
      for (const index of order) {
        const ask = asks[index] as string;
        if (index === 0) await rath.approve("n", { by: "user:ada", ask });
        else await rath.reject("n", { by: "user:bob", ask, why: "not that one" });
      }
      const ended = await rath.resume("n", module);
      expect(world.calls).toEqual(["a"]);
      const calls = made(ended, "step-call");
      expect(only(all(ended, "step-result"))).toMatchObject({ of: calls[0]?.id, value: "a" });
      expect(only(all(ended, "step-failure"))).toMatchObject({
        of: calls[1]?.id,
        error: { name: "Rejected", message: "not that one" },
      });
      expect((await rath.replay("n", module, { mode: "verify" })).id).toBe(ended.id);
    }
  });

  it("[A2] two that look exactly alike are two questions", async () => {
    const rath = rathOf();
    const world = new World();
    const module = moduleOf("m", async (session) =>
      performAll(session, [asking(world, "a", 1), asking(world, "a", 1)]),
    );
    const suspended = await rath.run(module, rath.start("go"), { name: "n" });
    const asks = made(suspended, "approval-ask").map(({ id }) => id);
    await rath.approve("n", { by: "user:ada", ask: asks[1] as string });
    const later = await rath.resume("n", module);
    expect(later.fact.type).toBe("run-suspend");
    expect(world.calls).toEqual(["a"]);
    expect(later.pending.filter(({ type }) => type === "approval-ask").map(({ id }) => id)).toEqual([
      asks[0],
    ]);
    await rath.approve("n", { by: "user:ada" });
    const ended = await rath.resume("n", module);
    expect(world.calls).toEqual(["a", "a"]);
    expect((await rath.replay("n", module, { mode: "verify" })).id).toBe(ended.id);
  });

  it.each(["sqlite"] as const)(
    "[A2] of many that answer at once one is heard, from any process: %s",
    async (kind) => {
      const url = urlOf(kind);
      const world = new World();
      const module = moduleOf("m", async (session) => perform(session, asking(world, "pay", 1)));
      const first = rathOf({ store: url });
      await first.run(module, first.start("go"), { name: "n" });
      await first.close();
      const raths: Rath[] = [];
      // Two connections to one file; each answers many times.
      for (let index = 0; index < (kind === "sqlite" ? 2 : 1); index++) raths.push(rathOf({ store: url }));
      const answers = await Promise.allSettled(
        Array.from({ length: 10 }, (_, index) => {
          const rath = raths[index % raths.length] as Rath;
          return index % 3 === 0
            ? rath.reject("n", { by: `user:${index}`, why: "no" })
            : rath.approve("n", { by: `user:${index}` });
        }),
      );
      const won = answers.flatMap((answer) => (answer.status === "fulfilled" ? [answer.value] : []));
      expect(won).toHaveLength(1);
      for (const answer of answers)
        if (answer.status === "rejected") expect(answer.reason).toBeInstanceOf(AnswerError);
      const ended = await (raths[0] as Rath).resume("n", module);
      expect(only(made(ended, "approval-give")).id).toBe(won[0]);
    },
  );

  it("[A2] a second answer is refused: before the first is taken, after it, and by the name of the old suspension", async () => {
    const rath = rathOf();
    const world = new World();
    const module = moduleOf("m", async (session) => {
      const paid = await perform(session, asking(world, "pay", 1));
      return waitFor(paid, { type: "signal-await", name: "s" });
    });
    const suspended = await rath.run(module, rath.start("go"), { name: "n" });
    await rath.reject("n", { by: "user:ada", why: "no" });
    await expect(rath.approve("n", { by: "user:eve" })).rejects.toBeInstanceOf(AnswerError);
    const later = await rath.resume("n", module);
    expect(later.pending.map(({ type }) => type)).toEqual(["signal-await"]);
    await expect(rath.approve("n", { by: "user:eve" })).rejects.toBeInstanceOf(AnswerError);
    await expect(rath.approve(suspended.id, { by: "user:eve" })).rejects.toBeInstanceOf(AnswerError);
    await rath.signal("n", "s", 1, "user:ada");
    await rath.resume("n", module);
    await expect(rath.approve(suspended.id, { by: "user:eve" })).rejects.toBeInstanceOf(AnswerError);
    await expect(rath.signal(later.id, "s", 2, "user:eve")).rejects.toBeInstanceOf(AnswerError);
    expect((await (await rath.store()).names()).map(({ name }) => name)).toEqual(["n"]);
    expect(world.calls).toEqual([]);
  });

  it("[A3] a rejection is an outcome with the reason, and the effect is not started", async () => {
    const store = await storeOf();
    const rath = rathOf({ store });
    const world = new World();
    const module = moduleOf("m", async (session) => {
      const paid = await perform(session, asking(world, "pay", 1));
      return perform(paid, world.step("after"));
    });
    await rath.run(module, rath.start("go"), { name: "n" });
    await rath.reject("n", { by: "user:ada", why: "too much" });
    const ended = await rath.resume("n", module);
    expect(world.calls).toEqual(["after"]);
    expect(only(all(ended, "step-failure")).error).toMatchObject({ message: "too much", code: "rejected" });
    expect(all(ended, "effect-start")).toEqual([]);
    expect((await blind(store).replay("n", module, { mode: "verify" })).id).toBe(ended.id);
  });

  it("[A4] an answer that nobody asked for is refused, with what is awaited", async () => {
    const store = await storeOf();
    const rath = rathOf({ store });
    const world = new World();
    const module = moduleOf("m", async (session) => {
      const sides = await Promise.all([
        perform(session.fork("a"), asking(world, "pay", 1)),
        waitFor(session.fork("b"), { type: "signal-await", name: "door", what: { open: "?" } }),
        waitFor(session.fork("c"), { type: "signal-await", name: "door" }),
      ]);
      return sides[0].merge(sides.slice(1));
    });
    const suspended = await rath.run(module, rath.start("go"), { name: "n" });
    const { facts } = await store.check();
    const refusals: [Promise<unknown>, object][] = [
      [
        rath.approve("n", { by: "user:a", ask: "f".repeat(64) }),
        { kind: "approval-ask", waiting: [{ type: "approval-ask" }] },
      ],
      [
        rath.approve("n", { by: "user:a", digest: "f".repeat(64) }),
        { shown: "f".repeat(64), asked: expect.any(String) },
      ],
      [rath.reject("n", { by: "user:a", digest: "f".repeat(64) }), { shown: "f".repeat(64) }],
      [rath.signal("n", "window", 1, "user:a"), { waiting: [{ what: "door" }, { what: "door" }] }],
      [rath.signal("n", "door", 1, "user:a"), { waiting: [{ what: "door" }, { what: "door" }] }],
      [rath.answer("n", only(made(suspended, "approval-ask")).id, 1, "user:a"), { kind: "signal-await" }],
      [rath.settle("n", { by: "user:a", decision: "done" }), { kind: "doubt", waiting: [] }],
      [
        rath.settle("n", { by: "user:a", of: only(made(suspended, "step-call")).id, decision: "done" }),
        { waiting: [] },
      ],
    ];
    for (const [refused, data] of refusals) {
      const error = await refused.then(
        () => undefined,
        (thrown: unknown) => thrown,
      );
      expect(error).toBeInstanceOf(AnswerError);
      expect(error).toMatchObject({ code: "answer-refused", data });
    }
    expect((await store.check()).facts).toBe(facts);
    await expect(rath.approve("nowhere", { by: "user:a" })).rejects.toMatchObject({ code: "not-found" });
    const doors = made(suspended, "signal-await").map(({ id }) => id);
    await rath.answer("n", doors[0] as string, "left", "user:ada");
    await rath.answer("n", doors[1] as string, "right", "user:bob");
    await rath.approve("n", { by: "user:ada" });
    const ended = await rath.resume("n", module);
    expect(ended.fact.type).toBe("run-end");
    expect(new Map(all(ended, "signal-give").map(({ of, value }) => [of, value]))).toEqual(
      new Map([
        [doors[0], "left"],
        [doors[1], "right"],
      ]),
    );
  });

  it("[A6] an answer that does not say who, or what became of it, is refused with what to type", async () => {
    const store = await storeOf();
    const rath = rathOf({ store });
    const world = new World();
    const module = moduleOf("m", async (session) =>
      performAll(session, [
        asking(world, "a", 1),
        world.step("pay", {
          effect: "write",
          timeout: 20,
          give: () => new Promise<never>(() => {}),
        }),
      ]),
    );
    await rath.run(module, rath.start("go"), { name: "n" });
    expect((await rath.pending("n")).map(({ doubt = false }) => doubt).sort()).toEqual([false, true]);
    const { facts } = await store.check();
    const any = rath as unknown as { [method: string]: (name: string, given: object) => Promise<unknown> };
    for (const method of ["settle", "approve", "reject"])
      await expect(any[method]?.("n", undefined as never)).rejects.toMatchObject({
        code: "run-refused",
        hint: expect.stringContaining(`rath.${method}("n", { by: "user:ada"`),
      });
    for (const [method, given, hint] of [
      ["settle", {}, 'rath.settle("n", { by: "user:ada", decision: "done", value })'],
      ["settle", { by: "user:ada" }, '"again" (do it again)'],
      ["settle", { by: "user:ada", decision: "maybe" }, '"failed" (it did not happen, and must not)'],
      ["settle", { decision: "done" }, 'rath.settle("n", { by: "user:ada"'],
      ["approve", {}, 'rath.approve("n", { by: "user:ada" })'],
      ["reject", { by: "" }, 'rath.reject("n", { by: "user:ada" })'],
    ] as const) {
      const error = await any[method]?.("n", given).catch((thrown: unknown) => thrown);
      expect(error, `${method} ${JSON.stringify(given)}`).toBeInstanceOf(AnswerError);
      expect(error).toMatchObject({ hint: expect.stringContaining(hint) });
    }
    expect((await store.check()).facts).toBe(facts);
    await rath.settle("n", { by: "user:ada", decision: "done", value: "paid" });
  });

  it("[A4] on a session that waits for nothing every answer is refused", async () => {
    const rath = rathOf();
    const module = moduleOf("m", async (session) => session.say("done"));
    await rath.run(module, rath.start("go"), { name: "n" });
    for (const refused of [
      rath.approve("n", { by: "user:a" }),
      rath.reject("n", { by: "user:a" }),
      rath.signal("n", "s", 1, "user:a"),
      rath.settle("n", { by: "user:a", decision: "again" }),
    ])
      await expect(refused).rejects.toMatchObject({ code: "answer-refused", data: { waiting: [] } });
  });

  it("[A2] an answer that was acknowledged is never lost, whatever else is written before it is taken in", async () => {
    const url = urlOf("sqlite");
    const world = new World();
    const module = moduleOf("m", async (session) =>
      performAll(session, [asking(world, "a", 1), asking(world, "b", 2)]),
    );
    const first = rathOf({ store: url });
    const suspended = await first.run(module, first.start("go"), { name: "n" });
    for (const { id } of made(suspended, "approval-ask"))
      await first.approve("n", { by: "user:ada", ask: id });
    await first.close();
    // Stops at each save in turn: after it, either the answer is still there or the run has it.
    for (let at = 1; at < 8; at++) {
      const copy = await openStore(url);
      const target = await storeOf();
      await target.sync(copy, { names: true });
      await copy.close();
      const { fragile } = await import("./testing/fragile.js");
      const dying = rathOf({ store: fragile(target, at, "after") });
      await dying.resume("n", module).catch(() => {});
      const rath = rathOf({ store: fragile(target) });
      const after = await rath.resume("n", module);
      expect([at, after.pending.filter(({ type }) => type === "approval-ask")]).toEqual([at, []]);
    }
  });
});

describe("an answer that comes too late", () => {
  it("[A5] is kept where the run ends, and a replay ends there too", async () => {
    const store = await storeOf();
    const rath = rathOf({ store });
    const world = new World();
    const hold = gate();
    const module = moduleOf("m", async (session) => {
      const waiting = lane(session.fork("waits"));
      const given = waitFor(waiting.session, { type: "signal-await", name: "s" }).catch(() => waiting.rest());
      const worked = await perform(
        session.fork("works"),
        world.step("work", { effect: "write", give: () => hold.passed }),
      );
      waiting.cancel("not needed");
      return worked.merge(await given);
    });
    const running = rath.run(module, rath.start("go"), { name: "n" });
    await until(() => world.count("work") > 0);
    const answer = await rath.signal("n", "s", { to: "late" }, "user:ada");
    hold.open();
    const ended = await running;
    expect(only(made(ended, "signal-give")).id).toBe(answer);
    expect(ended.parents.at(-1)?.id).toBe(answer);
    expect((await store.names()).map(({ name }) => name)).toEqual(["n"]);
    expect((await blind(store).replay("n", module, { mode: "verify" })).id).toBe(ended.id);
    const again = await rath.replay("n", module, { mode: "what-if" });
    expect(again.id).toBe(ended.id);
  });
});

describe("an answer that settles a doubt", () => {
  it("[A2] is taken in once: should the process die again, somebody is asked again", async () => {
    for (const at of [1, 2, 3]) {
      const store = await storeOf();
      const world = new World();
      const hold = gate();
      const module = moduleOf("m", async (session) =>
        perform(session, world.step("pay", { effect: "write", give: () => hold.passed })),
      );
      const crash = async (dying: Rath, running: Promise<unknown>, count: number): Promise<void> => {
        const gone = running.catch(() => {});
        await Promise.race([gone, until(() => world.count("pay") >= count)]);
        await dying.close();
      };
      const first = rathOf({ store: fragile(store) });
      await crash(first, first.run(module, first.start("go"), { name: "n" }), 1);
      const asking = rathOf({ store: fragile(store) });
      expect((await asking.resume("n", module)).pending).toMatchObject([{ doubt: true }]);
      await asking.settle("n", { by: "user:ada", decision: "again" });
      const second = rathOf({ store: fragile(store, at, "after") });
      await crash(second, second.resume("n", module), 2);
      const calls = world.count("pay");
      const third = rathOf({ store: fragile(store) });
      const stands = await third.resume("n", module);
      expect([at, stands.fact.type, world.count("pay")]).toEqual([at, "run-suspend", calls]);
      expect(stands.pending).toMatchObject([{ doubt: true }]);
      hold.open();
    }
  });
});
