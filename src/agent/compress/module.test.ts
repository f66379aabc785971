import { describe, expect, it } from "vitest";
import { blind, rathOf, storeOf } from "../../runtime/testing/rath.js";
import { sequence, workflow } from "../../workflow/index.js";
import { agent } from "../index.js";
import { type PromptMessage, scripted } from "../model/index.js";
import { tool } from "../tool/index.js";
import { compress, compressionsOf, dropOutputs } from "./index.js";

const look = tool({
  name: "look",
  description: "Looks at a page.",
  input: { type: "object", properties: { page: { type: "number" } } },
  effect: "read",
  run: ({ page }) => `page ${String((page as number) ?? 0)}: ${"words ".repeat(300)}`,
});

/** Reads six pages in one turn. */
const worker = () =>
  agent({
    name: "worker",
    model: scripted((_, turn) =>
      turn % 7 < 6 ? { tool: "look", input: { page: turn } } : "Six pages were read.",
    ),
    tools: [look],
  });

describe("compress as a module", () => {
  it("[R5] stands in a sequence and a workflow, after an agent that does not compress", async () => {
    const prompts: string[] = [];
    const reader = agent({
      name: "reader",
      model: scripted((prompt: readonly PromptMessage[]) => {
        prompts.push(JSON.stringify(prompt));
        return "It was short.";
      }),
    });
    const room = compress({ budget: 1_500, policies: [dropOutputs()], pins: { last: 1 } });
    const inSequence = sequence([worker(), room, reader]);
    const inWorkflow = workflow("w", { worker: worker(), room, reader }, async (session, parts) =>
      parts.reader.forward(await parts.room.forward(await parts.worker.forward(session))),
    );
    for (const [name, module] of [
      ["one", inSequence],
      ["two", inWorkflow],
    ] as const) {
      const store = await storeOf();
      const rath = rathOf({ store });
      const session = await rath.run(module, rath.start("Read everything."), { name });
      expect(session.text).toBe("It was short.");
      expect(compressionsOf(session).length).toBeGreaterThan(0);
      expect(compressionsOf(session)[0]).toMatchObject({ policy: "drop-outputs" });
      expect(prompts.at(-1)?.length).toBeLessThan(8_000);
      expect((await blind(store).replay(name, module, { mode: "verify" })).id).toBe(session.id);
    }
  });

  it("[R5] has a model sum up in its place, and the same value is the option of an agent", async () => {
    const store = await storeOf();
    const rath = rathOf({ store });
    const model = scripted(() => "Pages were read, all of them words.");
    const room = compress({ budget: 1_000, model });
    const later = agent({ name: "later", model: scripted("Done."), compress: room });
    const module = sequence([worker(), worker(), room, later]);
    const session = await rath.run(module, rath.start("Read everything."), { name: "n" });
    expect(compressionsOf(session).map(({ policy }) => policy)).toContain("summarise");
    expect((await blind(store).replay("n", module, { mode: "verify" })).id).toBe(session.id);
  });

  it("[R5] leaves a conversation alone that fits", async () => {
    const rath = rathOf();
    const session = await rath.run(sequence([compress({ budget: 10_000 })]), rath.start("Hello."));
    expect(compressionsOf(session)).toEqual([]);
  });
});
