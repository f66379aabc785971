import { generateText, type LanguageModel as SdkModel, stepCountIs, streamText, tool } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { type FactInput, type Message, Session } from "../../session/index.js";
import {
  callModel,
  type LanguageModel,
  type ModelConfig,
  renderPrompt,
  ScriptEndedError,
  type ScriptedReply,
  scripted,
  turnOf,
} from "./index.js";

const config: ModelConfig = { agent: "a" };
const asked = (replies: number) =>
  renderPrompt(
    config,
    Array.from(
      { length: 2 * replies + 1 },
      (_, place): Message => ({
        role: place % 2 === 0 ? "user" : "assistant",
        content: `m${place}`,
      }),
    ),
  );
const ask = (model: LanguageModel, replies = 0, stream = false) =>
  callModel(model, asked(replies), config, { stream });

describe("a scripted model", () => {
  it("[S1] says what it is told to, streamed or not", async () => {
    const script: ScriptedReply[] = [
      "words \u{1f600} that go over more than one piece",
      { tool: "add", input: { a: 1 } },
      {
        call: [
          { tool: "add", id: "mine" },
          { tool: "sub", input: [1] },
        ],
      },
      { text: "t", reasoning: "r", finish: "length", usage: { input: 7, output: 3, cached: 2 } },
      (prompt, turn) => `${prompt.length} messages, turn ${turn}`,
    ];
    const model = scripted(...script);
    expect([model.provider, model.modelId]).toEqual(["scripted", "scripted"]);
    expect(await ask(model)).toMatchObject({ content: script[0], finish: "stop", model: "scripted" });
    expect((await ask(model)).usage.input).toBe(asked(0).tokens);
    expect(await ask(model, 1)).toMatchObject({
      content: [{ type: "tool-call", name: "add", input: { a: 1 } }],
      finish: "tool-calls",
    });
    expect(await ask(model, 2)).toMatchObject({
      content: [
        { type: "tool-call", call: "mine", name: "add", input: {} },
        { type: "tool-call", name: "sub", input: [1] },
      ],
    });
    expect(await ask(model, 3)).toMatchObject({
      content: [
        { type: "reasoning", text: "r" },
        { type: "text", text: "t" },
      ],
      finish: "length",
      usage: { input: 7, output: 3, cached: 2 },
    });
    expect((await ask(model, 4)).content).toBe("9 messages, turn 4");
    for (const turn of script.keys()) expect(await ask(model, turn, true)).toEqual(await ask(model, turn));
    await expect(ask(scripted(new Error("busy")))).rejects.toThrow("busy");
    expect(scripted(["x"], { name: "planner" }).modelId).toBe("planner");
  });

  it("[S1] is a model that the AI SDK's own functions take", async () => {
    const model = scripted({ tool: "add", input: { a: 1, b: 2 } }, "It is 3.") as unknown as SdkModel;
    const tools = {
      add: tool({
        inputSchema: z.object({ a: z.number(), b: z.number() }),
        execute: async ({ a, b }) => a + b,
      }),
    };
    const done = await generateText({ model, prompt: "1 + 2?", tools, stopWhen: stepCountIs(3) });
    expect(done.text).toBe("It is 3.");
    expect(done.steps).toHaveLength(2);
    const streamed = streamText({ model, prompt: "1 + 2?", tools, stopWhen: stepCountIs(3) });
    expect(await streamed.text).toBe("It is 3.");
  });

  it("[S2] answers by the turn of the agent in the session, on each branch its own", async () => {
    const model = scripted("one", "two", "three");
    const step = async (session: Session, agent = "a"): Promise<Session> => {
      const own = { agent };
      const prompt = renderPrompt(own, session.transcript);
      const reply = await callModel(model, prompt, own, { turn: turnOf(session, agent) });
      const call = session.append({ type: "model-call", model: "scripted", agent } satisfies FactInput);
      return call.append({ type: "model-reply", of: call.id, ...reply });
    };
    const last = (session: Session) => session.transcript.at(-1);
    const trunk = await step(Session.start("go"));
    expect(last(trunk)).toEqual({ role: "assistant", content: "one" });
    const [left, right] = await Promise.all([step(trunk.fork("l")), step(trunk.fork("r"))]);
    expect(
      [last(left), last(right)].map((message) => message && "content" in message && message.content),
    ).toEqual(["two", "two"]);
    // Another agent that shares the model and the conversation begins at the beginning.
    expect(last(await step(left, "b"))).toMatchObject({ content: "one" });
    expect(turnOf(left.merge(right), "a")).toBe(3);
    const failed = trunk.append({ type: "model-call", model: "m", agent: "a" });
    const error = { name: "Error", message: "no" };
    expect(turnOf(failed.append({ type: "model-failure", of: failed.id, error }), "a")).toBe(1);
  });

  it("[S2] asked again it says the same, unless it counts calls", async () => {
    const model = scripted("one", "two");
    expect([await ask(model), await ask(model)].map(({ content }) => content)).toEqual(["one", "one"]);
    const counting = scripted([new Error("busy"), "two"], { by: "call" });
    await expect(ask(counting)).rejects.toThrow("busy");
    expect((await ask(counting)).content).toBe("two");
  });

  it("[S3] says when its script has ended", async () => {
    const thrown = await ask(scripted("only"), 1).catch((error: Error) => error.cause);
    expect(thrown).toBeInstanceOf(ScriptEndedError);
    expect(thrown).toMatchObject({ code: "script-ended", data: { asked: 2, replies: 1 } });
    const endless = scripted("first", (_prompt, turn) => `turn ${turn}`);
    expect((await ask(endless, 9)).content).toBe("turn 9");
  });

  it("[S4] waits, and stops waiting when told to", async () => {
    const controller = new AbortController();
    const model = scripted([{ text: "late", delay: 60_000 }]);
    const call = callModel(model, asked(0), config, { signal: controller.signal });
    setTimeout(() => controller.abort(new Error("enough")), 1);
    await expect(call).rejects.toThrow("enough");
    expect((await ask(scripted(["soon"], { delay: 1 }))).content).toBe("soon");
  });

  it.each([
    [{ calls: [{ tool: "add" }] }, /has no option/],
    [{ call: [{ tool: "add", args: {} }] }, /has no option/],
    [undefined, /undefined/],
    [7, /7/],
  ])("[S5] refuses the reply %j", async (reply, why) => {
    expect(() => scripted("first", reply as never)).toThrow(why);
    const late = await ask(scripted(() => reply as never)).catch((error: Error) => error.cause);
    expect(late).toMatchObject({ code: "module-refused", message: expect.stringMatching(why) });
  });
});
