import { execFileSync } from "node:child_process";
import { appendFileSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { answerText, whatDid, whatStep, whichBranch } from "../../evidence/audit/index.js";
import type { Fact } from "../../session/index.js";
import { openStore, type Store } from "../../store/index.js";
import { openDatabase } from "../../store/sqlite/driver.js";
import {
  checkExisting,
  gitCommits,
  indexExisting,
  jsonlLogs,
  langfuseExport,
  langgraphThreads,
  lineageOf,
  linksOf,
  tableOf,
} from "./index.js";

const stores: Store[] = [];
afterEach(async () => {
  await Promise.all(stores.splice(0).map((one) => one.close()));
});
const opened = async (): Promise<Store> => {
  const store = await openStore("memory:");
  stores.push(store);
  return store;
};
const folder = (): string => mkdtempSync(join(tmpdir(), "openrath-trace-"));
const by = "user:ada";
const keys = (records: readonly { readonly key: string }[]): string[] => records.map(({ key }) => key);
const factsOf = async (store: Store, name: string): Promise<readonly Fact[]> => {
  const facts: Fact[] = [];
  for await (const { fact } of store.history(name)) facts.push(fact);
  return facts;
};

describe("tool logs", () => {
  const FIELDS = {
    session: "run",
    key: "id",
    at: "at",
    role: "role",
    text: "said",
    tool: "tool",
    model: "model",
    error: "error",
  };
  const LOG = [
    { id: "1", run: "r-1", at: "2026-01-02T03:04:05Z", role: "user", said: "Refund order 7." },
    { id: "2", run: "r-1", at: "2026-01-02T03:04:06Z", model: "small", said: "I call refund." },
    { id: "3", run: "r-1", at: "2026-01-02T03:04:07Z", tool: "refund", said: "canary" },
    { id: "4", run: "r-2", at: "2026-01-02T03:04:08Z", tool: "lookup", error: "no such order" },
    { id: "5", run: "r-1", at: "2026-01-02T03:04:09Z", role: "assistant", said: "It is refunded." },
  ];
  const written = (path = join(folder(), "tools.jsonl")): string => {
    writeFileSync(path, LOG.map((row) => `${JSON.stringify(row)}\n`).join(""));
    return path;
  };

  it("[X14] become calls with their outcomes, one line for each session, and their contents stay there", async () => {
    const store = await opened();
    const path = written();
    const indexed = await indexExisting(store, { name: "tools", from: jsonlLogs(path, FIELDS), by });
    expect(indexed).toMatchObject({ records: 5, added: 5 });
    const facts = await factsOf(store, "existing/tools");
    expect(facts.map(({ type }) => type)).toEqual(
      expect.arrayContaining([
        "message-say",
        "model-call",
        "model-reply",
        "tool-call",
        "tool-result",
        "tool-failure",
      ]),
    );
    expect(JSON.stringify(facts)).not.toContain("canary");
    const result = facts.find(({ type }) => type === "tool-result");
    expect(result).toMatchObject({
      at: "2026-01-02T03:04:07.000Z",
      output: { existing: { source: path, key: "3", digest: expect.stringMatching(/^[0-9a-f]{64}$/) } },
    });
    expect(keys(await linksOf(store, { session: "r-1" }))).toEqual(["1", "2", "3", "5"]);
    expect((await store.check()).findings).toEqual([]);
    const table = await indexExisting(store, {
      name: "table",
      from: tableOf(() => LOG, { ...FIELDS, source: "logs.tools" }),
      by,
    });
    expect(table.added).toBe(5);
    expect((await lineageOf(store, { name: "table", record: "5" })).before.map(({ key }) => key)).toEqual([
      "1",
      "2",
      "3",
    ]);
  });

  it("[X15] are asked like any record: which branch, which step, what a record came from and led to", async () => {
    const store = await opened();
    await indexExisting(store, { name: "tools", from: jsonlLogs(written(), FIELDS), by, copy: true });
    const { record, before, after } = await lineageOf(store, { name: "tools", record: "3" });
    expect([record.key, keys(before), keys(after)]).toEqual(["3", ["1", "2"], ["5"]]);
    const [last] = after;
    const line = last?.fact as string;
    expect(answerText(await whatStep(store, line, 2))).toContain("refund");
    const branch = await whichBranch(store, line);
    expect(branch.answer).toContain("It is refunded.");
    for (const { facts } of branch.claims) expect(facts.length).toBeGreaterThan(0);
    await expect(lineageOf(store, { name: "tools", record: "none" })).rejects.toMatchObject({
      code: "memory-existing",
    });
    await expect(lineageOf(store, { name: "nothing", record: "3" })).rejects.toMatchObject({
      code: "memory-existing",
    });
  });

  it("[X16] indexed again: what is new goes on where it belongs, what changed is said, and nothing else is written", async () => {
    const store = await opened();
    const path = written();
    const index = () => indexExisting(store, { name: "tools", from: jsonlLogs(path, FIELDS), by });
    const { head } = await index();
    expect(await index()).toMatchObject({ unchanged: 5, head });
    appendFileSync(
      path,
      `${JSON.stringify({ id: "6", run: "r-2", at: "2026-01-02T04:00:00Z", tool: "lookup" })}\n`,
    );
    expect(await index()).toMatchObject({ added: 1, unchanged: 5 });
    expect(keys((await lineageOf(store, { name: "tools", record: "6" })).before)).toEqual(["4"]);
    writeFileSync(
      path,
      LOG.slice(1)
        .map((row) => `${JSON.stringify(row.id === "3" ? { ...row, said: "other" } : row)}\n`)
        .join(""),
    );
    expect(await index()).toMatchObject({ changed: 1, vanished: 2, added: 0 });
    expect(await index()).toMatchObject({ changed: 0, vanished: 0, unchanged: 4 });
    const [link] = await linksOf(store, { record: "3" });
    expect(link?.was).toMatch(/^[0-9a-f]{64}$/);
    expect(await checkExisting(store, { name: "tools", from: jsonlLogs(path, FIELDS) })).toMatchObject({
      unchanged: 4,
      changed: 0,
      unlinked: 0,
    });
    expect((await store.check()).findings).toEqual([]);
  });
});

describe("git", () => {
  const repository = (): { path: string; git: (...args: string[]) => string } => {
    const path = folder();
    const git = (...args: string[]): string =>
      execFileSync("git", args, {
        cwd: path,
        encoding: "utf8",
        env: {
          ...process.env,
          GIT_CONFIG_GLOBAL: "/dev/null",
          GIT_AUTHOR_NAME: "Ada",
          GIT_AUTHOR_EMAIL: "ada@example.org",
          GIT_COMMITTER_NAME: "Ada",
          GIT_COMMITTER_EMAIL: "ada@example.org",
          GIT_AUTHOR_DATE: "2026-01-02T03:04:05Z",
          GIT_COMMITTER_DATE: "2026-01-02T03:04:05Z",
        },
      }).trim();
    git("init", "-q", "-b", "main");
    return { path, git };
  };

  it("[X17] commits have their parents, branches, paths and authors; a trailer names the session", async () => {
    const store = await opened();
    const { path, git } = repository();
    const commit = (file: string, message: string): string => {
      writeFileSync(join(path, file), message);
      git("add", "-A");
      git("commit", "-q", "-m", message);
      return git("rev-parse", "HEAD");
    };
    const one = commit("a.txt", "one");
    git("checkout", "-q", "-b", "issue-7");
    const fix = commit("b.txt", "fix\n\nSession: agent-run-7");
    const tidy = commit("c.txt", "tidy");
    git("checkout", "-q", "main");
    const two = commit("a.txt", "two");
    git("merge", "-q", "--no-ff", "-m", "merge", "issue-7");
    const merge = git("rev-parse", "HEAD");
    const index = () => indexExisting(store, { name: "repo", from: gitCommits(path), by });
    expect(await index()).toMatchObject({ added: 5 });
    const lineage = await lineageOf(store, { name: "repo", record: fix });
    expect(keys(lineage.before)).toEqual([one]);
    expect(keys(lineage.after).sort()).toEqual([tidy, merge].sort());
    expect(keys((await lineageOf(store, { name: "repo", record: merge })).before).sort()).toEqual(
      [one, fix, tidy, two].sort(),
    );
    expect(keys(await linksOf(store, { session: "agent-run-7" }))).toEqual([fix]);
    expect(keys(await linksOf(store, { session: "issue-7" }))).toEqual([tidy]);
    expect(keys(await linksOf(store, { session: "main" })).sort()).toEqual([one, two, merge].sort());
    const facts = await factsOf(store, "existing/repo");
    expect(facts).toContainEqual(
      expect.objectContaining({
        type: "step-call",
        by: "user:ada@example.org",
        input: expect.objectContaining({ about: { tree: expect.any(String), paths: ["b.txt"] } }),
      }),
    );
    expect(facts.filter(({ type }) => type === "branch-merge")).toHaveLength(1);
    expect((await whatDid(store, "user:ada@example.org")).claims.length).toBeGreaterThan(4);
    const three = commit("a.txt", "three");
    expect(await index()).toMatchObject({ added: 1, unchanged: 5, vanished: 0 });
    expect(keys((await lineageOf(store, { name: "repo", record: three })).before)).toContain(fix);
  });

  it("[X17] a folder without a repository, and an empty one, are told", async () => {
    const store = await opened();
    await expect(
      indexExisting(store, { name: "none", from: gitCommits(folder()), by }),
    ).rejects.toMatchObject({ code: "memory-existing", fault: "missing" });
    const { path } = repository();
    expect(await indexExisting(store, { name: "empty", from: gitCommits(path), by })).toMatchObject({
      records: 0,
    });
  });
});

describe("LangGraph", () => {
  it("[X18] checkpoints have their parents, also around subgraphs, and forks are branches", async () => {
    const store = await opened();
    const path = join(folder(), "checkpoints.db");
    const database = openDatabase(path);
    database.exec(
      "CREATE TABLE checkpoints (thread_id TEXT NOT NULL, checkpoint_ns TEXT NOT NULL DEFAULT '', checkpoint_id TEXT NOT NULL, parent_checkpoint_id TEXT, type TEXT, checkpoint BLOB, metadata BLOB, PRIMARY KEY (thread_id, checkpoint_ns, checkpoint_id))",
    );
    const insert = database.prepare("INSERT INTO checkpoints VALUES (?, ?, ?, ?, 'json', ?, ?)");
    const put = (id: string, parent: string | null, metadata: object, ns = ""): void => {
      const ts = `2026-01-02T03:04:0${id.slice(-1)}.000Z`;
      const blob = (value: object) => Buffer.from(JSON.stringify(value));
      insert.run("t-1", ns, id, parent, blob({ ts, channel_values: { secret: "canary" } }), blob(metadata));
    };
    put("c1", null, { source: "input" });
    put("c2", "c1", { source: "loop" });
    put("c3", "c2", { source: "loop" });
    put("c4", "c2", { source: "fork" });
    put("s5", null, { source: "input", parents: { "": "c3" } }, "sub:1");
    database.close();
    const from = langgraphThreads(path);
    expect(await indexExisting(store, { name: "threads", from, by })).toMatchObject({ added: 5 });
    const key = (id: string, ns = "") => JSON.stringify(["t-1", ns, id]);
    const { before, after } = await lineageOf(store, { name: "threads", record: key("c2") });
    expect([keys(before), keys(after).sort()]).toEqual([
      [key("c1")],
      [key("c3"), key("c4"), key("s5", "sub:1")].sort(),
    ]);
    expect(keys((await lineageOf(store, { name: "threads", record: key("s5", "sub:1") })).before)).toEqual(
      ["c1", "c2", "c3"].map((id) => key(id)),
    );
    const facts = await factsOf(store, "existing/threads");
    expect(facts).toContainEqual(
      expect.objectContaining({
        type: "step-call",
        name: "checkpoint: fork",
        at: "2026-01-02T03:04:04.000Z",
      }),
    );
    expect(JSON.stringify(facts)).not.toContain("canary");
    expect(keys(await linksOf(store, { session: "t-1" }))).toHaveLength(5);
  });
});

describe("Langfuse", () => {
  const generation = {
    id: "o-2",
    traceId: "t-1",
    type: "GENERATION",
    name: "answer",
    startTime: "2026-01-02T03:04:06.000Z",
    model: "small",
    usageDetails: { input: 12, output: 3, total: 15 },
    costDetails: { total: 0.25 },
    output: "canary",
    parentObservationId: "o-1",
  };
  const span = {
    id: "o-1",
    traceId: "t-1",
    type: "SPAN",
    name: "agent",
    startTime: "2026-01-02T03:04:05.500Z",
  };
  const failed = {
    id: "o-3",
    traceId: "t-1",
    type: "TOOL",
    name: "refund",
    startTime: "2026-01-02T03:04:07.000Z",
    level: "ERROR",
    statusMessage: "no money",
    parentObservationId: "o-1",
  };
  const trace = { id: "t-1", name: "chat", timestamp: "2026-01-02T03:04:05.000Z", sessionId: "chat-7" };
  const snake = (row: object) =>
    Object.fromEntries(
      Object.entries(row).map(([name, value]) => [
        name.replaceAll(/[A-Z]/g, (one) => `_${one.toLowerCase()}`),
        value,
      ]),
    );
  const lines = (...rows: readonly object[]) => rows.map((row) => JSON.stringify(row)).join("\n");
  const enriched = [failed, span, generation].map((row) => ({ ...snake(row), session_id: "chat-7" }));
  const times = (rows: readonly { readonly [field: string]: unknown }[]) =>
    rows.map((row) => ({ ...row, start_time: String(row.start_time).replace("T", " ").replace("Z", "000") }));

  it.each([
    [
      "a trace with its observations",
      JSON.stringify({ ...trace, observations: [failed, generation, span] }),
      4,
    ],
    [
      "a session with its traces",
      JSON.stringify({ id: "chat-7", traces: [{ ...trace, observations: [span, failed, generation] }] }),
      4,
    ],
    ["a download", JSON.stringify({ trace, observations: [span, generation, failed] }), 4],
    [
      "traces beside observations",
      JSON.stringify({
        traces: [trace],
        observations: [failed, span, generation].map((row) => ({ ...row, sessionId: "chat-7" })),
      }),
      4,
    ],
    ["a page of the API", JSON.stringify({ data: enriched, meta: {} }), 3],
    ["rows of a database", lines(...times(enriched)), 3],
  ])("[X19] %s", async (_, text, count) => {
    const store = await opened();
    const path = join(folder(), "langfuse.json");
    writeFileSync(path, text);
    expect(await indexExisting(store, { name: "fuse", from: langfuseExport(path), by })).toMatchObject({
      added: count,
      skipped: 0,
    });
    const facts = await factsOf(store, "existing/fuse");
    expect(facts.filter(({ type }) => /-(call|reply|result|failure)$/.test(type)).slice(-6)).toMatchObject([
      { type: "step-call", name: "agent", at: "2026-01-02T03:04:05.500Z" },
      { type: "step-result" },
      { type: "model-call", model: "small" },
      { type: "model-reply", usage: { input: 12, output: 3 }, cost: 0.25 },
      { type: "tool-call", name: "refund", input: { about: { type: "TOOL", inside: "o-1" } } },
      { type: "tool-failure", error: { message: "no money" } },
    ]);
    expect(JSON.stringify(facts)).not.toContain("canary");
    expect(keys(await linksOf(store, { session: "chat-7" }))).toHaveLength(count);
    expect(keys((await lineageOf(store, { name: "fuse", record: "o-2" })).after)).toEqual(["o-3"]);
  });

  it("[X19] counts and names records that cannot be read", async () => {
    const store = await opened();
    const path = join(folder(), "langfuse.jsonl");
    writeFileSync(path, lines(generation, { id: "no-time" }, { start_time: "2026-01-02" }).concat("\n{half"));
    const { added, skips } = await indexExisting(store, { name: "fuse", from: langfuseExport(path), by });
    expect([added, skips.map(({ where }) => where)]).toEqual([1, ["line 4", "row 2", "row 3"]]);
    await expect(
      indexExisting(store, { name: "gone", from: langfuseExport(`${path}.gone`), by }),
    ).rejects.toMatchObject({ code: "memory-existing", fault: "missing" });
  });
});
