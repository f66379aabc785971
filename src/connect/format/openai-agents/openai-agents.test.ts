import { describe, expect, it } from "vitest";
import { statusOf } from "../../../runtime/index.js";
import type { Json, Session } from "../../../session/index.js";
import { openStore } from "../../../store/index.js";
import { ImportError, type Imported } from "../exchange.js";

import { formatOf } from "../formats.js";
import { attack } from "../testing/attack.js";
import { dataFiles, dataSource } from "../testing/data.js";
import { expectAllHeld, sourceOf } from "../testing/leaves.js";
import { openaiAgents } from "./read.js";

const historical = dataFiles("openai-agents-run-state/historical", ".json");
const negative = dataFiles("openai-agents-run-state/negative", ".json");
const usage = { requests: 1, inputTokens: 12, outputTokens: 5, totalTokens: 17 };
const agent = { name: "Helper" };
const calling = {
  type: "function_call",
  id: "fc_1",
  callId: "call-1",
  name: "weather",
  status: "completed",
  arguments: '{"city":"Rome"}',
};
const result = {
  type: "function_call_result",
  name: "weather",
  callId: "call-1",
  status: "completed",
  output: { type: "text", text: "21 degrees" },
};
const thinking = { type: "reasoning", id: "rs_1", content: [{ type: "input_text", text: "Look it up." }] };
const saying = {
  type: "message",
  role: "assistant",
  id: "msg_1",
  status: "completed",
  content: [{ type: "output_text", text: "It is 21." }],
};

function state(more: { readonly [field: string]: Json } = {}): { readonly [field: string]: Json } {
  return {
    $schemaVersion: "1.19",
    currentTurn: 2,
    currentAgent: agent,
    originalInput: "How warm is Rome?",
    modelResponses: [
      { usage, output: [thinking, calling], responseId: "resp_1", providerData: { model: "gpt-5" } },
      { usage, output: [saying], responseId: "resp_2" },
    ],
    context: { usage, approvals: {}, context: { tenant: "acme" } },
    maxTurns: 10,
    generatedItems: [
      { type: "reasoning_item", rawItem: thinking, agent },
      { type: "tool_call_item", rawItem: calling, agent },
      { type: "tool_call_output_item", rawItem: result, agent, output: "21 degrees" },
      { type: "message_output_item", rawItem: saying, agent },
    ],
    trace: null,
    ...more,
  };
}

async function read(value: Json): Promise<Imported> {
  const [only] = await openaiAgents.read(sourceOf("state.json", value));
  return only as Imported;
}

async function refused(value: Json): Promise<ImportError> {
  const error: unknown = await openaiAgents
    .read(sourceOf("state.json", value))
    .catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(ImportError);
  return error as ImportError;
}

function typesOf(session: Session): readonly string[] {
  return [...session.history()].map(({ fact }) => fact.type);
}

describe("run states of the OpenAI Agents SDK", () => {
  it("[O1] input, responses with their usage, items and results stand in the order of the run", async () => {
    const { session, name } = await read(state());
    expect(name).toBe("Helper");
    expect(session.usage).toMatchObject({ calls: 2, input: 24, output: 10 });
    expect(session.transcript).toMatchObject([
      { role: "user", content: "How warm is Rome?" },
      {
        role: "assistant",
        author: "Helper",
        content: [
          { type: "reasoning", text: "Look it up." },
          { type: "tool-call", call: "call-1", name: "weather", input: { city: "Rome" } },
        ],
      },
      { role: "tool", call: "call-1", name: "weather", output: { type: "text", text: "21 degrees" } },
      { role: "assistant", content: [{ type: "text", text: "It is 21." }] },
    ]);
    expect(
      [...session.history()].map(({ fact }) => fact).find(({ type }) => type === "model-call"),
    ).toMatchObject({
      model: "gpt-5",
      agent: "Helper",
    });
    expect(session.pending).toEqual([]);
    for (let minor = 0; minor <= 20; minor++)
      expect((await read(state({ $schemaVersion: `1.${minor}` }))).session.usage.calls).toBe(2);
    const listed = [{ role: "user", content: "Hi" }, calling, result, saying];
    expect((await read(state({ originalInput: listed }))).session.transcript.slice(0, 4)).toMatchObject([
      { role: "user", content: "Hi" },
      { role: "assistant" },
      { role: "tool", output: { text: "21 degrees" } },
      { role: "assistant" },
    ]);
  });

  it("[O2] a call that waits for agreement is pending, with what would be done", async () => {
    const approval = { type: "tool_approval_item", rawItem: calling, agent, toolName: "weather" };
    const { session } = await read(
      state({
        modelResponses: [{ usage, output: [calling] }],
        generatedItems: [{ type: "tool_call_item", rawItem: calling, agent }],
        currentStep: { type: "next_step_interruption", data: { interruptions: [approval] } },
      }),
    );
    expect(session.pending.map(({ type, what }) => [type, what])).toEqual([
      ["tool-call", "weather"],
      ["approval-ask", "weather"],
    ]);
    expect(statusOf(session)).toBe("waiting");
    const ask = [...session.history()].find(({ fact }) => fact.type === "approval-ask");
    expect(ask?.fact).toMatchObject({
      of: session.pending[0]?.id,
      what: { tool: "weather", input: { city: "Rome" } },
    });
  });

  it("[O3] the run of an agent that works as a tool is a branch, and what waits in it waits", async () => {
    const nested = state({ generatedItems: [], modelResponses: [{ usage, output: [calling] }] });
    const inner = { ...calling, callId: "call-2", name: "secure" };
    const { session } = await read(
      state({
        modelResponses: [{ usage, output: [calling] }],
        generatedItems: [{ type: "tool_call_item", rawItem: calling, agent }],
        pendingAgentToolRuns: { "weather:call-1": JSON.stringify(nested) },
        currentStep: {
          type: "next_step_interruption",
          data: {
            interruptions: [{ type: "tool_approval_item", rawItem: inner, agent: { name: "Nested" } }],
          },
        },
      }),
    );
    expect(session.lineage.map(({ kind, branch }) => [kind, branch])).toEqual([
      ["start", "main"],
      ["fork", "weather:call-1"],
      ["merge", "main"],
    ]);
    expect(session.usage.calls).toBe(2);
    expect(session.pending.map(({ what }) => what)).toEqual(["weather", "secure", "secure"]);
    const within = await refused(
      state({ pendingAgentToolRuns: { a: JSON.stringify({ ...nested, $schemaVersion: "7.0" }) } }),
    );
    expect(within.data.where).toBe("pendingAgentToolRuns.a.$schemaVersion");
  });

  it("[O4] items that facts have no words for are kept in a note, and told", async () => {
    const { session, notes } = await read(state({ inputGuardrailResults: [{ tripped: true }] }));
    expect(notes.join()).toMatch(/context.*maxTurns.*inputGuardrailResults/);
    const kept = [...session.history()].flatMap(({ fact }) =>
      fact.type === "note" && fact.what === "run state" ? [fact.value] : [],
    );
    expect(kept).toMatchObject([
      { context: { context: { tenant: "acme" } }, maxTurns: 10, inputGuardrailResults: [{ tripped: true }] },
    ]);
  });

  it.skipIf(historical.length === 0)(
    "[O5] every historical state imports whole, and to the same session",
    async () => {
      expect(historical.length).toBe(22);
      const store = await openStore("memory:");
      for (const path of historical) {
        const source = dataSource(path);
        expect(openaiAgents.fits(source)).toBe(true);
        const [only] = await openaiAgents.read(source);
        const { session } = only as Imported;
        // Which kind of item it was is said by the type of the fact or of the part.
        const isKind = (path: string) => path.endsWith(".type");
        expectAllHeld(JSON.parse(Buffer.from(source.bytes).toString()), [session], isKind);
        expect(session.transcript.length).toBeGreaterThan(0);
        const [again] = await openaiAgents.read(source);
        expect(again?.session.id).toBe(session.id);
        await store.save(session, { name: path });
      }
      expect((await store.check()).findings).toEqual([]);
      await store.close();
      const [waiting] = await openaiAgents.read(
        dataSource("openai-agents-run-state/historical/v1.2-nested-approval.json"),
      );
      expect(waiting?.session.pending.map(({ type, what }) => `${type} ${what}`)).toEqual([
        "tool-call nested_tool",
        "tool-call secure_tool",
        "approval-ask secure_tool",
      ]);
    },
  );

  it("[O6] a version that is missing, no text or not known is refused with its reason", async () => {
    const { $schemaVersion: _, ...without } = state();
    expect((await refused(without)).data.reason).toMatch(/no schema version/);
    for (const version of [117, null, "one", "1.2.3", "01.2"])
      expect((await refused(state({ $schemaVersion: version }))).data.reason).toMatch(
        /malformed|not supported/,
      );
    for (const version of ["99.0", "1.21", "2.0", "0.9"])
      expect((await refused(state({ $schemaVersion: version }))).data.reason).toMatch(/is not supported/);
  });

  it.skipIf(negative.length === 0)(
    "[O6] [O7] [O8] every negative state is refused for what is wrong with it",
    async () => {
      const reasons = new Map<string, RegExp>([
        ["future-schema", /99\.0 is not supported/],
        ["malformed-schema", /malformed/],
        ["missing-schema", /no schema version/],
        ["pre-1.8-tool-search", /1\.7 does not have tool search/],
        ["prototype-key", /prototype/],
        ["v1.14-sandbox-v2", /version 2 .* 1\.14.* version 1/],
        ["v1.17-sandbox-v3", /version 3 .* 1\.17.* version 2/],
        ["v1.18-sandbox-v4", /version 4 .* 1\.18.* version 3/],
        ["v1.19-sandbox-v5", /version 5 .* 1\.19.* version 4/],
      ]);
      expect(negative.length).toBe(reasons.size);
      for (const path of negative) {
        const error: unknown = await openaiAgents.read(dataSource(path)).catch((thrown: unknown) => thrown);
        expect(error).toBeInstanceOf(ImportError);
        const name = path.replace(/^.*\/|\.json$/g, "");
        expect((error as ImportError).data.reason).toMatch(reasons.get(name) as RegExp);
      }
    },
  );

  it("[O7] a state that its version could not have written is refused", async () => {
    const sandbox = (version: number) => ({ backendId: "b", sessionState: { version }, sessionsByAgent: {} });
    for (const [version, form] of [
      ["1.9", 1],
      ["1.14", 1],
      ["1.15", 2],
      ["1.17", 2],
      ["1.18", 3],
      ["1.19", 4],
      ["1.20", 5],
    ] as const) {
      expect(
        (await read(state({ $schemaVersion: version, sandbox: sandbox(form) }))).session.usage.calls,
      ).toBe(2);
      const error = await refused(state({ $schemaVersion: version, sandbox: sandbox(form + 1) }));
      expect(error.data.where).toBe("sandbox.sessionState.version");
    }
    expect((await refused(state({ $schemaVersion: "1.8", sandbox: sandbox(1) }))).data.reason).toMatch(
      /sandboxes/,
    );
    const found = { type: "tool_search_output", tools: [] };
    const items = [{ type: "tool_search_output_item", rawItem: found, agent }];
    expect((await refused(state({ $schemaVersion: "1.7", generatedItems: items }))).data.reason).toMatch(
      /tool search/,
    );
    expect(
      (await read(state({ $schemaVersion: "1.8", generatedItems: items }))).session.transcript.length,
    ).toBeGreaterThan(0);
  });

  it("[O8] a key that names the prototype is refused wherever it stands, and changes nothing", async () => {
    const text = JSON.stringify(state()).replace('"tenant"', '"__proto__"');
    const error: unknown = await openaiAgents
      .read(sourceOf("s.json", text))
      .catch((thrown: unknown) => thrown);
    expect((error as ImportError).data).toMatchObject({
      where: "context.context",
      reason: expect.stringMatching(/prototype/),
    });
    expect(({} as { tenant?: unknown }).tenant).toBeUndefined();
  });

  it("[O10] states of the SDK for Python are read: agents, responses, items, results, and what waits", async () => {
    const counted = {
      requests: 1,
      input_tokens: 12,
      output_tokens: 5,
      total_tokens: 17,
      input_tokens_details: [],
    };
    const thought = {
      id: "rs_1",
      type: "reasoning",
      summary: [{ type: "summary_text", text: "Look it up." }],
    };
    const asking = (call_id: string) => ({
      id: `fc_${call_id}`,
      type: "function_call",
      call_id,
      name: "weather",
      arguments: '{"city": "Rome"}',
      status: "completed",
    });
    const by = { name: "Helper" };
    const waits = { type: "tool_approval_item", raw_item: asking("call-2"), agent: by, tool_name: "weather" };
    const python = (version: string) => ({
      $schemaVersion: version,
      current_turn: 2,
      current_agent: by,
      original_input: "How warm is Rome?",
      model_responses: [
        { usage: counted, output: [thought, asking("call-1")], response_id: "resp_1", request_id: "req_1" },
        { usage: counted, output: [asking("call-2")], response_id: "resp_2", request_id: "req_2" },
      ],
      context: { usage: counted, approvals: {}, context: { tenant_id: "acme" }, context_meta: {} },
      tool_use_tracker: { Helper: ["weather"] },
      max_turns: 10,
      no_active_agent_run: true,
      input_guardrail_results: [],
      conversation_id: null,
      generated_items: [
        { type: "reasoning_item", raw_item: thought, agent: by },
        { type: "tool_call_item", raw_item: asking("call-1"), agent: by },
        {
          type: "tool_call_output_item",
          raw_item: { call_id: "call-1", output: "21 degrees", type: "function_call_output" },
          agent: by,
          output: "21 degrees",
        },
        { type: "tool_call_item", raw_item: asking("call-2"), agent: by },
        waits,
      ],
      current_step: { type: "next_step_interruption", data: { interruptions: [waits] } },
      last_model_response: {
        usage: counted,
        output: [asking("call-2")],
        response_id: "resp_2",
        request_id: "req_2",
      },
      last_processed_response: null,
      trace: null,
    });
    for (let minor = 0; minor <= 17; minor += 1) {
      const source = sourceOf("state.json", JSON.stringify(python(`1.${minor}`), null, 2));
      expect((await formatOf(source)).name).toBe("openai-agents");
      const [one] = await openaiAgents.read(source);
      const { session } = one as Imported;
      expect(session.usage).toMatchObject({ calls: 2, input: 24, output: 10 });
      expect(session.transcript.map(({ role }) => role)).toEqual([
        "user",
        "assistant",
        "tool",
        "assistant",
        "tool",
      ]);
      expect(session.transcript[1]).toMatchObject({
        content: [
          { type: "reasoning", text: "Look it up." },
          { type: "tool-call", call: "call-1", input: { city: "Rome" } },
        ],
      });
      expect(session.transcript[2]).toMatchObject({ call: "call-1", name: "weather", output: "21 degrees" });
      expect(session.pending).toMatchObject([
        { type: "tool-call" },
        { type: "approval-ask", what: "weather" },
      ]);
      expectAllHeld(
        python(`1.${minor}`) as unknown as Json,
        [session],
        (path, leaf) => leaf === null || /\.(type|role|status)$/.test(path),
      );
    }
    for (const version of ["1.18", "2.0"])
      await expect(
        openaiAgents.read(sourceOf("state.json", JSON.stringify(python(version)))),
      ).rejects.toMatchObject({ data: { where: "$schemaVersion" } });
    await attack(
      openaiAgents,
      [sourceOf("a.json", JSON.stringify(python("1.9")))],
      60,
      (source) => JSON.parse(Buffer.from(source.bytes).toString()) as Json,
    );
  });

  it("[O9] damaged states are sessions or an ImportError", async () => {
    const sources = [sourceOf("a.json", state()), ...historical.map(dataSource)];
    await attack(
      openaiAgents,
      sources,
      300,
      (source) => JSON.parse(Buffer.from(source.bytes).toString()) as Json,
    );
    expect(typesOf((await read(state())).session)[0]).toBe("session-start");
  });
});
