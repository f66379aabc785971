import { describe, expect, it } from "vitest";
import { type BlobSource, digestOf, Session } from "../../session/index.js";
import {
  callModel,
  callsOf,
  configFact,
  configOf,
  failureOf,
  type LanguageModel,
  type ModelConfig,
  NoPromptError,
  NotRecordedError,
  type Prompt,
  PromptMismatchError,
  recorded,
  renderedPrompt,
  renderPrompt,
  scripted,
  sentPrompt,
  transcriptFor,
  turnOf,
  WithheldPromptError,
} from "./index.js";

const config: ModelConfig = {
  agent: "a",
  instructions: "Add.",
  tools: [{ name: "add", description: "Adds.", input: { type: "object" } }],
  parameters: { temperature: 0, toolChoice: "auto" },
};
const script = [
  { tool: "add", input: { a: 1, b: 2 } },
  { reasoning: "hm", text: "It is 3." },
] as const;

/** What an agent's loop does, without the runtime. */
async function converse(start: Session, model: LanguageModel, given = config): Promise<Session> {
  let session = start.append(configFact(given));
  const configured = session.id;
  let previous: Prompt | undefined;
  for (let step = 0; step < 5; step++) {
    const prompt = renderPrompt(given, transcriptFor(given, session), previous);
    const turn = turnOf(session, given.agent);
    const call = session.append({
      type: "model-call",
      model: model.modelId,
      agent: given.agent,
      config: configured,
      prompt: prompt.digest,
    });
    const reply = await callModel(model, prompt, given, { turn });
    session = call.append({ type: "model-reply", of: call.id, ...reply });
    previous = prompt;
    const calls = callsOf(reply.content);
    if (calls.length === 0) break;
    for (const { name, input, call: id } of calls) {
      const asked = session.append({ type: "tool-call", name, input, call: id });
      session = asked.append({ type: "tool-result", of: asked.id, output: 3 });
    }
  }
  return session;
}

/** The same session from its lines and blobs, as a store would give it; some blobs erased. */
function reloaded(session: Session, isErased: (digest: string) => boolean = () => false): Session {
  const bytes = new Map<string, Uint8Array>();
  for (const node of session.history())
    for (const blob of node.blobs()) bytes.set(blob.ref.digest, blob.bytes);
  const blobs: BlobSource = { read: (digest) => (isErased(digest) ? "erased" : bytes.get(digest)) };
  const made = new Map<string, Session>();
  let last: Session | undefined;
  for (const node of session.history()) {
    const parents = node.parentIds.map((id) => made.get(id) as Session);
    last = Session.restore(node.line, parents, { inline: 0, blobs });
    made.set(last.id, last);
  }
  return last as Session;
}

const calls = (session: Session) => [...session.history()].filter(({ fact }) => fact.type === "model-call");

describe("the prompt of a recorded call", () => {
  it("[E1] is rendered again byte for byte", async () => {
    const session = await converse(Session.start("1 + 2?", { inline: 0 }), scripted(...script));
    for (const whole of [session, reloaded(session)]) {
      const all = calls(whole);
      expect(all).toHaveLength(2);
      for (const call of all) {
        const { text, digest, messages } = renderedPrompt(call);
        expect(digestOf(text)).toBe(digest);
        expect(call.fact).toMatchObject({ prompt: digest });
        expect(messages[0]).toEqual({ role: "system", content: "Add." });
      }
      expect(renderedPrompt(whole).text).toBe(renderedPrompt(all[1] as Session).text);
      expect(renderedPrompt((all[1] as Session).parents[0] as Session).text).toBe(
        renderedPrompt(all[0] as Session).text,
      );
    }
  });

  it("[E1] also where only what came later is in view", async () => {
    const before = Session.start("other business").say("noise");
    const session = await converse(before.say("1 + 2?"), scripted(...script), {
      ...config,
      since: before.id,
    });
    expect(renderedPrompt(session).text).not.toContain("noise");
  });

  it("[E2] is refused when it is not what was recorded", async () => {
    const session = Session.start("go").append(configFact(config));
    const wrong = session.append({
      type: "model-call",
      model: "m",
      config: session.id,
      prompt: "0".repeat(64),
    });
    expect(() => renderedPrompt(wrong)).toThrow(PromptMismatchError);
    const digest = renderPrompt(config, session.transcript).digest;
    expect(() => renderedPrompt(wrong)).toThrow(
      expect.objectContaining({
        data: expect.objectContaining({ recorded: "0".repeat(64), rendered: digest }),
      }),
    );
    expect(() => renderedPrompt(Session.start("go"))).toThrow(NoPromptError);
    expect(() => renderedPrompt(session.append({ type: "model-call", model: "m" }))).toThrow(NoPromptError);
  });

  it("[E2] names what was erased of it", async () => {
    const session = await converse(Session.start("a secret", { inline: 0 }), scripted(...script));
    const said = [...([...session.history()][0] as Session).blobs()].map(({ ref }) => ref.digest);
    expect(said).toHaveLength(1);
    const without = reloaded(session, (digest) => said.includes(digest));
    expect(() => renderedPrompt(without)).toThrow(WithheldPromptError);
    expect(() => renderedPrompt(without)).toThrow(
      expect.objectContaining({ data: { content: [{ reason: "erased", digest: said[0] }] } }),
    );
    const configured = [...session.history()].find(({ fact }) => fact.type === "agent-configure") as Session;
    const parts = [...configured.blobs()].map(({ ref }) => ref.digest);
    const bare = reloaded(session, (digest) => parts.includes(digest));
    expect(() => renderedPrompt(bare)).toThrow(WithheldPromptError);
  });

  it("[E2] names it also where the call itself held it", () => {
    const configured = Session.start("go", { inline: 0 }).append(configFact(config));
    const own = renderPrompt(config, configured.transcript);
    const { prompt, parameters } = sentPrompt(own, [
      { role: "user", content: [{ type: "text", text: "a secret" }] },
    ]);
    const call = configured.append({
      type: "model-call",
      model: "m",
      config: configured.id,
      prompt: prompt.digest,
      parameters: parameters ?? null,
    });
    const [held] = [...call.blobs()].map(({ ref }) => ref.digest);
    expect(renderedPrompt(reloaded(call, () => false)).text).toBe(prompt.text);
    expect(() => renderedPrompt(reloaded(call, (digest) => digest === held))).toThrow(
      expect.objectContaining({
        code: "prompt-withheld",
        data: { content: [{ reason: "erased", digest: held }] },
      }),
    );
  });

  it("[E5] comes from a configuration that the record gives back whole", () => {
    const full: ModelConfig = { ...config, output: { type: "object" }, since: "0".repeat(64) };
    for (const given of [full, { agent: "bare" }]) {
      const { fact } = Session.start().append(configFact(given));
      if (fact.type !== "agent-configure") throw new Error(fact.type);
      expect(configOf(fact)).toEqual(given);
      expect(fact.by).toBe(`agent:${given.agent}`);
    }
  });
});

describe("a recorded model", () => {
  it("[E3] gives the recorded replies to the same prompts", async () => {
    const session = await converse(Session.start("1 + 2?"), scripted(...script));
    const again = await converse(Session.start("1 + 2?"), recorded(session));
    expect(again.transcript).toEqual(session.transcript);
    expect(again.usage).toEqual(session.usage);
    const [first] = calls(session) as [Session];
    const prompt = renderPrompt(config, (first.parents[0] as Session).transcript);
    const model = recorded(session);
    expect(await callModel(model, prompt, config, { stream: true })).toEqual(
      await callModel(model, prompt, config),
    );
    // A loop that knows nothing of us sends the same messages.
    const reply = await model.doGenerate({ prompt: [...prompt.messages] });
    expect(reply.content).toMatchObject([{ type: "tool-call", toolName: "add" }]);
  });

  it("[E3] gives one prompt its replies in order, and failures as they were", async () => {
    const session = Session.start("go").append(configFact(config));
    const prompt = renderPrompt(config, session.transcript);
    const call = session.append({
      type: "model-call",
      model: "m",
      config: session.id,
      prompt: prompt.digest,
    });
    const usage = { input: 1, output: 1 };
    const error = {
      name: "AI_APICallError",
      message: "busy",
      code: "http-429",
      data: { status: 429, retryable: true },
    };
    const failed = call.append({ type: "model-failure", of: call.id, error });
    const second = failed.append({
      type: "model-call",
      model: "m",
      config: session.id,
      prompt: prompt.digest,
    });
    const content = [
      { type: "tool-call" as const, call: "c", name: "t", input: "{", meta: { openrath: { broken: "cut" } } },
    ];
    const done = second.append({ type: "model-reply", of: second.id, content, finish: "length", usage });
    const model = recorded(done);
    const thrown = await callModel(model, prompt, config).catch((caught: unknown) => caught);
    expect(failureOf(thrown)).toEqual(error);
    for (const _ of [1, 2])
      expect(await callModel(model, prompt, config)).toEqual({ content, finish: "length", usage });
  });

  it("[E4] shows the nearest prompt when it has no answer", async () => {
    const session = await converse(Session.start("1 + 2?"), scripted(...script));
    const prompt = renderPrompt(config, [{ role: "user", content: "1 + 3?" }]);
    const thrown = await callModel(recorded(session), prompt, config).catch((error: Error) => error.cause);
    expect(thrown).toBeInstanceOf(NotRecordedError);
    expect(thrown).toMatchObject({
      data: {
        prompt: prompt.digest,
        nearest: {
          same: 1,
          asked: expect.stringContaining("1 + 3?"),
          recorded: expect.stringContaining("1 + 2?"),
        },
      },
    });
    const nothing = await callModel(recorded(Session.start()), prompt, config).catch(
      (error: Error) => error.cause,
    );
    expect(nothing).toMatchObject({ code: "not-recorded", data: { nearest: null } });
  });
});
