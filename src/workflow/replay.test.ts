import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { openRath, RunFailedError } from "../runtime/index.js";
import type { Session } from "../session/index.js";
import { campaign } from "../session/testing/campaign.js";
import {
  branch,
  loop,
  type Module,
  map,
  now,
  parallel,
  race,
  random,
  retry,
  sequence,
  sleep,
  step,
  uuid,
  workflow,
} from "./index.js";
import { fails, says, slow } from "./testing/modules.js";
import { ran } from "./testing/ran.js";

describe("replay", () => {
  it.each<[string, () => Module]>([
    ["sequence", () => sequence([says("a"), slow("b", 1)])],
    ["parallel", () => parallel("p", [slow("a", 3), slow("b", 1), says("c")])],
    ["bounded parallel", () => parallel("p", [slow("a", 3), slow("b", 1), says("c")], { concurrency: 2 })],
    ["loop", () => loop("l", slow("a", 1), { max: 5, until: (_session, turn) => turn === 3 })],
    ["retry", () => retry("r", fails("a", 2), { attempts: 3 })],
    ["branch", () => branch("b", () => "one", { routes: { one: says("1"), two: says("2") } })],
    ["race", () => race("r", [slow("a", 30_000), slow("b", 2), fails("c", 9)])],
    ["map", () => map("m", slow("a", 1), { inputs: () => [1, 2, 3, 4], concurrency: 2 })],
    ["step", () => step("s", () => ({ deep: [1, { x: null }] }), { effect: "write" })],
    ["sleep", () => sleep(2)],
    [
      "host services",
      () =>
        workflow("w", async (session) => {
          const time = await now(session);
          const chance = await random(time.session);
          return (await uuid(chance.session)).session.say(`${time.value} ${chance.value}`, { by: "agent" });
        }),
    ],
  ])("[R1] of %s ends in the same id", async (_name, make) => {
    const session = await ran(make());
    expect(session.fact.type).toBe("run-end");
  });

  it("[R2] of random compositions ends in the same id and calls nothing", async () => {
    await fc.assert(
      fc.asyncProperty(planned, async (plan) => {
        const rath = openRath({ store: "memory:" });
        const world = { calls: 0, modules: 0, off: false };
        const module = built(plan, world);
        const given = rath.start("go");
        const session = await ended(rath.run(module, given));
        expect(session.descendsFrom(given)).toBe(true);
        expect(session.pending).toEqual([]);
        world.off = true;
        const { calls } = world;
        const again = await rath.replay(session.id, module, { mode: "verify" });
        expect(again.id).toBe(session.id);
        expect(world.calls).toBe(calls);
        await rath.close();
      }),
      { numRuns: Number(process.env.OPENRATH_WORKFLOWS ?? campaign(150)) },
    );
  });
});

type Plan =
  | { readonly kind: "effect"; readonly wait: number; readonly fails: number }
  | { readonly kind: "say" }
  | { readonly kind: "nap"; readonly wait: number }
  | {
      readonly kind: "sequence" | "parallel" | "race" | "branch";
      readonly parts: readonly Plan[];
      readonly pick: number;
    }
  | { readonly kind: "loop" | "retry" | "map" | "careful"; readonly part: Plan; readonly pick: number };

const effect = fc.record({
  kind: fc.constant("effect" as const),
  wait: fc.integer({ min: 0, max: 4 }),
  fails: fc.nat(2),
});

const planned: fc.Arbitrary<Plan> = fc.letrec<{ plan: Plan }>((tie) => ({
  plan: fc.oneof(
    { maxDepth: 4 },
    { weight: 3, arbitrary: effect },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("say" as const) }) },
    {
      weight: 1,
      arbitrary: fc.record({ kind: fc.constant("nap" as const), wait: fc.integer({ min: 0, max: 3 }) }),
    },
    {
      weight: 8,
      arbitrary: fc.record({
        kind: fc.constantFrom("sequence" as const, "parallel" as const, "race" as const, "branch" as const),
        parts: fc.array(tie("plan"), { minLength: 1, maxLength: 3, size: "max" }),
        pick: fc.nat(3),
      }),
    },
    {
      weight: 5,
      arbitrary: fc.record({
        kind: fc.constantFrom("loop" as const, "retry" as const, "map" as const, "careful" as const),
        part: tie("plan"),
        pick: fc.nat(3),
      }),
    },
  ),
})).plan;

type World = { calls: number; modules: number; off: boolean };

/** The module of a plan. Its effects are counted, fail now and then, and refuse to be called once the world is off. */
function built(plan: Plan, world: World): Module {
  world.modules += 1;
  const name = `${plan.kind}-${world.modules}`;
  switch (plan.kind) {
    case "say":
      return says(name);
    case "nap":
      return sleep(plan.wait);
    case "effect": {
      let left = plan.fails;
      return step(
        name,
        async (_input, { signal }) => {
          if (world.off) throw new Error("the world is off");
          world.calls += 1;
          await new Promise((resolve) => setTimeout(resolve, plan.wait));
          signal.throwIfAborted();
          if (left-- > 0) throw new Error("not yet");
          return left;
        },
        {
          effect: (["pure", "read", "idempotent", "write"] as const)[(plan.wait + plan.fails) % 4] ?? "read",
        },
      );
    }
    case "sequence":
      return sequence(
        name,
        plan.parts.map((part) => built(part, world)),
      );
    case "parallel":
      return parallel(
        name,
        plan.parts.map((part) => built(part, world)),
        plan.pick === 0 ? {} : { concurrency: plan.pick },
      );
    case "race":
      return race(
        name,
        plan.parts.map((part) => built(part, world)),
      );
    case "branch": {
      const parts = plan.parts.map((part) => built(part, world));
      const routes = Object.fromEntries(parts.map((part) => [part.name, part]));
      return branch(name, (session) => parts[session.depth % (parts.length + 1)]?.name ?? null, { routes });
    }
    case "loop":
      return loop(name, built(plan.part, world), {
        max: 3,
        until: (_session, turn) => turn > plan.pick,
      });
    case "retry":
      return retry(name, built(plan.part, world), { attempts: plan.pick + 1 });
    case "map":
      return map(name, built(plan.part, world), {
        inputs: () => Array.from({ length: plan.pick }, (_, place) => place),
        concurrency: 2,
      });
    case "careful": {
      const part = built(plan.part, world);
      return workflow(name, { part }, async (session) => {
        try {
          return await part.forward(session);
        } catch {
          return session.fork("other").say("another way", { by: "agent" });
        }
      });
    }
  }
}

function ended(run: Promise<Session>): Promise<Session> {
  return run.catch((error: unknown) => {
    if (error instanceof RunFailedError) return error.session;
    throw error;
  });
}
