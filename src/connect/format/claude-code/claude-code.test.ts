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
import { claudeCode, NOTE } from "./read.js";

const said = ({ transcript }: Session): Json[] =>
  transcript.map((message) =>
    message.role === "tool"
      ? ["tool", message.name, (message.error?.message ?? message.output ?? null) as Json]
      : [message.role, wordsOf(message.content)],
  );

let second = 0;
const line = (type: string, uuid: string, parentUuid: string | null, more: object): object => ({
  parentUuid,
  isSidechain: false,
  userType: "external",
  cwd: "/work",
  sessionId: "s-1",
  version: "2.0.1",
  gitBranch: "main",
  type,
  uuid,
  timestamp: new Date(Date.UTC(2026, 0, 1, 0, 0, second++)).toISOString(),
  ...more,
});
const user = (uuid: string, parent: string | null, content: unknown, more: object = {}): object =>
  line("user", uuid, parent, { message: { role: "user", content }, ...more });
const usage = {
  input_tokens: 3,
  cache_creation_input_tokens: 10,
  cache_read_input_tokens: 20,
  output_tokens: 7,
  service_tier: "standard",
};
const assistant = (
  uuid: string,
  parent: string | null,
  id: string,
  block: object,
  more: object = {},
): object =>
  line("assistant", uuid, parent, {
    requestId: `req-${id}`,
    message: {
      id,
      type: "message",
      role: "assistant",
      model: "claude-x",
      content: [block],
      stop_reason: null,
      usage,
    },
    ...more,
  });
const text = (words: string): object => ({ type: "text", text: words });
const call = (id: string, name = "Bash", input: object = { command: "ls" }): object => ({
  type: "tool_use",
  id,
  name,
  input,
});
const result = (id: string, content: unknown = "a b", more: object = {}): object[] => [
  { type: "tool_result", tool_use_id: id, content, ...more },
];

/** A line of `claude -p --output-format stream-json`. */
const spoken = (
  type: "user" | "assistant",
  id: string | undefined,
  content: unknown,
  parent?: string,
): object => ({
  type,
  message: { ...(id !== undefined && { id, model: "claude-x", usage }), role: type, content },
  parent_tool_use_id: parent ?? null,
  session_id: "s-2",
});

function fileOf(lines: readonly object[]): string {
  return lines.map((one) => JSON.stringify(one)).join("\n");
}

async function read(lines: readonly object[]): Promise<readonly Imported[]> {
  const source = sourceOf("s-1.jsonl", fileOf(lines));
  expect(claudeCode.fits(source)).toBe(true);
  const imported = await claudeCode.read(source);
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

/** A conversation with thoughts, calls side by side, a failure, a picture, and lines that say nothing. */
const plain = [
  { type: "summary", summary: "Listing files", leafUuid: "a5" },
  {
    type: "file-history-snapshot",
    messageId: "u1",
    snapshot: { messageId: "u1", trackedFileBackups: {} },
    isSnapshotUpdate: false,
  },
  user("u1", null, "list the files"),
  assistant("a1", "u1", "m1", {
    type: "thinking",
    thinking: "I should look at what is there.",
    signature: "c2ln",
  }),
  assistant("a2", "a1", "m1", text("I look.")),
  assistant("a3", "a2", "m1", call("t1")),
  assistant("a4", "a3", "m1", call("t2", "Read", { file_path: "/x" })),
  line("progress", "p1", "a3", { data: { type: "hook_progress" } }),
  user("r1", "a3", result("t1"), { toolUseResult: { stdout: "a b", stderr: "", interrupted: false } }),
  user("r2", "a4", result("t2", [text("no such file")], { is_error: true })),
  line("system", "y1", "r2", { subtype: "turn_duration", content: "3 s", isMeta: false }),
  user("u2", "y1", [
    text("and this?"),
    { type: "image", source: { type: "base64", media_type: "image/png", data: "AAAA" } },
  ]),
  assistant("a5", "u2", "m2", text("A picture."), {
    message: {
      id: "m2",
      role: "assistant",
      model: "claude-x",
      content: [text("A picture.")],
      stop_reason: "end_turn",
      usage,
    },
  }),
];

describe("a session of Claude Code", () => {
  it("[I1] is read without a loss", async () => {
    const [only, ...others] = await read(plain);
    expect(others).toEqual([]);
    expect(only?.name).toBe("s-1");
    expect(only?.notes.some((note) => note.startsWith("file-history-snapshot"))).toBe(true);
  });

  it("[I2] reads as a conversation, with usage counted once for each answer", async () => {
    const [{ session }] = (await read(plain)) as [Imported];
    expect(said(session)).toEqual([
      ["user", "list the files"],
      ["assistant", "I look."],
      ["tool", "Bash", "a b"],
      ["tool", "Read", "no such file"],
      ["user", "and this?\n[file image/png]"],
      ["assistant", "A picture."],
    ]);
    expect(session.usage).toMatchObject({ input: 66, output: 14, cached: 40 });
    expect(session.transcript[1]).toMatchObject({
      content: [{ type: "reasoning" }, { type: "text" }, { call: "t1" }, { call: "t2" }],
    });
    const replies = [...session.history()].flatMap(({ fact }) => (fact.type === "model-reply" ? [fact] : []));
    expect(replies.map(({ response, finish }) => [response, finish])).toEqual([
      ["m1", "unknown"],
      ["m2", "stop"],
    ]);
    const [{ session: failed }] = (await read([
      user("u1", null, "hi"),
      assistant("a1", "u1", "m1", text("API Error: 529"), { isApiErrorMessage: true }),
    ])) as [Imported];
    expect(
      [...failed.history()].some(
        ({ fact }) => fact.type === "model-failure" && fact.error.message === "API Error: 529",
      ),
    ).toBe(true);
    const [{ session: cut }] = (await read([user("u1", null, result("t9"))])) as [Imported];
    expect(said(cut)).toEqual([["tool", "unknown", "a b"]]);
  });

  it("[I3] forks where two lines follow one", async () => {
    const imported = await read([
      user("u1", null, "one"),
      assistant("a1", "u1", "m1", text("first")),
      user("u2", "a1", "left behind"),
      assistant("a2", "u2", "m2", text("left answer")),
      user("u3", "a1", "edited"),
      assistant("a3", "u3", "m3", text("last")),
      user("u4", "a2", "left too"),
      user("u5", "a2", "left as well"),
      assistant("a4", "a3", "m4", text("really last")),
    ]);
    expect(imported.map(({ name }) => name)).toEqual(["s-1", "s-1/fork-1", "s-1/fork-2"]);
    const [main, fork, other] = imported.map(({ session }) => session) as [Session, Session, Session];
    expect(said(main).map((one) => (one as string[])[1])).toEqual([
      "one",
      "first",
      "edited",
      "last",
      "really last",
    ]);
    expect(said(fork).map((one) => (one as string[])[1])).toEqual([
      "one",
      "first",
      "left behind",
      "left answer",
      "left as well",
    ]);
    expect(said(other).map((one) => (one as string[])[1])).toEqual([
      "one",
      "first",
      "left behind",
      "left answer",
      "left too",
    ]);
    const shared = [...main.history()].filter((node) => fork.descendsFrom(node));
    expect(shared.length).toBeGreaterThan(4);
    expect(fork.branch).toBe("fork-1");
  });

  it("[I4] takes in sub-agents where they were called", async () => {
    const aside = { isSidechain: true };
    const lines = [
      user("u1", null, "find it"),
      assistant("a1", "u1", "m1", call("t1", "Task", { prompt: "look for it", subagent_type: "Explore" })),
      user("s1", null, "look for it", aside),
      assistant("s2", "s1", "m2", text("it is here"), aside),
      user("s3", null, "nobody asked", aside),
      user("r1", "a1", result("t1", [text("it is here")])),
      assistant("a2", "r1", "m3", text("Found.")),
    ];
    const imported = await read(lines);
    expect(imported.map(({ name }) => name)).toEqual(["s-1", "s-1/sidechain-1"]);
    const [main, lone] = imported.map(({ session }) => session) as [Session, Session];
    expect(said(main)).toEqual([
      ["user", "find it"],
      ["assistant", ""],
      ["tool", "Task", "it is here"],
      ["assistant", "Found."],
    ]);
    expect(main.lineage.map(({ kind }) => kind)).toEqual(["start", "start", "merge"]);
    expect(main.usage.output).toBe(21);
    expect(said(lone)).toEqual([["user", "nobody asked"]]);
    const prompts = [...main.history(), ...lone.history()].flatMap(({ fact }) =>
      fact.type === "message-say" ? [[fact.role, fact.content, fact.by]] : [],
    );
    expect(prompts).toEqual(
      expect.arrayContaining([
        ["user", "find it", "user"],
        ["user", "look for it", "agent"],
        ["user", "nobody asked", "agent"],
      ]),
    );
    const [only] = await read([
      user("s1", null, "a file of a sub-agent", { ...aside, agentId: "x" }),
      assistant("s2", "s1", "m", text("ok"), aside),
    ]);
    expect(said(only?.session as Session)).toHaveLength(2);
  });

  it("[I5] sums up what was said before a compaction", async () => {
    const [{ session }] = (await read([
      user("u1", null, "hello"),
      assistant("a1", "u1", "m1", text("hi")),
      line("system", "b1", null, {
        subtype: "compact_boundary",
        logicalParentUuid: "a1",
        content: "Conversation compacted",
        compactMetadata: { trigger: "auto", preTokens: 155_000 },
      }),
      user("c1", "b1", "This session is continued. They greeted.", {
        isCompactSummary: true,
        isVisibleInTranscriptOnly: true,
      }),
      user("u2", "c1", "go on"),
    ])) as [Imported];
    expect(said(session)).toEqual([
      ["user", expect.stringContaining("They greeted.")],
      ["user", "go on"],
    ]);
    expect([...session.history()].filter(({ fact }) => fact.type === "message-say")).toHaveLength(2);
  });

  it("[I7] tells what the program says from what a person says", async () => {
    const [{ session }] = (await read([
      user("u1", null, "Caveat: the messages below were made by commands.", { isMeta: true }),
      user("u2", "u1", "go", { isMeta: false }),
      assistant("a1", "u2", "m1", call("t1")),
      user("r1", "a1", result("t1"), { isMeta: true }),
    ])) as [Imported];
    const words = [...session.history()].flatMap(({ fact }) =>
      fact.type === "message-say" ? [[fact.role, fact.content, fact.by]] : [],
    );
    expect(words).toEqual([
      ["system", "Caveat: the messages below were made by commands.", "runtime"],
      ["user", "go", "user"],
    ]);
    expect(said(session).at(-1)).toEqual(["tool", "Bash", "a b"]);
  });

  it("[I6] gives the same ids each time", async () => {
    const [one, other] = [await read(plain), await read(plain)];
    expect(one.map(({ session }) => session.id)).toEqual(other.map(({ session }) => session.id));
  });

  it("[G1] says where the lines do not follow each other", async () => {
    const refused = (lines: readonly object[]): Promise<unknown> =>
      claudeCode.read(sourceOf("x.jsonl", fileOf(lines)));
    await expect(refused([user("u1", null, "a"), user("u1", null, "b")])).rejects.toMatchObject({
      data: { where: "line 2.uuid" },
    });
    await expect(
      refused([user("u0", null, "a"), user("u1", "u3", "a"), user("u2", "u1", "b"), user("u3", "u2", "c")]),
    ).rejects.toMatchObject({
      data: { where: "line 2.parentUuid", reason: expect.stringContaining("circle") },
    });
    await expect(refused([user("u1", "u1", "a")])).rejects.toMatchObject({ code: "import-refused" });
    await expect(refused([{ type: "summary", summary: "x", leafUuid: "y" }])).rejects.toThrow(
      /no conversation/,
    );
    await expect(claudeCode.read(sourceOf("x.jsonl", '{"type":\n{{\n'))).rejects.toMatchObject({
      data: { where: "line 1" },
    });
  });

  it("[I8] a file with a cut-off or a bad line is read without it, and the line is kept and reported", async () => {
    const chain = [
      user("u1", null, "one"),
      assistant("a1", "u1", "m1", text("Two.")),
      user("u2", "a1", "three"),
      assistant("a2", "u2", "m2", text("Vier é")),
      user("u3", "a2", "five"),
    ];
    const lines = fileOf(chain).split("\n");
    const told = async (content: string | Uint8Array) => {
      const source = sourceOf("s-1.jsonl", content);
      expect(claudeCode.fits(source)).toBe(true);
      const [only, ...others] = await claudeCode.read(source);
      expect(others).toEqual([]);
      const kept = [...(only as Imported).session.history()].flatMap(({ fact }) =>
        fact.type === "note" && fact.kind === "import-unreadable" ? [[fact.what, fact.why, fact.value]] : [],
      );
      return {
        only: only as Imported,
        kept,
        words: said((only as Imported).session).map((one) => (one as Json[])[1]),
      };
    };
    const half = lines[4]?.slice(0, 60) as string;
    const running = await told([...lines.slice(0, 4), half].join("\n"));
    expect(running.words).toEqual(["one", "Two.", "three", "Vier é"]);
    expect(running.kept).toEqual([["line 5", "the file ends in the middle of it", half]]);
    expect(running.only.warnings).toEqual(["line 5 is unreadable: the file ends in the middle of it."]);

    const whole = Buffer.from(fileOf(chain.slice(0, 4)));
    const split = await told(whole.subarray(0, whole.indexOf(Buffer.from("é")) + 1));
    expect(split.words).toEqual(["one", "Two.", "three"]);
    expect(split.kept).toMatchObject([["line 4", "it is not text in UTF-8", { base64: expect.any(String) }]]);

    for (const bad of [0, 1, 2, 3]) {
      const middle = await told(
        lines.map((one, place) => (place === bad ? one.slice(0, -12) : one)).join("\n"),
      );
      expect(middle.words).toEqual(["one", "Two.", "three", "Vier é", "five"].filter((_, at) => at !== bad));
      expect(middle.kept).toEqual([[`line ${bad + 1}`, "it is not JSON", lines[bad]?.slice(0, -12)]]);
      expect(middle.only.warnings).toEqual([
        `line ${bad + 1} is unreadable: it is not JSON.`,
        expect.stringMatching(
          bad === 0
            ? /^line 2 follows a line that is not in the file/
            : /^line \d follows a line that cannot be read: it is placed after line \d\.$/,
        ),
      ]);
    }
    const [gone] = await claudeCode.read(sourceOf("x.jsonl", fileOf([user("u1", "gone", "a")])));
    expect(gone?.warnings).toEqual([expect.stringMatching(/^line 1 follows a line that is not in the file/)]);
  });

  it("[I9] lines without parentUuid follow each other, as in streams of the program", async () => {
    const stream = [
      { type: "system", subtype: "init", session_id: "s-2", cwd: "/w", model: "claude-x", tools: ["Task"] },
      spoken("assistant", "m1", [text("Asking."), call("t1", "Task", { prompt: "Look." })]),
      spoken("user", undefined, [text("Look.")], "t1"),
      spoken("assistant", "m2", [call("t2")], "t1"),
      spoken("user", undefined, result("t2"), "t1"),
      spoken("assistant", "m3", [text("Seen.")], "t1"),
      spoken("user", undefined, result("t1", "Seen.")),
      spoken("assistant", "m4", [text("Done.")]),
      {
        type: "result",
        subtype: "success",
        is_error: false,
        result: "Done.",
        session_id: "s-2",
        num_turns: 2,
      },
    ];
    for (const lines of [stream, stream.map((one, place) => ({ ...one, uuid: `x${place}` }))]) {
      const made = await read(lines);
      expect(made).toHaveLength(1);
      expect(made[0]?.warnings).toBeUndefined();
      const { session } = made[0] as Imported;
      expect(said(session)).toEqual([
        ["assistant", "Asking."],
        ["tool", "Task", "Seen."],
        ["assistant", "Done."],
      ]);
      expect(session.usage.calls).toBe(4);
      expectNothingLost(lines as readonly Json[], made);
    }
    const plainLines = plain.map((one) => {
      const { parentUuid: _, uuid: __, ...rest } = one as { parentUuid?: Json; uuid?: Json };
      return rest;
    });
    const [{ session }] = (await read(plainLines)) as [Imported];
    expect(said(session)).toEqual(said(((await read(plain)) as [Imported])[0].session));
  });

  it("[G1] stands long chains", async () => {
    const lines = [user("u0", null, "go")];
    for (let count = 1; count < 5_000; count++) lines.push(user(`u${count}`, `u${count - 1}`, `${count}`));
    const [{ session }] = (await claudeCode.read(sourceOf("long.jsonl", fileOf(lines)))) as [Imported];
    expect(session.transcript).toHaveLength(5_000);
  });

  it("[G1] whatever is done to one, it is read or refused", async () => {
    const source = sourceOf(
      "s-1.jsonl",
      fileOf([...plain, user("s1", null, "aside", { isSidechain: true }), user("u9", "u1", "fork")]),
    );
    await fc.assert(
      fc.asyncProperty(
        mutated([source], true),
        async (changed) => void (await survives(claudeCode, changed)),
      ),
      { numRuns: Number(process.env.FUZZ_RUNS ?? campaign(80)) },
    );
  });

  it.each(nonsense)("[G1] refuses %s", async (_, content) => {
    expect(await survives(claudeCode, sourceOf("x.jsonl", content))).toBe(false);
  });
});
