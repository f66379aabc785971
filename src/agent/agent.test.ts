import { setTimeout as pause } from "node:timers/promises";
import { describe, expect, it, onTestFinished } from "vitest";
import { type Observation, openRath, type RunFailedError } from "../runtime/index.js";
import type { FactOf, Session } from "../session/index.js";
import {
  digestOfModule,
  type Module,
  now,
  parallel,
  sequence,
  stateOf,
  withState,
  workflow,
} from "../workflow/index.js";
import { all, failed, ran, saidIn, typesOf } from "../workflow/testing/ran.js";
import { AgentError, agent, ModelFailedError, stopAfter, stopWhenCalled } from "./index.js";
import { renderedPrompt, type ScriptedReply, scripted } from "./model/index.js";
import { add, answersOf, broken } from "./testing/tools.js";
import { moduleTool, tool } from "./tool/index.js";

describe("the loop", () => {
  it("[L1] asks, acts, and asks again", async () => {
    const adder = agent({
      name: "adder",
      instructions: "Add.",
      model: scripted(
        [{ tool: "add", input: { a: 1, b: 2 } }, { tool: "add", input: { a: 3, b: 3 } }, "It is 6."],
        { name: "gpt-5" },
      ),
      tools: [add],
    });
    const session = await ran(adder, "What is 1 + 2 + 3?");
    expect(typesOf(session)).toEqual([
      "session-start",
      "run-start",
      "agent-configure",
      "model-call",
      "model-reply",
      "tool-call",
      "tool-result",
      "model-call",
      "model-reply",
      "tool-call",
      "tool-result",
      "model-call",
      "model-reply",
      "run-end",
    ]);
    const [configured] = [...session.history()].filter(({ fact }) => fact.type === "agent-configure");
    for (const call of all(session, "model-call"))
      expect(call).toMatchObject({ model: "gpt-5", agent: "adder", config: configured?.id });
    expect(new Set(all(session, "model-call").map(({ prompt }) => prompt)).size).toBe(3);
    for (const reply of all(session, "model-reply")) {
      expect(reply.usage.input).toBeGreaterThan(0);
      expect(reply.cost).toBeCloseTo((reply.usage.input * 1.25 + reply.usage.output * 10) / 1e6, 12);
    }
    expect(session.usage.calls).toBe(3);
    expect(session.transcript.at(-1)).toEqual({ role: "assistant", content: "It is 6.", author: "adder" });
  });

  it("[L1] goes on with a conversation", async () => {
    const chat = agent({ name: "chat", model: scripted("first", "second") });
    const rath = openRath({ store: "memory:" });
    const once = await chat.forward(rath.start("one"));
    const twice = await chat.forward(once.say("two"));
    expect(saidIn(twice)).toEqual(["one", "first", "two", "second"]);
    await rath.close();
  });

  it.each(["required", { tool: "add" }, "none"] as const)(
    "[L12] a demand for a tool is met by the first call: %j",
    async (toolChoice) => {
      const asked: unknown[] = [];
      const calls = scripted(() => ({ tool: "add", input: { a: 1, b: 2 } }));
      const answers = scripted(() => "It is 3.");
      // Does what it is told: calls a tool where it must, else answers.
      const model = new Proxy(calls, {
        get: (target, name) =>
          name !== "doGenerate"
            ? Reflect.get(target, name)
            : (options: Parameters<typeof calls.doGenerate>[0]) => {
                const { type } = (options as unknown as { toolChoice: { type: string } }).toolChoice;
                asked.push(type);
                return (type === "auto" || type === "none" ? answers : calls).doGenerate(options);
              },
      });
      const adder = agent({ name: "adder", model, tools: [add], parameters: { toolChoice } });
      const twice = workflow("twice", { adder }, async (session) =>
        adder.forward((await adder.forward(session)).say("And again?")),
      );
      const session = await ran(twice, "What is 1 + 2?");
      const once =
        toolChoice === "none" ? ["none"] : [toolChoice === "required" ? "required" : "tool", "auto"];
      expect(asked).toEqual([...once, ...once]);
      expect(all(session, "tool-call")).toHaveLength(2 * (once.length - 1));
    },
  );

  it("[L2] says who did it", async () => {
    const session = await ran(
      agent({ name: "adder", model: scripted({ tool: "add", input: { a: 1, b: 2 } }, "3"), tools: [add] }),
    );
    const by = (type: "model-call" | "model-reply" | "tool-call" | "tool-result" | "agent-configure") =>
      all(session, type)[0]?.by;
    expect(by("agent-configure")).toBe("agent:adder");
    expect(by("model-call")).toBe("agent:adder");
    expect(by("model-reply")).toBe("service:scripted");
    expect(by("tool-call")).toBe("agent:adder");
    expect(by("tool-result")).toBe("tool:add");
  });

  it("[L3] stops when its steps are used up, visibly", async () => {
    const session = await ran(
      agent({
        name: "eager",
        model: scripted((_prompt, turn) => ({ tool: "add", input: { a: turn, b: 1 } })),
        tools: [add],
        maxSteps: 3,
      }),
    );
    expect(all(session, "model-reply")).toHaveLength(3);
    expect(all(session, "budget-stop")).toMatchObject([{ limit: "steps", allowed: 3, spent: 3, asked: 1 }]);
    expect(session.fact).toMatchObject({ type: "run-end" });
    expect((session.fact as FactOf<"run-end">).error).toBeUndefined();
  });

  it.each([
    ["steps", { steps: 2 }, 2],
    ["tokens", { tokens: 500 }, 1],
    ["money", { money: 0.001 }, 1],
  ] as const)("[L4] stops before a call that exceeds its budget of %s", async (limit, budget, least) => {
    const words = "word ".repeat(300);
    const session = await ran(
      sequence([
        agent({
          name: "spender",
          model: scripted(
            [(_prompt, turn) => ({ text: words, tools: [{ tool: "add", input: { a: turn, b: 1 } }] })],
            {
              name: "gpt-5",
            },
          ),
          tools: [add],
          budget,
        }),
        agent({ name: "other", model: scripted("I have my own.") }),
      ]),
    );
    expect(all(session, "budget-stop")).toMatchObject([{ limit }]);
    const asked = all(session, "model-call").filter(({ agent: who }) => who === "spender");
    expect(asked.length).toBeGreaterThanOrEqual(least);
    expect(asked.length).toBeLessThan(50);
    expect(saidIn(session).at(-1)).toBe("I have my own.");
  });

  it("[L4] refuses a model without a price under a budget of money, before it is asked", async () => {
    const thinker = (input: number) => {
      const rath = openRath({ store: "memory:", prices: { free: { input, output: input } } });
      onTestFinished(() => rath.close());
      return (name: string) =>
        rath.run(agent({ name: "thinker", model: scripted(["Fine."], { name }) }), rath.start("Think."), {
          budget: { money: 1 },
        });
    };
    const error = await thinker(0)("house-model").catch((thrown: RunFailedError) => thrown);
    expect(error).toMatchObject({ hint: expect.stringContaining('prices: { "house-model"') });
    expect(all((error as RunFailedError).session, "model-call")).toEqual([]);
    expect(saidIn(await thinker(0)("free")).at(-1)).toBe("Fine.");
  });

  it("[L4] shares a budget among agents side by side", async () => {
    const eager = (name: string) =>
      agent({
        name,
        model: scripted((_prompt, turn) => ({ tool: "add", input: { a: turn, b: 1 } })),
        tools: [add],
      });
    const both = parallel("both", [eager("a"), eager("b")]);
    const team = workflow("team", { both }, (session) => both.forward(session), { budget: { steps: 7 } });
    const session = await ran(team);
    expect(all(session, "model-call")).toHaveLength(7);
    expect(all(session, "budget-stop").length).toBeGreaterThanOrEqual(1);
  });

  it("[L4] counts the answer that a call may give, at the prices of the host", async () => {
    const model = scripted(["Never said."], { name: "house-model" });
    const parameters = { maxOutputTokens: 1_000 };
    const asks = (budget: { readonly tokens?: number; readonly money?: number }) =>
      agent({ name: "spender", model, parameters, budget });
    const prices = { "house-model": { input: 0, output: 1_000 } };
    for (const [budget, limit, calls] of [
      [{ tokens: 900 }, "tokens", 0],
      [{ tokens: 1_900 }, "tokens", 1],
      [{ money: 0.9 }, "money", 0],
      [{ money: 1.1 }, "money", 1],
    ] as const) {
      const session = await ran(asks(budget), "go", { prices });
      expect(all(session, "model-call")).toHaveLength(calls);
      expect(all(session, "budget-stop").map((stop) => stop.limit)).toEqual(calls === 0 ? [limit] : []);
      for (const { cost, usage } of all(session, "model-reply"))
        expect(cost).toBeCloseTo(usage.output / 1_000);
    }
  });

  it("[L4] closes what was begun inside when the time is up", async () => {
    const late = workflow("late", async (session) => (await now(session)).session, {
      budget: { milliseconds: 0 },
    });
    const desk = agent({ name: "desk", model: scripted({ tool: "transfer_to_late" }), handoffs: [late] });
    const session = await ran(sequence([desk, agent({ name: "after", model: scripted("still here") })]));
    expect(typesOf(session).slice(-12)).toEqual([
      "route-choose",
      "module-enter",
      "budget-set",
      "budget-stop",
      "module-exit",
      "module-exit",
      "module-enter",
      "agent-configure",
      "model-call",
      "model-reply",
      "module-exit",
      "run-end",
    ]);
    // Nothing hangs beside the line that goes on.
    expect(session.parents).toHaveLength(1);
  });

  it("[L5] stops where it is told to", async () => {
    const eager = (stop: Parameters<typeof agent>[0]["stop"] & object) =>
      agent({
        name: "eager",
        model: scripted((_prompt, turn) => ({
          tool: turn === 1 ? "finish" : "add",
          input: { a: turn, b: 1 },
        })),
        tools: [
          add,
          tool({ name: "finish", description: "Ends it.", input: {}, effect: "pure", run: () => "ok" }),
        ],
        stop,
      });
    const replies = async (module: Module) => all(await ran(module), "model-reply").length;
    expect(await replies(eager(stopAfter(4)))).toBe(4);
    expect(await replies(eager(stopWhenCalled("finish")))).toBe(2);
    expect(await replies(eager([stopAfter(9), (session) => session.usage.calls === 3]))).toBe(3);
    const last = await ran(eager(stopWhenCalled("finish")));
    expect(all(last, "tool-result").at(-1)?.output).toBe("ok");
  });

  it("[L6] streams to observers and records the whole", async () => {
    const rath = openRath({ store: "memory:" });
    const heard: Observation[] = [];
    rath.observe((observation) => heard.push(observation));
    const talker = (stream: boolean) =>
      agent({ name: "talker", model: scripted("One two three four five six seven."), stream });
    const streamed = await rath.run(talker(true), rath.start("go"));
    const deltas = heard.filter(({ kind }) => kind === "delta");
    expect(deltas.length).toBeGreaterThan(1);
    expect(deltas.map((one) => (one as unknown as { delta: { text: string } }).delta.text).join("")).toBe(
      "One two three four five six seven.",
    );
    const whole = await rath.run(talker(false), rath.start("go"));
    expect(saidIn(streamed)).toEqual(saidIn(whole));
    expect(typesOf(streamed)).toEqual(typesOf(whole));
    heard.length = 0;
    const again = await rath.replay(streamed.id, talker(true), { mode: "verify" });
    expect(again.id).toBe(streamed.id);
    expect(heard.filter(({ kind }) => kind === "delta")).toEqual([]);
    await rath.close();
  });

  it("[L6] asks for every piece of a streamed answer only where it is to be kept", async () => {
    const base = scripted("One two three.");
    const asked: unknown[] = [];
    const model = {
      ...base,
      doStream: (options: Parameters<typeof base.doStream>[0]) => {
        asked.push((options as { includeRawChunks?: boolean }).includeRawChunks);
        return base.doStream(options);
      },
    };
    for (const chunks of [true, false]) await ran(agent({ name: "talker", model, stream: true, chunks }));
    expect(asked).toEqual([true, undefined]);
  });

  it("[L7] can show any prompt again", async () => {
    const sent: unknown[] = [];
    const model = scripted(
      (prompt) => {
        sent.push(prompt);
        return { tool: "add", input: { a: 1, b: 2 } };
      },
      (prompt) => {
        sent.push(prompt);
        return "3";
      },
    );
    const session = await ran(agent({ name: "adder", instructions: "Add.", model, tools: [add] }));
    const calls = [...session.history()].filter(({ fact }) => fact.type === "model-call");
    expect(calls).toHaveLength(2);
    for (const [place, call] of calls.entries()) {
      const prompt = renderedPrompt(call);
      expect(prompt.digest).toBe((call.fact as FactOf<"model-call">).prompt);
      expect(prompt.messages).toEqual(sent[place]);
    }
  });

  it("[L8] points out a call that keeps failing, and then gives up", async () => {
    const stubborn = scripted((_prompt, turn) => ({ tool: "broken", input: { x: 1, turn: turn < 0 } }));
    const session = await ran(agent({ name: "stubborn", model: stubborn, tools: [broken] }));
    expect(all(session, "tool-failure")).toHaveLength(6);
    const [told, ...again] = all(session, "message-say");
    expect(again).toEqual([]);
    expect(told).toMatchObject({ role: "user", by: "runtime" });
    expect(told?.content).toContain("broken was called 3 times");
    expect(all(session, "budget-stop")).toMatchObject([{ limit: "identical failing calls", allowed: 6 }]);
    const twins = scripted((_prompt, turn) =>
      turn < 2 ? { call: [{ tool: "broken" }, { tool: "broken" }] } : "I see.",
    );
    const pointed = await ran(agent({ name: "twins", model: twins, tools: [broken] }));
    expect(all(pointed, "message-say")).toHaveLength(1);
    const varied = scripted((_prompt, turn) =>
      turn < 8 ? { tool: "broken", input: { turn } } : "I give up.",
    );
    const other = await ran(agent({ name: "varied", model: varied, tools: [broken] }));
    expect(all(other, "message-say")).toEqual([]);
    expect(saidIn(other).at(-1)).toBe("I give up.");
    const mixed = scripted((_prompt, turn) =>
      turn < 12 ? { tool: turn % 3 === 2 ? "add" : "broken", input: { a: 1, b: 1 } } : "Enough.",
    );
    const third = await ran(agent({ name: "mixed", model: mixed, tools: [add, broken] }));
    expect(all(third, "message-say")).toEqual([]);
    expect(saidIn(third).at(-1)).toBe("Enough.");
  });

  it("[L9] refuses what cannot be an agent", () => {
    const model = scripted("x");
    const wrong = [
      () => agent({ name: "", model }),
      () => agent({ name: "a", model: undefined as never }),
      () => agent({ name: "a", model: [] as never }),
      () => agent({ name: "a", model, maxSteps: 0 }),
      () => agent({ name: "a", model, tools: [add, add] }),
      () => agent({ name: "a", model, tools: [{ name: "x" } as never] }),
      () => agent({ name: "a", model, handoffs: [{ name: "x" } as never] }),
    ];
    for (const make of wrong) expect(make).toThrow(AgentError);
  });
});

describe("models", () => {
  const busy = (retryAfter?: number) =>
    Object.assign(new Error("busy"), {
      name: "AI_APICallError",
      statusCode: 429,
      isRetryable: true,
      ...(retryAfter !== undefined && { responseHeaders: { "retry-after-ms": String(retryAfter) } }),
    });

  it("[M1] are asked again when it may pass", async () => {
    const model = scripted([busy(7), busy(), "now"], { by: "call" });
    const session = await ran(agent({ name: "a", model, retry: { attempts: 3, wait: 1 } }));
    expect(all(session, "effect-fail")).toMatchObject([
      { attempt: 1, wait: 7, error: { data: { status: 429, retryAfter: 7 } } },
      { attempt: 2, error: { message: "busy" } },
    ]);
    expect(saidIn(session)).toEqual(["go", "now"]);
  });

  it("[M1] are given so much time, and asked again when it is over", async () => {
    let asked = 0;
    const slow = scripted(() => {
      asked += 1;
      return { text: "too late", delay: 60_000 };
    });
    const session = await ran(
      agent({ name: "a", model: [slow, scripted("in time")], timeout: 5, retry: { attempts: 2, wait: 1 } }),
    );
    expect(asked).toBe(2);
    expect(all(session, "effect-fail")).toMatchObject([{ attempt: 1, error: { code: "timeout" } }]);
    expect(all(session, "model-failure")).toMatchObject([{ error: { code: "timeout" } }]);
    expect(saidIn(session)).toEqual(["go", "in time"]);
  });

  it("[M2] give way to others when they fail for good", async () => {
    let down = 0;
    const main = scripted(
      [
        () => {
          down += 1;
          return new Error("gone");
        },
      ],
      { name: "main" },
    );
    const other = scripted([{ tool: "add", input: { a: 1, b: 2 } }, "3"], { name: "other" });
    for (const make of [
      () => agent({ name: "a", model: [main, other], tools: [add] }),
      () => agent({ name: "a", model: main, fallback: [other], tools: [add] }),
    ]) {
      down = 0;
      const session = await ran(make());
      expect(all(session, "model-call").map(({ model }) => model)).toEqual(["main", "other", "other"]);
      expect(all(session, "model-failure")).toMatchObject([{ error: { message: "gone" } }]);
      expect(saidIn(session).at(-1)).toBe("3");
      expect(down).toBe(1);
    }
  });

  it("[M3] fail the agent when none is left", async () => {
    const { error, session } = await failed(
      agent({
        name: "a",
        model: [scripted([new Error("one")], { name: "m1" }), scripted([new Error("two")], { name: "m2" })],
      }),
    );
    expect(error).toBeInstanceOf(ModelFailedError);
    expect((error as ModelFailedError).message).toMatch(/m1: one[\s\S]*m2: two/);
    expect((error as ModelFailedError).session.fact.type).toBe("model-failure");
    expect(all(session, "model-failure")).toHaveLength(2);
  });

  const refused = (statusCode: number) =>
    Object.assign(new Error("no"), { name: "AI_APICallError", statusCode, isRetryable: false });
  it.each<[string, readonly ScriptedReply[], string, string]>([
    ["what may pass", [busy()], "more patience", "the key"],
    ["a key", [refused(401)], "m refused the key", "patience"],
    ["a right", [refused(403)], "m refused the key", "patience"],
    ["a mistake", [refused(400)], "another model to fall back to", "patience"],
    ["a script at its end", [], "add a reply to the script of m", "patience"],
  ])("[M3] advise what helps: %s", async (_what, replies, hint, other) => {
    const model = scripted(replies, { name: "m" });
    const { error } = await failed(agent({ name: "a", model, retry: { attempts: 1 } }));
    expect((error as ModelFailedError).hint).toContain(hint);
    expect((error as ModelFailedError).hint).not.toContain(other);
  });
});

describe("handoff", () => {
  it("[H1] is a recorded choice, and the other goes on", async () => {
    const billing = agent({
      name: "billing",
      description: "Knows about bills.",
      model: scripted("Your bill is 5."),
    });
    const support = agent({ name: "support", model: scripted("Did you turn it off?") });
    const desk = agent({
      name: "desk",
      model: scripted({ tool: "transfer_to_billing", input: { reason: "a bill" } }),
      handoffs: [billing, support],
    });
    const session = await ran(desk, "How much is my bill?");
    expect(all(session, "route-choose")).toMatchObject([
      {
        selector: "desk",
        candidates: [{ name: "billing" }, { name: "support" }],
        chosen: "billing",
        why: "a bill",
        by: "agent:desk",
      },
    ]);
    expect(saidIn(session).at(-1)).toBe("Your bill is 5.");
    expect(answersOf(session)).toBe("whole");
    expect(all(session, "module-enter").map(({ module }) => module)).toEqual(["billing"]);
  });

  it("[H2] happens once in a reply, and not without end", async () => {
    const one = agent({ name: "one", model: scripted("I am one.") });
    const two = agent({ name: "two", model: scripted("I am two.") });
    const both = await ran(
      agent({
        name: "desk",
        model: scripted({
          call: [
            { tool: "transfer_to_two" },
            { tool: "add", input: { a: 1, b: 1 } },
            { tool: "transfer_to_one" },
          ],
        }),
        tools: [add],
        handoffs: [one, two],
      }),
    );
    expect(saidIn(both).at(-1)).toBe("I am two.");
    expect(all(both, "tool-result").map(({ output }) => output)).toContainEqual(2);
    expect(all(both, "tool-failure")).toMatchObject([{ error: { code: "handoff-twice" } }]);
    expect(answersOf(both)).toBe("whole");

    const wrong = await ran(
      agent({
        name: "desk",
        model: scripted({ tool: "transfer_to_one", input: { reason: 7 } }, "Then I answer."),
        handoffs: [one],
      }),
    );
    expect(all(wrong, "route-choose")).toEqual([]);
    expect(saidIn(wrong).at(-1)).toBe("Then I answer.");

    const other = { ping: "pong", pong: "ping" } as const;
    const make = (name: "ping" | "pong", target: () => Module): Module =>
      agent({
        name,
        model: scripted((prompt) =>
          JSON.stringify(prompt).includes("from hand to hand")
            ? `${name} answers`
            : { tool: `transfer_to_${other[name]}` },
        ),
        handoffs: () => [target()],
      });
    const ping: Module = make("ping", () => pong);
    const pong: Module = make("pong", () => ping);
    const session = await ran(ping);
    expect(all(session, "route-choose")).toHaveLength(20);
    expect(saidIn(session).at(-1)).toMatch(/answers$/);
    expect(answersOf(session)).toBe("whole");
  });
});

describe("state", () => {
  it("[S1] can be read and replaced, deep", async () => {
    const seen: unknown[] = [];
    const answer = (name: string) =>
      scripted(
        [
          (prompt) => {
            seen.push([name, prompt.find(({ role }) => role === "system")?.content]);
            return "ok";
          },
        ],
        { name },
      );
    const make = () =>
      agent({
        name: "helper",
        instructions: "Help.",
        model: [answer("small"), answer("large")],
        parameters: { temperature: 0.5, headers: { authorization: "secret" } },
        tools: [add],
      });
    const helper = make();
    const team = sequence("team", [helper]);
    const state = stateOf(team);
    expect(state).toMatchObject({
      "helper.instructions": "Help.",
      "helper.model": "small",
      "helper.parameters": { temperature: 0.5 },
      "helper.maxSteps": 50,
      "helper.tools": [{ name: "add" }],
    });
    expect(JSON.stringify(state)).not.toContain("secret");
    expect(withState(team, state)).toBe(team);
    expect(digestOfModule(make())).toBe(digestOfModule(helper));
    const taught = withState(team, {
      "helper.instructions": "Help well.",
      "helper.model": "large",
      "helper.maxSteps": 3,
    });
    await ran(taught);
    await ran(team);
    expect(seen).toEqual([
      ["large", "Help well."],
      ["small", "Help."],
    ]);
    expect(stateOf(taught)["helper.maxSteps"]).toBe(3);
    expect(() => withState(team, { "helper.model": "huge" })).toThrow('"small", "large"');
    expect(() => withState(team, { "helper.tools": [] })).toThrow("it is code");
    expect(() => withState(team, { "helper.instruction": "x" })).toThrow(
      'did you mean "helper.instructions"',
    );

    const bare = withState(agent({ name: "bare", model: scripted("x") }), { maxSteps: 2 });
    expect(all(await ran(bare), "agent-configure")[0]).not.toHaveProperty("instructions");

    const boss = agent({ name: "boss", model: scripted("x"), tools: [helper], handoffs: [helper] });
    const changed = withState(boss, {
      "helper.instructions": "As a tool.",
      "transfer_to_helper.maxSteps": 7,
    });
    expect(stateOf(changed)).toMatchObject({
      "helper.instructions": "As a tool.",
      "transfer_to_helper.instructions": "Help.",
      "transfer_to_helper.maxSteps": 7,
    });
    expect(stateOf(boss)["helper.instructions"]).toBe("Help.");
    const asked = moduleTool(helper, { name: "ask", description: "Asks." });
    const chief = agent({ name: "chief", model: scripted("x"), tools: [asked] });
    const better = withState(chief, { "ask.instructions": "Differently." });
    expect([stateOf(better)["ask.instructions"], stateOf(chief)["ask.instructions"]]).toEqual([
      "Differently.",
      "Help.",
    ]);
  });
});

describe("state of agents that hand over to each other", () => {
  it("[S1] is read and replaced once, without end", () => {
    const make = (name: string, target: () => Module): Module =>
      agent({ name, instructions: name, model: scripted("x"), handoffs: () => [target()] });
    const ping: Module = make("ping", () => pong);
    const pong: Module = make("pong", () => ping);
    expect(Object.keys(stateOf(ping)).filter((path) => path.endsWith("instructions"))).toEqual([
      "instructions",
      "transfer_to_pong.instructions",
    ]);
    const changed = withState(ping, { "transfer_to_pong.instructions": "Be brief." });
    expect(stateOf(changed)["transfer_to_pong.instructions"]).toBe("Be brief.");
    expect(stateOf(pong).instructions).toBe("pong");
  });
});

describe("time", () => {
  it("[T1] is not lost by agents side by side", async () => {
    let now = 0;
    let most = 0;
    const model = scripted(async () => {
      most = Math.max(most, ++now);
      await pause(5);
      now -= 1;
      return "done";
    });
    const many = parallel(
      "many",
      Array.from({ length: 20 }, (_, place) => agent({ name: `a${place}`, model })),
    );
    const session: Session = await ran(many);
    expect(most).toBe(20);
    expect(all(session, "model-reply")).toHaveLength(20);
  });
});
