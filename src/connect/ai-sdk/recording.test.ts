import { describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { renderedPrompt } from "../../agent/model/index.js";
import { openRath } from "../../runtime/index.js";
import { type Fact, type FactOf, type FactType, type Json, Session } from "../../session/index.js";
import {
  fromAiSdk,
  type Recording,
  RecordingDivergenceError,
  type RecordingOptions,
  ReplyUnavailableError,
  recording,
} from "./index.js";
import {
  endOf,
  mock,
  type Piece,
  piecesOf,
  type Script,
  type Sdk,
  silent,
  streamOf,
  type Version,
  versions,
} from "./testing/sdk.js";

const calls = [
  { id: "call-1", name: "weather", input: { city: "Rome" } },
  { id: "call-2", name: "weather", input: { city: "Oslo" } },
  { id: "call-3", name: "broken", input: { city: "Bonn" } },
];
const script: Script = [
  { thought: "Look it up.", text: ["I will ", "look."], calls },
  { text: ["It is 21 in Rome ", "and 3 ", "in Oslo."] },
];
const usage = { input: 10, output: 5, cached: 4, reasoning: 2 };

/** `turns` makes a tool slow: so often it lets others go first. */
function toolsOf(
  ai: Sdk,
  degrees: { readonly [city: string]: number } = { Rome: 21, Oslo: 3 },
  turns: { readonly [city: string]: number } = {},
) {
  const inputSchema = z.object({ city: z.string() });
  return {
    weather: ai.tool({
      description: "Tells the weather.",
      inputSchema,
      execute: async ({ city }) => {
        for (let turn = turns[city] ?? 0; turn > 0; turn--)
          await new Promise((resolve) => setImmediate(resolve));
        return { city, degrees: degrees[city] ?? 0 };
      },
    }),
    broken: ai.tool({
      description: "Fails.",
      inputSchema,
      execute: async (): Promise<string> => {
        throw new Error("no power");
      },
    }),
  };
}

/** The program under test, whole or streamed: a loop with tools. */
async function ask(
  ai: Sdk,
  stream: boolean,
  model: ReturnType<typeof mock>,
  middleware: Recording,
  more: {
    readonly prompt?: string;
    readonly tools?: ReturnType<typeof toolsOf>;
    readonly maxRetries?: number;
  } = {},
): Promise<{ readonly text: string; readonly parts: readonly Json[] }> {
  const options = {
    model: ai.wrapLanguageModel({ model, middleware }),
    system: "Be brief.",
    prompt: "What is the weather?",
    temperature: 0.5,
    maxRetries: 0,
    headers: { authorization: "Bearer secret-key" },
    stopWhen: ai.stepCountIs(5),
    tools: toolsOf(ai),
    ...more,
  };
  if (!stream) {
    const { text, steps } = await ai.generateText(options);
    return { text, parts: steps.map(({ content }) => plain(content)) };
  }
  const parts: Json[] = [];
  let text = "";
  const result = ai.streamText({ ...options, onError: () => {} });
  for await (const part of result.fullStream) {
    if (part.type === "error") throw part.error;
    if (part.type === "text-delta") text += part.text;
    parts.push(plain(part));
  }
  return { text, parts };
}

/** Without what the loop makes up itself: times, and how long it took. */
function plain(value: unknown): Json {
  return JSON.parse(
    JSON.stringify(value, (key, inner: unknown) =>
      /^(timestamp|headers|request|performance|warnings|messageId)$|Ms$/.test(key) ? undefined : inner,
    ),
  ) as Json;
}

function factsOf(session: Session): readonly Fact[] {
  return [...session.history()].map(({ fact }) => fact);
}

function only<Type extends FactType>(session: Session, type: Type): readonly FactOf<Type>[] {
  return factsOf(session).filter((fact): fact is FactOf<Type> => fact.type === type);
}

const kinds = versions.flatMap(([version, ai]) =>
  [false, true].map((stream) => [version, stream ? "streamText" : "generateText", ai, stream] as const),
);

describe.each(kinds)("AI SDK %i, %s", (version, _, ai, stream) => {
  it("[I1] a loop with tools lands in the session", async () => {
    const tape = recording(Session.start());
    const { text } = await ask(ai, stream, mock(version, script), tape);
    expect(text).toBe(
      stream ? "I will look.It is 21 in Rome and 3 in Oslo." : "It is 21 in Rome and 3 in Oslo.",
    );
    const types = factsOf(tape.session).map(({ type }) => type);
    expect(types.filter((type) => !type.startsWith("tool-"))).toEqual([
      "session-start",
      "message-say",
      "agent-configure",
      "model-call",
      "model-reply",
      "model-call",
      "model-reply",
    ]);
    // Tools that ran side by side come in the order in which the loop has them.
    expect(types.slice(5, -2).filter((_, place) => place % 2 === 0)).toEqual(calls.map(() => "tool-call"));
    expect(
      types
        .slice(5, -2)
        .filter((_, place) => place % 2 === 1)
        .toSorted(),
    ).toEqual(["tool-failure", "tool-result", "tool-result"]);
    const [config] = only(tape.session, "agent-configure");
    expect(config).toMatchObject({
      agent: "ai-sdk",
      by: "agent:ai-sdk",
      instructions: "Be brief.",
      parameters: { temperature: 0.5, toolChoice: "auto" },
      tools: [{ name: "weather", description: "Tells the weather." }, { name: "broken" }],
    });
    const [first, second] = only(tape.session, "model-reply");
    expect(first).toMatchObject({
      finish: "tool-calls",
      usage,
      model: "gpt-5-mini-2025",
      response: "response-0",
      by: "service:mock.chat",
      content: [
        { type: "reasoning", text: "Look it up." },
        { type: "text", text: "I will look." },
        { type: "tool-call", call: "call-1", name: "weather", input: { city: "Rome" } },
        { type: "tool-call", call: "call-2", name: "weather", input: { city: "Oslo" } },
        { type: "tool-call", call: "call-3", name: "broken", input: { city: "Bonn" } },
      ],
    });
    expect(second).toMatchObject({ finish: "stop", usage, content: "It is 21 in Rome and 3 in Oslo." });
    // Six tokens at 0.25, four from the cache at 0.025 and five made at 2, by the million.
    expect(first?.cost).toBeCloseTo((6 * 0.25 + 4 * 0.025 + 5 * 2) / 1e6, 12);
    const raw = first?.raw as { readonly [field: string]: Json };
    if (stream)
      expect((raw.parts as Json[]).slice(0, 3)).toMatchObject([
        { type: "stream-start" },
        { type: "response-metadata" },
        { type: "reasoning-start" },
      ]);
    else
      expect(raw).toMatchObject({
        body: { id: "response-0" },
        result: { content: [{ type: "reasoning" }, {}, {}, {}, {}] },
      });
    expect(tape.session.usage).toMatchObject({ input: 20, output: 10 });
    expect(tape.session.pending).toEqual([]);
  });

  it("[I2] messages and results are recorded once, and the transcript reads as the conversation", async () => {
    const tape = recording(Session.start("What is the weather?"));
    await ask(ai, stream, mock(version, script), tape);
    const { transcript } = tape.session;
    expect(transcript.map(({ role }) => role)).toEqual([
      "user",
      "assistant",
      ...calls.map(() => "tool"),
      "assistant",
    ]);
    const results = transcript.flatMap((message) => (message.role === "tool" ? [message] : []));
    expect(results.toSorted((one, other) => one.call.localeCompare(other.call))).toMatchObject([
      { role: "tool", call: "call-1", name: "weather", output: { city: "Rome", degrees: 21 } },
      { role: "tool", call: "call-2", name: "weather", output: { city: "Oslo", degrees: 3 } },
      {
        role: "tool",
        call: "call-3",
        name: "broken",
        error: { name: "ToolError", message: version === 7 ? "Error: no power" : "no power" },
      },
    ]);
    const made = only(tape.session, "tool-call").map(({ call, name, input }) => ({ id: call, name, input }));
    expect(made.toSorted((one, other) => String(one.id).localeCompare(String(other.id)))).toEqual(calls);
    expect(only(tape.session, "message-say")).toEqual([]);
  });

  it("[I3] every prompt can be rendered again, and is what the model was sent", async () => {
    const tape = recording(Session.start());
    const model = mock(version, script);
    await ask(ai, stream, model, tape);
    const sent = (stream ? model.doStreamCalls : model.doGenerateCalls).map(({ prompt }) =>
      JSON.parse(JSON.stringify(prompt)),
    );
    const made = [...tape.session.history()].filter(({ fact }) => fact.type === "model-call");
    expect(made.map((call) => renderedPrompt(call).messages)).toEqual(sent);
    expect(made.map(({ fact }) => (fact as FactOf<"model-call">).prompt)).toEqual(
      made.map((call) => renderedPrompt(call).digest),
    );
  });

  it("[P1] the program replays with a model that throws, to the same session", async () => {
    const tape = recording(Session.start());
    const live = await ask(ai, stream, mock(version, script), tape);
    const replay = recording({ session: tape.session, mode: "replay" });
    expect(replay.session.id).not.toBe(tape.session.id);
    const again = await ask(ai, stream, silent(version), replay);
    expect(again).toEqual(live);
    expect(replay.session.id).toBe(tape.session.id);
  });

  it("[P1] tools that are done in another order in the replay change nothing", async () => {
    const tape = recording(Session.start());
    const slow = (city: string) => toolsOf(ai, undefined, { [city]: 20 });
    const live = await ask(ai, stream, mock(version, script), tape, { tools: slow("Rome") });
    const replay = recording({ session: tape.session, mode: "replay" });
    const again = await ask(ai, stream, silent(version), replay, { tools: slow("Oslo") });
    expect(again.text).toBe(live.text);
    expect(replay.session.id).toBe(tape.session.id);
  });

  it("[P1] also from the store, in pieces read back from bytes", async () => {
    const rath = openRath({ store: "memory:" });
    const tape = recording({ session: rath.start(undefined, { inline: 64 }), rath, name: "kept" });
    const live = await ask(ai, stream, mock(version, script), tape);
    const replay = recording({ session: await rath.load("kept"), mode: "replay" });
    expect(await ask(ai, stream, silent(version), replay)).toEqual(live);
    expect(replay.session.id).toBe(tape.session.id);
    await rath.close();
  });

  it("[P3] a program that asks something else diverges, and the model is not asked", async () => {
    const tape = recording(Session.start());
    await ask(ai, stream, mock(version, script), tape);
    const replay = () => recording({ session: tape.session, mode: "replay" });
    const model = silent(version);
    const other = ask(ai, stream, model, replay(), { prompt: "What is the time?" });
    await expect(other).rejects.toThrow(RecordingDivergenceError);
    await expect(other).rejects.toMatchObject({
      code: "divergence",
      data: {
        difference: {
          line: 2,
          asked: expect.stringContaining("time"),
          recorded: expect.stringContaining("weather"),
        },
      },
    });
    const warmer = ask(ai, stream, model, replay(), { tools: toolsOf(ai, { Rome: 22, Oslo: 3 }) });
    await expect(warmer).rejects.toMatchObject({
      data: { difference: { line: 4, asked: expect.stringContaining("22") } },
    });
    const { weather, broken } = toolsOf(ai);
    const renamed = ask(ai, stream, model, replay(), {
      tools: { weather: { ...weather, description: "Guesses." }, broken },
    });
    await expect(renamed).rejects.toMatchObject({ data: { reason: "its tools or parameters are others" } });
    const once = replay();
    await ask(ai, stream, model, once);
    await expect(ask(ai, stream, model, once)).rejects.toThrow("all 2 recorded calls were made");
    expect(model.doGenerateCalls.length + model.doStreamCalls.length).toBe(0);
  });

  it("[I4] an error before the reply is a failure on the record, and goes on as it was", async () => {
    const tape = recording(Session.start());
    const error = new Error("out of order");
    await expect(ask(ai, stream, mock(version, [error]), tape)).rejects.toBe(error);
    expect(tape.session.fact).toMatchObject({
      type: "model-failure",
      error: { name: "Error", message: "out of order" },
    });
    const replay = recording({ session: tape.session, mode: "replay" });
    await expect(ask(ai, stream, silent(version), replay)).rejects.toMatchObject({
      name: "Error",
      message: "out of order",
    });
    expect(replay.session.id).toBe(tape.session.id);
  });

  it("[P4] a program that tried again does so in the replay", async () => {
    const busy = new ai.APICallError({
      message: "Overloaded",
      url: "https://api.example/v1?key=secret-key",
      requestBodyValues: { key: "secret-key" },
      statusCode: 529,
      responseHeaders: { "retry-after-ms": "1", "set-cookie": "secret-key" },
      isRetryable: true,
    });
    const tape = recording(Session.start());
    const live = await ask(ai, stream, mock(version, [busy, ...script]), tape, { maxRetries: 1 });
    expect(only(tape.session, "model-failure")).toMatchObject([
      { error: { message: "Overloaded", code: "http-529", data: { retryable: true, status: 529 } } },
    ]);
    const replay = recording({ session: tape.session, mode: "replay" });
    const waits = vi.spyOn(globalThis, "setTimeout");
    expect(await ask(ai, stream, silent(version), replay, { maxRetries: 1 })).toEqual(live);
    expect(waits.mock.calls.map(([, wait = 0]) => wait).filter((wait) => wait > 0)).toEqual([]);
    waits.mockRestore();
    expect(replay.session.id).toBe(tape.session.id);
  });

  it("[P4] a failure is the provider's own also to a program that looks at it", async () => {
    const refused = new ai.APICallError({
      message: "No such model",
      url: "https://api.example/v1",
      requestBodyValues: {},
      statusCode: 404,
      responseBody: "{}",
      isRetryable: false,
    });
    const tape = recording(Session.start());
    await expect(ask(ai, stream, mock(version, [refused]), tape, { maxRetries: 2 })).rejects.toBe(refused);
    const replay = recording({ session: tape.session, mode: "replay" });
    const again = await ask(ai, stream, silent(version), replay, { maxRetries: 2 }).catch(
      (error: unknown) => error,
    );
    expect(ai.APICallError.isInstance(again)).toBe(true);
    const { name, message, statusCode, url, responseBody, isRetryable } = refused;
    expect(again).toMatchObject({ name, message, statusCode, url, responseBody, isRetryable });
  });

  it("[I7] no header and no key is recorded", async () => {
    const tape = recording(Session.start());
    const headers = { "set-cookie": "secret-key", "x-request-id": "req-1" };
    await ask(ai, stream, mock(version, script, headers), tape);
    const lines = [...tape.session.history()].map(({ line }) => line).join("\n");
    expect(lines).not.toMatch(/secret/);
    expect(lines).toContain('"x-request-id":"req-1"');
  });

  it("[I6] calls that overlap are told apart", async () => {
    const tape = recording(Session.start());
    const model = mock(version, [...script.slice(1), ...script.slice(1), ...script.slice(1)]);
    const prompts = ["One?", "Two?", "Three?"];
    await Promise.all(prompts.map((prompt) => ask(ai, stream, model, tape, { prompt })));
    const made = [...tape.session.history()].filter(({ fact }) => fact.type === "model-call");
    expect(made.map((call) => JSON.stringify(renderedPrompt(call).messages.slice(1)))).toEqual(
      prompts.map((text) => JSON.stringify([{ role: "user", content: [{ type: "text", text }] }])),
    );
    const replies = only(tape.session, "model-reply");
    expect(replies.map(({ of }) => of).sort()).toEqual(made.map(({ id }) => id).sort());
    expect(only(tape.session, "agent-configure").length).toBe(1);
    const replay = recording({ session: tape.session, mode: "replay" });
    for (const prompt of prompts.toReversed()) await ask(ai, stream, silent(version), replay, { prompt });
    expect(replay.session.id).toBe(tape.session.id);
  });

  it("[I5] the session is in the store before the program hears of the reply", async () => {
    const rath = openRath({ store: "memory:" });
    const tape = recording({ session: rath.start(), rath, name: "talk" });
    const model = mock(version, script);
    const seen: number[] = [];
    const tools = toolsOf(ai);
    const look = async () => {
      seen.push(only(await rath.load("talk"), "model-reply").length);
    };
    await ask(
      ai,
      stream,
      model,
      {
        ...tape,
        get session() {
          return tape.session;
        },
        wrapGenerate: async (options) => {
          if (seen.length > 0 || model.doGenerateCalls.length > 0) await look();
          return tape.wrapGenerate(options);
        },
        wrapStream: async (options) => {
          if (seen.length > 0 || model.doStreamCalls.length > 0) await look();
          return tape.wrapStream(options);
        },
      },
      { tools },
    );
    expect(seen).toEqual([1]);
    await look();
    expect(seen).toEqual([1, 2]);
    expect((await rath.load("talk")).id).toBe(tape.session.id);
    await rath.close();
  });

  it("[I8] a name that is taken is refused before the model is asked", async () => {
    const rath = openRath({ store: "memory:" });
    await ask(ai, stream, mock(version, script), recording({ session: rath.start(), rath, name: "talk" }));
    const kept = (await rath.load("talk")).id;
    const model = mock(version, script);
    const tape = recording({ session: rath.start(), rath, name: "talk" });
    await expect(ask(ai, stream, model, tape)).rejects.toMatchObject({ code: "name-conflict" });
    expect([model.doGenerateCalls.length, model.doStreamCalls.length]).toEqual([0, 0]);
    expect(only(tape.session, "model-call")).toEqual([]);
    expect((await rath.load("talk")).id).toBe(kept);
    // Going on from where it stands is not another conversation.
    const further = recording({ session: await rath.load("talk"), rath, name: "talk" });
    await ask(ai, stream, mock(version, script), further, { prompt: "And tomorrow?" });
    expect((await rath.load("talk")).id).toBe(further.session.id);
    await rath.close();
  });

  it("[I2] a conversation goes on over several calls, also with messages left out", async () => {
    const tape = recording(Session.start());
    const model = ai.wrapLanguageModel({
      model: mock(version, [{ text: ["Hello Ada."] }, { text: ["You are Ada."] }, { text: ["Bye."] }]),
      middleware: tape,
    });
    const messages = [{ role: "user" as const, content: "I am Ada." }];
    const say = async (all: object[]) => {
      const given = { model, messages: all as typeof messages, maxRetries: 0 };
      return stream ? await ai.streamText(given).text : (await ai.generateText(given)).text;
    };
    const hello = { role: "assistant", content: await say(messages) };
    const who = { role: "user", content: "Who am I?" };
    await say([...messages, hello, who]);
    const summary = { role: "user", content: "[Ada asked who she is.]" };
    await say([summary, { role: "user", content: "Goodbye." }]);
    expect(tape.session.transcript.map((message) => "content" in message && message.content)).toEqual([
      "I am Ada.",
      "Hello Ada.",
      "Who am I?",
      "You are Ada.",
      "[Ada asked who she is.]",
      "Goodbye.",
      "Bye.",
    ]);
    const last = [...tape.session.history()].findLast(({ fact }) => fact.type === "model-call") as Session;
    expect(renderedPrompt(last).messages).toEqual([
      { role: "user", content: [{ type: "text", text: "[Ada asked who she is.]" }] },
      { role: "user", content: [{ type: "text", text: "Goodbye." }] },
    ]);
  });
});

describe.each(versions)("AI SDK %i", (version, ai) => {
  it("[I3] the exact prompt: provider options, two system messages, files, pictures in results", async () => {
    const tape = recording(Session.start());
    const model = mock(version, [{ text: ["A cat."] }, { text: ["Still a cat."] }]);
    const wrapped = ai.wrapLanguageModel({ model, middleware: tape });
    const cached = { providerOptions: { mock: { cacheControl: "ephemeral" } } };
    const messages = [
      { role: "system" as const, content: "Be kind.", ...cached },
      { role: "system" as const, content: "Be brief." },
      {
        role: "user" as const,
        content: [
          { type: "text" as const, text: "What is this?", ...cached },
          { type: "file" as const, data: new Uint8Array([1, 2, 3]), mediaType: "image/png" },
        ],
      },
      {
        role: "assistant" as const,
        content: [{ type: "tool-call" as const, toolCallId: "look", toolName: "look", input: {} }],
      },
      {
        role: "tool" as const,
        content: [
          {
            type: "tool-result" as const,
            toolCallId: "look",
            toolName: "look",
            output: { type: "content" as const, value: [{ type: "text" as const, text: "A picture." }] },
          },
        ],
      },
    ];
    const more = { role: "user" as const, content: "And now?" };
    const given = { model: wrapped, maxRetries: 0, allowSystemInMessages: true };
    await ai.generateText({ ...given, messages });
    await ai.generateText({
      ...given,
      messages: [...messages, { role: "assistant", content: "A cat." }, more],
    });
    const made = [...tape.session.history()].filter(({ fact }) => fact.type === "model-call");
    const bytes = (_: string, value: unknown) =>
      value instanceof Uint8Array ? Buffer.from(value).toString("base64") : value;
    expect(made.map((call) => renderedPrompt(call).messages)).toEqual(
      model.doGenerateCalls.map(({ prompt }) => JSON.parse(JSON.stringify(prompt, bytes))),
    );
    expect(only(tape.session, "tool-result")).toMatchObject([
      { output: { type: "content", value: [{ text: "A picture." }] } },
    ]);
    // What is the same as in the record's own prompt is named by its place there, not repeated.
    const [, second] = made.map(
      ({ fact }) => (fact as FactOf<"model-call">).parameters as { messages: readonly Json[] },
    );
    expect(second?.messages.some((item) => Array.isArray(item))).toBe(true);
  });

  it("[P2] a replayed stream has the same pieces in the same order", async () => {
    const tape = recording(Session.start());
    const wrapped = ai.wrapLanguageModel({ model: mock(version, script), middleware: tape });
    const options = { prompt: [{ role: "user" as const, content: [{ type: "text" as const, text: "Hi" }] }] };
    const live = await piecesIn(wrapped.doStream(options));
    const replay = ai.wrapLanguageModel({
      model: silent(version),
      middleware: recording({ session: tape.session, mode: "replay" }),
    });
    expect(await piecesIn(replay.doStream(options))).toEqual(live);
    const [first] = script as [Exclude<Script[0], Error>];
    expect(live).toEqual([
      { type: "stream-start", warnings: [] },
      expect.objectContaining({ type: "response-metadata", timestamp: new Date(1_700_000_000_000) }),
      ...piecesOf(first),
      { type: "finish", ...endOf(version, first) },
    ]);
  });

  it("[I5] the last piece of a stream comes when the session is in the store", async () => {
    const rath = openRath({ store: "memory:" });
    const tape = recording({ session: rath.start(), rath, name: "kept" });
    const wrapped = ai.wrapLanguageModel({ model: mock(version, script), middleware: tape });
    const { stream } = await wrapped.doStream({ prompt: [] });
    for await (const { type } of stream)
      if (type === "finish") expect((await rath.load("kept")).fact.type).toBe("model-reply");
    expect((await rath.load("kept")).id).toBe(tape.session.id);
    await rath.close();
  });

  it("[I4] a stream that reports an error, breaks off, is cut or left is a failure, and replays as it was", async () => {
    const text = piecesOf({ text: ["Half ", "a "] }).slice(0, -1);
    const finish = { type: "finish", ...endOf(version, {}) };
    const broken = new Error("connection lost");
    const streams: readonly (readonly [string, () => ReadableStream<Piece>, string])[] = [
      [
        "reports",
        () => streamOf([...text, { type: "error", error: { type: "overloaded_error" } }, finish]),
        "overloaded_error",
      ],
      ["cut", () => streamOf(text), "ended before"],
      ["breaks", () => breaking(text, broken), "connection lost"],
    ];
    for (const [name, make, word] of streams) {
      const tape = recording(Session.start());
      const live = await drained(tape, version, ai, async () => ({ stream: make() }));
      const { fact } = tape.session;
      expect(fact.type, name).toBe("model-failure");
      expect(JSON.stringify(fact), name).toContain(word);
      const replay = recording({ session: tape.session, mode: "replay" });
      const again = await drained(replay, version, ai);
      expect(
        again.pieces.filter(({ type }) => type !== "error"),
        name,
      ).toEqual(live.pieces.filter(({ type }) => type !== "error"));
      expect(again.error === undefined, name).toBe(live.error === undefined);
      expect(replay.session.id).toBe(tape.session.id);
    }
  });

  it("[I4] a stream that nobody reads to its end is recorded as far as it was read", async () => {
    const tape = recording(Session.start());
    let cancelled: unknown;
    const wrapped = ai.wrapLanguageModel({
      model: mockStream(version, async () => ({
        stream: new ReadableStream<Piece>({
          start: (controller) => {
            for (const piece of piecesOf({ text: ["One", "Two"] })) controller.enqueue(piece);
          },
          cancel: (reason) => {
            cancelled = reason;
          },
        }),
      })),
      middleware: tape,
    });
    const { stream } = await wrapped.doStream({ prompt: [] });
    const reader = stream.getReader();
    await reader.read();
    await reader.read();
    await reader.cancel("enough");
    expect(cancelled).toBe("enough");
    expect(tape.session.fact).toMatchObject({
      type: "model-failure",
      error: { code: "stream-cut", data: { sdk: { end: "left" } } },
    });
  });

  it("[I4] leaving a stream while it is read, or while its end is noted, is one failure or one reply", async () => {
    const slow = new ReadableStream<Piece>({
      start: (controller) => {
        for (const piece of piecesOf({ text: ["One"] }).slice(0, 2)) controller.enqueue(piece);
      },
    });
    const finished = [...piecesOf({ text: ["One"] }), { type: "finish", ...endOf(version, {}) }];
    for (const [given, outcome] of [
      [slow, "model-failure"],
      [streamOf(finished), "model-reply"],
    ] as const) {
      let saved = 0;
      const rath = {
        save: async (session: Session) => {
          saved++;
          await new Promise((resolve) => setImmediate(resolve));
          return session;
        },
      };
      const tape = recording({ session: Session.start(), rath, name: "left" });
      const model = mockStream(version, async () => ({ stream: given }));
      const { stream } = await ai.wrapLanguageModel({ model, middleware: tape }).doStream({ prompt: [] });
      const reader = stream.getReader();
      for (let read = 0; read < 2; read++) await reader.read();
      const next = reader.read();
      // Everything that can be read is read by now, and what comes next is waited for.
      await new Promise((resolve) => setImmediate(resolve));
      await reader.cancel("enough");
      await next;
      await new Promise((resolve) => setImmediate(resolve));
      const outcomes = factsOf(tape.session).filter(({ type }) => /^model-(reply|failure)$/.test(type));
      expect(outcomes.map(({ type }) => type)).toEqual([outcome]);
      // Before the model was asked, and once for how it ended.
      expect(saved).toBe(2);
    }
  });

  it("[I7] no key that a stream's error repeats is recorded", async () => {
    const tape = recording(Session.start());
    const error = new Error("Incorrect API key: sk-abcdefghijklmnop");
    await drained(tape, version, ai, async () => ({ stream: streamOf([{ type: "error", error }]) }));
    expect(tape.session.fact.type).toBe("model-failure");
    expect(tape.session.line).toContain("Incorrect API key");
    expect(tape.session.line).not.toContain("sk-abc");
  });

  it("[P5] what the record cannot answer says why", async () => {
    const tape = recording(Session.start());
    await ask(ai, true, mock(version, script), tape);
    const replay = (session: Session, options: Partial<RecordingOptions> = {}) =>
      recording({ session, mode: "replay", ...options });
    await expect(ask(ai, false, silent(version), replay(tape.session))).rejects.toThrow("it was streamed");
    const call = [...tape.session.history()].find(({ fact }) => fact.type === "model-call") as Session;
    await expect(ask(ai, true, silent(version), replay(call))).rejects.toThrow(ReplyUnavailableError);
    const plainReply = call.append({
      type: "model-reply",
      of: call.id,
      content: "Hi",
      finish: "stop",
      usage: { input: 1, output: 1 },
    });
    await expect(ask(ai, true, silent(version), replay(plainReply))).rejects.toThrow("as the AI SDK gave it");
    const [other, otherAi] = versions.find(([one]) => one !== version) as (typeof versions)[0];
    await expect(ask(otherAi, true, silent(other), replay(tape.session))).rejects.toThrow(
      "it was recorded with models of version",
    );
  });
});

describe("recording", () => {
  it("[I2] a call that was not allowed is a failure that the record names", async () => {
    const tape = recording(Session.start());
    await tape.wrapGenerate({
      model: { specificationVersion: "v3", provider: "mock", modelId: "mock" },
      params: {
        prompt: [
          { role: "user", content: [{ type: "text", text: "Delete it." }] },
          {
            role: "assistant",
            content: [{ type: "tool-call", toolCallId: "c", toolName: "delete", input: { all: true } }],
          },
          {
            role: "tool",
            content: [
              {
                type: "tool-result",
                toolCallId: "c",
                toolName: "delete",
                output: { type: "execution-denied", reason: "Never." },
              },
            ],
          },
        ],
      },
      doGenerate: async () => ({
        content: [{ type: "text", text: "As you wish." }],
        ...endOf(6, {}),
        warnings: [],
      }),
    });
    expect(only(tape.session, "tool-call")).toMatchObject([
      { name: "delete", input: { all: true }, call: "c" },
    ]);
    expect(only(tape.session, "tool-failure")).toMatchObject([
      { error: { name: "ToolDeniedError", message: "Never.", code: "tool-denied" }, by: "tool:delete" },
    ]);
  });

  it("[I1] everything that is asked besides the messages is recorded, and [P3] compared", async () => {
    const model = { specificationVersion: "v3", provider: "mock", modelId: "mock" };
    const doGenerate = async () => ({
      content: [{ type: "text", text: "{}" }],
      ...endOf(6, {}),
      warnings: [],
    });
    const inputSchema = { type: "object", properties: {} };
    const schema = { type: "object", properties: { degrees: { type: "number" } } };
    const asked = {
      prompt: [{ role: "user", content: [{ type: "text", text: "Hi" }] }],
      tools: [
        { type: "function", name: "look", description: "Looks.", inputSchema, strict: true },
        { type: "provider", id: "mock.search", name: "search", args: { deep: true } },
      ],
      toolChoice: { type: "tool", toolName: "look" },
      responseFormat: { type: "json", schema, name: "weather" },
      ...{ maxOutputTokens: 100, temperature: 0.5, topP: 0.9, topK: 3, seed: 7, reasoning: "low" },
      ...{ presencePenalty: 0.1, frequencyPenalty: 0.2, stopSequences: ["END"] },
      providerOptions: { mock: { cache: true } },
    };
    const tape = recording(Session.start());
    await tape.wrapGenerate({ model, params: { ...asked, headers: { key: "secret" } }, doGenerate });
    expect(only(tape.session, "agent-configure")).toMatchObject([
      {
        tools: [
          { name: "look", description: "Looks.", input: inputSchema },
          { name: "search", input: { provider: "mock.search", args: { deep: true } } },
        ],
        output: schema,
        parameters: {
          ...{ maxOutputTokens: 100, temperature: 0.5, topP: 0.9, topK: 3, seed: 7, reasoning: "low" },
          ...{ presencePenalty: 0.1, frequencyPenalty: 0.2, stop: ["END"] },
          toolChoice: { tool: "look" },
          providerOptions: { mock: { cache: true } },
          responseFormat: { name: "weather" },
          toolOptions: { look: { strict: true } },
        },
      },
    ]);
    const replay = (change: object) =>
      recording({ session: tape.session, mode: "replay" }).wrapGenerate({
        model,
        params: { ...asked, ...change },
        doGenerate: (): Promise<never> => Promise.reject(new Error("asked")),
      });
    const [look, search] = asked.tools;
    for (const change of [
      { tools: [look] },
      { tools: [{ ...look, strict: false }, search] },
      { tools: [look, { ...search, args: { deep: false } }] },
      { toolChoice: { type: "auto" } },
      { responseFormat: { type: "text" } },
      { responseFormat: { ...asked.responseFormat, schema: true } },
      { responseFormat: { ...asked.responseFormat, name: "climate" } },
      ...[
        "maxOutputTokens",
        "temperature",
        "topP",
        "topK",
        "seed",
        "presencePenalty",
        "frequencyPenalty",
      ].map((name) => ({ [name]: 1 })),
      { reasoning: "high" },
      { stopSequences: [] },
      { providerOptions: {} },
    ])
      await expect(replay(change), JSON.stringify(change)).rejects.toMatchObject({
        data: { reason: "its tools or parameters are others" },
      });
    await expect(replay({ headers: { key: "other" } })).resolves.toMatchObject({
      content: [{ type: "text", text: "{}" }],
    });
  });

  it("[I2] the same words said again are recorded again, and a thought alone is no message", async () => {
    const tape = recording(Session.start());
    const said = (text: string) => ({ role: "user", content: [{ type: "text", text }] });
    const answer = { role: "assistant", content: [{ type: "text", text: "Yes?" }] };
    const thought = { role: "assistant", content: [{ type: "reasoning", text: "Hm." }] };
    const prompts = [
      [said("Hello?")],
      // The answer between the two is left out.
      [said("Hello?"), thought, said("Hello?")],
      [said("Hello?"), answer, said("Hello?"), thought, said("Hello?")],
    ];
    for (const prompt of prompts)
      await tape.wrapGenerate({
        model: { specificationVersion: "v3", provider: "mock", modelId: "mock" },
        params: { prompt },
        doGenerate: async () => ({ content: answer.content, ...endOf(6, {}), warnings: [] }),
      });
    expect(tape.session.transcript.map(({ role }) => role)).toEqual([
      ...["user", "assistant"],
      ...["user", "assistant"],
      ...["user", "assistant"],
    ]);
    const made = [...tape.session.history()].filter(({ fact }) => fact.type === "model-call");
    expect(made.map((call) => renderedPrompt(call).messages)).toEqual(prompts);
  });

  it("[I1] one configuration is recorded once, another one again, also when a session goes on later", async () => {
    const [[, ai]] = versions;
    const first = recording({ session: Session.start(), agent: "mine" });
    await ask(ai, false, mock(5, script), first);
    const later = recording({ session: first.session, agent: "mine" });
    await ask(ai, false, mock(5, script), later, { prompt: "And tomorrow?" });
    expect(only(later.session, "agent-configure").length).toBe(1);
    const { weather } = toolsOf(ai);
    await ask(ai, false, mock(5, script.slice(1)), later, {
      tools: { weather } as ReturnType<typeof toolsOf>,
    });
    expect(only(later.session, "agent-configure").map(({ agent }) => agent)).toEqual(["mine", "mine"]);
  });

  it("[I5] a name without a store is refused", () => {
    expect(() => recording({ session: Session.start(), name: "nowhere" })).toThrow(
      /recording\(\{ session, rath, name \}\)/,
    );
  });

  it("[I1] the adapter for tools comes through the same door", () => {
    const [, [, ai]] = versions;
    const { weather } = toolsOf(ai);
    expect(fromAiSdk({ weather }, { effect: "read" }).map(({ name }) => name)).toEqual(["weather"]);
  });
});

async function piecesIn(
  streamed: PromiseLike<{ readonly stream: ReadableStream<unknown> }>,
): Promise<readonly Piece[]> {
  const pieces: Piece[] = [];
  for await (const piece of (await streamed).stream) pieces.push(piece as Piece);
  return pieces;
}

function breaking(pieces: readonly Piece[], error: Error): ReadableStream<Piece> {
  const rest = [...pieces];
  return new ReadableStream({
    pull(controller) {
      const piece = rest.shift();
      if (piece === undefined) controller.error(error);
      else controller.enqueue(piece);
    },
  });
}

function mockStream(
  version: Version,
  doStream: () => Promise<{ stream: ReadableStream<Piece> }>,
): ReturnType<typeof mock> {
  const model = silent(version);
  model.doStream = doStream as unknown as typeof model.doStream;
  return model;
}

/** Everything that comes of a stream until it closes or breaks. */
async function drained(
  middleware: Recording,
  version: Version,
  ai: Sdk,
  doStream?: () => Promise<{ stream: ReadableStream<Piece> }>,
): Promise<{ readonly pieces: readonly Piece[]; readonly error?: unknown }> {
  const model = doStream === undefined ? silent(version) : mockStream(version, doStream);
  const { stream } = await ai.wrapLanguageModel({ model, middleware }).doStream({ prompt: [] });
  const pieces: Piece[] = [];
  try {
    for await (const piece of stream) pieces.push(piece as Piece);
  } catch (error) {
    return { pieces, error };
  }
  return { pieces };
}
