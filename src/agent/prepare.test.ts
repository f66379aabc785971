import { customProvider as custom6, createProviderRegistry as registry6 } from "ai";
import { customProvider as custom7, createProviderRegistry as registry7 } from "ai7";
import { describe, expect, it } from "vitest";
import { openRath } from "../runtime/index.js";
import type { Session } from "../session/index.js";
import { RuleError, stateOf, withState } from "../workflow/index.js";
import { all, failed, ran } from "../workflow/testing/ran.js";
import { AgentError, agent, type PrepareStep } from "./index.js";
import {
  type CallOptions,
  type LanguageModel,
  renderedPrompt,
  type ScriptedReply,
  scripted,
} from "./model/index.js";
import { add, broken } from "./testing/tools.js";

const call = { tool: "add", input: { a: 1, b: 2 } };

/** A scripted model, and what it was asked with. */
function heard(...replies: readonly ScriptedReply[]): {
  readonly model: LanguageModel;
  readonly asked: (CallOptions & { readonly [option: string]: unknown })[];
} {
  const asked: CallOptions[] = [];
  const script = scripted(replies);
  return {
    asked: asked as (CallOptions & { readonly [option: string]: unknown })[],
    model: {
      ...script,
      doGenerate: (options) => {
        asked.push(options);
        return script.doGenerate(options);
      },
    },
  };
}

function countCalls(session: Session): number {
  return session.usage.calls;
}

/** Every prompt of a session rendered again, which fails when one is not what was sent. */
function promptsOf(session: Session): readonly string[] {
  return [...session.history()]
    .filter(({ fact }) => fact.type === "model-call")
    .map((node) => renderedPrompt(node).text);
}

describe("the configuration of a step", () => {
  it("[C1] instructions are a function of the session, asked before each step", async () => {
    const { model } = heard(call, call, "It is 3.");
    const clerk = agent({
      name: "clerk",
      model,
      tools: [add],
      instructions: (session) => (countCalls(session) < 2 ? "Add." : "Answer now."),
    });
    const session = await ran(clerk);
    expect(all(session, "agent-configure").map(({ instructions }) => instructions)).toEqual([
      "Add.",
      "Answer now.",
    ]);
    const prompts = promptsOf(session);
    expect(prompts.map((text) => text.includes("Answer now."))).toEqual([false, false, true]);
  });

  it("[C1] tools are a function of the session", async () => {
    const { model, asked } = heard(call, call, "Done.");
    const clerk = agent({
      name: "clerk",
      model,
      tools: (session) => (countCalls(session) === 0 ? [add, broken] : [broken]),
    });
    const session = await ran(clerk);
    expect(
      asked.slice(0, 3).map(({ tools }) => (tools as { name: string }[]).map(({ name }) => name)),
    ).toEqual([["add", "broken"], ["broken"], ["broken"]]);
    expect(all(session, "agent-configure")).toHaveLength(2);
    expect(all(session, "tool-result").map(({ output }) => output)).toEqual([3]);
    expect(all(session, "tool-failure")[0]?.error).toMatchObject({ code: "tool-unknown" });
    promptsOf(session);
  });

  it("[C1] `prepareStep` chooses model, instructions, tools, tool choice and parameters of one step", async () => {
    const first = heard(call, call, call, "never");
    const second = heard("never", { ...call, input: { a: 2, b: 2 } }, "never", "It is 4.");
    const steps: { step: number; calls: readonly string[] }[] = [];
    const prepareStep: PrepareStep = (_session, info) => {
      steps.push(info);
      if (info.step === 1) return { toolChoice: { tool: "add" }, activeTools: ["add"] };
      if (info.step === 2)
        return { model: second.model, parameters: { temperature: 1, headers: { "x-step": "2" } } };
      if (info.step === 4) return { model: second.model, tools: [], instructions: "Say it." };
      return undefined;
    };
    const clerk = agent({
      name: "clerk",
      model: first.model,
      instructions: "Add.",
      tools: [add, broken],
      parameters: { temperature: 0, seed: 7 },
      prepareStep,
    });
    const rath = openRath({ store: "memory:" });
    const session = await rath.run(clerk, rath.start("go"));
    expect(session.text).toBe("It is 4.");
    expect(steps).toEqual([
      { step: 1, calls: [] },
      { step: 2, calls: ["add"] },
      { step: 3, calls: ["add"] },
      { step: 4, calls: ["add"] },
    ]);
    expect(first.asked).toHaveLength(2);
    expect(first.asked[0]).toMatchObject({
      tools: [{ name: "add" }],
      toolChoice: { type: "tool", toolName: "add" },
      temperature: 0,
      seed: 7,
    });
    expect(first.asked[1]).toMatchObject({ tools: [{}, {}], toolChoice: { type: "auto" }, temperature: 0 });
    expect(second.asked).toHaveLength(2);
    expect(second.asked[0]).toMatchObject({ temperature: 1, seed: 7, headers: { "x-step": "2" } });
    expect(second.asked[1]).toMatchObject({
      prompt: [{ role: "system", content: "Say it." }, {}, {}, {}, {}, {}, {}, {}],
    });
    expect(second.asked[1]?.tools).toBeUndefined();
    expect(all(session, "agent-configure")).toHaveLength(4);
    expect(JSON.stringify(all(session, "agent-configure"))).not.toContain("x-step");
    promptsOf(session);
    expect((await rath.replay(session.id, clerk, { mode: "verify" })).id).toBe(session.id);
    await rath.close();
  });

  it("[C1] a tool choice of a step holds although a tool was called before", async () => {
    const { model, asked } = heard(call, call, "Done.");
    const clerk = agent({
      name: "clerk",
      model,
      tools: [add],
      prepareStep: (_, { step }) => ({ toolChoice: step < 3 ? "required" : "none" }),
    });
    await ran(clerk);
    expect(asked.slice(0, 3).map(({ toolChoice }) => toolChoice)).toEqual([
      { type: "required" },
      { type: "required" },
      { type: "none" },
    ]);
  });

  it("[C2] is recorded when it differs from the one before, and only then", async () => {
    const calls = [call, call, "Done."] as const;
    const plain = { name: "clerk", instructions: "Add.", tools: [add] } as const;
    const told = await ran(agent({ ...plain, model: scripted(...calls) }));
    const dynamic = agent({
      ...plain,
      model: scripted(...calls),
      instructions: () => "Add.",
      tools: () => [add],
      prepareStep: () => ({}),
    });
    const session = await ran(dynamic);
    expect(all(session, "agent-configure")).toHaveLength(1);
    const [one, other] = [told, session].map((from) => {
      const [{ at: _, run: __, ...fact }] = all(from, "agent-configure") as never as [{ at: 0; run: 0 }];
      return fact;
    });
    expect(other).toEqual(one);
    expect(promptsOf(session)).toEqual(promptsOf(told));
  });

  it("[C2] an agent that waits is resumed with the configuration of its step", async () => {
    const careful = { ...add, approval: () => true };
    const clerk = agent({
      name: "clerk",
      model: scripted(call, call, "It is 3."),
      tools: (session) => (countCalls(session) < 2 ? [careful] : [add]),
      instructions: (session) => `Step ${countCalls(session)}.`,
    });
    const rath = openRath({ store: "memory:" });
    let session = await rath.run(clerk, rath.start("go"), { name: "sum" });
    for (const _ of [1, 2]) {
      if (session.fact.type !== "run-suspend") break;
      await rath.approve("sum", { by: "user:ada" });
      session = await rath.resume("sum", clerk);
    }
    expect(session.text).toBe("It is 3.");
    expect(all(session, "agent-configure").map(({ instructions }) => instructions)).toEqual([
      "Step 0.",
      "Step 1.",
      "Step 2.",
    ]);
    promptsOf(session);
    expect((await rath.replay("sum", clerk, { mode: "verify" })).id).toBe(session.id);
    await rath.close();
  });

  it("[C3] a function that gives a promise, or something of another kind, is refused", async () => {
    const cases: readonly object[] = [
      { instructions: async () => "Add." },
      { instructions: () => 7 },
      { tools: async () => [add] },
      { tools: () => add },
      { prepareStep: async () => ({}) },
      { prepareStep: () => "none" },
      { prepareStep: () => ({ toolchoice: "none" }) },
      { prepareStep: () => ({ instructions: 7 }) },
      { prepareStep: () => ({ tools: "add" }) },
      { prepareStep: () => ({ activeTools: "add" }) },
      { prepareStep: () => ({ activeTools: ["multiply"] }) },
      { prepareStep: () => ({ parameters: { seed: () => 1 } }) },
    ];
    for (const options of cases) {
      const { error, session } = await failed(agent({ name: "clerk", model: scripted("never"), ...options }));
      expect(error, JSON.stringify(Object.keys(options))).toBeInstanceOf(RuleError);
      expect(error).toMatchObject({ code: "rule-refused", data: { where: 'agent "clerk"' } });
      expect(all(session, "model-call")).toEqual([]);
    }
  });

  it("[C4] a model by name comes from the registry, as it is made by the AI SDK", async () => {
    const model = scripted(["First.", "Second."], { name: "gpt-5" });
    const registries = [
      registry6({ openai: custom6({ languageModels: { "gpt-5": model as never } }) }),
      registry7({ openai: custom7({ languageModels: { "gpt-5": model as never } }) }),
    ];
    for (const registry of registries) {
      const clerk = agent({ name: "clerk", model: "openai:gpt-5", registry });
      expect(stateOf(clerk)).toMatchObject({ model: "gpt-5", models: ["scripted/gpt-5"] });
      expect((await ran(clerk)).text).toBe("First.");
      expect(() => agent({ name: "clerk", model: "openai:gpt-9", registry })).toThrow(AgentError);
      const chosen = agent({
        name: "clerk",
        model: scripted("never"),
        registry,
        prepareStep: () => ({ model: "openai:gpt-5" }),
      });
      expect((await ran(chosen)).text).toBe("First.");
    }
    expect(() => agent({ name: "clerk", model: "openai:gpt-5" })).toThrow("registry");
  });

  it("[C5] only active tools are shown, and others are unknown", async () => {
    const { model, asked } = heard(call, "Done.");
    const clerk = agent({ name: "clerk", model, tools: [add, broken], activeTools: ["broken"] });
    const session = await ran(clerk);
    expect(asked[0]?.tools).toMatchObject([{ name: "broken" }]);
    expect(all(session, "tool-failure")[0]?.error.message).toContain("broken");
    expect(() => agent({ name: "clerk", model, tools: [add], activeTools: ["ad"] })).toThrow(AgentError);
  });

  it("[C1] learning replaces instructions that a function gives", async () => {
    const clerk = agent({ name: "clerk", model: scripted("Hi."), instructions: () => "Old." });
    const state = stateOf(clerk);
    const same = withState(clerk, state);
    expect(all(await ran(same), "agent-configure")[0]?.instructions).toBe("Old.");
    const next = withState(clerk, { ...state, instructions: "New." });
    expect(all(await ran(next), "agent-configure")[0]?.instructions).toBe("New.");
  });
});
