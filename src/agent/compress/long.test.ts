import { readFileSync } from "node:fs";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Module, openRath } from "../../runtime/index.js";
import type { Session } from "../../session/index.js";
import { all } from "../../workflow/testing/ran.js";
import { agent } from "../index.js";
import { callModel, type LanguageModel, type ModelConfig, renderPrompt, scripted } from "../model/index.js";
import { conversations, converse } from "../model/testing/history.js";
import { providers } from "../model/testing/providers.js";
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
import { oldPrograms } from "./testing/old.js";
import { gone, pageOf, pages, reader, writer } from "./testing/summaries.js";

const STEPS = 2_000;
const BUDGET = 8_000;
const CHARACTERS = 2_000;

function worker(model: LanguageModel, small: LanguageModel) {
  return agent({
    name: "a",
    model,
    tools: [reader(CHARACTERS)],
    maxSteps: STEPS + 1,
    compress: compress({ budget: BUDGET, model: small }),
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
      const quarters = [0, 0, 0, 0];
      for (const { id, fact } of session.history()) {
        if (fact.type === "model-call") calls.set(id, fact.agent ?? "");
        if (fact.type === "tool-result") results.set(id, fact.output as string);
        if (fact.type !== "model-reply") continue;
        const quarter = Math.min(3, Math.floor((4 * prompts) / STEPS));
        quarters[quarter] = (quarters[quarter] as number) + fact.usage.input;
        if (calls.get(fact.of) !== "a") continue;
        prompts++;
        // A scripted model says how many tokens it was given.
        expect(fact.usage.input).toBeLessThanOrEqual(BUDGET);
      }
      expect(prompts).toBe(STEPS + 1);
      // What the agent and its summaries read costs no more at the end than before.
      expect(quarters[3]).toBeLessThan(1.2 * (quarters[1] as number));
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
      expect(covered.size).toBeGreaterThan(STEPS - 30);
      expect(new Set(compressionsOf(session).map(({ policy }) => policy)).size).toBe(3);
      const again = await rath.replay(session.id, worker(gone(), gone("small")), { mode: "verify" });
      expect(again.id).toBe(session.id);
    } finally {
      await rath.close();
    }
  }, 180_000);
});

describe("what version 0.1.0 recorded", () => {
  it.each([
    ["summed", "dee5f76cb38e010940f02e2ca1b82116deed121bc31eb953c67780b6e0337445"],
    ["plain", "d9b68c73ce0d809f273257e2ce892b269e19b59110362ebd1a9911ec288d67a5"],
    ["pinned", "61fe138e91523cbf5df08e60cf5c0b7929080b5417129e7ed4e04956c9f703d3"],
  ])("[R4] replays to the same id: %s", async (name, id) => {
    const rath = openRath({ store: "memory:" });
    const lines = readFileSync(new URL("./testing/old.jsonl", import.meta.url), "utf8")
      .trim()
      .split("\n");
    try {
      await (await rath.store()).import(lines);
      const module = oldPrograms()[name] as Module;
      expect((await rath.replay(id, module, { mode: "verify" })).id).toBe(id);
      // Today the same program gets further.
      const replies = (at: Session) => all(at, "tool-result").length;
      const session = await rath
        .run(module, rath.start("Read everything."))
        .catch((error: { readonly session: Session }) => error.session);
      expect(replies(session)).toBeGreaterThan(replies(await rath.load(id)));
    } finally {
      await rath.close();
    }
  });
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
