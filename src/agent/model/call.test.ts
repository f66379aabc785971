import { APICallError } from "@ai-sdk/provider";
import { MockLanguageModelV3, simulateReadableStream } from "ai/test";
import { MockLanguageModelV2 } from "ai5/test";
import { MockLanguageModelV4 } from "ai7/test";
import { describe, expect, it } from "vitest";
import { type Json, type Message, Session } from "../../session/index.js";
import {
  brokenCall,
  callModel,
  callsOf,
  failureOf,
  type LanguageModel,
  type ModelConfig,
  ModelError,
  plainJson,
  renderPrompt,
  textOf,
} from "./index.js";

const isRetryable = (error: unknown) => ModelError.of(error).isRetryable;
const retryAfterOf = (error: unknown) => ModelError.of(error).retryAfter;

const config: ModelConfig = { agent: "a" };
const prompt = renderPrompt(config, [{ role: "user", content: "go" }]);

type Made = { readonly doGenerate?: object; readonly stream?: readonly object[] };

/** The AI SDK's own test models, which take what they are given for a reply. */
const versions = {
  v2: (made: Made) => new MockLanguageModelV2(settings(made)) as LanguageModel & Mock,
  v3: (made: Made) => new MockLanguageModelV3(settings(made)) as LanguageModel & Mock,
  v4: (made: Made) => new MockLanguageModelV4(settings(made)) as LanguageModel & Mock,
};
type Mock = { readonly doGenerateCalls: readonly { readonly [option: string]: unknown }[] };

function settings({ doGenerate = {}, stream = [] }: Made): object {
  return {
    doGenerate: { warnings: [], content: [], ...doGenerate },
    doStream: {
      stream: simulateReadableStream({ chunks: [...stream], initialDelayInMs: null, chunkDelayInMs: null }),
    },
  };
}

const flat = { inputTokens: 10, outputTokens: 5, totalTokens: 15, cachedInputTokens: 4, reasoningTokens: 2 };
const nested = {
  inputTokens: { total: 10, noCache: 6, cacheRead: 4, cacheWrite: undefined },
  outputTokens: { total: 5, text: 3, reasoning: 2 },
};
const meta = { anthropic: { signature: "s" } };
const content = [
  { type: "reasoning", text: "think", providerMetadata: meta },
  { type: "text", text: "yes" },
  { type: "tool-call", toolCallId: "c1", toolName: "add", input: '{"a":1}' },
];
const stream = [
  { type: "stream-start", warnings: [] },
  { type: "response-metadata", id: "r1", modelId: "m1", timestamp: new Date(0) },
  { type: "reasoning-start", id: "0" },
  { type: "reasoning-delta", id: "0", delta: "thi" },
  { type: "ping" },
  { type: "reasoning-delta", id: "0", delta: "nk" },
  { type: "reasoning-end", id: "0", providerMetadata: meta },
  { type: "text-start", id: "1" },
  { type: "text-delta", id: "1", delta: "yes" },
  { type: "text-end", id: "1" },
  { type: "tool-input-start", id: "c1", toolName: "add" },
  { type: "tool-input-delta", id: "c1", delta: '{"a"' },
  { type: "tool-input-delta", id: "c1", delta: ":1}" },
  { type: "tool-input-end", id: "c1" },
  { type: "tool-call", toolCallId: "c1", toolName: "add", input: '{"a":1}' },
];
const expected = {
  content: [
    { type: "reasoning", text: "think", meta },
    { type: "text", text: "yes" },
    { type: "tool-call", call: "c1", name: "add", input: { a: 1 } },
  ],
  finish: "tool-calls",
  usage: { input: 10, output: 5, cached: 4, reasoning: 2 },
  model: "m1",
  response: "r1",
};

describe("calling a model", () => {
  it.each(["v2", "v3", "v4"] as const)("[C1] %s gives the same reply, streamed or not", async (version) => {
    const old = version === "v2";
    const finishReason = old ? "tool-calls" : { unified: "tool-calls", raw: undefined };
    const usage = old ? flat : nested;
    const response = { id: "r1", modelId: "m1", timestamp: new Date(0) };
    const finish = { type: "finish", finishReason, usage };
    const model = versions[version]({
      doGenerate: { content, finishReason, usage, response },
      stream: [...stream, finish],
    });
    expect(await callModel(model, prompt, config)).toEqual(expected);
    expect(await callModel(model, prompt, config, { stream: true })).toEqual(expected);
  });

  it("[C1] only words are a string; an old unknown end and missing counts have a name", async () => {
    const usage = { inputTokens: undefined, outputTokens: Number.NaN, totalTokens: undefined };
    const model = versions.v2({
      doGenerate: { content: [{ type: "text", text: "hi" }], finishReason: "unknown", usage },
    });
    const reply = await callModel(model, prompt, config);
    expect(reply).toMatchObject({ content: "hi", finish: "other", usage: { input: 0, output: 0 } });
    expect(textOf(reply.content)).toBe("hi");
    expect(callsOf(reply.content)).toEqual([]);
  });

  it.each(["v2", "v3", "v4"] as const)("[C2] %s is told of files, tools and parameters", async (version) => {
    const model = versions[version]({ doGenerate: { finishReason: "stop", usage: {} } });
    const transcript: Message[] = [
      {
        role: "user",
        content: [
          { type: "file", media: "image/png", data: "iVBORw0KGgo=" },
          { type: "file", media: "image/png", data: "https://example.com/a.png" },
        ],
      },
      { role: "assistant", content: [{ type: "tool-call", call: "c", name: "look", input: {} }] },
      {
        role: "tool",
        call: "c",
        name: "look",
        output: [{ type: "file", media: "image/png", data: "iVBORw0KGgo=" }] as Json,
      },
    ];
    const full: ModelConfig = {
      agent: "a",
      tools: [{ name: "look", description: "Looks.", input: { type: "object" } }],
      output: { type: "object" },
      parameters: {
        temperature: 0.5,
        stop: ["END"],
        toolChoice: { tool: "look" },
        reasoning: "low",
        headers: { x: "y" },
      },
    };
    await callModel(model, renderPrompt(full, transcript), full);
    const url = new URL("https://example.com/a.png");
    const data = "iVBORw0KGgo=";
    const options = model.doGenerateCalls[0] as { readonly [option: string]: unknown };
    expect(options).toMatchObject({
      temperature: 0.5,
      stopSequences: ["END"],
      headers: { x: "y" },
      toolChoice: { type: "tool", toolName: "look" },
      tools: [{ type: "function", name: "look", description: "Looks.", inputSchema: { type: "object" } }],
      responseFormat: { type: "json", schema: { type: "object" } },
      providerOptions: { openrath: { agent: "a" } },
    });
    expect(options.reasoning).toBe(version === "v4" ? "low" : undefined);
    const [asked, , answered] = options.prompt as { content: { [field: string]: unknown }[] }[];
    expect(asked?.content.map((part) => part.data)).toEqual(
      version === "v4"
        ? [
            { type: "data", data },
            { type: "url", url },
          ]
        : [data, url],
    );
    const files = {
      v2: { type: "media", mediaType: "image/png", data },
      v3: { type: "image-data", mediaType: "image/png", data },
      v4: { type: "file", mediaType: "image/png", data: { type: "data", data } },
    };
    expect(answered?.content[0]?.output).toEqual({
      type: "content",
      value: [{ type: "text", text: "[file image/png]" }, files[version]],
    });
  });

  it("[C3] hears deltas in order and passes over what it does not know", async () => {
    const deltas: Json[] = [];
    const finish = { type: "finish", finishReason: { unified: "stop", raw: undefined }, usage: nested };
    const model = versions.v4({ stream: [...stream, finish] });
    await callModel(model, prompt, config, { stream: true, onDelta: (delta) => deltas.push(delta) });
    expect(deltas).toEqual([
      { type: "reasoning", text: "thi" },
      { type: "reasoning", text: "nk" },
      { type: "text", text: "yes" },
      { type: "tool-input", call: "c1", name: "add", text: '{"a"' },
      { type: "tool-input", call: "c1", name: "add", text: ":1}" },
    ]);
  });

  it("[C3] takes half a stream for a failure", async () => {
    const cut = callModel(versions.v3({ stream }), prompt, config, { stream: true });
    await expect(cut).rejects.toMatchObject({ code: "stream-cut", isRetryable: true });
    await expect(cut).rejects.toBeInstanceOf(ModelError);
    const error = { type: "error", error: { type: "overloaded_error", message: "Overloaded" } };
    const failed = callModel(versions.v3({ stream: [...stream, error] }), prompt, config, { stream: true });
    await expect(failed).rejects.toMatchObject({ isRetryable: true, failure: { message: "Overloaded" } });
    const refused = { type: "error", error: new Error("no") };
    const other = callModel(versions.v3({ stream: [refused] }), prompt, config, { stream: true });
    await expect(other).rejects.toMatchObject({ isRetryable: false });
  });

  it("[C3] stops when told to, also where the stream does not listen", async () => {
    const controller = new AbortController();
    let cancelled: unknown;
    const model: LanguageModel = {
      specificationVersion: "v3",
      provider: "deaf",
      modelId: "deaf",
      doGenerate: () => new Promise(() => {}),
      doStream: async () => ({
        stream: new ReadableStream<{ type: string }>({
          pull: () => new Promise(() => {}),
          cancel: (reason) => {
            cancelled = reason;
          },
        }),
      }),
    };
    const call = callModel(model, prompt, config, { stream: true, signal: controller.signal });
    setTimeout(() => controller.abort(new Error("enough")), 1);
    await expect(call).rejects.toThrow("enough");
    expect(cancelled).toMatchObject({ message: "enough" });
    const late = callModel(model, prompt, config, { signal: controller.signal });
    await expect(late).rejects.toThrow("enough");
  });

  it("[C4] keeps what was cut off and marks it", async () => {
    const finishReason = { unified: "length", raw: "max_tokens" };
    const calls = [
      { type: "tool-call", toolCallId: "a", toolName: "write", input: '{"text":"half' },
      { type: "tool-call", toolCallId: "b", toolName: "write", input: "" },
      {
        type: "tool-call",
        toolCallId: "c",
        toolName: "write",
        input: `${"[".repeat(600)}${"]".repeat(600)}`,
      },
    ];
    const model = versions.v3({
      doGenerate: { content: calls, finishReason, usage: nested },
      // The input looks whole, but the provider never said so.
      stream: [
        { type: "tool-input-start", id: "a", toolName: "write" },
        { type: "tool-input-delta", id: "a", delta: '{"text":"x"}' },
        { type: "finish", finishReason, usage: nested },
      ],
    });
    const whole = await callModel(model, prompt, config);
    expect(whole.finish).toBe("length");
    expect(whole.meta).toEqual({ finish: "max_tokens" });
    const [first, second, third] = callsOf(whole.content);
    expect(first && [first.input, brokenCall(first)]).toEqual(['{"text":"half', "its input is not JSON"]);
    expect(second && [second.input, brokenCall(second)]).toEqual([{}, undefined]);
    expect(third && brokenCall(third)).toBe("its input is nested too deeply");
    const [cut] = callsOf((await callModel(model, prompt, config, { stream: true })).content);
    expect(cut && [cut.input, brokenCall(cut)]).toEqual([
      '{"text":"x"}',
      "the reply ended before it was complete",
    ]);
  });

  it("[C5] gives ids to calls that have none of their own", async () => {
    const call = (toolCallId: string) => ({ type: "tool-call", toolCallId, toolName: "t", input: "{}" });
    const finishReason = { unified: "stop", raw: undefined };
    const model = versions.v3({
      doGenerate: { content: [call(""), call("x"), call("x"), call("")], finishReason, usage: nested },
    });
    const reply = await callModel(model, prompt, config);
    const ids = callsOf(reply.content).map((part) => part.call);
    expect(new Set(ids).size).toBe(4);
    expect(ids).toContain("x");
    expect(ids.every((id) => /^[\w-]{1,40}$/.test(id))).toBe(true);
    expect(await callModel(model, prompt, config)).toEqual(reply);
  });

  it("[C6] keeps the evidence as JSON", async () => {
    const bytes = new Uint8Array([1, 2, 3]);
    const model = versions.v3({
      doGenerate: {
        content: [
          { type: "file", mediaType: "image/png", data: bytes },
          { type: "source", sourceType: "url", id: "s", url: "https://example.com", title: undefined },
          { type: "custom", kind: "a.b" },
        ],
        finishReason: { unified: "stop", raw: "end_turn" },
        usage: { ...nested, raw: { input_tokens: 10 } },
        providerMetadata: { p: { at: new Date(0), none: undefined } },
        warnings: [{ type: "other", message: "careful" }],
        response: {
          headers: { "x-request-id": "req_1", "set-cookie": "secret=1" },
          body: { a: [undefined, 1n, bytes], f: () => 1 },
        },
      },
    });
    expect(await callModel(model, prompt, config)).toMatchObject({
      content: [
        { type: "file", media: "image/png", data: "AQID" },
        {
          type: "source",
          source: { type: "source", sourceType: "url", id: "s", url: "https://example.com" },
        },
        { type: "other", value: { type: "custom", kind: "a.b" } },
      ],
      meta: {
        provider: { p: { at: "1970-01-01T00:00:00.000Z" } },
        warnings: [{ type: "other", message: "careful" }],
        finish: "end_turn",
        usage: { input_tokens: 10 },
      },
      raw: { headers: { "x-request-id": "req_1" }, body: { a: [null, "1", "AQID"] } },
    });
    const whole = JSON.stringify(await callModel(model, prompt, config));
    expect(whole).not.toContain("secret");
  });

  it("[C6] takes anything for JSON that a record can hold", () => {
    const loop: { [key: string]: unknown } = { a: 1 };
    loop.self = loop;
    loop.list = [loop];
    expect(plainJson(loop)).toEqual({ a: 1, self: "[contains itself]", list: ["[contains itself]"] });
    let deep: unknown = "end";
    for (let depth = 0; depth < 1_000; depth++) deep = { deep };
    expect(JSON.stringify(plainJson(deep))).toContain("[nested too deeply]");
    expect(() =>
      Session.start().append({ type: "note", kind: "k", data: plainJson(deep) ?? null }),
    ).not.toThrow();
    const twice = { b: 2 };
    expect(
      plainJson([twice, twice, Number.NaN, new Date(Number.NaN), new URL("https://a.b/c"), new Error("no")]),
    ).toEqual([{ b: 2 }, { b: 2 }, null, null, "https://a.b/c", { name: "Error", message: "no" }]);
    expect(plainJson({ f: () => 1, s: Symbol("s"), u: undefined })).toEqual({});
    expect(plainJson(undefined)).toBeUndefined();
  });

  it("[C6] knows the model also where only the raw reply names it", async () => {
    const finishReason = { unified: "stop", raw: undefined };
    const model = versions.v3({
      doGenerate: {
        finishReason,
        usage: nested,
        response: { body: { modelVersion: "gemini-2.5-flash-001" } },
      },
      stream: [
        { type: "raw", rawValue: { modelVersion: "gemini-2.5-flash-002" } },
        { type: "finish", finishReason, usage: nested },
      ],
    });
    expect(await callModel(model, prompt, config)).toMatchObject({ model: "gemini-2.5-flash-001" });
    const streamed = await callModel(model, prompt, config, { stream: true, chunks: true });
    expect(streamed).toMatchObject({ model: "gemini-2.5-flash-002" });
  });

  it("[C6] keeps every piece of a stream when asked to", async () => {
    const finish = { type: "finish", finishReason: { unified: "stop", raw: undefined }, usage: nested };
    const model = versions.v3({ stream: [{ type: "raw", rawValue: { delta: "x" } }, finish] });
    const reply = await callModel(model, prompt, config, { stream: true, chunks: true });
    expect(reply.raw).toEqual({ chunks: [{ delta: "x" }] });
  });

  it.each([
    ["nothing", undefined],
    ["an empty object", {}],
    ["content that is a text", { content: "yes", finishReason: "stop", usage: flat }],
    ["a part that is nothing", { content: [null], finishReason: "stop", usage: flat }],
  ])("[C9] %s instead of a reply is a failure that says whose it is", async (_what, answer) => {
    const model = { ...versions.v3({}), provider: "odd", doGenerate: async () => answer } as unknown;
    const error: unknown = await callModel(model as LanguageModel, prompt, config).catch(
      (thrown: unknown) => thrown,
    );
    expect(error).toBeInstanceOf(ModelError);
    expect((error as Error).message).toContain("The model of odd answered with");
  });

  it("[C7] tells a failure without telling secrets", async () => {
    const error = new APICallError({
      message: "Incorrect API key: sk-abcdefghijklmnop",
      url: "https://user:pass@example.com/v1?key=hush",
      requestBodyValues: { messages: ["private"] },
      statusCode: 429,
      responseHeaders: { "Retry-After": "7", "set-cookie": "hush" },
      responseBody: `{"error":"slow down, Bearer abc.def"}${"x".repeat(5_000)}`,
    });
    const thrown = await callModel(failing(error), prompt, config).catch((caught: unknown) => caught);
    expect(thrown).toBeInstanceOf(ModelError);
    expect(thrown).toMatchObject({ isRetryable: true, retryAfter: 7_000, cause: error });
    const failure = failureOf(thrown);
    expect(failure).toMatchObject({
      name: "AI_APICallError",
      code: "http-429",
      data: { status: 429, retryable: true, retryAfter: 7_000, url: "https://example.com/v1" },
    });
    const text = JSON.stringify(failure);
    for (const secret of ["hush", "private", "pass", "sk-abc", "abc.def"]) expect(text).not.toContain(secret);
    expect(text.length).toBeLessThan(3_000);
  });

  it("[C7] knows what may pass and when to ask again", () => {
    const http = (statusCode: number, headers: Record<string, string> = {}, responseBody = "") =>
      new APICallError({
        message: "m",
        url: "u",
        requestBodyValues: {},
        statusCode,
        responseHeaders: headers,
        responseBody,
      });
    expect([400, 401, 404, 408, 429, 500, 529].map((status) => isRetryable(http(status)))).toEqual([
      false,
      false,
      false,
      true,
      true,
      true,
      true,
    ]);
    expect(isRetryable(http(429, {}, '{"code":"insufficient_quota"}'))).toBe(false);
    expect(retryAfterOf(http(429, { "retry-after-ms": "250", "retry-after": "9" }))).toBe(250);
    expect(retryAfterOf(http(503, { "retry-after": new Date(Date.now() - 5_000).toUTCString() }))).toBe(0);
    const later = retryAfterOf(http(503, { "retry-after": new Date(Date.now() + 60_000).toUTCString() }));
    expect(later).toBeGreaterThan(30_000);
    expect(retryAfterOf(http(503, { "retry-after": "soon" }))).toBe(undefined);
    const socket = new TypeError("fetch failed", {
      cause: Object.assign(new Error("reset"), { code: "ECONNRESET" }),
    });
    expect([isRetryable(socket), failureOf(socket).code]).toEqual([true, "ECONNRESET"]);
    expect(isRetryable(new DOMException("stop", "AbortError"))).toBe(false);
    expect(isRetryable(new DOMException("late", "TimeoutError"))).toBe(true);
    expect(failureOf("boom")).toMatchObject({ name: "Error", message: "boom", data: { retryable: false } });
    expect(failureOf(undefined)).toMatchObject({ name: "Error" });
  });

  it("[C8] gives back what a provider ran only to that provider", async () => {
    const usage = nested;
    const finishReason = { unified: "stop", raw: undefined };
    const ran = [
      {
        type: "tool-call",
        toolCallId: "w",
        toolName: "web_search",
        input: '{"query":"x"}',
        providerExecuted: true,
      },
      { type: "tool-result", toolCallId: "w", toolName: "web_search", result: [{ url: "u" }] },
      { type: "text", text: "found" },
    ];
    const model = versions.v3({ doGenerate: { content: ran, finishReason, usage } });
    const reply = await callModel(model, prompt, config);
    expect(callsOf(reply.content)).toEqual([]);
    const next = renderPrompt(config, [
      { role: "user", content: "go" },
      { role: "assistant", content: reply.content },
    ]);
    await callModel(model, next, config);
    const own = model.doGenerateCalls.at(-1)?.prompt as { content: { type: string }[] }[];
    expect(own[1]?.content.map(({ type }) => type)).toEqual(["tool-call", "tool-result", "text"]);
    expect(JSON.stringify(own)).not.toContain("openrath");
    const other = Object.assign(versions.v3({ doGenerate: { finishReason, usage } }), { provider: "other" });
    await callModel(other, next, config);
    const told = other.doGenerateCalls.at(-1)?.prompt as { content: object[] }[];
    expect(told[1]?.content).toEqual([
      { type: "text", text: '[The provider ran web_search with {"query":"x"} and got:]\n[{"url":"u"}]' },
      { type: "text", text: "found" },
    ]);
  });
});

function failing(error: unknown): LanguageModel {
  const fail = () => Promise.reject(error);
  return { specificationVersion: "v3", provider: "p", modelId: "m", doGenerate: fail, doStream: fail };
}
