import { describe, expect, it } from "vitest";
import type { Session } from "../session/index.js";
import { lane, perform, performAll, waitFor } from "./index.js";
import { type Death, fragile } from "./testing/fragile.js";
import { moduleOf } from "./testing/module.js";
import { rathOf, storeOf, urlOf } from "./testing/rath.js";
import { crashAt, finish, over, type Program, resultOf } from "./testing/survive.js";
import { signalIn, valueIn, World } from "./testing/world.js";

const text = (session: Session): string =>
  session.fact.type === "step-result" ? String(valueIn(session)) : "failed";

const programs: { readonly [name: string]: Program } = {
  chain: (world) =>
    moduleOf("chain", async (session) => {
      let next = session;
      for (const [index, effect] of (
        ["write", "read", "idempotent", "write", "pure", "write"] as const
      ).entries()) {
        next = await perform(next, world.step(`${effect}${index}`, { effect }));
        next = next.say(text(next));
      }
      return next;
    }),
  parallel: (world) =>
    moduleOf("parallel", async (session) => {
      const ends = await Promise.all(
        ["a", "b", "c"].map(async (name) => {
          let next = session.fork(name);
          for (let turn = 0; turn < 2; turn++) {
            next = await perform(
              next,
              world.step(`${name}${turn}`, { effect: turn === 0 ? "write" : "idempotent" }),
            );
            next = next.say(text(next));
          }
          return next;
        }),
      );
      return perform((ends[0] as Session).merge(ends.slice(1)), world.step("last", { effect: "write" }));
    }),
  tools: (world) => {
    const child = moduleOf("child", async (session) =>
      perform(session.say("in"), world.step("inside", { effect: "write" })),
    );
    return moduleOf("tools", async (session) => {
      const all = await performAll(session, [
        world.step("w1", { effect: "write", conflicts: ["k"] }),
        {
          fact: { type: "tool-call", name: "child", input: null },
          effect: "pure",
          act: () => Promise.reject(new Error("no effect")),
          failed: (error) => ({ type: "tool-failure", error }),
          inside: {
            branch: "child",
            body: (fork) => child.forward(fork),
            outcome: () => ({ type: "tool-result", output: "ok" }),
          },
        },
        world.step("w2", { effect: "write", conflicts: ["k"] }),
        world.step("r", {}),
      ]);
      return all.say("done");
    });
  },
  waiting: (world) =>
    moduleOf("waiting", async (session) => {
      const ends = await Promise.all([
        performAll(session.fork("ask"), [
          world.step("pay", { effect: "write", approval: { what: "pay" } }),
          world.step("send", { effect: "write", approval: { what: "send" } }),
        ]),
        waitFor(session.fork("signal"), { type: "signal-await", name: "s" }).then((given) =>
          perform(given.say(String(signalIn(given))), world.step("after", { effect: "write" })),
        ),
        waitFor(session.fork("timer"), { type: "timer-set", milliseconds: 1 }),
      ]);
      return ends[0].merge(ends.slice(1)).say("end");
    }),
  failing: (world) => {
    const bad = (name: string) =>
      moduleOf("bad", async (session) => {
        await perform(session, world.step(name, { effect: "write" }));
        throw new Error(`${name} as always`);
      });
    return moduleOf("failing", async (session) => {
      const caught = await bad("first")
        .forward(session)
        .catch((error: Error) => error.message);
      const next = await perform(session.say(String(caught)), world.step("on", { effect: "write" }));
      return bad("second").forward(next);
    });
  },
  racing: (world) =>
    moduleOf("racing", async (session) => {
      const lanes = ["x", "y"].map((name) => lane(session.fork(name)));
      const runs = lanes.map((one, index) =>
        index === 0
          ? perform(one.session, world.step("winner", { effect: "write" }))
          : waitFor(one.session, { type: "signal-await", name: "loser" }),
      );
      const won = await Promise.race(runs);
      lanes[1]?.cancel("too late");
      await runs[1]?.catch(() => {});
      return perform(won.say("won"), world.step("prize", { effect: "write" }));
    }),
  retrying: (world) => {
    const failures = new Map<string, number>();
    return moduleOf("retrying", async (session) => {
      let next = session;
      for (const name of ["one", "two"])
        next = await perform(
          next,
          world.step(name, {
            effect: "idempotent",
            retry: { attempts: 9, wait: 0, when: () => true },
            give: () => {
              const count = (failures.get(name) ?? 0) + 1;
              failures.set(name, count);
              if (count < 3) throw new Error("not yet");
              return name;
            },
          }),
        );
      return next.say(text(next));
    });
  },
};

/** A write is done at most once, whatever happens; it is done exactly once in the end. */
function checkWrites(world: World, reference: World, place: string): void {
  for (const name of new Set(reference.calls)) {
    if (name === "one" || name === "two") continue;
    const repeatable = /^(read|pure|idempotent|r$|[abc]1$)/.test(name);
    if (repeatable) expect([place, name, world.count(name) >= 1]).toEqual([place, name, true]);
    else expect([place, name, world.count(name)]).toEqual([place, name, 1]);
  }
}

describe("a crash at every write", () => {
  for (const [name, program] of Object.entries(programs))
    for (const how of ["before", "after", "hang"] as const satisfies readonly Death[])
      it(`[T5] ${name}, ${how}: no acknowledged fact is lost, no write is repeated, the result is the same`, async () => {
        const probe = fragile(await storeOf());
        const whole = rathOf({ store: probe });
        const reference = new World();
        const module = program(reference);
        await over(whole.run(module, whole.start("go"), { name: "n" }));
        const ended = await finish(whole, module, reference);
        const expected = resultOf(ended);
        const saves = probe.saves();
        expect(saves).toBeGreaterThan(2);
        for (let at = 1; at <= saves; at++) {
          const world = new World();
          const end = await crashAt(await storeOf(), program, world, { at, how });
          expect([at, resultOf(end)]).toEqual([at, expected]);
          checkWrites(world, reference, `${name} ${how} ${at}`);
        }
      });

  for (const [name, program] of Object.entries(programs))
    it(`[T6] ${name}: a second crash while it is resumed changes nothing either`, async () => {
      const probe = fragile(await storeOf());
      const whole = rathOf({ store: probe });
      const reference = new World();
      const module = program(reference);
      await over(whole.run(module, whole.start("go"), { name: "n" }));
      const expected = resultOf(await finish(whole, module, reference));
      for (let at = 1; at <= probe.saves(); at++)
        for (const again of [1, 2, 3]) {
          const world = new World();
          const how = (["before", "after", "hang"] as const)[(at + again) % 3] as Death;
          const end = await crashAt(await storeOf(), program, world, { at, how, again });
          expect([at, again, resultOf(end)]).toEqual([at, again, expected]);
          checkWrites(world, reference, `${name} ${how} ${at} ${again}`);
        }
    });

  it.each(["sqlite"] as const)("[T5] on a disk, with every process a new one: %s", async (kind) => {
    const program = programs.parallel as Program;
    const probe = fragile(await storeOf());
    const whole = rathOf({ store: probe });
    const reference = new World();
    const expected = resultOf(await whole.run(program(reference), whole.start("go")));
    for (let at = 1; at <= probe.saves(); at += 2) {
      const world = new World();
      const end = await crashAt(await storeOf(urlOf(kind)), program, world, { at, how: "after" });
      expect([at, resultOf(end)]).toEqual([at, expected]);
      checkWrites(world, reference, `${kind} ${at}`);
    }
  });
});
