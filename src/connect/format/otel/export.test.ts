import { existsSync, readFileSync } from "node:fs";
import { Validator } from "@cfworker/json-schema";
import { beforeAll, describe, expect, it, vi } from "vitest";
import { type Json, Session } from "../../../session/index.js";
import { openStore, type Store } from "../../../store/index.js";
import * as names from "./conventions.js";
import { CONVENTIONS_COMMIT } from "./conventions.js";
import { attributesIn } from "./parse.js";
import { nanosecondsOf } from "./span.js";
import { world } from "./testing/world.js";
import { otelExport } from "./write.js";

type Plain = {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: { readonly [name: string]: Json };
  readonly events: readonly {
    readonly name: string;
    readonly attributes: { readonly [name: string]: Json };
  }[];
  readonly links: readonly {
    readonly traceId: string;
    readonly spanId: string;
    readonly attributes: { readonly [name: string]: Json };
  }[];
  readonly status: { readonly code: number; readonly message?: string };
};

function spansIn(text: string): readonly Plain[] {
  const document = JSON.parse(text) as { resourceSpans: { scopeSpans: { spans: Plain[] }[] }[] };
  const plain = <Held extends object>(held: Held) => ({
    ...held,
    attributes: attributesIn((held as { attributes?: Json }).attributes),
  });
  return document.resourceSpans.flatMap(({ scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map(
        (span) =>
          ({
            ...plain(span),
            events: span.events.map(plain),
            links: span.links.map(plain),
          }) as unknown as Plain,
      ),
    ),
  );
}

let store: Store;
let session: Session;
let spans: readonly Plain[];
let told: readonly Plain[];
beforeAll(async () => {
  ({ store, session } = await world());
  const subject = { name: "world", session, store };
  spans = spansIn((await otelExport.write(subject)) as string);
  told = spansIn((await otelExport.write(subject, { content: true })) as string);
});

const named = (name: string, from = spans): Plain => {
  const found = from.find((span) => span.name === name);
  if (found === undefined)
    throw new Error(`no span ${name} among ${from.map((span) => span.name).join(", ")}`);
  return found;
};

/** Where schemas of the conventions are, if somebody put them there: they are no part of the project. */
const schemas = process.env.GENAI_SCHEMAS ?? "";

describe("spans", () => {
  it("[C1] every name that is written is one of the constants, which say where they are from", () => {
    expect(CONVENTIONS_COMMIT).toMatch(/^[0-9a-f]{40}$/);
    const known = new Set<string>([
      ...Object.values(names.GEN_AI),
      ...Object.values(names.OURS),
      names.ERROR_TYPE,
      names.SESSION,
    ]);
    const operations = new Set<string>(Object.values(names.OPERATION));
    for (const span of [...spans, ...told]) {
      for (const name of Object.keys(span.attributes)) expect(known).toContain(name);
      const operation = span.attributes["gen_ai.operation.name"];
      if (operation !== undefined) expect(operations).toContain(operation);
      for (const event of span.events)
        for (const name of Object.keys(event.attributes)) expect(name).toMatch(/^(gen_ai|openrath)\./);
    }
    for (const name of Object.values(names.GEN_AI)) expect(name).toMatch(/^gen_ai\.[a-z_.]+$/);
    for (const name of Object.values(names.OURS)) expect(name).toMatch(/^openrath\./);
    // Provider names that the conventions define.
    expect(["gpt-5", "o3", "claude-x", "gemini-2.5", "grok-4", "scripted"].map(names.providerOf)).toEqual([
      "openai",
      "openai",
      "anthropic",
      "gcp.gen_ai",
      "x_ai",
      "unknown",
    ]);
  });

  it("[E1] each run is a trace, its ids lead to facts, and the same record gives the same spans", async () => {
    const runs = [...session.history()].filter(({ fact }) => fact.type === "run-start");
    const traces = new Set(spans.map(({ traceId }) => traceId));
    expect(runs.length).toBe(2);
    for (const { id } of runs) expect(traces).toContain(id.slice(0, 32));
    expect(traces.size).toBe(3);
    for (const { spanId, traceId, attributes } of spans) {
      expect(spanId).toMatch(/^[0-9a-f]{16}$/);
      expect(traceId).toMatch(/^[0-9a-f]{32}$/);
      expect((await store.load(spanId)).id).toBe(attributes["openrath.fact"]);
    }
    expect(new Set(spans.map(({ spanId }) => spanId)).size).toBe(spans.length);
    const again = (await otelExport.write({ name: "world", session, store })) as string;
    expect(spansIn(again)).toEqual(spans);
  });

  it("[E2] runs, modules, models, tools, steps and memories are spans below what they happened in", () => {
    const team = named("invoke_workflow team");
    const researcher = named("invoke_agent researcher");
    const chat = spans.filter(({ name }) => name === "chat scripted");
    expect(team.parentSpanId).toBeUndefined();
    expect(researcher.parentSpanId).toBe(team.spanId);
    expect(researcher.attributes).toMatchObject({
      "gen_ai.operation.name": "invoke_agent",
      "gen_ai.agent.name": "researcher",
      "gen_ai.provider.name": "unknown",
      "openrath.branch": "bold",
    });
    expect(chat.filter(({ parentSpanId }) => parentSpanId === researcher.spanId).length).toBe(3);
    expect(chat[0]).toMatchObject({ kind: 3, traceId: team.traceId });
    expect(chat[0]?.attributes).toMatchObject({
      "gen_ai.operation.name": "chat",
      "gen_ai.request.model": "scripted",
      "gen_ai.agent.name": "researcher",
      "gen_ai.response.finish_reasons": ["tool-calls"],
      "gen_ai.conversation.id": session.lineage[0]?.id,
      "session.id": session.lineage[0]?.id,
    });
    const tokens = chat.reduce(
      (sum, { attributes }) => sum + Number(attributes["gen_ai.usage.input_tokens"] ?? 0),
      0,
    );
    expect(tokens).toBe(session.usage.input);
    expect(named("execute_tool look")).toMatchObject({
      parentSpanId: researcher.spanId,
      attributes: {
        "gen_ai.tool.name": "look",
        "gen_ai.tool.type": "function",
        "gen_ai.tool.call.id": expect.any(String),
      },
    });
    expect(named("step count").parentSpanId).toBe(team.spanId);
    expect(named("search_memory").attributes).toMatchObject({
      "gen_ai.memory.store.id": "notes",
      "gen_ai.memory.record.count": 1,
    });
    for (const { startTimeUnixNano, endTimeUnixNano } of spans)
      expect(BigInt(endTimeUnixNano)).toBeGreaterThanOrEqual(BigInt(startTimeUnixNano));
    const at = [...session.history()].find(({ fact }) => fact.type === "run-start")?.fact.at as string;
    expect(team.startTimeUnixNano).toBe(`${Date.parse(at)}000000`);
  });

  it("[E3] failures have a status and a type; unfinished spans say so", async () => {
    expect(named("execute_tool broken")).toMatchObject({
      status: { code: 2 },
      attributes: { "error.type": expect.any(String) },
    });
    expect(named("execute_tool broken").status.message).toBeUndefined();
    expect(named("execute_tool broken", told).status.message).toMatch(/no power/);
    expect(
      named(
        "invoke_agent critic",
        spans.filter(({ parentSpanId }) => parentSpanId === undefined),
      ),
    ).toMatchObject({
      status: { code: 2 },
      attributes: { "error.type": "model-failed" },
    });
    expect(named("execute_tool look").status).toEqual({ code: 0 });
    const open = Session.start("x").append({ type: "tool-call", name: "slow", input: {} });
    const [root, slow] = spansIn((await otelExport.write({ session: open, store })) as string);
    expect(slow).toMatchObject({ name: "execute_tool slow", attributes: { "openrath.pending": true } });
    expect(slow?.parentSpanId).toBe(root?.spanId);
  });

  it("[E4] forks and merges link to what they came from, and runs to what they go on from", async () => {
    const merge = named("merge");
    expect(named("fork bold").links.map(({ attributes }) => attributes["openrath.link"])).toEqual(["fork"]);
    expect(merge.links.map(({ attributes }) => attributes["openrath.link"])).toEqual(["ours", "theirs"]);
    const byId = new Map(spans.map((span) => [span.spanId, span]));
    expect(merge.links.map(({ spanId }) => byId.get(spanId)?.attributes["openrath.branch"])).toEqual([
      "bold",
      "careful",
    ]);
    expect(merge.attributes["openrath.adopt"]).toBe("ours");
    const second = spans.find(
      ({ name, parentSpanId }) => name === "invoke_agent critic" && parentSpanId === undefined,
    );
    expect(second?.links.map(({ attributes }) => attributes["openrath.link"])).toEqual(["continues"]);
    for (const { links } of spans) for (const { spanId } of links) expect(byId.has(spanId)).toBe(true);
    const from = { run: "r", start: "b".repeat(64), leaves: ["c".repeat(64)] };
    const whatIf = Session.start("x").append({ type: "run-start", nonce: "n", module: "m", from });
    const [only] = spansIn((await otelExport.write({ session: whatIf, store })) as string);
    expect(only?.links).toMatchObject([
      { traceId: "b".repeat(32), spanId: "b".repeat(16), attributes: { "openrath.link": "what-if" } },
    ]);
  });

  it("[E5] validations are evaluation events, decisions are events of ours", async () => {
    const events = spans.flatMap((span) => span.events);
    expect(events.find(({ name }) => name === "gen_ai.evaluation.result")?.attributes).toMatchObject({
      "gen_ai.evaluation.name": "tests",
      "gen_ai.evaluation.score.value": 1,
      "gen_ai.evaluation.score.label": "pass",
    });
    const call = Session.start("x").append({ type: "tool-call", name: "pay", input: {} });
    const asked = call.append({
      type: "approval-ask",
      what: { sum: 5 },
      digest: "d".repeat(64),
      of: call.id,
      name: "pay",
    });
    const given = asked
      .append({
        type: "approval-give",
        of: asked.id,
        decision: "reject",
        digest: "d".repeat(64),
        by: "user:ada",
      })
      .append({ type: "validation-report", name: "sum", passed: false, of: call.id });
    const [, pay] = spansIn((await otelExport.write({ session: given, store })) as string);
    expect(pay?.events.map(({ name }) => name)).toEqual([
      "openrath.approval-ask",
      "gen_ai.evaluation.result",
    ]);
    expect(pay?.events[1]?.attributes["gen_ai.evaluation.score.label"]).toBe("fail");
  });

  it("[E6] no word of what was said is told unless asked for, and then in the shapes of the conventions", async () => {
    const subject = { name: "world", session, store };
    const [quiet, loud] = [
      await otelExport.write(subject),
      await otelExport.write(subject, { content: true }),
    ] as [string, string];
    expect(quiet).not.toContain("swordfish");
    expect(loud).toContain("swordfish");
    const chat = told.filter(({ name }) => name === "chat scripted")[1];
    const json = (name: string, span = chat) => JSON.parse(String(span?.attributes[name])) as Json;
    expect(json("gen_ai.system_instructions")).toEqual([{ type: "text", content: "Look for swordfish." }]);
    expect(json("gen_ai.input.messages")).toEqual([
      { role: "user", parts: [{ type: "text", content: "Where is swordfish?" }] },
      {
        role: "assistant",
        name: "researcher",
        parts: [{ type: "tool_call", id: expect.any(String), name: "look", arguments: { at: "swordfish" } }],
      },
      {
        role: "tool",
        parts: [
          { type: "tool_call_response", id: expect.any(String), response: { seen: "the word is swordfish" } },
        ],
      },
    ]);
    expect(json("gen_ai.output.messages")).toMatchObject([
      { role: "assistant", finish_reason: "tool-calls", parts: [{ type: "tool_call", name: "broken" }] },
    ]);
    expect(json("gen_ai.tool.definitions")).toMatchObject([
      { type: "function", name: "look", description: "Looks.", parameters: { type: "object" } },
      { name: "broken" },
    ]);
    const look = named("execute_tool look", told);
    expect(json("gen_ai.tool.call.arguments", look)).toEqual({ at: "swordfish" });
    expect(json("gen_ai.tool.call.result", look)).toEqual({ seen: "the word is swordfish" });
    expect(json("gen_ai.memory.records", named("search_memory", told))).toEqual([
      { content: "swordfish is a password", id: "a".repeat(64), score: 0.5 },
    ]);
    for (const span of told) strict(span);
  });

  it.skipIf(!existsSync(`${schemas}/input-messages.json`))(
    "[E6] messages fit the schemas of the conventions themselves",
    () => {
      const files = {
        "gen_ai.input.messages": "input-messages",
        "gen_ai.output.messages": "output-messages",
        "gen_ai.system_instructions": "system-instructions",
        "gen_ai.tool.definitions": "tool-definitions",
      };
      let checked = 0;
      for (const [name, file] of Object.entries(files)) {
        const text = readFileSync(`${schemas}/${file}.json`, "utf8").replaceAll(
          "http://json-schema.org/draft-07/schema#",
          "#/$defs/Anything",
        );
        const validator = new Validator({
          ...JSON.parse(text),
          $defs: { ...JSON.parse(text).$defs, Anything: {} },
        });
        for (const { attributes } of told)
          if (attributes[name] !== undefined) {
            expect(validator.validate(JSON.parse(String(attributes[name]))).errors).toEqual([]);
            checked += 1;
          }
      }
      expect(checked).toBeGreaterThan(10);
    },
  );

  it("[E6] erased content is in no document", async () => {
    const own = await openStore("memory:");
    let secret = Session.start("the secret is marlin", { inline: 0 });
    const call = secret.append({ type: "tool-call", name: "look", input: { at: "marlin" } });
    secret = call
      .append({ type: "tool-result", of: call.id, output: "marlin lives here" })
      .say("More about marlin.");
    const asked = secret.append({ type: "model-call", model: "gpt-5" });
    secret = asked.append({
      type: "model-reply",
      of: asked.id,
      content: "marlin!",
      finish: "stop",
      usage: { input: 1, output: 1 },
    });
    await own.save(secret, { name: "s" });
    const digests = [...secret.history()].flatMap((node) => [...node.blobs()].map(({ ref }) => ref.digest));
    await own.erase("s", { digests, why: "asked for", by: "user:ada" });
    const erased = { session: await own.load("s"), store: own };
    for (const content of [false, true]) {
      const text = (await otelExport.write(erased, { content })) as string;
      expect(text).not.toContain("marlin");
      for (const span of spansIn(text)) strict(span);
    }
    expect(await otelExport.write(erased, { content: true })).toContain("withheld");
    // The session from before the erasure still has it; the document has not.
    expect(JSON.stringify(secret.transcript)).toContain("marlin");
    const before = await otelExport.write({ session: secret, store: own }, { content: true });
    expect(before).not.toContain("marlin");
    expect(before).toContain("withheld");
    await own.close();
  });

  it("[E7] unknown times stay zero, and what is outside of runs is in a trace of the session", async () => {
    const at = "1970-01-01T00:00:00.000Z";
    const call = Session.start("x", { at }).append({ type: "tool-call", name: "look", input: {}, at });
    const done = call.append({ type: "tool-result", of: call.id, output: 1, at });
    const [root, look] = spansIn((await otelExport.write({ name: "mine", session: done, store })) as string);
    expect(root).toMatchObject({
      name: "invoke_workflow mine",
      startTimeUnixNano: "0",
      traceId: call.parentIds[0]?.slice(0, 32),
    });
    expect(look).toMatchObject({ startTimeUnixNano: "0", endTimeUnixNano: "0", parentSpanId: root?.spanId });
    const fine = "2026-01-02T03:04:05.123456789Z";
    const precise = Session.start("x", { at: fine }).append({ type: "step-call", name: "s", at: fine });
    expect(
      spansIn((await otelExport.write({ session: precise, store })) as string)[1]?.startTimeUnixNano,
    ).toBe("1767323045123456789");
    vi.stubEnv("TZ", "America/New_York");
    expect(new Date(0).getTimezoneOffset()).toBe(300);
    for (const at of ["2026-01-02T03:04:05.123456789", fine, "2026-01-02T04:04:05.123456789+01:00"])
      expect(nanosecondsOf(at)).toBe("1767323045123456789");
    expect(nanosecondsOf("2026-01-02T03:04")).toBe("1767323040000000000");
    expect(nanosecondsOf("2026-01-02")).toBe("1767312000000000000");
    vi.unstubAllEnvs();
  });
});

/** The rules of the conventions for what is said, as far as they are needed here. */
function strict({ attributes }: Plain): void {
  const parse = (name: string) =>
    attributes[name] === undefined
      ? []
      : (JSON.parse(String(attributes[name])) as readonly { readonly [field: string]: Json }[]);
  for (const name of ["gen_ai.input.messages", "gen_ai.output.messages"])
    for (const message of parse(name)) {
      expect(["system", "user", "assistant", "tool"]).toContain(message.role);
      expect(
        Object.keys(message).filter((key) => !["role", "parts", "name", "finish_reason"].includes(key)),
      ).toEqual([]);
      if (name === "gen_ai.output.messages") expect(typeof message.finish_reason).toBe("string");
      for (const part of message.parts as readonly { readonly [field: string]: Json }[]) {
        const { type } = part;
        if (type === "text" || type === "reasoning") expect(typeof part.content).toBe("string");
        else if (type === "tool_call") expect(typeof part.name).toBe("string");
        else if (type === "tool_call_response") expect(part).toHaveProperty("response");
        else
          expect([
            "withheld",
            "other",
            "source",
            "blob",
            "uri",
            "server_tool_call",
            "server_tool_call_response",
          ]).toContain(type);
      }
    }
  for (const record of parse("gen_ai.memory.records")) expect(record).toHaveProperty("content");
}
