import { describe, expect, it } from "vitest";
import type { Session } from "../session/index.js";
import { type Module, openRath, perform, type RathOptions, type Request } from "./index.js";
import { moduleOf } from "./testing/module.js";
import { blind, rathOf, storeOf, urlOf } from "./testing/rath.js";
import { all, only } from "./testing/record.js";
import { gate, until, World } from "./testing/world.js";

type Level = RathOptions["durability"];

/** A model call that counts itself. */
function model(world: World, name: string): Request {
  const { act: _, ...step } = world.step(name);
  return {
    ...step,
    fact: { type: "model-call", model: name, agent: "a" } as Request["fact"],
    act: async () => {
      world.calls.push(name);
      return { type: "model-reply", content: name, finish: "stop", usage: { input: 1, output: 1 } };
    },
    failed: (error) => ({ type: "model-failure", error }),
  } as Request;
}

/** Reads, asks a model, reads once more, and stands still in the last read as long as the world wants. */
function program(world: World, stand: () => Promise<unknown>, last: "read" | "write" = "read"): Module {
  return moduleOf("m", async (session) => {
    let next: Session = session;
    for (const request of [world.step("first"), model(world, "model"), world.step("second")])
      next = await perform(next, request);
    return perform(next, world.step("last", { effect: last, give: () => stand().then(() => "done") }));
  });
}

/** The calls of a process that dies in its last step, and of the one that goes on. */
async function crashed(durability: Level, last: "read" | "write" = "read", wait = 0): Promise<World> {
  const url = urlOf("sqlite");
  const world = new World();
  const dying = openRath({ store: url, ...(durability !== undefined && { durability }) });
  const { passed } = gate();
  const running = dying.run(
    program(world, async () => passed, last),
    dying.start("go"),
    { name: "n" },
  );
  running.catch(() => {});
  await until(() => world.calls.includes("last"));
  if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
  // What is in memory is lost, as it is when the process is killed: nothing is written any more.
  await dying.close();
  const rath = rathOf({ store: url });
  const module = program(world, async () => {}, last);
  const session = await rath.resume("n", module);
  if (session.pending.length > 0) {
    await rath.settle("n", { by: "user:ada", decision: "done", value: "done" });
    await rath.resume("n", module);
  }
  const ended = await rath.load("n");
  expect(ended.fact.type).toBe("run-end");
  expect((await blind(await rath.store()).replay("n", module, { mode: "verify" })).id).toBe(ended.id);
  return world;
}

const counts = (world: World): readonly number[] =>
  ["first", "model", "second", "last"].map((name) => world.count(name));

describe("durability", () => {
  it('[DU1] "facts": a crash repeats nothing but the step that it cut off', async () => {
    expect(counts(await crashed("facts"))).toEqual([1, 1, 1, 2]);
  });

  it('[DU1] "effects", the default: a crash repeats no model call, and reads of the last second', async () => {
    for (const level of ["effects", undefined] as const)
      expect(counts(await crashed(level))).toEqual([1, 1, 2, 2]);
  });

  it("[DU1] every so many milliseconds: a crash repeats what came since then, model calls too", async () => {
    expect(counts(await crashed({ every: 60_000 }))).toEqual([2, 2, 2, 2]);
    expect(counts(await crashed({ every: 20 }, "read", 200))).toEqual([1, 1, 1, 2]);
  });

  it("[DU2] a write is durable before it starts, with all that led to it, at every level", async () => {
    for (const level of ["facts", "effects", { every: 60_000 }] as const)
      expect(counts(await crashed(level, "write"))).toEqual([1, 1, 1, 1]);
  });

  it("[DU3] the level is on the record where it is not the default, and a run keeps it", async () => {
    const world = new World();
    const module = program(world, async () => {});
    const levels = ["facts", { every: 500 }, "effects", undefined] as const;
    for (const durability of levels) {
      const store = await storeOf();
      const rath = rathOf({ store, ...(durability !== undefined && { durability }) });
      const session = await rath.run(module, rath.start("go"), { name: "n" });
      const { durability: recorded } = only(all(session, "run-start"));
      expect(recorded).toEqual(durability === "effects" ? undefined : durability);
      // Whatever level the runtime has that reads it.
      for (const other of levels) {
        const reader = rathOf({ store, ...(other !== undefined && { durability: other }) });
        expect((await reader.replay("n", module, { mode: "verify" })).id).toBe(session.id);
      }
    }
  });

  it("[DU3] another level is refused", () => {
    for (const durability of ["all", {}, { every: 0 }, { every: 1.5 }, { every: 5, more: 1 }, null, 500])
      expect(() => openRath({ durability } as RathOptions)).toThrow("`durability` must be");
  });
});
