import { describe, expect, it } from "vitest";
import { z } from "zod";
import { statusOf } from "../../../runtime/index.js";
import type { Json, Session } from "../../../session/index.js";
import { openStore } from "../../../store/index.js";
import { mock, type Script, type Sdk, type Version, versions } from "../../ai-sdk/testing/sdk.js";
import { ImportError, type Imported } from "../exchange.js";

import { attack } from "../testing/attack.js";
import { expectAllHeld, heldIn, sourceOf } from "../testing/leaves.js";
import { aiSdkUi } from "./read.js";

const user = { id: "m1", role: "user", parts: [{ type: "text", text: "How warm is Rome?" }] };
const answered = {
  id: "m2",
  role: "assistant",
  metadata: { model: "gpt-5", createdAt: "2026-03-01T10:00:00.000Z" },
  parts: [
    { type: "step-start" },
    { type: "reasoning", text: "Look it up.", providerMetadata: { openai: { itemId: "r1" } } },
    {
      type: "tool-weather",
      toolCallId: "c1",
      state: "output-available",
      input: { city: "Rome" },
      output: { degrees: 21 },
    },
    {
      type: "dynamic-tool",
      toolName: "map",
      toolCallId: "c2",
      state: "output-error",
      input: {},
      errorText: "no power",
    },
    { type: "step-start" },
    { type: "text", text: "It is 21.", state: "done" },
    { type: "source-url", sourceId: "s1", url: "https://example.com/rome", title: "Rome" },
    { type: "file", mediaType: "image/png", url: "data:image/png;base64,AAAA", filename: "rome.png" },
    { type: "data-chart", id: "d1", data: { points: [1, 2] } },
  ],
};

async function read(value: Json): Promise<Imported> {
  const [only] = await aiSdkUi.read(sourceOf("chat.json", value));
  return only as Imported;
}

function use(state: string, more: { readonly [field: string]: Json } = {}): Json {
  return [
    user,
    {
      id: "m2",
      role: "assistant",
      parts: [{ type: "tool-pay", toolCallId: "c1", state, input: { sum: 5 }, ...more }],
    },
  ] as Json;
}

function typesIn(session: Session): readonly string[] {
  return [...session.history()].map(({ fact }) => fact.type).slice(3);
}

describe("AI SDK chats", () => {
  it("[U1] a chat of UI messages reads as it went", async () => {
    const { session, name } = await read([user, answered] as Json);
    expect(name).toBe("chat");
    expect(session.transcript).toMatchObject([
      { role: "user", content: "How warm is Rome?" },
      {
        role: "assistant",
        author: "assistant",
        content: [
          { type: "reasoning", text: "Look it up.", meta: { openai: { itemId: "r1" } } },
          { type: "tool-call", call: "c1", name: "weather", input: { city: "Rome" } },
          { type: "tool-call", call: "c2", name: "map" },
        ],
      },
      { role: "tool", call: "c1", name: "weather", output: { degrees: 21 } },
      { role: "tool", call: "c2", name: "map", error: { name: "ToolError", message: "no power" } },
      {
        role: "assistant",
        content: [
          { type: "text", text: "It is 21." },
          { type: "source", source: { type: "source-url", url: "https://example.com/rome" } },
          { type: "file", media: "image/png", data: "data:image/png;base64,AAAA", name: "rome.png" },
          { type: "other", value: { type: "data-chart", data: { points: [1, 2] } } },
        ],
      },
    ]);
    expect(session.fact.at).toBe("2026-03-01T10:00:00.000Z");
    expect((await read({ id: "chat-7", title: "Rome", messages: [user] } as Json)).name).toBe("chat-7");
  });

  it("[U2] a call stands as far as its state says", async () => {
    const pending = async (value: Json) => (await read(value)).session.pending.map(({ type }) => type);
    expect(await pending(use("input-streaming"))).toEqual(["tool-call"]);
    expect(await pending(use("input-available"))).toEqual(["tool-call"]);
    expect(await pending(use("approval-requested", { approval: { id: "a1" } }))).toEqual([
      "tool-call",
      "approval-ask",
    ]);
    const asked = await read(use("approval-requested", { approval: { id: "a1" } }));
    expect(statusOf(asked.session)).toBe("waiting");
    const agreed = await read(
      use("approval-responded", { approval: { id: "a1", approved: true, reason: "fine" } }),
    );
    expect(agreed.session.pending.map(({ type }) => type)).toEqual(["tool-call"]);
    expect(agreed.session.fact).toMatchObject({ type: "note" });
    expect(statusOf(agreed.session)).toBe("open");
    expect(typesIn(agreed.session)).toEqual([
      "note",
      "message-say",
      "tool-call",
      "approval-ask",
      "approval-give",
      "note",
    ]);
    const give = [...agreed.session.history()].find(({ fact }) => fact.type === "approval-give")?.fact;
    expect(give).toMatchObject({ decision: "approve", why: "fine", by: "user" });
    const rule = await read(
      use("approval-responded", { approval: { id: "a1", approved: true, isAutomatic: true } }),
    );
    expect([...rule.session.history()].find(({ fact }) => fact.type === "approval-give")?.fact.by).toBe(
      "runtime",
    );
    const denied = await read(
      use("output-denied", { approval: { id: "a1", approved: false, reason: "too much" } }),
    );
    expect(denied.session.pending).toEqual([]);
    expect(denied.session.transcript.at(-1)).toMatchObject({
      error: { code: "tool-denied", message: "too much" },
    });
  });

  it("[U3] a tool of the provider has its result in the message", async () => {
    const { session } = await read(use("output-available", { output: "done", providerExecuted: true }));
    expect(session.transcript.at(-1)).toMatchObject({
      content: [
        { type: "tool-call", provider: true },
        { type: "tool-result", output: "done" },
      ],
    });
    expect(typesIn(session)).not.toContain("tool-call");
  });

  it("[U4] model messages become the same conversation, with approvals, errors and denials", async () => {
    const calls = ["c1", "c2", "c3"].map((toolCallId) => ({
      type: "tool-call",
      toolCallId,
      toolName: "pay",
      input: { sum: 5 },
    }));
    const asking = calls.map(({ toolCallId }) => ({
      type: "tool-approval-request",
      approvalId: `a-${toolCallId}`,
      toolCallId,
    }));
    const { session } = await read([
      { role: "system", content: "Be kind." },
      { role: "user", content: [{ type: "text", text: "Pay." }] },
      { role: "assistant", content: [{ type: "text", text: "I ask." }, ...calls, ...asking] },
      {
        role: "tool",
        content: [
          { type: "tool-approval-response", approvalId: "a-c1", approved: true },
          { type: "tool-approval-response", approvalId: "a-c2", approved: false, reason: "no" },
          {
            type: "tool-result",
            toolCallId: "c1",
            toolName: "pay",
            output: { type: "json", value: { paid: 5 } },
          },
          {
            type: "tool-result",
            toolCallId: "c2",
            toolName: "pay",
            output: { type: "execution-denied", reason: "no" },
          },
        ],
      },
    ]);
    expect(session.transcript).toMatchObject([
      { role: "system", content: "Be kind." },
      { role: "user", content: "Pay." },
      { role: "assistant", content: [{ text: "I ask." }, { call: "c1" }, { call: "c2" }, { call: "c3" }] },
      { role: "tool", call: "c1", output: { paid: 5 } },
      { role: "tool", call: "c2", error: { code: "tool-denied", message: "no" } },
      { role: "tool", call: "c3" },
    ]);
    expect(session.pending.map(({ type }) => type)).toEqual(["tool-call", "approval-ask"]);
  });

  it.each(versions)("[U5] messages that the AI SDK %s made import whole, both kinds", async (version, ai) => {
    const { ui, model } = await chat(version, ai);
    const store = await openStore("memory:");
    for (const messages of [ui, model]) {
      expect(aiSdkUi.fits(sourceOf("chat.json", messages))).toBe(true);
      const { session } = await read(messages);
      expectAllHeld(messages, [session], isWord);
      expect(session.transcript.map(({ role }) => role)).toEqual([
        "user",
        "assistant",
        "tool",
        "tool",
        "assistant",
      ]);
      expect(session.transcript).toMatchObject([
        { content: "How warm?" },
        {
          content: [
            { type: "reasoning", text: "Look." },
            { type: "text", text: "I will look." },
            { call: "1" },
            { call: "2" },
          ],
        },
        { name: "weather", output: { degrees: 21 } },
        { name: "broken", error: { name: "ToolError" } },
        {},
      ]);
      expect(session.pending).toEqual([]);
      expect((await read(messages)).session.id).toBe(session.id);
      await store.save(session);
    }
    expect((await store.check()).findings).toEqual([]);
    await store.close();
  });

  it.each(versions.filter(([version]) => version !== 5))(
    "[U2] [U5] a question that the AI SDK %s asked is pending",
    async (version, ai) => {
      const tools = {
        pay: ai.tool({
          inputSchema: z.object({ sum: z.number() }),
          needsApproval: true,
          execute: async () => "paid",
        } as never),
      };
      const model = mock(version, [
        { text: ["I ask."], calls: [{ id: "1", name: "pay", input: { sum: 5 } }] },
      ]);
      const messages = await messagesOf(ai, model, tools);
      const { session } = await read(messages as Json);
      expect(session.pending.map(({ type, what }) => [type, what])).toEqual([
        ["tool-call", "pay"],
        ["approval-ask", "pay"],
      ]);
    },
  );

  it("[U6] parts that facts have no words for are kept and told", async () => {
    const chatOf = { id: "chat-7", title: "Rome", messages: [user, answered] } as Json;
    const { session, notes } = await read(chatOf);
    expect(notes.length).toBe(2);
    expectAllHeld(chatOf, [session], isWord);
    const held = heldIn([session]);
    for (const value of ["Rome", "gpt-5", "m2", "done", "data-chart"]) expect(held).toContain(value);
  });

  it("[U8] a list of other things that hold messages is not taken for a chat", () => {
    const fits = (value: Json): boolean => aiSdkUi.fits(sourceOf("chat.json", value));
    const said = { role: "user", content: 'a "quoted" } brace' };
    expect(fits([{ id: "task-1", scenario: { history: [said] } }, said])).toBe(false);
    expect(fits([{ id: "m1", metadata: { role: { is: "}" } }, role: "user", parts: [] }])).toBe(true);
    expect(fits([said])).toBe(true);
    const long = { id: "m1", role: "user", parts: [{ type: "text", text: "x".repeat(70_000) }] };
    expect(fits([long])).toBe(true);
  });

  it("[U7] a text that is not a list of messages is refused; damaged chats are a session or an ImportError", async () => {
    for (const [value, where] of [
      [7, ""],
      [[], ""],
      [{ messages: 7 }, "messages"],
      [[7], "[0]"],
      [[{ role: "ghost", parts: [] }], "[0].role"],
      [{ messages: [user, { role: "user" }] }, "messages[1]"],
    ] as const) {
      const error: unknown = await aiSdkUi
        .read(sourceOf("x", value as Json))
        .catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(ImportError);
      expect((error as ImportError).data.where).toBe(where);
    }
    const ui = [
      user,
      answered,
      ...(use("output-denied", { approval: { id: "a", approved: false } }) as readonly Json[]),
    ] as Json;
    const { model } = await chat(6, versions[1][1]);
    await attack(
      aiSdkUi,
      [sourceOf("ui.json", ui), sourceOf("m.json", model)],
      300,
      (source) => JSON.parse(Buffer.from(source.bytes).toString()) as Json,
    );
  });
});

/** Said by facts and parts in their own words: who spoke, what kind of part it is, how far a call went. */
function isWord(path: string, leaf: Json): boolean {
  return /\.(role|type|state)$/.test(path) || (path.endsWith(".toolName") && typeof leaf === "string");
}

const script: Script = [
  {
    thought: "Look.",
    text: ["I will ", "look."],
    calls: [
      { id: "1", name: "weather", input: { city: "Rome" } },
      { id: "2", name: "broken", input: { city: "Rome" } },
    ],
  },
  { text: ["It is 21."] },
];

/** A chat that a version of the AI SDK kept itself: as UI messages, and as the messages of its models. */
async function chat(version: Version, ai: Sdk): Promise<{ readonly ui: Json; readonly model: Json }> {
  const inputSchema = z.object({ city: z.string() });
  const tools = {
    weather: ai.tool({ inputSchema, execute: async () => ({ degrees: 21 }) }),
    broken: ai.tool({
      inputSchema,
      execute: async (): Promise<string> => {
        throw new Error("no power");
      },
    }),
  };
  const ui = await messagesOf(ai, mock(version, script), tools);
  const result = await ai.generateText({
    model: mock(version, script) as never,
    tools,
    stopWhen: ai.stepCountIs(5),
    prompt: "How warm?",
  });
  // Since version 7 a response has the messages of its last step only.
  const given =
    (result as { readonly responseMessages?: typeof result.response.messages }).responseMessages ??
    result.response.messages;
  const all = [{ role: "user", content: "How warm?" }, ...given];
  return { ui: ui as Json, model: JSON.parse(JSON.stringify(all)) as Json };
}

async function messagesOf(ai: Sdk, model: unknown, tools: object): Promise<unknown> {
  const asked = { id: "u1", role: "user" as const, parts: [{ type: "text" as const, text: "How warm?" }] };
  const result = ai.streamText({
    model: model as never,
    tools: tools as never,
    stopWhen: ai.stepCountIs(5) as never,
    messages: await ai.convertToModelMessages([asked]),
  });
  let kept: unknown;
  const stream = result.toUIMessageStream({
    originalMessages: [asked],
    generateMessageId: () => "a1",
    sendReasoning: true,
    sendSources: true,
    onFinish: ({ messages }: { readonly messages: unknown }) => {
      kept = messages;
    },
  } as never);
  for await (const _ of stream as AsyncIterable<unknown>);
  return JSON.parse(JSON.stringify(kept));
}
