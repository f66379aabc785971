import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { openRath, RunFailedError } from "../runtime/index.js";
import type { Effect, Session } from "../session/index.js";
import { campaign } from "../session/testing/campaign.js";
import { type Module, parallel, race, retry } from "../workflow/index.js";
import { ran } from "../workflow/testing/ran.js";
import { agent } from "./index.js";
import { type LanguageModel, type ScriptedReply, scripted } from "./model/index.js";
import { add, answersOf, broken } from "./testing/tools.js";
import { tool } from "./tool/index.js";

const calls = { tool: "add", input: { a: 1, b: 2 } } as const;

describe("replay", () => {
  it.each<[string, () => Module]>([
    ["a plain answer", () => agent({ name: "a", model: scripted("hi") })],
    [
      "tools",
      () =>
        agent({
          name: "a",
          model: scripted({ call: [calls, { tool: "broken" }] }, "ok"),
          tools: [add, broken],
        }),
    ],
    ["a stream", () => agent({ name: "a", model: scripted(calls, "ok"), tools: [add], stream: true })],
    ["a fallback", () => agent({ name: "a", model: [scripted(new Error("x")), scripted("ok")] })],
    ["steps used up", () => agent({ name: "a", model: scripted(() => calls), tools: [add], maxSteps: 3 })],
    [
      "a budget",
      () => agent({ name: "a", model: scripted(() => calls), tools: [add], budget: { steps: 2 } }),
    ],
    [
      "a repair",
      () => agent({ name: "a", model: scripted("no", '{"n":1}'), output: z.object({ n: z.number() }) }),
    ],
    ["repetition", () => agent({ name: "a", model: scripted(() => ({ tool: "broken" })), tools: [broken] })],
    [
      "a sub-agent",
      () =>
        agent({
          name: "a",
          model: scripted({ tool: "b", input: { task: "x" } }, "ok"),
          tools: [agent({ name: "b", model: scripted(calls, "done"), tools: [add] })],
        }),
    ],
    [
      "a handoff",
      () =>
        agent({
          name: "a",
          model: scripted({ tool: "transfer_to_b" }),
          handoffs: [agent({ name: "b", model: scripted("mine") })],
        }),
    ],
    [
      "agents in combinators",
      () =>
        parallel("p", [
          race("r", [
            agent({ name: "slow", model: scripted({ text: "slow", delay: 30_000 }) }),
            agent({ name: "fast", model: scripted({ text: "fast", delay: 2 }) }),
          ]),
          retry("t", agent({ name: "c", model: scripted([new Error("x"), "ok"], { by: "call" }) }), {
            attempts: 2,
          }),
        ]),
    ],
  ])("[R1] of %s ends in the same id", async (_name, make) => {
    const session = await ran(make());
    expect(session.fact.type).toBe("run-end");
    expect(answersOf(session)).toBe("whole");
  });

  it("[R2] of random agents ends in the same id and asks nobody", async () => {
    await fc.assert(
      fc.asyncProperty(team, async (plan) => {
        const world = { off: false, asked: 0 };
        const rath = openRath({ store: "memory:" });
        const module = built(plan, world);
        const session = await rath.run(module, rath.start("go")).catch((error: unknown) => {
          if (error instanceof RunFailedError) return error.session;
          throw error;
        });
        expect(session.pending).toEqual([]);
        expect(answersOf(session)).toBe("whole");
        world.off = true;
        const { asked } = world;
        const again: Session = await rath.replay(session.id, module, { mode: "verify" });
        expect(again.id).toBe(session.id);
        expect(world.asked).toBe(asked);
        await rath.close();
      }),
      { numRuns: Number(process.env.OPENRATH_AGENTS ?? campaign(100)) },
    );
  });
});

type Deed = { readonly what: string; readonly wait: number };
type Turn = {
  readonly deeds: readonly Deed[];
  readonly finish: "good" | "length" | "fails";
  readonly wait: number;
};
type Team = {
  readonly script: readonly Turn[];
  readonly helpers: readonly Team[];
  readonly stream: boolean;
  readonly handoff: boolean;
  readonly budget: number | undefined;
};

const deed = fc.record({
  what: fc.constantFrom(
    "pure",
    "read",
    "idempotent",
    "write",
    "fails",
    "unknown",
    "wrong",
    "helper-0",
    "helper-1",
    "transfer_to_helper-0",
  ),
  wait: fc.nat(4),
});
const turn = fc.record({
  deeds: fc.array(deed, { maxLength: 4 }),
  finish: fc.constantFrom(
    "good" as const,
    "good" as const,
    "good" as const,
    "length" as const,
    "fails" as const,
  ),
  wait: fc.nat(3),
});
const team: fc.Arbitrary<Team> = fc.letrec<{ team: Team }>((tie) => ({
  team: fc.record({
    script: fc.array(turn, { maxLength: 5 }),
    helpers: fc.oneof(
      { maxDepth: 2, depthSize: "medium" },
      fc.constant([]),
      fc.array(tie("team"), { minLength: 1, maxLength: 2 }),
    ),
    stream: fc.boolean(),
    handoff: fc.boolean(),
    budget: fc.option(fc.integer({ min: 1, max: 8 }), { nil: undefined }),
  }),
})).team;

function built(plan: Team, world: { off: boolean; asked: number }, name = "boss"): Module {
  const ask = <Value>(value: Value): Value => {
    if (world.off) throw new Error("the world is off");
    world.asked += 1;
    return value;
  };
  const helpers = plan.helpers.map((helper, place) => built(helper, world, `helper-${place}`));
  const [first] = helpers;
  return agent({
    name,
    model: [model(plan.script, ask), scripted([() => ask("from the other model")], { name: "other" })],
    tools: [
      ...(["pure", "read", "idempotent", "write", "fails"] as const).map((kind) =>
        tool({
          name: kind,
          description: kind,
          input: z.object({ wait: z.number() }),
          effect: (kind === "fails" ? "read" : kind) satisfies Effect,
          conflicts: ({ wait }) => (wait > 2 ? ["same"] : []),
          run: async ({ wait }) => {
            ask(kind);
            await new Promise((resolve) => setTimeout(resolve, wait));
            if (kind === "fails") throw new Error("as always");
            return { kind, wait };
          },
        }),
      ),
      ...helpers,
    ],
    ...(plan.handoff && first !== undefined && { handoffs: [first] }),
    ...(plan.budget !== undefined && { budget: { steps: plan.budget } }),
    stream: plan.stream,
    maxSteps: 8,
  });
}

function model(script: readonly Turn[], ask: <Value>(value: Value) => Value): LanguageModel {
  return scripted((_prompt, at): ScriptedReply => {
    const { deeds, finish, wait } = script[at % (script.length + 1)] ?? {
      deeds: [],
      finish: "good",
      wait: 0,
    };
    if (ask(finish) === "fails") return new Error("no answer");
    return {
      text: `turn ${at}`,
      delay: wait,
      tools: deeds.map(({ what, wait: milliseconds }) => ({
        tool: what,
        input: what.startsWith("helper")
          ? { task: "help" }
          : what === "wrong"
            ? { x: 1 }
            : { wait: milliseconds },
      })),
      ...(finish === "length" && { finish }),
    };
  });
}
