import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Fact, Json, Session } from "../../../session/index.js";
import { campaign } from "../../../session/testing/campaign.js";
import type { Imported } from "../exchange.js";
import { formatOf } from "../formats.js";
import { sourceOf } from "../trajectory/testing/corpus.js";
import { mutated, nonsense, survives } from "../trajectory/testing/garbage.js";
import { expectNothingLost } from "../trajectory/testing/leaves.js";
import { wordsOf } from "../trajectory/turn.js";
import { autogen } from "./read.js";

const team = "a55364ad";
const message = (source: string, type: string, content: Json, more: object = {}): Json => ({
  source,
  models_usage: null,
  metadata: {},
  content,
  type,
  ...more,
});
const usage = (prompt_tokens: number, completion_tokens: number): object => ({
  models_usage: { prompt_tokens, completion_tokens },
});
const call = { id: "c1", name: "weather", arguments: '{"city":"Bern"}' };
const result = { content: "rain", name: "weather", call_id: "c1", is_error: false };

const state: Json = {
  type: "TeamState",
  version: "1.0.0",
  agent_states: {
    [`clerk/${team}`]: {
      type: "ChatAgentContainerState",
      version: "1.0.0",
      agent_state: {
        type: "AssistantAgentState",
        version: "1.0.0",
        llm_context: {
          messages: [
            { content: "Be brief.", type: "SystemMessage" },
            { content: "Weather?", source: "user", type: "UserMessage" },
            { content: [call], thought: "I look it up.", source: "clerk", type: "AssistantMessage" },
            { content: [result], type: "FunctionExecutionResultMessage" },
          ],
        },
      },
      message_buffer: [],
    },
    [`group_chat_manager/${team}`]: {
      type: "RoundRobinManagerState",
      version: "1.0.0",
      message_thread: [
        message("user", "TextMessage", "Weather?"),
        message("clerk", "ThoughtEvent", "Which city?"),
        message("clerk", "MemoryQueryEvent", [{ content: "Ada lives in Bern.", mime_type: "text/plain" }]),
        message("clerk", "ToolCallRequestEvent", [call], usage(20, 5)),
        message("clerk", "ToolCallExecutionEvent", [result]),
        message("clerk", "ToolCallSummaryMessage", "rain"),
        message("critic", "TextMessage", "Too short.", usage(30, 3)),
        message("clerk", "MultiModalMessage", ["See:", { data: "iVBORw0KGgo=" }]),
        message("critic", "StopMessage", "APPROVE"),
      ],
      current_turn: 3,
      next_speaker_index: 1,
    },
  },
};

const said = ({ transcript }: Session): Json[] =>
  transcript.map((one) =>
    one.role === "tool"
      ? ["tool", one.name, (one.error?.message ?? one.output ?? null) as Json]
      : [one.role, wordsOf(one.content)],
  );
const factsOf = ({ session }: Imported): readonly Fact[] => [...session.history()].map(({ fact }) => fact);

async function read(content: string, pieces: readonly Json[]): Promise<Imported> {
  const source = sourceOf("run.json", content);
  expect((await formatOf(source)).name).toBe("autogen");
  const imported = await autogen.read(source);
  expect(imported).toHaveLength(1);
  expectNothingLost(pieces, imported);
  return imported[0] as Imported;
}

const readState = (value: Json): Promise<Imported> => read(JSON.stringify(value), [value]);
const linesOf = (events: readonly Json[]): string => events.map((event) => JSON.stringify(event)).join("\n");

describe("the state of a team", () => {
  it("[I1] [I2] reads as its conversation, without a loss", async () => {
    const only = await readState(state);
    expect(only.name).toBe("run");
    expect(said(only.session)).toEqual([
      ["user", "Weather?"],
      ["assistant", ""],
      ["tool", "weather", "rain"],
      ["assistant", "rain"],
      ["assistant", "Too short."],
      ["assistant", "See:\n[file image/png]"],
      ["assistant", "APPROVE"],
    ]);
    expect(only.session.usage).toMatchObject({ input: 50, output: 8 });
    const facts = factsOf(only);
    expect(facts.filter(({ type }) => type === "model-call").map(({ by }) => by)).toEqual(
      expect.arrayContaining(["agent:clerk", "agent:critic"]),
    );
    expect(only.session.transcript[1]).toMatchObject({
      content: [
        { type: "reasoning", text: "Which city?" },
        { type: "tool-call", call: "c1", name: "weather", input: { city: "Bern" } },
      ],
    });
    expect(only.session.pending).toEqual([]);
    expect(only.warnings).toBeUndefined();
  });

  it("[I3] takes in what each agent was shown, also in old states and inner teams", async () => {
    const only = await readState(state);
    const branches = [...only.session.history()].filter(({ branch }) => branch === "clerk");
    expect(branches.map(({ fact }) => fact)).toContainEqual(
      expect.objectContaining({ type: "message-say", role: "system", content: "Be brief." }),
    );
    expect(factsOf(only).find(({ type }) => type === "branch-merge")).toMatchObject({ adopt: "none" });
    // What the team's conversation has already is not told as another call.
    expect(only.session.usage.calls).toBe(2);
    expect(factsOf(only).filter(({ type }) => type === "tool-call")).toHaveLength(1);
    const old = {
      type: "AssistantAgentState",
      version: "1.0.0",
      llm_messages: [
        { content: "Hi.", source: "user", type: "UserMessage" },
        { content: "Hello.", source: "clerk", type: "AssistantMessage" },
      ],
    };
    expect(said((await readState(old)).session)).toEqual([
      ["user", "Hi."],
      ["assistant", "Hello."],
    ]);
    const society = {
      type: "TeamState",
      version: "1.0.0",
      agent_states: {
        [`society/${team}`]: {
          type: "ChatAgentContainerState",
          agent_state: { type: "SocietyOfMindAgentState", inner_team_state: state },
        },
      },
    };
    expect([...(await readState(society)).session.history()].map(({ branch }) => branch)).toContain(
      "society",
    );
  });

  it("[I2] a message with created_at has this time", async () => {
    const created_at = "2026-06-01T10:00:00.000Z";
    const only = await readState({
      type: "RoundRobinManagerState",
      version: "1.0.0",
      message_thread: [{ ...Object(message("user", "TextMessage", "Hi")), created_at }],
    });
    expect(factsOf(only).find(({ type }) => type === "message-say")).toMatchObject({ at: created_at });
  });

  it("[I2] [I6] an error of a tool is a failure, and a call without a result is reported", async () => {
    const thread = [
      message("clerk", "ToolCallRequestEvent", [call, { ...call, id: "c2" }], usage(1, 1)),
      message("clerk", "ToolCallExecutionEvent", [{ ...result, is_error: true, content: "no network" }]),
    ];
    const only = await readState({
      type: "RoundRobinManagerState",
      version: "1.0.0",
      message_thread: thread,
    });
    expect(factsOf(only).find(({ type }) => type === "tool-failure")).toMatchObject({
      error: { message: "no network" },
    });
    expect(only.warnings).toEqual(["the call c2 of weather has no result: whether it happened is unknown."]);
  });

  it("[I4] a memory query is a note with what was found", async () => {
    const notes = factsOf(await readState(state)).filter(
      (fact) => fact.type === "note" && fact.kind === "memory-operation",
    );
    expect(notes).toMatchObject([{ operation: "search_memory", found: [{ content: "Ada lives in Bern." }] }]);
  });

  it("[I7] gives the same ids each time", async () => {
    expect((await readState(state)).session.id).toBe((await readState(state)).session.id);
  });
});

const system = { role: "system", content: "Be brief." };
const ask = { role: "user", name: "user", content: "Weather?" };
const answered = {
  role: "assistant",
  content: null,
  tool_calls: [{ id: "c1", type: "function", function: { name: "weather", arguments: '{"city":"Bern"}' } }],
};
const llm = (messages: Json[], reply: Json, prompt_tokens: number, agent_id: string): Json => ({
  type: "LLMCall",
  messages,
  response: { id: "r1", model: "gpt-x", choices: [{ index: 0, finish_reason: "stop", message: reply }] },
  prompt_tokens,
  completion_tokens: 5,
  agent_id,
});
const log: readonly Json[] = [
  {
    type: "Message",
    payload: "{}",
    sender: null,
    receiver: "clerk/1",
    kind: "MessageKind.DIRECT",
    delivery_stage: "DeliveryStage.SEND",
  },
  llm([system, ask], answered, 10, "clerk/1"),
  {
    type: "ToolCall",
    tool_name: "weather",
    arguments: { city: "Bern" },
    result: "rain",
    agent_id: "clerk/1",
  },
  llm(
    [system, ask, answered, { role: "tool", tool_call_id: "c1", content: "rain" }],
    { role: "assistant", content: "Rain." },
    20,
    "clerk/1",
  ),
  llm(
    [{ role: "user", name: "clerk", content: "Rain." }],
    { role: "assistant", content: "APPROVE" },
    30,
    "critic/1",
  ),
  { type: "MessageHandlerException", payload: "{}", handling_agent: "critic/1", exception: "it broke" },
];

describe("the event log", () => {
  it("[I1] [I5] is a branch for each agent, with prompts, answers, tokens and tools", async () => {
    const only = await read(linesOf(log), log);
    const facts = factsOf(only);
    const messages = facts.filter(({ type }) => type === "message-say");
    expect(messages).toMatchObject([
      { role: "system", content: "Be brief." },
      { role: "user", content: "Weather?" },
      { role: "user", content: "Rain.", by: "agent:clerk" },
    ]);
    expect(facts.filter(({ type }) => type === "model-call")).toMatchObject([
      { model: "gpt-x", by: "agent:clerk" },
      { model: "gpt-x", by: "agent:clerk" },
      { model: "gpt-x", by: "agent:critic" },
    ]);
    expect(only.session.usage).toMatchObject({ input: 60, output: 15, calls: 3 });
    expect(facts.find(({ type }) => type === "tool-result")).toMatchObject({ output: "rain" });
    expect(new Set([...only.session.history()].map(({ branch }) => branch))).toEqual(
      new Set(["main", "clerk", "critic"]),
    );
    expect(only.warnings).toEqual(["line 6 tells of an error: it broke"]);
  });

  it("[I6] a line that is cut off is reported, and the others are read", async () => {
    const [only] = await autogen.read(sourceOf("log.jsonl", linesOf(log).slice(0, -9)));
    expect(only?.warnings).toEqual(["line 6 is unreadable: the file ends in the middle of it."]);
    expect(only?.session.usage.calls).toBe(3);
  });
});

describe("damage", () => {
  it("[G1] says why it is refused", async () => {
    const refused = (value: Json): Promise<unknown> =>
      autogen.read(sourceOf("x.json", JSON.stringify(value)));
    await expect(refused({ type: "TeamState", agent_states: {} })).rejects.toThrow(/no conversation/);
    await expect(refused({ type: "TeamState", agent_states: { a: 1 } })).rejects.toMatchObject({
      data: { where: "agent_states.a" },
    });
  });

  it.each([
    ["a state", JSON.stringify(state), false],
    ["a log", linesOf(log), true],
  ])("[G1] whatever is done to %s, it is read or refused", async (_, content, lines) => {
    await fc.assert(
      fc.asyncProperty(
        mutated([sourceOf("x", content)], lines),
        async (changed) => void (await survives(autogen, changed)),
      ),
      { numRuns: Number(process.env.FUZZ_RUNS ?? campaign(80)) },
    );
  });

  it.each(nonsense)("[G1] refuses %s", async (_, content) => {
    expect(await survives(autogen, sourceOf("x.json", content))).toBe(false);
  });
});
