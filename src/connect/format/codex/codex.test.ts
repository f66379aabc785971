import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Json, Session } from "../../../session/index.js";
import { campaign } from "../../../session/testing/campaign.js";
import type { Imported } from "../exchange.js";
import { restored } from "../trajectory/kept.js";
import { sourceOf } from "../trajectory/testing/corpus.js";
import { mutated, nonsense, survives } from "../trajectory/testing/garbage.js";
import { expectNothingLost } from "../trajectory/testing/leaves.js";
import { wordsOf } from "../trajectory/turn.js";
import { codex, NOTE } from "./read.js";

const said = ({ transcript }: Session): Json[] =>
  transcript.map((message) =>
    message.role === "tool"
      ? ["tool", message.name, (message.error?.message ?? message.output ?? null) as Json]
      : [message.role, wordsOf(message.content)],
  );

let second = 0;
const line = (type: string, payload: object): object => ({
  timestamp: new Date(Date.UTC(2026, 0, 1, 0, 0, second++)).toISOString(),
  type,
  payload,
});
const item = (type: string, more: object): object => line("response_item", { type, ...more });
const event = (type: string, more: object): object => line("event_msg", { type, ...more });
const user = (text: string): object =>
  item("message", { role: "user", content: [{ type: "input_text", text }] });
const assistant = (text: string): object =>
  item("message", { role: "assistant", content: [{ type: "output_text", text }] });
const meta = line("session_meta", {
  id: "0199",
  timestamp: "2026-01-01T00:00:00.000Z",
  cwd: "/work",
  originator: "codex_cli_rs",
  cli_version: "0.65.0",
  source: "cli",
  instructions: "You are Codex, a coding agent of some length.",
  git: { branch: "main" },
});
const context = line("turn_context", {
  cwd: "/work",
  approval_policy: "never",
  model: "gpt-x",
  effort: "high",
});
const tokens = (input: number): object =>
  event("token_count", {
    info: {
      total_token_usage: { input_tokens: 1 },
      last_token_usage: {
        input_tokens: input,
        cached_input_tokens: 2,
        output_tokens: 5,
        reasoning_output_tokens: 1,
        total_tokens: input + 5,
      },
      model_context_window: 200_000,
    },
    rate_limits: null,
  });

const rollout = [
  meta,
  item("message", { role: "developer", content: [{ type: "input_text", text: "<permissions>" }] }),
  user("list the files"),
  event("user_message", { message: "list the files", kind: "plain" }),
  context,
  item("reasoning", {
    summary: [{ type: "summary_text", text: "**Looking**" }],
    content: null,
    encrypted_content: "gAAAAsecret",
  }),
  event("agent_reasoning", { text: "**Looking**" }),
  assistant("I look."),
  item("function_call", { name: "shell", arguments: '{"command":["ls"]}', call_id: "c1" }),
  item("custom_tool_call", {
    status: "completed",
    call_id: "c2",
    name: "apply_patch",
    input: "*** Begin Patch",
  }),
  tokens(100),
  item("function_call_output", { call_id: "c1", output: '{"output":"a b","metadata":{"exit_code":0}}' }),
  item("custom_tool_call_output", { call_id: "c2", output: { content: "refused", success: false } }),
  item("local_shell_call", {
    id: "l1",
    call_id: "c3",
    status: "completed",
    action: { type: "exec", command: ["pwd"] },
  }),
  item("function_call_output", { call_id: "c3", output: [{ type: "input_text", text: "/work" }] }),
  tokens(200),
  item("web_search_call", { status: "completed", action: { type: "search", query: "x" } }),
  assistant("Done."),
  tokens(300),
  event("error", { message: "stream disconnected" }),
];

function fileOf(lines: readonly object[]): string {
  return lines.map((one) => JSON.stringify(one)).join("\n");
}

async function read(lines: readonly object[]): Promise<readonly Imported[]> {
  const source = sourceOf("rollout-1.jsonl", fileOf(lines));
  expect(codex.fits(source)).toBe(true);
  const imported = await codex.read(source);
  expectNothingLost(lines as unknown as Json[], imported);
  const kept = new Map<number, Json>();
  for (const { session } of imported)
    for (const node of session.history())
      if (node.fact.type === "note" && node.fact.what === NOTE)
        for (const piece of restored(node, node.fact.value as Json) as { line: number; value: Json }[])
          kept.set(piece.line, piece.value);
  expect([...kept].sort(([one], [other]) => one - other).map(([, value]) => value)).toEqual(lines);
  for (const { session } of imported) expect(session.pending).toEqual([]);
  return imported;
}

describe("a rollout of Codex", () => {
  it("[I1] is read without a loss", async () => {
    const [only, ...others] = await read(rollout);
    expect(others).toEqual([]);
    expect(only?.name).toBe("rollout-1");
    expect(only?.notes).toContain("response_item reasoning: payload.encrypted_content");
  });

  it("[I2] reads as a conversation", async () => {
    const [{ session }] = (await read(rollout)) as [Imported];
    expect(said(session)).toEqual([
      ["system", "<permissions>"],
      ["user", "list the files"],
      ["assistant", "I look."],
      ["tool", "shell", '{"output":"a b","metadata":{"exit_code":0}}'],
      ["tool", "apply_patch", "refused"],
      ["assistant", ""],
      ["tool", "local_shell", "/work"],
      ["assistant", "Done."],
    ]);
    expect(session.usage).toMatchObject({ input: 600, output: 15, cached: 6, reasoning: 3 });
    expect(session.transcript[2]).toMatchObject({
      content: [
        { type: "reasoning", text: "**Looking**" },
        { type: "text" },
        { call: "c1", input: { command: ["ls"] } },
        { call: "c2" },
      ],
    });
    const facts = [...session.history()].map(({ fact }) => fact);
    expect(
      facts
        .filter(({ type }) => type === "model-call")
        .every((fact) => fact.type === "model-call" && fact.model === "gpt-x"),
    ).toBe(true);
    expect(facts.find(({ type }) => type === "agent-configure")).toMatchObject({
      instructions: "You are Codex, a coding agent of some length.",
    });
    expect(facts.find(({ type }) => type === "model-failure")).toMatchObject({
      error: { message: "stream disconnected" },
    });
  });

  it("[I2] reads rollouts without an envelope, too", async () => {
    const bare = (value: object): object => (value as { payload: object }).payload;
    const [{ session }] = (await read([
      { id: "01", timestamp: "2025-07-01T00:00:00Z", instructions: "Be brief and to the point, please." },
      bare(user("hi")),
      { record_type: "state" },
      bare(assistant("hello")),
      bare(item("function_call", { name: "shell", arguments: "not json", call_id: "c" })),
      bare(item("function_call_output", { call_id: "c", output: "ok" })),
    ])) as [Imported];
    expect(said(session)).toEqual([
      ["user", "hi"],
      ["assistant", "hello"],
      ["tool", "shell", "ok"],
    ]);
  });

  it("[I3] sums up what was said before a compaction", async () => {
    const [{ session }] = (await read([
      meta,
      user("hello"),
      assistant("hi"),
      line("compacted", { message: "They greeted." }),
      user("go on"),
    ])) as [Imported];
    expect(said(session)).toEqual([
      ["user", expect.stringContaining("They greeted.")],
      ["user", "go on"],
    ]);
    const [{ session: other }] = (await read([
      meta,
      user("hello"),
      line("compacted", {
        message: "",
        replacement_history: [
          { type: "message", role: "user", content: [{ type: "input_text", text: "They began." }] },
        ],
      }),
    ])) as [Imported];
    expect(said(other)).toEqual([["user", expect.stringContaining("They began.")]]);
  });

  it("[I4] keeps what was rolled back", async () => {
    const imported = await read([
      meta,
      user("one"),
      assistant("1"),
      user("two"),
      assistant("2"),
      event("thread_rolled_back", { num_turns: 1 }),
      user("three"),
      assistant("3"),
    ]);
    expect(imported.map(({ name }) => name)).toEqual(["rollout-1", "rollout-1/rolled-back-1"]);
    const [main, left] = imported.map(({ session }) => session) as [Session, Session];
    expect(said(main).map((one) => (one as string[])[1])).toEqual(["one", "1", "three", "3"]);
    expect(said(left).map((one) => (one as string[])[1])).toEqual(["one", "1", "two", "2"]);
  });

  it("[I5] gives the same ids each time", async () => {
    const [one, other] = [await read(rollout), await read(rollout)];
    expect(one.map(({ session }) => session.id)).toEqual(other.map(({ session }) => session.id));
  });

  it("[G1] says where it is wrong", async () => {
    const refused = (lines: readonly object[]): Promise<unknown> =>
      codex.read(sourceOf("x.jsonl", fileOf(lines)));
    await expect(refused([meta])).rejects.toThrow(/no conversation/);
    await expect(refused([meta, item("message", { role: "ghost", content: [] })])).rejects.toMatchObject({
      data: { where: "line 2.payload.role" },
    });
    await expect(refused([meta, item("function_call_output", { output: "x" })])).rejects.toMatchObject({
      data: { where: "line 2.payload.call_id" },
    });
  });

  it("[I6] a message need not say that it is one", async () => {
    const loose = (payload: object) => line("response_item", payload);
    const messages = [
      { role: "user", content: [{ type: "input_text", text: "One?" }] },
      { role: "assistant", content: [{ type: "output_text", text: "Two." }] },
    ];
    const bare = { id: "r", timestamp: "2026-01-01T00:00:00.000Z", instructions: null };
    for (const lines of [
      [meta, ...messages.map(loose)],
      [bare, ...messages],
      [bare, ...messages.map((one, place) => ({ ...one, id: `m${place}` }))],
    ]) {
      const [only] = await read(lines);
      expect(said((only as Imported).session)).toEqual([
        ["user", "One?"],
        ["assistant", "Two."],
      ]);
      expect((only as Imported).session.usage.calls).toBe(1);
    }
  });

  it("[I7] a stream of codex exec --json is read: words, thoughts, calls, usage, errors", async () => {
    const done = (id: string, type: string, more: object): object => ({
      type: "item.completed",
      item: { id, type, ...more },
    });
    const ran = { command: "bash -lc ls", aggregated_output: "a\nb\n", exit_code: 0, status: "completed" };
    const stream = [
      { type: "thread.started", thread_id: "0199a213" },
      { type: "turn.started" },
      done("item_0", "reasoning", { text: "**Scanning**" }),
      {
        type: "item.started",
        item: {
          ...ran,
          id: "item_1",
          type: "command_execution",
          aggregated_output: "",
          exit_code: null,
          status: "in_progress",
        },
      },
      done("item_1", "command_execution", ran),
      done("item_2", "command_execution", {
        ...ran,
        command: "false",
        aggregated_output: "",
        exit_code: 1,
        status: "failed",
      }),
      done("item_3", "file_change", { changes: [{ path: "a.txt", kind: "add" }], status: "completed" }),
      done("item_4", "mcp_tool_call", {
        server: "docs",
        tool: "find",
        arguments: { q: "x" },
        result: { content: [{ type: "text", text: "found" }], structured_content: null },
        error: null,
        status: "completed",
      }),
      done("item_5", "mcp_tool_call", {
        server: "docs",
        tool: "find",
        arguments: {},
        result: null,
        error: { message: "no such page" },
        status: "failed",
      }),
      done("item_6", "todo_list", { items: [{ text: "look", completed: true }] }),
      done("item_7", "agent_message", { text: "Two files." }),
      {
        type: "turn.completed",
        usage: { input_tokens: 24763, cached_input_tokens: 24448, output_tokens: 122 },
      },
    ];
    const made = await read(stream);
    expect(made).toHaveLength(1);
    const { session } = made[0] as Imported;
    expectNothingLost(stream as readonly Json[], made);
    expect(said(session)).toEqual([
      ["assistant", ""],
      ["tool", "command_execution", "a\nb\n"],
      ["assistant", ""],
      ["tool", "command_execution", "failed"],
      ["assistant", ""],
      ["tool", "file_change", "completed"],
      ["assistant", ""],
      ["tool", "docs__find", "found"],
      ["assistant", ""],
      ["tool", "docs__find", "no such page"],
      ["assistant", "Two files."],
    ]);
    expect(session.usage).toMatchObject({ input: 24763, output: 122, cached: 24448 });
    expect(session.pending).toEqual([]);
    const cut = fileOf(stream).slice(0, -30);
    const [running] = await codex.read(sourceOf("x.jsonl", cut));
    expect(running?.warnings).toEqual(["line 12 is unreadable: the file ends in the middle of it."]);
    expect(said((running as Imported).session)).toEqual(said(session));
    const failed = [
      { type: "thread.started", thread_id: "1" },
      { type: "error", message: "out of tokens" },
      { type: "turn.failed", error: { message: "out of tokens" } },
    ];
    const failures = [...((await read(failed))[0] as Imported).session.history()].filter(
      ({ fact }) => fact.type === "model-failure",
    );
    expect(failures.map(({ fact }) => fact)).toMatchObject([{ error: { message: "out of tokens" } }]);
  });

  it("[G1] whatever is done to one, it is read or refused", async () => {
    const source = sourceOf(
      "rollout-1.jsonl",
      fileOf([
        ...rollout,
        event("thread_rolled_back", { num_turns: 1 }),
        line("compacted", { message: "x" }),
      ]),
    );
    await fc.assert(
      fc.asyncProperty(mutated([source], true), async (changed) => void (await survives(codex, changed))),
      { numRuns: Number(process.env.FUZZ_RUNS ?? campaign(80)) },
    );
  });

  it.each(nonsense)("[G1] refuses %s", async (_, content) => {
    expect(await survives(codex, sourceOf("x.jsonl", content))).toBe(false);
  });
});
