import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { RathError } from "../session/index.js";
import { ModuleError, RuleError, sequence, stateOf, workflow } from "../workflow/index.js";
import { all, failed, ran, saidIn } from "../workflow/testing/ran.js";
import { AgentError, type AgentOptions, agent, outputOf, stopAfter, stopWhenCalled } from "./index.js";
import { scripted } from "./model/index.js";
import { add } from "./testing/tools.js";
import { tool } from "./tool/index.js";

const model = scripted("hi");
const pass = workflow("pass", async (session) => session);
const circle: { self?: unknown } = {};
circle.self = circle;

describe("what an agent is given", () => {
  it.each<[keyof AgentOptions, readonly unknown[]]>([
    ["name", [undefined, null, "", " ", 7]],
    ["model", [undefined, null, [], "gpt-5", {}, [model, null], { doGenerate: () => {} }]],
    ["model", [{ doGenerate: () => {}, modelId: "x" }]],
    ["fallback", [7, [7], [undefined], "gpt-5"]],
    ["description", [7, null, () => "x"]],
    ["instructions", [7, null, ["x"], Promise.resolve("x")]],
    ["activeTools", [7, null, "add", ["add"]]],
    ["prepareStep", [7, null, {}]],
    ["registry", [7, null, {}]],
    ["tools", [7, null, {}, [null], [undefined], [{}], [add, add], [pass, pass], [{ forward: () => {} }]]],
    ["tools", [[{ name: "x", run: () => 1 }], [{ description: "of the AI SDK", execute: () => 1 }]]],
    ["handoffs", [7, null, [null], [{ name: "x" }], [{ forward: () => {} }], [pass, pass]]],
    ["output", [7, "x", z.string(), z.array(z.string()), z.object({ at: z.date() })]],
    ["repairs", [Number.NaN, -1, 1.5, "2"]],
    ["maxSteps", [Number.NaN, 0, -1, 1.5, "2", Number.POSITIVE_INFINITY]],
    ["stop", [7, [7], null, "end"]],
    ["budget", [7, null, { steps: Number.NaN }, { money: "1" }, { token: 1 }]],
    ["timeout", [Number.NaN, 0, "1", 2 ** 31]],
    ["retry", [7, null, { attempts: 0 }, { attempts: Number.NaN }, { wait: -1 }]],
    ["parameters", [7, null, [], circle, { temperature: Number.NaN }, { seed: () => 1 }]],
    ["context", ["some", null, 7]],
  ])("[L9] is refused when it is invalid: %s", (option, values) => {
    for (const value of values) {
      const error = thrownBy({ name: "a", model, [option]: value });
      expect(error).toBeInstanceOf(AgentError);
      expect(error).toMatchObject({ code: "agent-refused", data: { agent: expect.any(String) } });
      expect((error as RathError).hint).not.toBe("");
      expect(() => JSON.stringify((error as RathError).data)).not.toThrow();
    }
  });

  it.each([
    ["instruction", "instructions"],
    ["tool", "tools"],
    ["Model", "model"],
    ["max_steps", "maxSteps"],
    ["temprature", "name, description, instructions"],
  ])("[L9] is refused when there is no such option: %s", (option, hint) => {
    const error = thrownBy({ name: "a", model, [option]: "x" }) as RathError;
    expect(error).toBeInstanceOf(AgentError);
    expect(error.message).toContain(`it has no option "${option}"`);
    expect(error.hint).toContain(hint);
  });

  it("[L9] is refused when there is nothing, and when what it streams with cannot", () => {
    for (const options of [undefined, null, 7, "a"]) expect(thrownBy(options)).toBeInstanceOf(AgentError);
    const { doStream: _, ...still } = model;
    expect(thrownBy({ name: "a", model: still, stream: true })).toMatchObject({
      message: expect.stringContaining("cannot stream"),
    });
  });

  it("[L9] is refused before anything is asked when it is found late", async () => {
    let asked = 0;
    const counts = scripted(() => {
      asked += 1;
      return "hi";
    });
    const odd = [
      () => undefined as never,
      () => [null] as never,
      () => {
        throw new Error("not there yet");
      },
    ];
    for (const handoffs of odd) {
      const made = agent({ name: "a", model: counts, handoffs });
      await expect(ran(made)).rejects.toBeInstanceOf(AgentError);
    }
    expect(asked).toBe(0);
  });

  it("[L9] holds for stop conditions and outputs", () => {
    for (const steps of [undefined, Number.NaN, 0, "3"])
      expect(() => stopAfter(steps as number)).toThrow(ModuleError);
    for (const name of [undefined, "", 7]) expect(() => stopWhenCalled(name as string)).toThrow(ModuleError);
    for (const session of [undefined, null, {}, Promise.resolve()]) {
      const refusal = expect.objectContaining({ code: "not-a-session" });
      expect(() => outputOf(session as never)).toThrow(refusal);
      expect(() => agent({ name: "a", model }).output(session as never)).toThrow(refusal);
    }
  });

  it("[L10] is kept as it was", async () => {
    const parameters = { temperature: 0.5, providerOptions: { scripted: { deep: 1 } } };
    const options = { name: "a", model, instructions: "First.", parameters, budget: { steps: 3 } };
    const made = agent(options);
    options.instructions = "Second.";
    parameters.temperature = 1;
    parameters.providerOptions.scripted.deep = 2;
    const [configured] = all(await ran(made), "agent-configure");
    expect(configured).toMatchObject({
      instructions: "First.",
      parameters: { temperature: 0.5, providerOptions: { scripted: { deep: 1 } } },
    });
    expect(stateOf(made)).toMatchObject({ instructions: "First.", budget: { steps: 3 } });
  });

  it("[L5] a stop condition says yes or no, at once", async () => {
    const answers = [Promise.resolve(false), undefined, 1];
    const late = async () => {
      throw new Error("nobody waits for this");
    };
    for (const stop of [...answers.map((answer) => () => answer as never), late as never]) {
      const eager = agent({
        name: "eager",
        model: scripted({ tool: "add", input: { a: 1, b: 2 } }, "3"),
        tools: [add],
        stop,
      });
      const { error, session } = await failed(eager);
      expect(error).toBeInstanceOf(RuleError);
      expect(all(session, "tool-result")).toHaveLength(1);
    }
  });

  it("[T2] a tool that cannot say its key, its conflicts or its approval is not called", async () => {
    const late = async () => {
      throw new Error("nobody waits for this");
    };
    let called = 0;
    for (const rules of [
      { approval: late },
      { approval: () => "yes" },
      { key: () => 7 },
      { key: late },
      { conflicts: () => 7 },
      { conflicts: () => [7] },
      {
        key: () => {
          throw new Error("no key");
        },
      },
    ]) {
      const odd = tool({
        name: "odd",
        description: "Odd.",
        input: { type: "object" },
        effect: "write",
        run: () => ++called,
        ...(rules as object),
      });
      const session = await ran(
        agent({ name: "a", model: scripted({ tool: "odd" }, "I see."), tools: [odd] }),
      );
      expect(all(session, "tool-failure")).toMatchObject([{ error: { code: "tool-broken" } }]);
      expect(saidIn(session).at(-1)).toBe("I see.");
    }
    expect(called).toBe(0);
  });

  it("[L11] each model goes by the replies of its own agent when others speak", async () => {
    const one = agent({ name: "one", model: scripted("one 1", "one 2", "one 3") });
    const two = agent({
      name: "two",
      model: scripted("two 1", { tool: "add", input: { a: 1, b: 2 } }, "two 3"),
      tools: [add],
    });
    const session = await ran(sequence([one, two, one, two, one]));
    expect(
      session.transcript.flatMap((message) => (message.role === "assistant" ? [message.content] : [])),
    ).toEqual([
      "one 1",
      "two 1",
      "one 2",
      [expect.objectContaining({ type: "tool-call", name: "add" })],
      "two 3",
      "one 3",
    ]);
  });
});

function thrownBy(options: unknown): unknown {
  try {
    agent(options as AgentOptions);
  } catch (error) {
    return error;
  }
  return expect.fail("it was accepted");
}
