import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { agent } from "../agent/index.js";
import { callModel, type LanguageModel, type ModelConfig, renderPrompt, scripted } from "../model/index.js";
import { conversations, converse } from "../model/testing/history.js";
import { providers } from "../model/testing/providers.js";
import { openRath } from "../runtime/index.js";
import type { Session } from "../session/index.js";
import { callContext } from "../tool/testing/context.js";
import {
  ContextError,
  compress,
  compressionsOf,
  condense,
  dropOutputs,
  type Policy,
  recallTool,
  summarise,
} from "./index.js";
import { gone, pageOf, pages, reader, writer } from "./testing/summaries.js";

const STEPS = 2_000;
const BUDGET = 4_000;
const CHARACTERS = 2_000;

function worker(model: LanguageModel, small: LanguageModel) {
  return agent({
    name: "a",
    model,
    tools: [reader(CHARACTERS)],
    maxSteps: STEPS + 1,
    compress: compress({
      budget: BUDGET,
      policies: [dropOutputs(), summarise({ model: small }), condense({ model: small })],
      pins: { last: 3 },
    }),
  });
}

describe("a long session", () => {
  it("[B4] of 2,000 steps stays in budget, loses nothing, and replays to the same id", async () => {
    const rath = openRath({ store: "memory:" });
    try {
      const session = await rath.run(worker(pages(STEPS), writer()), rath.start("Read all pages."));
      const calls = new Map<string, string>();
      const results = new Map<string, string>();
      let prompts = 0;
      for (const { id, fact } of session.history()) {
        if (fact.type === "model-call") calls.set(id, fact.agent ?? "");
        if (fact.type === "tool-result") results.set(id, fact.output as string);
        if (fact.type !== "model-reply" || calls.get(fact.of) !== "a") continue;
        prompts++;
        // A scripted model says how many tokens it was given.
        expect(fact.usage.input).toBeLessThanOrEqual(BUDGET);
      }
      expect(prompts).toBe(STEPS + 1);
      expect(results.size).toBe(STEPS);
      const covered = new Set(
        compressionsOf(session).flatMap(({ covers }) => covers.map(({ outcome }) => outcome)),
      );
      const shown = JSON.stringify(session.transcript);
      let page = 0;
      for (const [id, output] of results) {
        expect(output).toBe(pageOf(page, CHARACTERS));
        expect(covered.has(id) || shown.includes(output)).toBe(true);
        if (page++ % 50 === 0 && covered.has(id)) expect(await recalled(session, id)).toBe(output);
      }
      expect(covered.size).toBeGreaterThan(STEPS - 20);
      expect(new Set(compressionsOf(session).map(({ policy }) => policy)).size).toBe(3);
      const again = await rath.replay(session.id, worker(gone(), gone("small")), { mode: "verify" });
      expect(again.id).toBe(session.id);
    } finally {
      await rath.close();
    }
  }, 180_000);
});

async function recalled(session: Session, fact: string): Promise<string> {
  const recall = recallTool({ characters: 700 });
  let text = "";
  for (let offset: number | undefined = 0; offset !== undefined; ) {
    const page = await recall.run({ fact, offset }, { ...callContext(), session });
    expect(page.text.length).toBeLessThanOrEqual(700);
    text += page.text;
    offset = page.next;
  }
  return text;
}

describe("any conversation", () => {
  const config: ModelConfig = {
    agent: "t",
    tools: [{ name: "add", input: { type: "object", properties: {} } }],
  };
  const small = writer();
  const policy: fc.Arbitrary<Policy> = fc.constantFrom(
    dropOutputs(),
    summarise({ model: small, least: 20 }),
    summarise({ model: scripted([new Error("down")], { name: "down" }), retry: { attempts: 1 }, least: 20 }),
    condense({ model: small, fan: 2 }),
  );
  const room = fc.record({
    policies: fc.array(policy, { minLength: 1, maxLength: 3 }),
    budget: fc.integer({ min: 60, max: 600 }),
    last: fc.nat(2),
    first: fc.boolean(),
  });

  it.each(providers())(
    "[R1] stays on the record and valid for $name, whatever policies do",
    async ({ model, sent, faults }) => {
      const counted = { summed: 0, dropped: 0, refused: 0 };
      await fc.assert(
        fc.asyncProperty(
          conversations(30),
          fc.array(room, { minLength: 1, maxLength: 3 }),
          async (steps, rooms) => {
            let session = (converse(steps).at(-1) as Session).append({ type: "note" });
            for (const { policies, budget, last, first } of rooms) {
              const module = compress({ budget, policies: policies as [Policy], pins: { last, first } });
              const before = new Map([...session.history()].map(({ id, line }) => [id, line]));
              const prompt = renderPrompt(config, session.transcript);
              // Where work is pending no run may begin, but what asks nobody is done all the same.
              const pending = session.pending.length > 0;
              try {
                if (!pending) session = await module.forward(session);
                else if (prompt.tokens > budget && policies.every(({ name }) => name === "drop-outputs"))
                  ({ session } = await module.fit(session, config, prompt));
              } catch (error) {
                const cause = error instanceof ContextError ? error : (error as Error).cause;
                if (!(cause instanceof ContextError)) throw error;
                counted.refused++;
                session = cause.session;
              }
              const after = new Map([...session.history()].map(({ id, line }) => [id, line]));
              for (const [id, line] of before) expect(after.get(id)).toBe(line);
            }
            for (const { level } of compressionsOf(session)) counted[level > 0 ? "summed" : "dropped"]++;
            const prompt = renderPrompt(config, session.transcript);
            await callModel(model, prompt, config);
            expect(faults(sent())).toEqual([]);
          },
        ),
        { numRuns: 60 },
      );
      // Else this would prove nothing.
      for (const count of Object.values(counted)) expect(count).toBeGreaterThan(5);
    },
    60_000,
  );
});
