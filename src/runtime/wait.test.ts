import { describe, expect, it } from "vitest";
import type { FactOf, Session } from "../session/index.js";
import { openStore } from "../store/index.js";
import { perform, performAll, waitFor } from "./index.js";
import { moduleOf } from "./testing/module.js";
import { blind, clockOf, rathOf, storeOf, urlOf } from "./testing/rath.js";
import { all, made, only, typesOf } from "./testing/record.js";
import { signalIn, World } from "./testing/world.js";

const HOUR = 3_600_000;

describe("waiting", () => {
  it.each(["sqlite"] as const)(
    "[T7] suspends: no catch or finally sees it, and another process goes on: %s",
    async (kind) => {
      const url = urlOf(kind);
      const world = new World();
      const seen: string[] = [];
      const inner = moduleOf("inner", async (session) => {
        try {
          const given = await waitFor(session.say("waiting"), {
            type: "signal-await",
            name: "go",
            what: { hint: "say go" },
          });
          seen.push(`given ${String(signalIn(given))}`);
          return given;
        } catch {
          seen.push("catch");
          throw new Error("swallowed");
        } finally {
          seen.push("finally");
        }
      });
      const module = moduleOf("outer", async (session) => {
        try {
          const one = await perform(session, world.step("before", { effect: "write" }));
          return await perform(await inner.forward(one), world.step("after", { effect: "write" }));
        } finally {
          seen.push("outer finally");
        }
      });
      const first = rathOf({ store: url });
      const suspended = await first.run(module, first.start("go"), { name: "n" });
      expect(suspended.fact).toMatchObject({
        type: "run-suspend",
        waiting: [only(made(suspended, "signal-await")).id],
      });
      for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate);
      expect(seen).toEqual([]);
      expect(await first.pending("n")).toMatchObject([
        { type: "signal-await", what: "go", shown: { hint: "say go" }, answered: false },
      ]);
      expect(await first.unfinished()).toMatchObject([
        { name: "n", module: "outer", run: suspended.fact.run },
      ]);
      await first.close();

      const second = rathOf({ store: url });
      expect((await second.resume("n", module)).id).toBe(suspended.id);
      const answer = await second.signal("n", "go", "now", "user:ada");
      await second.close();

      const third = rathOf({ store: url });
      const ended = await third.resume("n", module);
      expect(seen).toEqual(["given now", "finally", "outer finally"]);
      expect(world.calls).toEqual(["before", "after"]);
      const take = only(made(ended, "answer-take"));
      const request = only(made(ended, "signal-await"));
      expect(take.parents.map(({ id }) => id)).toEqual([request.id, answer]);
      expect(take.parents[1]?.parents.map(({ id }) => id)).toEqual([request.id]);
      expect(ended.descendsFrom(suspended)).toBe(false);
      expect(ended.pending).toEqual([]);
      const store = await third.store();
      expect((await store.names()).map(({ name }) => name)).toEqual(["n"]);
      expect(await third.unfinished()).toEqual([]);
      await third.close();
      seen.length = 0;
      expect((await blind(url).replay("n", module, { mode: "verify" })).id).toBe(ended.id);
      expect(seen).toEqual(["given now", "finally", "outer finally"]);
    },
  );

  it("[T7] a suspension has every frontier as parents, and comes when all other branches rest", async () => {
    const rath = rathOf();
    const world = new World();
    const module = moduleOf("m", async (session) => {
      const ends = await Promise.all([
        waitFor(session.fork("a"), { type: "signal-await", name: "s" }),
        perform(session.fork("b"), world.step("slow", { takes: 5 })).then((next) =>
          perform(next, world.step("slower", { takes: 5 })),
        ),
        perform(session.fork("c"), world.step("pay", { effect: "write", approval: { what: 1 } })),
      ]);
      return ends[0].merge(ends.slice(1));
    });
    const suspended = await rath.run(module, rath.start("go"), { name: "n" });
    expect(world.calls).toEqual(["slow", "slower"]);
    expect(suspended.parents.map(({ fact }) => fact.type).sort()).toEqual([
      "approval-ask",
      "signal-await",
      "step-result",
    ]);
    expect(suspended.pending.map(({ type }) => type).sort()).toEqual([
      "approval-ask",
      "signal-await",
      "step-call",
    ]);
    expect((suspended.fact as FactOf<"run-suspend">).waiting).toHaveLength(2);
  });

  it("[T7] answers to parallel branches may come one by one, in any order", async () => {
    for (const order of [
      ["a", "b", "c"],
      ["c", "a", "b"],
      ["b", "c", "a"],
    ]) {
      const store = await storeOf();
      const rath = rathOf({ store });
      const world = new World();
      const heard: string[] = [];
      const module = moduleOf("m", async (session) => {
        const ends = await Promise.all(
          ["a", "b", "c"].map(async (name) => {
            const given = await waitFor(session.fork(name), { type: "signal-await", name });
            heard.push(name);
            return perform(given, world.step(name, { effect: "write" }));
          }),
        );
        return (ends[0] as Session).merge(ends.slice(1)).say(heard.join());
      });
      await rath.run(module, rath.start("go"), { name: "n" });
      for (const name of order) {
        await rath.signal("n", name, name, "user:ada");
        heard.length = 0;
        await rath.resume("n", module);
      }
      const ended = await rath.load("n");
      expect(ended.fact.type).toBe("run-end");
      expect(world.calls).toEqual(order);
      expect(heard).toEqual(order);
      heard.length = 0;
      expect((await blind(store).replay("n", module, { mode: "verify" })).id).toBe(ended.id);
    }
  });

  it("[T7] an answer that is there already when it is asked for does not suspend: the next one may be given meanwhile", async () => {
    const rath = rathOf();
    const world = new World();
    const module = moduleOf("m", async (session) => {
      let next = session;
      for (let turn = 0; turn < 5; turn++)
        next = await perform(
          await waitFor(next, { type: "signal-await", name: `s${turn}` }),
          world.step(`e${turn}`),
        );
      return next;
    });
    let suspended = await rath.run(module, rath.start("go"), { name: "n" });
    for (let turn = 0; turn < 5; turn++) {
      expect(suspended.pending.map(({ what }) => what)).toEqual([`s${turn}`]);
      await rath.signal("n", `s${turn}`, turn, "user:ada");
      suspended = await rath.resume("n", module);
    }
    expect(suspended.fact.type).toBe("run-end");
    expect(world.calls).toEqual(["e0", "e1", "e2", "e3", "e4"]);
    expect(all(suspended, "run-suspend")).toEqual([]);
  });

  it("[T7] a short timer is waited for, a long one suspends until it is due", async () => {
    const url = urlOf("sqlite");
    const { clock, pass } = clockOf();
    const world = new World();
    const module = moduleOf("m", async (session) => {
      const short = await waitFor(session, { type: "timer-set", milliseconds: 3 });
      const long = await waitFor(short, { type: "timer-set", milliseconds: 2 * HOUR });
      const until = await waitFor(long, { type: "timer-set", until: "2026-01-01T05:00:00.000Z" });
      return perform(until, world.step("after"));
    });
    const first = rathOf({ store: url, clock });
    const suspended = await first.run(module, first.start("go"), { name: "n" });
    expect(suspended.pending).toMatchObject([{ type: "timer-set", what: "2026-01-01T02:00:00.000Z" }]);
    pass(HOUR);
    expect((await first.resume("n", module)).id).toBe(suspended.id);
    await first.close();
    const second = rathOf({ store: url, clock });
    pass(HOUR);
    const later = await second.resume("n", module);
    expect(later.pending).toMatchObject([{ type: "timer-set", what: "2026-01-01T05:00:00.000Z" }]);
    // Long past is due as well.
    pass(100 * HOUR);
    const ended = await second.resume("n", module);
    expect(ended.fact.type).toBe("run-end");
    expect(all(ended, "timer-fire")).toHaveLength(3);
    expect(world.calls).toEqual(["after"]);
    expect((await blind(await second.store()).replay("n", module, { mode: "verify" })).id).toBe(ended.id);
  });

  it("[T7] patience is the host's: what is long for one is short for another", async () => {
    const world = new World();
    const module = moduleOf("m", async (session) =>
      perform(await waitFor(session, { type: "timer-set", milliseconds: 20 }), world.step("after")),
    );
    const patient = rathOf({ patience: 100 });
    expect((await patient.run(module, patient.start("go"))).fact.type).toBe("run-end");
    const hasty = rathOf({ patience: 5 });
    expect((await hasty.run(module, hasty.start("go"))).fact.type).toBe("run-suspend");
  });

  it("[T7] in a race of a timer and a signal the first one wins, on the tape too", async () => {
    for (const winner of ["timer", "signal"]) {
      const store = await storeOf();
      const { clock, pass } = clockOf();
      const rath = rathOf({ store, clock });
      const module = moduleOf("m", async (session) => {
        const first = await Promise.race([
          waitFor(session.fork("a"), { type: "timer-set", milliseconds: HOUR }),
          waitFor(session.fork("b"), { type: "signal-await", name: "s" }),
        ]);
        return first.say(first.fact.type);
      });
      await rath.run(module, rath.start("go"), { name: "n" });
      if (winner === "signal") await rath.signal("n", "s", 1, "user:ada");
      else pass(HOUR);
      const suspended = await rath.resume("n", module);
      // The other one is still awaited: a run does not end while something is pending.
      expect(suspended.fact.type).toBe("run-suspend");
      expect(suspended.pending.map(({ type }) => type)).toEqual([
        winner === "signal" ? "timer-set" : "signal-await",
      ]);
      if (winner === "signal") pass(HOUR);
      else await rath.signal("n", "s", 1, "user:ada");
      const ended = await rath.resume("n", module);
      expect(ended.transcript.at(-1)).toMatchObject({
        content: winner === "signal" ? "answer-take" : "timer-fire",
      });
      expect((await blind(store).replay("n", module, { mode: "verify" })).id).toBe(ended.id);
    }
  });

  it("[T7] a question of the program's own suspends like any other", async () => {
    const rath = rathOf();
    const module = moduleOf("m", async (session) => {
      const given = await waitFor(session, { type: "approval-ask", what: "deploy?", digest: "a".repeat(64) });
      const { fact } = given.parents[1] as Session;
      return given.say(fact.type === "approval-give" ? fact.decision : fact.type);
    });
    await rath.run(module, rath.start("go"), { name: "n" });
    await expect(rath.approve("n", { by: "user:a", digest: "b".repeat(64) })).rejects.toMatchObject({
      code: "answer-refused",
    });
    await rath.approve("n", { by: "user:a", digest: "a".repeat(64) });
    const ended = await rath.resume("n", module);
    expect(ended.transcript.at(-1)).toMatchObject({ content: "approve" });
    expect((await rath.replay("n", module, { mode: "verify" })).id).toBe(ended.id);
  });

  it("[T7] an answer that is given while the run is still busy elsewhere is taken in without a suspension", async () => {
    const rath = rathOf();
    const world = new World();
    let answered = false;
    const module = moduleOf("m", async (session) => {
      const [a, b] = await Promise.all([
        waitFor(session.fork("a"), { type: "signal-await", name: "s" }),
        perform(
          session.fork("b"),
          world.step("busy", {
            effect: "write",
            give: async () => {
              await rath.signal("n", "s", 1, "user:ada");
              answered = true;
              return 1;
            },
          }),
        ),
      ]);
      return (a as Session).merge(b as Session);
    });
    const ended = await rath.run(module, rath.start("go"), { name: "n" });
    expect(answered).toBe(true);
    expect(ended.fact.type).toBe("run-end");
    expect(typesOf(ended)).not.toContain("run-suspend");
    expect((await rath.replay("n", module, { mode: "verify" })).id).toBe(ended.id);
  });

  it("[T7] a session that was suspended many times goes on where it was, with one line per fact", async () => {
    const url = urlOf("sqlite");
    const world = new World();
    const module = moduleOf("m", async (session) => {
      let next = session;
      for (let turn = 0; turn < 10; turn++) {
        next = await performAll(next, [world.step(`w${turn}`, { effect: "write" }), world.step(`r${turn}`)]);
        next = await waitFor(next, { type: "signal-await", name: "next" });
      }
      return next;
    });
    const first = rathOf({ store: url });
    await first.run(module, first.start("go"), { name: "n" });
    await first.close();
    for (let turn = 0; turn < 10; turn++) {
      const rath = rathOf({ store: url });
      await rath.signal("n", "next", turn, "user:ada");
      await rath.resume("n", module);
      await rath.close();
    }
    const store = await openStore(url);
    const ended = await store.load("n");
    expect(ended.fact.type).toBe("run-end");
    expect(new Set(world.calls).size).toBe(20);
    expect(world.calls).toHaveLength(20);
    expect((await store.names()).map(({ name }) => name)).toEqual(["n"]);
    await store.close();
  });
});
