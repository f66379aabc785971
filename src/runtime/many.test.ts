import { describe, expect, it } from "vitest";
import type { Session } from "../session/index.js";
import { digestOfModule, type Module, perform, performAll, RunFailedError, waitFor } from "./index.js";
import { Queue } from "./tape/queue.js";
import { moduleOf } from "./testing/module.js";
import { blind, rathOf, storeOf } from "./testing/rath.js";
import { all, typesOf } from "./testing/record.js";
import { gate, until, World } from "./testing/world.js";

describe("by the thousand", () => {
  it("[H9] branches side by side replay to the same id", async () => {
    const store = await storeOf();
    const world = new World();
    const module = moduleOf("m", async (session) => {
      await Promise.all(
        Array.from({ length: 2_000 }, (_, place) =>
          perform(session.fork(`branch ${place}`), world.step(`s${place}`)),
        ),
      );
      return session.say("done");
    });
    const rath = rathOf({ store });
    const ended = await rath.run(module, rath.start("go"), { name: "n" });
    expect((await blind(store).replay("n", module, { mode: "verify" })).id).toBe(ended.id);
    expect(world.calls.length).toBe(2_000);
  });

  it("[H9] modules inside each other replay to the same id", async () => {
    const store = await storeOf();
    const inside = (left: number): Module =>
      moduleOf("down", (session) =>
        left === 0 ? perform(session, new World().step("s")) : inside(left - 1).forward(session),
      );
    const rath = rathOf({ store });
    const ended = await rath.run(inside(2_000), rath.start("go"), { name: "n" });
    expect(all(ended, "module-exit").length).toBe(2_000);
    expect((await blind(store).replay("n", inside(2_000), { mode: "verify" })).id).toBe(ended.id);
  });

  it("[H9] modules that all contain each other have a digest, which any of them changes", () => {
    const team = (changed = -1): Module => {
      const members = Array.from({ length: 14 }, (_, place) => ({
        name: `member ${place}`,
        state: { version: place === changed ? 2 : 1 },
        parts: {} as { [name: string]: Module },
        forward: async (session: Session) => session,
      }));
      for (const member of members)
        for (const other of members) if (other !== member) member.parts[other.name] = other;
      return members[0] as Module;
    };
    expect(digestOfModule(team())).toBe(digestOfModule(team()));
    const digests = Array.from({ length: 15 }, (_, place) => digestOfModule(team(place - 1)));
    expect(new Set(digests).size).toBe(15);
  });

  it("[M3] a module is the same whether it is used twice or made twice", () => {
    const leaf = (): Module => ({ name: "leaf", forward: async (session) => session });
    const of = (left: Module, right: Module): Module => ({
      name: "top",
      parts: { left, right },
      forward: async (session) => session,
    });
    const shared = leaf();
    expect(digestOfModule(of(shared, shared))).toBe(digestOfModule(of(leaf(), leaf())));
    expect(digestOfModule(of(shared, of(shared, shared)))).not.toBe(digestOfModule(of(shared, shared)));
  });

  it("[T3] queued outcomes are told in order, however they came", () => {
    for (let round = 0; round < 200; round++) {
      const orders = Array.from({ length: round % 20 }, (_, place) => (place * 7919 + round * 31) % 23);
      const queue = new Queue<number>();
      const told: number[] = [];
      for (const order of orders) queue.add(order, order);
      for (let first = queue.first; first !== undefined; first = queue.first) {
        told.push(first);
        queue.shift();
      }
      expect(told).toEqual([...orders].sort((one, other) => one - other));
    }
  });
});

describe("around a run", () => {
  it("[E1] all requests are made or none: one that cannot be recorded leaves nothing pending", async () => {
    const store = await storeOf();
    const world = new World();
    const module = moduleOf("m", (session) =>
      performAll(session, [world.step("good"), world.step("bad", { input: { size: 10n } as never })]).catch(
        () => session.say("went on"),
      ),
    );
    const rath = rathOf({ store });
    const ended = await rath.run(module, rath.start("go"), { name: "n" });
    expect(typesOf(ended)).toEqual(["session-start", "run-start", "message-say", "run-end"]);
    expect(ended.pending).toEqual([]);
  });

  it("[H8] a run cannot be begun with a session inside another one, whose replay would begin it again", async () => {
    const rath = rathOf();
    const world = new World();
    const inner = moduleOf("inner", (session) => perform(session, world.step("pay", { effect: "write" })));
    const outer = moduleOf("outer", (session) => rath.run(inner, session));
    const error = await rath.run(outer, rath.start("go"), { name: "n" }).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(RunFailedError);
    expect((error as RunFailedError).cause).toMatchObject({
      code: "run-refused",
      hint: expect.stringContaining("module.forward(session)"),
    });
    expect(world.calls).toEqual([]);
  });

  it("[H8] once that one is over, its sessions are a beginning like any other", async () => {
    const rath = rathOf();
    const world = new World();
    let kept: Session | undefined;
    const first = moduleOf("first", async (session) => {
      kept = await perform(session, world.step("a"));
      return kept;
    });
    await rath.run(first, rath.start("go"), { name: "n" });
    const next = moduleOf("next", (session) => perform(session, world.step("b")));
    for (const ended of [await next.forward(kept as Session), await rath.run(next, kept as Session)]) {
      expect(all(ended, "run-start").map(({ module }) => module)).toEqual(["first", "next"]);
      expect(ended.host).toBe(rath);
    }
    expect(world.calls).toEqual(["a", "b", "b"]);
  });

  it("[A4] pending lists everything that the whole run awaits now, whichever of its sessions is named", async () => {
    const store = await storeOf();
    const world = new World();
    const hold = gate();
    const doubtful = moduleOf("m", async (session) => {
      const [left] = await Promise.all([
        perform(session.fork("a"), world.step("read", { effect: "idempotent", give: () => hold.passed })),
        perform(session.fork("b"), world.step("pay", { effect: "write", give: () => hold.passed })),
      ]);
      return left;
    });
    const first = rathOf({ store });
    const running = first.run(doubtful, first.start("go"), { name: "n" }).catch(() => {});
    await until(() => world.calls.length === 2);
    await first.close();
    await running;
    const rath = rathOf({ store });
    expect((await rath.pending("n")).filter(({ doubt }) => doubt).map(({ what }) => what)).toEqual(["pay"]);
    const asking = moduleOf("asking", async (session) => {
      const one = await waitFor(session, { type: "signal-await", name: "one" });
      return waitFor(one, { type: "signal-await", name: "two" });
    });
    const old = await rath.run(asking, rath.start("go"), { name: "k" });
    await rath.signal("k", "one", 1, "user:ada");
    await rath.resume("k", asking);
    expect((await rath.pending(old.id)).map(({ what, answered }) => [what, answered])).toEqual([
      ["two", false],
    ]);
  });
});
