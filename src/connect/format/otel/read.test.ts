import { beforeAll, describe, expect, it } from "vitest";
import { type FactOf, type Json, Session } from "../../../session/index.js";
import { openStore, type Store } from "../../../store/index.js";
import { versions } from "../../ai-sdk/testing/sdk.js";
import { ImportError, type Imported } from "../exchange.js";

import { attack } from "../testing/attack.js";
import { expectAllHeld, heldIn, keysIn, sourceOf } from "../testing/leaves.js";
import { otelImport } from "./read.js";
import { timeOf } from "./span.js";
import { aiSdkSpans } from "./testing/ai-sdk.js";
import { world } from "./testing/world.js";
import { otelExport } from "./write.js";

const T = 1_767_323_045_000_000_000n;
type Value = string | number | boolean | readonly string[] | { readonly any: Json };
type SpanInput = {
  readonly id: string;
  readonly parent?: string;
  readonly name: string;
  readonly from: number;
  readonly to: number;
  readonly kind?: number | string;
  readonly attributes: { readonly [name: string]: Value };
  readonly more?: { readonly [field: string]: Json };
};
const TRACE = "0af7651916cd43dd8448eb211c80319c";

function spanOf({ id, parent, name, from, to, kind = 1, attributes, more = {} }: SpanInput): Json {
  return {
    traceId: TRACE,
    spanId: id.padStart(16, "0"),
    ...(parent !== undefined && { parentSpanId: parent.padStart(16, "0") }),
    name,
    kind,
    startTimeUnixNano: String(T + BigInt(from)),
    endTimeUnixNano: String(T + BigInt(to)),
    attributes: Object.entries(attributes).map(([key, value]) => ({ key, value: anyOf(value) })),
    ...more,
  };
}

function anyOf(value: Value): Json {
  if (typeof value === "string") return { stringValue: value };
  if (typeof value === "boolean") return { boolValue: value };
  if (typeof value === "number")
    return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value };
  if ("any" in value) return value.any;
  return { arrayValue: { values: value.map((one) => ({ stringValue: one })) } };
}

function documentOf(...spans: readonly SpanInput[]): Json {
  const resource = { attributes: [{ key: "service.name", value: { stringValue: "shop" } }] };
  return {
    resourceSpans: [
      { resource, scopeSpans: [{ scope: { name: "lib", version: "1.2" }, spans: spans.map(spanOf) }] },
    ],
  };
}

const input = [
  { role: "system", parts: [{ type: "text", content: "Be kind." }] },
  { role: "user", parts: [{ type: "text", content: "How warm?" }] },
];
const asked = {
  role: "assistant",
  parts: [{ type: "tool_call", id: "c1", name: "weather", arguments: { city: "Rome" } }],
  finish_reason: "tool_calls",
};
const given = { role: "tool", parts: [{ type: "tool_call_response", id: "c1", response: { degrees: 21 } }] };
const chat = {
  "gen_ai.operation.name": "chat",
  "gen_ai.provider.name": "openai",
  "gen_ai.request.model": "gpt-5",
};
const spans: readonly SpanInput[] = [
  {
    id: "1",
    name: "invoke_agent helper",
    from: 0,
    to: 900,
    attributes: {
      "gen_ai.operation.name": "invoke_agent",
      "gen_ai.agent.name": "helper",
      "gen_ai.conversation.id": "conv-1",
      tenant: "acme",
    },
  },
  {
    id: "2",
    parent: "1",
    name: "chat gpt-5",
    from: 10,
    to: 100,
    kind: 3,
    attributes: {
      ...chat,
      "gen_ai.usage.input_tokens": 12,
      "gen_ai.usage.output_tokens": 5,
      "gen_ai.usage.cache_read.input_tokens": 3,
      "gen_ai.response.finish_reasons": ["tool_calls"],
      "gen_ai.response.id": "resp-1",
      "gen_ai.request.temperature": 0.5,
      "gen_ai.input.messages": JSON.stringify(input),
      "gen_ai.output.messages": JSON.stringify([asked]),
      "server.address": "api.openai.com",
    },
  },
  {
    id: "3",
    parent: "1",
    name: "execute_tool weather",
    from: 110,
    to: 200,
    attributes: {
      "gen_ai.operation.name": "execute_tool",
      "gen_ai.tool.name": "weather",
      "gen_ai.tool.call.id": "c1",
      "gen_ai.tool.call.arguments": '{"city":"Rome"}',
      "gen_ai.tool.call.result": '{"degrees":21}',
    },
  },
  {
    id: "4",
    parent: "1",
    name: "chat gpt-5",
    from: 210,
    to: 300,
    kind: "SPAN_KIND_CLIENT",
    attributes: {
      ...chat,
      // In structure, and not as text.
      "gen_ai.input.messages": { any: { arrayValue: { values: [...input, asked, given].map(structured) } } },
      "gen_ai.output.messages": JSON.stringify([
        { role: "assistant", parts: [{ type: "text", content: "21." }], finish_reason: "stop" },
      ]),
    },
    more: {
      events: [
        {
          name: "gen_ai.evaluation.result",
          timeUnixNano: String(T + 305n),
          attributes: [
            { key: "gen_ai.evaluation.name", value: { stringValue: "Relevance" } },
            { key: "gen_ai.evaluation.score.value", value: { doubleValue: 0.9 } },
            { key: "gen_ai.evaluation.score.label", value: { stringValue: "relevant" } },
          ],
        },
      ],
    },
  },
  {
    id: "5",
    parent: "1",
    name: "search_memory",
    from: 310,
    to: 320,
    attributes: {
      "gen_ai.operation.name": "search_memory",
      "gen_ai.memory.store.id": "notes",
      "gen_ai.memory.record.count": 2,
    },
  },
  {
    id: "6",
    parent: "4",
    name: "POST /v1/chat",
    from: 215,
    to: 290,
    kind: 3,
    attributes: { "http.response.status_code": 500, "error.type": "500" },
    more: { status: { code: 2, message: "Internal" } },
  },
];

function structured(value: Json): Json {
  if (typeof value === "string") return { stringValue: value };
  if (typeof value === "number") return { intValue: value };
  if (Array.isArray(value)) return { arrayValue: { values: (value as readonly Json[]).map(structured) } };
  return {
    kvlistValue: {
      values: Object.entries(value as { [key: string]: Json }).map(([key, inner]) => ({
        key,
        value: structured(inner),
      })),
    },
  };
}

async function read(value: Json | string): Promise<readonly Imported[]> {
  return otelImport.read(sourceOf("trace.json", value));
}

function all<Type extends FactOf<never>["type"] | string>(
  session: Session,
  type: Type,
): readonly { readonly [field: string]: unknown }[] {
  return [...session.history()].flatMap(({ fact }) =>
    fact.type === type ? [fact as unknown as { readonly [field: string]: unknown }] : [],
  );
}

/** Said by facts in their own words: kinds, codes, times, numbers that come as texts, what is an empty id. */
function isWord(held: ReadonlySet<Json>, keys: ReadonlySet<string>) {
  return (path: string, leaf: Json): boolean =>
    (path.endsWith(".key") && (keys.has(String(leaf)) || /\.kvlistValue\./.test(path))) ||
    /\.(kind|code)$/.test(path) ||
    held.has(timeOf(leaf) ?? "-") ||
    (path.endsWith(".intValue") && held.has(Number(leaf))) ||
    leaf === "chat" ||
    /gen_ai\.|_tool$|^error\.type$/.test(String(leaf)) ||
    (typeof leaf === "string" && /^\[\{"role"|^\{|^(invoke_|execute_)/.test(leaf));
}

let store: Store;
let session: Session;
beforeAll(async () => {
  ({ store, session } = await world());
});

describe("reading spans", () => {
  it("[I1] a trace becomes a session that reads as the conversation went", async () => {
    const [only, ...others] = await read(documentOf(...spans));
    expect(others).toEqual([]);
    expect(only?.name).toBe("conv-1");
    const made = only?.session as Session;
    expect(made.transcript).toMatchObject([
      { role: "system", content: "Be kind." },
      { role: "user", content: "How warm?" },
      {
        role: "assistant",
        content: [{ type: "tool-call", call: "c1", name: "weather", input: { city: "Rome" } }],
      },
      { role: "tool", call: "c1", output: { degrees: 21 } },
      { role: "assistant", content: "21." },
    ]);
    expect(made.usage).toMatchObject({ calls: 2, input: 12, output: 5, cached: 3 });
    expect(all(made, "run-start")).toMatchObject([{ module: "helper", at: "2026-01-02T03:04:05.000Z" }]);
    expect(all(made, "run-end").length).toBe(1);
    expect(all(made, "model-call")).toMatchObject([
      { model: "gpt-5", at: "2026-01-02T03:04:05.000000010Z" },
      { model: "gpt-5" },
    ]);
    expect(all(made, "model-reply")).toMatchObject([
      { finish: "tool_calls", response: "resp-1" },
      { finish: "unknown" },
    ]);
    expect(all(made, "validation-report")).toMatchObject([{ name: "Relevance", score: 0.9, passed: true }]);
    expect(all(made, "step-failure")).toMatchObject([{ error: { name: "500", message: "Internal" } }]);
    expect(all(made, "note")).toContainEqual(
      expect.objectContaining({ kind: "memory-operation", operation: "search_memory" }),
    );
    expect(made.pending).toEqual([]);
    const apart = documentOf({ ...(spans[1] as SpanInput), parent: "99" });
    expect((await read(apart))[0]?.name).toBe(TRACE);
  });

  it("[I2] the names of OpenInference and Langfuse are understood", async () => {
    const open = documentOf(
      {
        id: "1",
        name: "agent",
        from: 0,
        to: 90,
        attributes: { "openinference.span.kind": "AGENT", "session.id": "s-7" },
      },
      {
        id: "2",
        parent: "1",
        name: "ChatCompletion",
        from: 1,
        to: 20,
        attributes: {
          "openinference.span.kind": "LLM",
          "llm.model_name": "gpt-5",
          "llm.token_count.prompt": 7,
          "llm.token_count.completion": 3,
          "llm.input_messages.0.message.role": "user",
          "llm.input_messages.0.message.content": "How warm?",
          "llm.output_messages.0.message.role": "assistant",
          "llm.output_messages.0.message.tool_calls.0.tool_call.id": "c1",
          "llm.output_messages.0.message.tool_calls.0.tool_call.function.name": "weather",
          "llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments": '{"city":"Rome"}',
        },
      },
      {
        id: "3",
        parent: "1",
        name: "weather",
        from: 30,
        to: 40,
        attributes: {
          "openinference.span.kind": "TOOL",
          "tool.name": "weather",
          "input.value": '{"city":"Rome"}',
          "output.value": "21",
        },
      },
    );
    const [one] = await read(open);
    expect(one?.name).toBe("s-7");
    expect(one?.session.usage).toMatchObject({ input: 7, output: 3 });
    expect(one?.session.transcript).toMatchObject([
      { role: "user", content: "How warm?" },
      { role: "assistant", content: [{ name: "weather", input: { city: "Rome" } }] },
      { role: "tool", name: "weather", output: 21 },
    ]);
    const [two] = await read(
      documentOf({
        id: "2",
        name: "llm",
        from: 1,
        to: 20,
        attributes: {
          "langfuse.observation.type": "generation",
          "langfuse.session.id": "lf-1",
          "langfuse.observation.model.name": "claude-x",
          "langfuse.observation.input": '[{"role":"user","content":"Hi"}]',
          "langfuse.observation.output": "Hello.",
          "langfuse.observation.usage_details": '{"input":4,"output":2}',
        },
      }),
    );
    expect(two?.name).toBe("lf-1");
    expect(two?.session.usage).toMatchObject({ input: 4, output: 2 });
    expect(two?.session.transcript).toMatchObject([
      { role: "user", content: "Hi" },
      { role: "assistant", content: "Hello." },
    ]);
  });

  // Version 7 tells OpenTelemetry nothing by itself.
  it.each(versions.slice(0, 2))(
    "[I8] spans of the AI SDK %s are calls of a model and of tools",
    async (version, ai) => {
      const document = await aiSdkSpans(version, ai);
      const [one, ...others] = await read(document);
      expect(others).toEqual([]);
      const made = one?.session as Session;
      const isKnown = isWord(heldIn([made]), keysIn([made]));
      expectAllHeld(document, [made], (path, leaf) => isKnown(path, leaf) || String(leaf).startsWith("ai."));
      expect(one?.session.transcript).toMatchObject([
        { role: "system", content: "Be kind." },
        { role: "user", content: "How warm?" },
        { role: "assistant", content: [{ name: "weather", call: "c1", input: { city: "Rome" } }] },
        { role: "tool", name: "weather", call: "c1", output: { degrees: 21 } },
        { role: "assistant", content: "It is 21." },
      ]);
      expect(one?.session.usage).toMatchObject({ calls: 2, input: 20, output: 10 });
      const facts = [...(one?.session.history() ?? [])].map(({ fact }) => fact);
      expect(facts.find(({ type }) => type === "run-start")).toMatchObject({ module: "forecast" });
      expect(facts.find(({ type }) => type === "agent-configure")).toMatchObject({
        tools: [{ name: "weather", description: "How warm it is.", input: { type: "object" } }],
        parameters: { temperature: 0.5 },
      });
      expect(facts.filter(({ type }) => type === "model-reply")).toMatchObject([
        { finish: "tool-calls", response: "response-0", model: "gpt-5-mini-2025" },
        { finish: "stop" },
      ]);
      expect(facts.map(({ type }) => type)).not.toContain("step-call");
    },
  );

  it("[I9] spans that name no operation, or parts of messages, are calls all the same", async () => {
    const asked = {
      "llm.model_name": "gpt-5",
      "llm.provider": "openai",
      "llm.token_count.prompt": 7,
      "llm.token_count.completion": 3,
      "llm.input_messages.0.message.role": "user",
      "llm.input_messages.0.message.contents.0.message_content.type": "text",
      "llm.input_messages.0.message.contents.0.message_content.text": "How warm?",
      "llm.output_messages.0.message.role": "assistant",
      "llm.output_messages.0.message.content": "21.",
      "llm.tools.0.tool.json_schema":
        '{"type":"function","function":{"name":"weather","parameters":{"type":"object"}}}',
    };
    for (const kind of [{}, { "openinference.span.kind": "llm" }, { "openinference.span.kind": "LLM" }]) {
      const attributes = { ...asked, ...kind };
      const [one] = await read(documentOf({ id: "2", name: "call", from: 1, to: 20, attributes }));
      expect(one?.session.usage).toMatchObject({ calls: 1, input: 7, output: 3 });
      expect(one?.session.transcript).toMatchObject([
        { role: "user", content: "How warm?" },
        { role: "assistant", content: "21." },
      ]);
      const facts = [...(one?.session.history() ?? [])].map(({ fact }) => fact);
      expect(facts.find(({ type }) => type === "agent-configure")).toMatchObject({
        tools: [{ name: "weather", input: { type: "object" } }],
      });
      // Every digit of the nanoseconds is kept.
      expect(facts.find(({ type }) => type === "model-call")?.at).toMatch(/\.\d{9}Z$/);
    }
    const worded = {
      "openinference.span.kind": "LLM",
      "llm.model_name": "m",
      "input.value": '{"messages":[{"role":"user","content":"Hi"}]}',
      "output.value": "Hello.",
    };
    const [two] = await read(documentOf({ id: "2", name: "x", from: 1, to: 2, attributes: worded }));
    expect(two?.session.transcript).toMatchObject([{ content: "Hi" }, { content: "Hello." }]);
    const conventional = { "gen_ai.request.model": "m", "gen_ai.usage.output_tokens": 3 };
    const [three] = await read(documentOf({ id: "2", name: "x", from: 1, to: 2, attributes: conventional }));
    expect(three?.session.usage).toMatchObject({ calls: 1, output: 3 });
    const embedded = { "gen_ai.request.model": "m", "gen_ai.usage.input_tokens": 3 };
    const [four] = await read(documentOf({ id: "2", name: "x", from: 1, to: 2, attributes: embedded }));
    expect(four?.session.usage.calls).toBe(0);
  });

  it("[I10] lines after each other: one that is cut off is kept and reported, the others are read", async () => {
    const line = JSON.stringify(documentOf({ id: "1", name: "x", from: 0, to: 9, attributes: {} }));
    const other = line.replaceAll(TRACE, "f".repeat(32));
    const [one, two] = await otelImport.read(sourceOf("x.jsonl", `${line}\n${other}\n${line.slice(0, 50)}`));
    expect(one?.warnings).toEqual(["line 3 is unreadable: the file ends in the middle of it."]);
    expect(two?.session.fact.type).toBe("note");
    expect(one?.session.fact).toMatchObject({ kind: "import-unreadable", value: line.slice(0, 50) });
  });

  it("[I3] every value of a document is in some fact, and what is only in notes is told", async () => {
    const document = documentOf(...spans);
    const [only] = await read(document);
    const made = only?.session as Session;
    const held = heldIn([made]);
    for (const value of ["acme", "api.openai.com", "shop", "lib", "1.2", "Internal", TRACE])
      expect(held).toContain(value);
    expectAllHeld(document, [made], isWord(held, keysIn([made])));
    expect(only?.notes.join()).toMatch(/kept in notes/);
    const checked = await openStore("memory:");
    await checked.save(made, { name: "made" });
    expect((await checked.check()).findings).toEqual([]);
    await checked.close();
    expect((await read(document))[0]?.session.id).toBe(made.id);
  });

  it.each([false, true])("[I4] export, import, export is stable (content: %s)", async (content) => {
    const write = async (one: Session) =>
      (await otelExport.write({ name: "world", session: one, store }, { content })) as string;
    const first = await write(session);
    const [second] = await read(first);
    const text = await write((second as Imported).session);
    const [third] = await read(text);
    const again = await write((third as Imported).session);
    expect(renamed(again)).toEqual(renamed(text));
    expect(conventional(text)).toEqual(conventional(first));
  });

  it("[I5] forks and merges of our own become branches again", async () => {
    const [only] = await read(
      (await otelExport.write({ name: "world", session, store }, { content: true })) as string,
    );
    const made = only?.session as Session;
    const shape = (one: Session) => one.lineage.map(({ kind, branch }) => `${kind} ${branch}`);
    expect(shape(made)).toEqual(shape(session));
    expect(made.usage).toEqual(session.usage);
    const words = (one: Session) =>
      one.transcript.filter(({ role }) => role !== "user").map((message) => JSON.stringify(message));
    expect(words(made)).toEqual(words(session));
    expect(all(made, "branch-merge")).toMatchObject([{ adopt: "ours", why: "swordfish was found" }]);
    expect(all(made, "branch-fork").map(({ why }) => why)).toContain("in case swordfish bites");
  });

  it("[I12] branches that left a session before its first span leave it there again", async () => {
    const begun = Session.start("Book a flight.");
    const [one, ...others] = ["trial-0", "trial-1", "trial-2"].map((name) => {
      const asked = begun.fork(name).append({ type: "model-call", model: "m" });
      return asked.append({
        type: "model-reply",
        of: asked.id,
        content: `Done on ${name}.`,
        finish: "stop",
        usage: { input: 1, output: 1 },
      });
    }) as [Session, ...Session[]];
    const gathered = one.merge(others, { adopt: "none", by: "runtime" });
    const document = await otelExport.write({ name: "trials", session: gathered, store }, { content: true });
    const [only] = await read(document as string);
    const made = only?.session as Session;
    const forks = [...made.history()].filter(({ fact }) => fact.type === "branch-fork");
    expect(forks.map(({ parents: [from] }) => from?.branch)).toEqual(["main", "main", "main"]);
    expect(new Set(forks.map(({ parentIds: [from] }) => from)).size).toBe(1);
    expect(all(made, "branch-merge")).toMatchObject([{ adopt: "none" }]);
    expect(made.transcript.filter(({ role }) => role === "assistant")).toEqual([]);
  });

  it("[I11] a merge that does not say what it adopted prefers none", async () => {
    const text = (await otelExport.write({ name: "world", session, store }, { content: true })) as string;
    expect(text).toContain('"openrath.adopt"');
    const [only] = await read(text.replaceAll('"openrath.adopt"', '"other.adopt"'));
    expect(all(only?.session as Session, "branch-merge")).toMatchObject([{ adopt: "none" }]);
  });

  it("[I6] all spellings of OTLP/JSON are read", async () => {
    const plain = (await read(documentOf(...spans)))[0]?.session as Session;
    const base64 = JSON.parse(
      JSON.stringify(documentOf(...spans)).replace(
        /"(traceId|spanId|parentSpanId)":"([0-9a-f]+)"/g,
        (_, key, hex) => `"${key}":"${Buffer.from(hex, "hex").toString("base64")}"`,
      ),
    ) as Json;
    const snake = JSON.parse(
      JSON.stringify(documentOf(...spans)).replace(
        /"(resourceSpans|scopeSpans|traceId|spanId|parentSpanId|startTimeUnixNano|endTimeUnixNano|stringValue|arrayValue|intValue|doubleValue|kvlistValue|timeUnixNano)":/g,
        (_, key: string) => `"${key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)}":`,
      ),
    ) as Json;
    // Times as numbers have more digits than numbers can hold.
    const numbers = JSON.stringify(documentOf(...spans)).replace(/"(\d{19})"/g, "$1");
    const bodies = (one: Session) =>
      [...one.history()]
        .map(({ fact }) => (fact.type === "note" ? "note" : `${fact.type} ${fact.at}`))
        .slice(2);
    for (const document of [base64, snake, numbers])
      expect(bodies((await read(document))[0]?.session as Session)).toEqual(bodies(plain));
    const lines = [documentOf(...spans.slice(0, 3)), documentOf(...spans.slice(3))]
      .map((one) => JSON.stringify(one))
      .join("\n");
    expect(otelImport.fits(sourceOf("t.jsonl", lines))).toBe(true);
    expect(bodies((await read(lines))[0]?.session as Session)).toEqual(bodies(plain));
  });

  it("[I7] garbage, circles and damaged documents are sessions or an ImportError", async () => {
    for (const [value, where] of [
      ["{}", ""],
      ['{"resourceSpans":[]}', ""],
      ['{"resourceSpans":[7]}', "resourceSpans"],
      ['{"resourceSpans":[{"scopeSpans":7}]}', "resourceSpans[0]"],
      ['{"resourceSpans":[{"scopeSpans":[{"spans":[7]}]}]}', "resourceSpans[0].scopeSpans[0]"],
      ["[", ""],
    ] as const) {
      const error: unknown = await read(value).catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(ImportError);
      expect((error as ImportError).data.where).toBe(where);
    }
    const blank = `${JSON.stringify(documentOf(...spans)).slice(0, -1)}${"\n".repeat(1_000_000)}}`;
    expect((await read(blank)).length).toBe(1);
    const round = ["1", "2", "3"].map(
      (id, index): SpanInput => ({
        id,
        parent: ["3", "1", "2"][index] as string,
        name: id,
        from: index,
        to: 9,
        attributes: {},
      }),
    );
    const [circle] = await read(documentOf(...round, { ...(spans[0] as SpanInput), id: "9", parent: "9" }));
    expect(circle?.session.id).toMatch(/^[0-9a-f]{64}$/);
    const deep = Array.from(
      { length: 3_000 },
      (_, index): SpanInput => ({
        id: String(index + 1),
        ...(index > 0 && { parent: String(index) }),
        name: "n",
        from: index,
        to: 9_000,
        attributes: { "gen_ai.operation.name": "invoke_workflow" },
      }),
    );
    expect((await read(documentOf(...deep)))[0]?.session.depth).toBeGreaterThan(6_000);
    const ours = (await otelExport.write({ session, store }, { content: true })) as string;
    const sources = [sourceOf("a.json", documentOf(...spans)), sourceOf("b.json", ours)];
    await attack(
      otelImport,
      sources,
      150,
      (source) => JSON.parse(Buffer.from(source.bytes).toString()) as Json,
    );
  });
});

/** The document with every id replaced by the order in which it appears, and without the name of its head. */
function renamed(text: string): Json {
  const names = new Map<string, string>();
  const name = (id: string) => {
    const known = names.get(id) ?? `id-${names.size}`;
    names.set(id, known);
    return known;
  };
  const short = new Map<string, string>();
  for (const [id] of text.matchAll(/(?<=")[0-9a-f]{64}(?=")/g))
    for (const size of [16, 32]) short.set(id.slice(0, size), id);
  return JSON.parse(
    text.replace(/(?<=")(?:[0-9a-f]{64}|[0-9a-f]{32}|[0-9a-f]{16})(?=")/g, (id) => name(short.get(id) ?? id)),
  ) as Json;
}

/** What the conventions name, span for span: names, kinds, attributes, evaluations, failures, and what is below what. */
function conventional(text: string): Json {
  const document = JSON.parse(text) as {
    resourceSpans: { scopeSpans: { spans: { [field: string]: Json }[] }[] }[];
  };
  const list = document.resourceSpans.flatMap(({ scopeSpans }) =>
    scopeSpans.flatMap(({ spans: some }) => some),
  );
  const nameOf = new Map(list.map((span) => [span.spanId, span.name]));
  return list
    .map((span) => ({
      name: span.name as string,
      below: nameOf.get(span.parentSpanId as string) ?? null,
      kind: span.kind as Json,
      // Made by the export around facts of no run: it lasts as long as what lies in it.
      start: span.name === "invoke_workflow world" ? null : (span.startTimeUnixNano as Json),
      end: span.name === "invoke_workflow world" ? null : (span.endTimeUnixNano as Json),
      status: span.status as Json,
      links: (span.links as readonly Json[]).length,
      attributes: (span.attributes as readonly { readonly key: string; readonly value: Json }[])
        .filter(({ key }) => /^(gen_ai|error)\./.test(key) && key !== "gen_ai.conversation.id")
        .sort((one, other) => (one.key < other.key ? -1 : 1)) as unknown as Json,
      evaluations: (span.events as readonly { readonly name: string }[]).filter(({ name }) =>
        name.startsWith("gen_ai."),
      ).length,
    }))
    .sort((one, other) => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1)) as unknown as Json;
}
