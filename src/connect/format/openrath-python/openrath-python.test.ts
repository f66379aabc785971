import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Fact, Json, Session } from "../../../session/index.js";
import { campaign } from "../../../session/testing/campaign.js";
import type { Imported } from "../exchange.js";
import { isFields } from "../fields.js";
import { formatOf } from "../formats.js";
import { restored } from "../trajectory/kept.js";
import { sourceOf } from "../trajectory/testing/corpus.js";
import { mutated, nonsense, survives } from "../trajectory/testing/garbage.js";
import { expectNothingLost } from "../trajectory/testing/leaves.js";
import { wordsOf } from "../trajectory/turn.js";
import { NOTE, openrathPython } from "./read.js";

type Row = { readonly kind: string; readonly payload: { readonly [key: string]: Json } };
type Line = { readonly [key: string]: Json };

const user = (content: string): Row => ({ kind: "user", payload: { content } });
const system = (content: string): Row => ({ kind: "system", payload: { content } });
const assistant = (content: string | null, ...calls: Json[]): Row => ({
  kind: "assistant",
  payload: { content, tool_calls: calls.length === 0 ? null : calls },
});
const asks = (id: string, name: string, input: Json): Json => ({
  id,
  type: "function",
  function: { name, arguments: JSON.stringify(input) },
});
const result = (id: string, name: string, content: Json): Row => ({
  kind: "tool_result",
  payload: {
    tool_call_id: id,
    name,
    content: typeof content === "string" ? content : JSON.stringify(content),
  },
});

type Options = {
  readonly kind?: string;
  readonly parents?: readonly string[];
  readonly usage?: readonly [number, number] | null;
  readonly open?: boolean;
};

const uuid = (digit: number): string => `${String(digit).repeat(8)}-0000-4000-8000-000000000000`;
const OPERATORS: { readonly [kind: string]: string } = {
  op_fork: "Session.fork",
  op_merge: "Session.merge",
  op_session_loop: "run_session_loop",
  op_session_compress: "run_session_compress",
};

/** The lines of a session file. */
function file(id: string, rows: readonly Row[], options: Options = {}): readonly Line[] {
  const { kind = "op_session_loop", parents = [uuid(8), uuid(9)], usage = null, open = false } = options;
  const header = {
    record_type: "header",
    schema_version: 1,
    id,
    created_at: "2026-05-25T10:00:00+00:00",
    parent_session_ids: [...parents],
    lineage_operator: OPERATORS[kind] ?? "implicit",
    lineage_kind: kind,
    lineage_extras: [["note", 1]],
    sandbox_backend: "local",
    sandbox_spec: null,
    sandbox_handle_id: null,
  };
  const [input = 0, output = 0] = usage ?? [];
  const trailer = {
    record_type: "trailer",
    closed_at: "2026-05-25T10:05:00+00:00",
    final_chunk_count: rows.length,
    cumulative_usage:
      usage === null
        ? null
        : { prompt_tokens: input, completion_tokens: output, total_tokens: input + output },
  };
  const chunks = rows.map((row, index) => ({ record_type: "chunk", index, ...row }));
  return [header, ...chunks, ...(open ? [] : [trailer])];
}

const textOf = (lines: readonly Line[]): string => lines.map((line) => `${JSON.stringify(line)}\n`).join("");

const said = ({ transcript }: Session): Json[] =>
  transcript.map((message) =>
    message.role === "tool"
      ? ["tool", message.name, (message.error?.message ?? message.output ?? null) as Json]
      : [message.role, wordsOf(message.content)],
  );

const factsOf = ({ session }: Imported): readonly Fact[] => [...session.history()].map(({ fact }) => fact);

/** Reads a file, and checks that every line of it can be given back from the notes. */
async function read(lines: readonly Line[]): Promise<readonly Imported[]> {
  const source = sourceOf("sessions.jsonl", textOf(lines));
  expect((await formatOf(source)).name).toBe("openrath-python");
  const imported = await openrathPython.read(source);
  expectNothingLost(lines, imported);
  const pieces = new Map<number, { readonly [key: string]: Json }>();
  for (const { session } of imported) {
    for (const node of session.history())
      if (node.fact.type === "note" && node.fact.what === NOTE)
        for (const piece of [restored(node, node.fact.value as Json)].flat())
          if (isFields(piece)) pieces.set(piece.line as number, piece);
    expect(session.pending).toEqual([]);
  }
  const lineAt = (number: number): Json => {
    const { value, same, index, more = {} } = pieces.get(number) ?? {};
    if (value !== undefined || same === undefined) return value ?? null;
    return {
      ...(lineAt(same as number) as object),
      ...(index !== undefined && { index }),
      ...(more as object),
    };
  };
  expect(lines.map((_, place) => lineAt(place + 1))).toEqual(lines);
  return imported;
}

const list = [user("List the files."), assistant("I look.", asks("c1", "run_shell_command", { cmd: "ls" }))];
const listed = [
  ...list,
  result("c1", "run_shell_command", { exit_code: 0, stdout: "a b", stderr: "", elapsed_ms: 3 }),
  assistant("Two files."),
];

describe("session files of OpenRath for Python", () => {
  it("[I1] [I2] are read as a conversation, with tool evidence and tokens, without a loss", async () => {
    const rows = [
      ...listed,
      user("Read c."),
      assistant(
        null,
        asks("c2", "read_workspace_file", { path: "c" }),
        asks("c3", "workspace_path_exists", {}),
      ),
      result("c2", "read_workspace_file", { ok: false, error_kind: "file_not_found", message: "no file c" }),
      result("c3", "workspace_path_exists", { ok: false }),
      assistant("There is no c."),
    ];
    const [only, ...others] = await read(file(uuid(1), rows, { usage: [120, 30] }));
    expect(others).toEqual([]);
    expect(only).toMatchObject({ name: "sessions" });
    expect(only?.warnings).toBeUndefined();
    const { session } = only as Imported;
    expect(said(session)).toEqual([
      ["user", "List the files."],
      ["assistant", "I look."],
      ["tool", "run_shell_command", { exit_code: 0, stdout: "a b", stderr: "", elapsed_ms: 3 }],
      ["assistant", "Two files."],
      ["user", "Read c."],
      ["assistant", ""],
      ["tool", "read_workspace_file", "no file c"],
      ["tool", "workspace_path_exists", { ok: false }],
      ["assistant", "There is no c."],
    ]);
    expect(session.usage).toMatchObject({ calls: 4, input: 120, output: 30 });
    const facts = factsOf(only as Imported);
    expect(facts.find(({ type }) => type === "tool-failure")).toMatchObject({
      error: { code: "file_not_found" },
    });
    expect(facts[1]).toMatchObject({
      type: "record-import",
      format: "openrath-python",
      detail: { id: uuid(1), kind: "op_session_loop", sandbox: "local", parents: [uuid(8), uuid(9)] },
    });
    expect(facts[0]?.at).toBe("2026-05-25T10:00:00+00:00");
    expect(facts.at(-1)?.at).toBe("2026-05-25T10:05:00+00:00");
  });

  it("[I1] [I3] forks leave their parent after what both have", async () => {
    const base = file(uuid(1), listed, { parents: [], usage: [10, 1] });
    const left = [...listed, user("Left?"), assistant("Left.")];
    const right = [...listed.slice(0, 2), result("c1", "run_shell_command", "another"), assistant("Right.")];
    const imported = await read([
      ...base,
      ...file(uuid(2), left, { parents: [uuid(1)], usage: [20, 2] }),
      ...file(uuid(3), right, { kind: "op_fork", parents: [uuid(1)], usage: [30, 3] }),
    ]);
    expect(imported.map(({ name }) => name)).toEqual([`sessions/${uuid(2)}`, `sessions/${uuid(3)}`]);
    const [one, other] = imported.map(({ session }) => session) as [Session, Session];
    expect(said(one).map((words) => (words as Json[]).at(-1))).toEqual([
      "List the files.",
      "I look.",
      { exit_code: 0, stdout: "a b", stderr: "", elapsed_ms: 3 },
      "Two files.",
      "Left?",
      "Left.",
    ]);
    expect(said(other).map((words) => (words as Json[]).at(-1))).toEqual([
      "List the files.",
      "I look.",
      "another",
      "Right.",
    ]);
    expect(one.usage).toMatchObject({ input: 30, output: 3 });
    expect(other.usage).toMatchObject({ input: 30, output: 3 });
    expect(other.lineage.at(-1)).toMatchObject({ branch: "fork-33333333", why: "Session.fork" });
    // The call was asked before the fork and answered after it: its input is known.
    expect(factsOf(imported[1] as Imported).findLast(({ type }) => type === "tool-call")).toMatchObject({
      input: { cmd: "ls" },
    });
  });

  it("[I4] a merge counts shared messages once and goes on with both sides", async () => {
    const base = [user("Task."), assistant("Plan.")];
    const [a, b] = [
      [...base, assistant("A.")],
      [...base, assistant("B.")],
    ];
    const lines = [
      ...file(uuid(1), base, { parents: [], usage: [10, 1] }),
      ...file(uuid(2), a, { parents: [uuid(1), uuid(9)], usage: [20, 2] }),
      ...file(uuid(3), b, { parents: [uuid(1), uuid(9)], usage: [30, 3] }),
      ...file(uuid(4), [...a, ...b], { kind: "op_merge", parents: [uuid(2), uuid(3)], usage: [60, 6] }),
    ];
    const [only, ...others] = await read(lines);
    expect(others).toEqual([]);
    const { session } = only as Imported;
    expect(said(session).map((words) => (words as Json[])[1])).toEqual(["Task.", "Plan.", "A.", "B."]);
    expect(session.usage).toMatchObject({ input: 60, output: 6, calls: 3 });
    expect(factsOf(only as Imported).find(({ type }) => type === "branch-merge")).toMatchObject({
      adopt: "both",
      why: "Session.merge",
    });
    // A loop goes on from the merged session.
    const on = [...a, ...b, assistant("C.")];
    const [further] = await read([...lines, ...file(uuid(5), on, { parents: [uuid(4)] })]);
    expect(said((further as Imported).session).map((words) => (words as Json[])[1])).toEqual([
      "Task.",
      "Plan.",
      "A.",
      "B.",
      "C.",
    ]);
  });

  it("[I4] takes in the session of the agent beside that of the user", async () => {
    const [only, ...others] = await read([
      ...file(uuid(1), [user("Hi.")], { kind: "leaf_user", parents: [] }),
      ...file(uuid(2), [system("Be brief.")], { kind: "leaf_system", parents: [] }),
      ...file(uuid(3), [user("Hi."), assistant("Hello.")], { parents: [uuid(1), uuid(2)] }),
    ]);
    expect(others).toEqual([]);
    expect(said((only as Imported).session)).toEqual([
      ["user", "Hi."],
      ["assistant", "Hello."],
    ]);
    const facts = factsOf(only as Imported);
    expect(facts.find(({ type }) => type === "branch-merge")).toMatchObject({ adopt: "none" });
    expect(facts).toContainEqual(expect.objectContaining({ type: "message-say", content: "Be brief." }));
  });

  it("[I5] a compressed session sums up its parent", async () => {
    const summary = [user("Two files are there.")];
    const [only] = await read([
      ...file(uuid(1), listed, { parents: [] }),
      ...file(uuid(2), summary, { kind: "op_session_compress", parents: [uuid(1)] }),
      ...file(uuid(3), [...summary, assistant("Which?")], { parents: [uuid(2)] }),
    ]);
    expect(said((only as Imported).session)).toEqual([
      ["user", expect.stringContaining("Two files are there.")],
      ["assistant", "Which?"],
    ]);
    const compressed = factsOf(only as Imported).find(({ type }) => type === "context-compress");
    expect(compressed).toMatchObject({ summary: "Two files are there.", policy: "run_session_compress" });
    const [alone] = await read(file(uuid(2), summary, { kind: "op_session_compress" }));
    expect(factsOf(alone as Imported).find(({ type }) => type === "message-say")).toMatchObject({
      by: "agent",
    });
  });

  it("[I6] a recalled memory is not said by a person or the system", async () => {
    const [only] = await read(
      file(uuid(1), [
        system("[memory:memory://user/pencils.md] Ada likes 2B."),
        user("[untrusted memory:memory://user/paper.md] Ada likes A5."),
        user("Which pencil? [memory: none]"),
        assistant("2B."),
      ]),
    );
    const facts = factsOf(only as Imported);
    const messages = facts.filter(({ type }) => type === "message-say");
    expect(messages.map(({ by }) => by)).toEqual(["tool:memory", "tool:memory", "user"]);
    expect(facts.filter((fact) => fact.type === "note" && fact.kind === "memory-operation")).toMatchObject([
      { operation: "search_memory", attributes: { "gen_ai.memory.record.id": "memory://user/pencils.md" } },
      { operation: "search_memory", attributes: { "gen_ai.memory.record.id": "memory://user/paper.md" } },
    ]);
  });

  it("[I7] tells what is missing, and reads what is there", async () => {
    const warned = async (lines: readonly Line[]): Promise<readonly string[]> =>
      (await read(lines)).flatMap(({ warnings }) => warnings ?? []);
    expect(await warned(file(uuid(1), list, { open: true }))).toEqual([
      expect.stringContaining("has no trailer"),
      "the call c1 of run_shell_command has no result: whether it happened is unknown.",
    ]);
    const whole = file(uuid(1), listed);
    expect(await warned(whole.filter((_, place) => place !== 4))).toEqual([
      `the session ${uuid(1)} has 3 of the 4 messages that its trailer counts.`,
    ]);
    const swapped = [...whole.slice(0, 1), whole[2], whole[1], ...whole.slice(3)] as Line[];
    expect(await warned(swapped)).toEqual([expect.stringContaining("their numbers do not follow")]);
    expect(await warned([...file(uuid(1), listed, { open: true }), ...whole])).toEqual([
      expect.stringContaining("second header"),
      expect.stringContaining("has 8 of the 4 messages"),
    ]);
    expect(await warned(whole.slice(1))).toEqual(["line 1 belongs to a session whose header is missing."]);
    expect(await warned([{ ...(whole[0] as Line), schema_version: 2 }, ...whole.slice(1)])).toEqual([
      expect.stringContaining("schema version 2"),
    ]);
  });

  it("[I7] lines end only in line feeds", async () => {
    const content = "one\u2028two\u2029three\u0085four";
    const [only] = await read(file(uuid(1), [user(content), assistant("Read.")]));
    expect(said((only as Imported).session)[0]).toEqual(["user", content]);
    expect(only?.warnings).toBeUndefined();
  });

  it("[I8] lineage and graphs become forks and merges, and rewards validations", async () => {
    const row = (digit: number, kind: string, parents: readonly number[]): Line => ({
      id: uuid(digit),
      parent_session_ids: parents.map(uuid),
      lineage_operator: OPERATORS[kind] ?? "implicit",
      lineage_kind: kind,
      lineage_extras: [],
      chunk_count: 2,
      cumulative_usage: null,
    });
    const lineage = [
      row(1, "leaf_user", []),
      row(4, "op_merge", [2, 3]),
      row(2, "op_fork", [1]),
      row(3, "op_fork", [1]),
    ];
    const [only, ...others] = await read(lineage);
    expect(others).toEqual([]);
    const branches = factsOf(only as Imported).flatMap((fact): Json[] =>
      fact.type === "branch-fork"
        ? [[fact.name, fact.why ?? null]]
        : fact.type === "branch-merge"
          ? ["merge"]
          : [],
    );
    expect(branches).toHaveLength(4);
    expect(branches).toContainEqual(["fork-22222222", "Session.fork"]);
    expect(only?.notes).toContainEqual(expect.stringContaining("only the lineage of 4"));

    const node = (digit: number, reward: number | null): Line => ({
      schema_version: 1,
      record_type: "session_node",
      session_id: uuid(digit),
      lineage_kind: "op_fork",
      lineage_operator: "Session.fork",
      reward,
      status: "completed",
    });
    const edge = (parent: number, child: number): Line => ({
      schema_version: 1,
      record_type: "session_edge",
      parent: uuid(parent),
      child: uuid(child),
    });
    const graph = await read([node(1, null), node(2, 1), node(3, 0.25), edge(1, 2), edge(1, 3)]);
    expect(graph).toHaveLength(2);
    const scores = graph.map((one) => factsOf(one).find(({ type }) => type === "validation-report"));
    expect(scores).toMatchObject([
      { name: "reward", passed: true, score: 1 },
      { name: "reward", passed: false, score: 0.25 },
    ]);

    // Session files and their lineage in one file: the fork between two loops is known from the lineage alone.
    const more = [...listed, assistant("More.")];
    const [joined, ...rest] = await read([
      { ...row(2, "op_fork", [1]), chunk_count: listed.length },
      ...file(uuid(1), listed, { parents: [] }),
      ...file(uuid(3), more, { parents: [uuid(2), uuid(9)] }),
    ]);
    expect(rest).toEqual([]);
    expect(said((joined as Imported).session)).toHaveLength(5);
    expect((joined as Imported).session.lineage.map(({ branch }) => branch)).toEqual([
      "main",
      "fork-22222222",
      "session_loop-33333333",
    ]);
  });

  it("[I9] gives the same ids each time", async () => {
    const ids = async (): Promise<readonly string[]> =>
      (await read(file(uuid(1), listed))).map(({ session }) => session.id);
    expect(await ids()).toEqual(await ids());
  });

  it("[I10] keeps a damaged line, and reads the others", async () => {
    const text = textOf(file(uuid(1), listed));
    const [cut] = await openrathPython.read(sourceOf("x.jsonl", text.slice(0, -20)));
    expect(said((cut as Imported).session)).toHaveLength(4);
    expect(cut?.warnings).toContain("line 6 is unreadable: the file ends in the middle of it.");
    const lines = text.split("\n");
    lines[3] = '{"record_type":"chunk","index":2,"kind":"oracle","payload":{"content":"x"}}';
    const [odd] = await openrathPython.read(sourceOf("x.jsonl", lines.join("\n")));
    expect(odd?.warnings).toContainEqual(expect.stringMatching(/^line 4 is unreadable: nobody speaks/));
    expect(factsOf(odd as Imported)).toContainEqual(
      expect.objectContaining({ kind: "import-unreadable", what: "line 4", value: lines[3] }),
    );
  });

  it("[G1] says why it is refused", async () => {
    const refused = (lines: readonly Line[]): Promise<unknown> =>
      openrathPython.read(sourceOf("x.jsonl", textOf(lines)));
    const circle = (one: number, other: number): readonly Line[] =>
      file(uuid(one), [user("x")], { parents: [uuid(other)] });
    await expect(refused([...circle(1, 2), ...circle(2, 1)])).rejects.toMatchObject({
      code: "import-refused",
      data: { where: "line 1", reason: expect.stringContaining("circle") },
    });
    const episode = { record_type: "episode_start", schema_version: 2, episode_id: "e" };
    await expect(refused([episode])).rejects.toMatchObject({ hint: expect.stringContaining("ATIF") });
  });

  it("[G1] whatever is done to one, it is read or refused", async () => {
    const merge = { kind: "op_merge", parents: [uuid(1), uuid(2)] };
    const source = sourceOf(
      "x.jsonl",
      textOf([
        ...file(uuid(1), listed, { parents: [], usage: [1, 2] }),
        ...file(uuid(2), [...listed, assistant("B.")], { parents: [uuid(1)] }),
        ...file(uuid(3), [...listed, ...listed, assistant("B.")], merge),
        ...file(uuid(4), [user("In short.")], { kind: "op_session_compress", parents: [uuid(3)] }),
      ]),
    );
    await fc.assert(
      fc.asyncProperty(
        mutated([source], true),
        async (changed) => void (await survives(openrathPython, changed)),
      ),
      { numRuns: Number(process.env.FUZZ_RUNS ?? campaign(80)) },
    );
  });

  it.each(nonsense)("[G1] refuses %s", async (_, content) => {
    expect(await survives(openrathPython, sourceOf("x.jsonl", content))).toBe(false);
  });
});
