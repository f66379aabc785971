import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Json } from "../../../session/index.js";
import { campaign } from "../../../session/testing/campaign.js";
import type { Imported } from "../exchange.js";
import { formatOf } from "../formats.js";
import { restored } from "../trajectory/kept.js";
import { lacking, recordings, sourceOf } from "../trajectory/testing/corpus.js";
import { mutated, nonsense, survives } from "../trajectory/testing/garbage.js";
import { expectNothingLost } from "../trajectory/testing/leaves.js";
import { wordsOf } from "../trajectory/turn.js";
import { openHands } from "./read.js";
import { NOTE } from "./v0.js";

const files = recordings("openhands", /\.jsonl$/);
const linesOf = (bytes: Uint8Array): Json[] =>
  Buffer.from(bytes)
    .toString("utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));

async function read(events: readonly object[]): Promise<Imported> {
  const imported = await openHands.read(sourceOf("events.json", JSON.stringify(events)));
  expectNothingLost(events as unknown as Json[], imported);
  return imported[0] as Imported;
}

let count = 0;
const event = (kind: string, source: string, more: object): object => ({
  id: `e${count++}`,
  timestamp: "2026-01-01T00:00:00.123456",
  source,
  kind,
  ...more,
});
const text = (words: string): object[] => [{ type: "text", text: words, cache_prompt: false }];

describe.skipIf(lacking !== undefined)(
  `the supplied events${lacking === undefined ? "" : ` (${lacking})`}`,
  () => {
    it("[I1] are read, nothing is lost, and the notes give them back", async () => {
      for (const source of files) {
        expect(openHands.fits(source)).toBe(true);
        const imported = await openHands.read(source);
        expectNothingLost(linesOf(source.bytes), imported);
        const [{ session }] = imported as [Imported];
        const kept = [...session.history()].flatMap((node) =>
          node.fact.type === "note" && node.fact.what === NOTE
            ? [restored(node, node.fact.value as Json)]
            : [],
        );
        expect(kept).toEqual(linesOf(source.bytes));
      }
      expect(files).toHaveLength(1);
    });

    it("[I2] read as a conversation", async () => {
      const [{ session }] = (await openHands.read(files[0] as never)) as [Imported];
      expect(
        session.transcript.map((message) =>
          message.role === "tool" ? `tool ${message.error === undefined}` : message.role,
        ),
      ).toEqual(["assistant", "tool false", "tool false", "assistant", "tool true"]);
      expect(session.pending).toEqual([]);
      expect(session.transcript[2]).toMatchObject({
        call: "chatcmpl-tool-9051d3d10f914188",
        name: "terminal",
      });
    });

    it("[I4] have their usage on the answers", async () => {
      const [{ session }] = (await openHands.read(files[0] as never)) as [Imported];
      expect(session.usage).toMatchObject({ input: 107_458, output: 1_347, cached: 68_193 });
      const replies = [...session.history()].flatMap(({ fact }) =>
        fact.type === "model-reply" ? [fact.usage.input] : [],
      );
      expect(replies).toEqual([35_895, 71_563]);
    });

    it("[I5] give the same ids each time", async () => {
      const [one, other] = [await openHands.read(files[0] as never), await openHands.read(files[0] as never)];
      expect(one[0]?.session.id).toBe(other[0]?.session.id);
    });

    it("[G1] whatever is done to them, they are read or refused", async () => {
      await fc.assert(
        fc.asyncProperty(mutated(files, true), async (source) => void (await survives(openHands, source))),
        { numRuns: Number(process.env.FUZZ_RUNS ?? campaign(100)) },
      );
    });
  },
);

describe("events of OpenHands", () => {
  it("[I6] trajectories of V0 are read, and told from chats of the AI SDK", async () => {
    const asked = (id: string, call: string, name: string, input: object): object => ({
      function_name: name,
      tool_call_id: call,
      total_calls_in_response: 1,
      model_response: {
        id,
        model: "claude-x",
        object: "chat.completion",
        usage: { prompt_tokens: 10, completion_tokens: 2, prompt_tokens_details: { cached_tokens: 4 } },
        choices: [
          {
            finish_reason: "tool_calls",
            message: {
              role: "assistant",
              content: "I look.",
              tool_calls: [
                { id: call, type: "function", function: { name, arguments: JSON.stringify(input) } },
              ],
            },
          },
        ],
      },
    });
    const metrics = (cost: number): object => ({
      accumulated_cost: cost,
      accumulated_token_usage: { prompt_tokens: 10, completion_tokens: 2 },
    });
    let id = 0;
    const at = (source: string, more: object): object => ({
      id: id++,
      timestamp: "2025-06-01T10:00:00.123456",
      source,
      message: "",
      ...more,
    });
    const events = [
      at("agent", {
        action: "system",
        args: {
          content: "You are OpenHands agent, a helpful AI assistant that can interact with a computer.",
          agent_class: "CodeActAgent",
          tools: [
            { type: "function", function: { name: "execute_bash", description: "Runs it.", parameters: {} } },
          ],
        },
      }),
      at("user", { action: "message", args: { content: "List the files.", image_urls: null } }),
      at("environment", {
        observation: "agent_state_changed",
        content: "",
        extras: { agent_state: "running" },
      }),
      at("agent", {
        action: "run",
        args: { command: "ls", thought: "I look.", confirmation_state: "confirmed" },
        tool_call_metadata: asked("r1", "t1", "execute_bash", { command: "ls" }),
        llm_metrics: metrics(0.25),
      }),
      at("agent", {
        cause: 3,
        observation: "run",
        content: "a.txt",
        extras: { command: "ls", metadata: { exit_code: 0 } },
        success: true,
      }),
      at("agent", { action: "read", args: { path: "b" }, tool_call_metadata: asked("r2", "t2", "edit", {}) }),
      at("agent", { cause: 5, observation: "error", content: "no such file", extras: { error_id: "" } }),
      at("agent", { action: "run", args: { command: "rm a" } }),
      at("user", { cause: 7, observation: "user_rejected", content: "not that", extras: {} }),
      at("agent", {
        action: "condensation",
        args: { forgotten_events_start_id: 3, forgotten_events_end_id: 6, summary: "It looked." },
      }),
      at("agent", { action: "message", args: { content: "One file.", wait_for_response: true } }),
      at("agent", { action: "finish", args: { final_thought: "Done.", outputs: {} } }),
    ];
    for (const content of [JSON.stringify(events), JSON.stringify({ trajectory: events }, null, 2)]) {
      const source = sourceOf("trajectory.json", content);
      expect((await formatOf(source)).name).toBe("openhands");
      const imported = await openHands.read(source);
      expectNothingLost(events as unknown as Json[], imported);
      const [{ session }] = imported as [Imported];
      expect(session.pending).toEqual([]);
      expect(session.usage).toMatchObject({ calls: 5, input: 20, output: 4, cached: 8 });
      const facts = [...session.history()].map(({ fact }) => fact);
      expect(facts.find(({ type }) => type === "model-reply")).toMatchObject({ cost: 0.25, response: "r1" });
      expect(facts.find(({ type }) => type === "agent-configure")).toMatchObject({
        agent: "CodeActAgent",
        tools: [{ name: "execute_bash", description: "Runs it." }],
      });
      expect(facts.filter(({ type }) => type === "tool-call")).toMatchObject([
        { name: "execute_bash", call: "t1", input: { command: "ls" } },
        { name: "edit", call: "t2" },
        { name: "run", input: { command: "rm a" } },
      ]);
      expect(facts.flatMap((fact) => (fact.type === "tool-failure" ? [fact.error] : []))).toMatchObject([
        { message: "no such file" },
        { message: "not that", code: "tool-denied" },
      ]);
      expect(session.transcript.map((one) => (one.role === "tool" ? "tool" : wordsOf(one.content)))).toEqual([
        "List the files.",
        expect.stringContaining("It looked."),
        "",
        "tool",
        "One file.",
        "Done.",
      ]);
      expect(session.id).toBe((await openHands.read(source))[0]?.session.id);
    }
    const words = JSON.stringify([{ id: "m1", role: "user", parts: [{ type: "text", text: "an action" }] }]);
    expect((await formatOf(sourceOf("chat.json", words))).name).toBe("ai-sdk-ui");
    await fc.assert(
      fc.asyncProperty(
        mutated([sourceOf("t.json", JSON.stringify(events))], true),
        async (changed) => void (await survives(openHands, changed)),
      ),
      { numRuns: Number(process.env.FUZZ_RUNS ?? campaign(80)) },
    );
  });

  const action = (call: string, response: string): object =>
    event("ActionEvent", "agent", {
      thought: text("I look."),
      reasoning_content: "hm",
      action: { command: "ls", kind: "TerminalAction" },
      tool_name: "terminal",
      tool_call_id: call,
      tool_call: { id: call, name: "terminal", arguments: '{"command": "ls"}' },
      llm_response_id: response,
    });
  const observed = (call: string, more: object = {}): object =>
    event("ObservationEvent", "environment", {
      tool_name: "terminal",
      tool_call_id: call,
      observation: { content: text("a b"), is_error: false, kind: "TerminalObservation" },
      ...more,
    });

  it("[I2] calls of one answer stand together, and each has what came of it", async () => {
    const { session } = await read([
      action("c1", "r1"),
      action("c2", "r1"),
      observed("c1"),
      event("UserRejectObservation", "user", {
        tool_name: "terminal",
        tool_call_id: "c2",
        rejection_reason: "not that",
      }),
      action("c3", "r2"),
      event("AgentErrorEvent", "agent", { tool_name: "terminal", tool_call_id: "c3", error: "no such tool" }),
      action("c4", "r3"),
    ]);
    expect(
      session.transcript.map((message) =>
        message.role === "tool" ? [message.call, message.output ?? message.error?.message] : message.role,
      ),
    ).toEqual([
      "assistant",
      ["c1", "a b"],
      ["c2", "not that"],
      "assistant",
      ["c3", "no such tool"],
      "assistant",
      ["c4", "The file ends before it says how this ended."],
    ]);
    expect(session.transcript[0]).toMatchObject({
      content: [
        { type: "reasoning" },
        { type: "text" },
        { call: "c1", input: { command: "ls" } },
        { call: "c2" },
      ],
    });
    expect(session.pending).toEqual([]);
  });

  it("[I3] configure, say, sum up and fail", async () => {
    const hello = event("MessageEvent", "user", {
      llm_message: { role: "user", content: text("hello") },
    }) as { id: string };
    const answer = event("MessageEvent", "agent", {
      llm_message: { role: "assistant", content: text("hi") },
    }) as { id: string };
    const { session } = await read([
      event("SystemPromptEvent", "agent", {
        system_prompt: { type: "text", text: "Be good." },
        tools: [{ type: "function", function: { name: "terminal", description: "Runs.", parameters: {} } }],
      }),
      hello,
      answer,
      event("Condensation", "environment", {
        forgotten_event_ids: [hello.id, answer.id],
        summary: "They greeted.",
      }),
      event("MessageEvent", "user", { llm_message: { role: "user", content: text("go on") } }),
      event("ConversationErrorEvent", "environment", { code: "boom", detail: "it broke" }),
    ]);
    expect(
      session.transcript.map((message) => ("content" in message ? wordsOf(message.content) : "")),
    ).toEqual([expect.stringContaining("They greeted."), "go on"]);
    const facts = [...session.history()].map(({ fact }) => fact);
    expect(facts.find(({ type }) => type === "agent-configure")).toMatchObject({
      instructions: "Be good.",
      tools: [{ name: "terminal", description: "Runs." }],
    });
    expect(facts.find(({ type }) => type === "step-failure")).toMatchObject({
      error: { message: "it broke", code: "boom" },
    });
  });

  it("[G1] refuse an id twice, and a line that is not an event", async () => {
    const one = action("c1", "r1");
    await expect(openHands.read(sourceOf("x.json", JSON.stringify([one, one])))).rejects.toMatchObject({
      data: { where: "[1].id" },
    });
    await expect(
      openHands.read(sourceOf("x.jsonl", `${JSON.stringify(one)}\n{"a":1}`)),
    ).rejects.toMatchObject({ data: { where: "line 2" } });
    await expect(read([action("c1", "r1"), action("c1", "r2")])).rejects.toMatchObject({
      data: { where: "[1].tool_call_id" },
    });
  });

  it.each(nonsense)("[G1] refuses %s", async (_, content) => {
    expect(await survives(openHands, sourceOf("x.jsonl", content))).toBe(false);
  });
});
