import { describe, expect, it } from "vitest";
import { agent } from "../../agent/index.js";
import { type ScriptedReply, scripted, textOf } from "../../agent/model/index.js";
import { tool } from "../../agent/tool/index.js";
import type { Module } from "../../runtime/index.js";
import { type Death, fragile } from "../../runtime/testing/fragile.js";
import { rathOf, storeOf } from "../../runtime/testing/rath.js";
import { crashAt, finish, over, type Program } from "../../runtime/testing/survive.js";
import { World } from "../../runtime/testing/world.js";
import type { Session } from "../../session/index.js";
import { chat, crew, flow, groupChat, maxMessages, nestedChat, supervisor, swarm } from "./index.js";
import { workIn } from "./testing/work.js";

/** An agent that does a deed that must not happen twice, and then says something. */
function doer(world: World, name: string, then: readonly ScriptedReply[] = [`${name} is done.`]): Module {
  const deed = tool({
    name: `deed_of_${name}`,
    description: "Does it.",
    input: { type: "object" },
    effect: "write",
    run: () => {
      world.calls.push(`deed_of_${name}`);
      return `deed_of_${name}`;
    },
  });
  return agent({ name, model: scripted({ tool: deed.name }, ...then), tools: [deed] });
}

const to = (worker: string) => ({ tool: `transfer_to_${worker}`, input: { task: `Do, ${worker}.` } });

const programs: { readonly [name: string]: Program } = {
  chat: (world) => chat("talk", [doer(world, "a"), doer(world, "b")], { until: maxMessages(2) }),
  "group chat": (world) => groupChat("talk", [doer(world, "a"), doer(world, "b")], { until: maxMessages(2) }),
  "nested chat": (world) =>
    nestedChat({
      name: "nested",
      chat: chat("talk", [doer(world, "a"), doer(world, "b")], { until: maxMessages(2) }),
    }),
  "sequential crew": (world) =>
    crew({
      agents: [doer(world, "a"), doer(world, "b")],
      tasks: [
        { name: "first", description: "One.", agent: "a" },
        { name: "second", description: "Two.", agent: "b" },
      ],
    }),
  "hierarchical crew": (world) =>
    crew({
      agents: [doer(world, "a")],
      tasks: [{ name: "first", description: "One." }],
      process: "hierarchical",
      manager: scripted(
        { tool: "delegate_work_to_coworker", input: { coworker: "a", task: "Do." } },
        "All done.",
      ),
    }),
  flow: (world) =>
    flow({
      name: "flow",
      steps: {
        a: { run: doer(world, "a") },
        b: { run: doer(world, "b") },
        judge: { on: { all: ["a", "b"] }, route: () => "good", labels: ["good", "bad"] },
        c: { on: "good", run: doer(world, "c") },
      },
    }),
  supervisor: (world) =>
    supervisor({
      name: "desk",
      model: scripted({ call: [to("a"), to("b")] }, { tool: "forward_message", input: { from: "b" } }),
      workers: [doer(world, "a"), doer(world, "b")],
    }),
  swarm: (world) => {
    const b = doer(world, "b");
    const a = agent({ name: "a", model: scripted({ tool: "transfer_to_b" }), handoffs: [b] });
    return swarm({ members: [a, b] });
  },
};

/** What was said, and who did what on which branch, in any order of branches side by side. */
const resultOf = (session: Session) => ({
  said: session.transcript.map((message) =>
    message.role === "tool" ? message.name : textOf(message.content),
  ),
  work: workIn(session).toSorted(),
});

describe("a crash at every write", () => {
  for (const [name, program] of Object.entries(programs))
    it(`[K1] in a ${name} loses nothing, repeats no deed and changes no result`, async () => {
      const probe = fragile(await storeOf());
      const whole = rathOf({ store: probe });
      const reference = new World();
      await over(whole.run(program(reference), whole.start("go"), { name: "n" }));
      const expected = resultOf(await finish(whole, program(reference), reference));
      expect(reference.calls.length).toBe(new Set(reference.calls).size);
      for (let at = 1; at <= probe.saves(); at++) {
        const world = new World();
        const how = (["before", "after", "hang"] as const)[at % 3] as Death;
        const ended = await crashAt(await storeOf(), program, world, { at, how });
        expect([at, resultOf(ended)]).toEqual([at, expected]);
        expect([at, world.calls.toSorted()]).toEqual([at, reference.calls.toSorted()]);
      }
    });
});
