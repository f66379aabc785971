import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Command, MemorySaver } from "@langchain/langgraph";
import type { BaseCheckpointSaver, CheckpointTuple } from "@langchain/langgraph-checkpoint";
import { afterAll, expect, it } from "vitest";
import { whichBranch } from "../../../evidence/audit/index.js";
import { statusOf } from "../../../runtime/index.js";
import { digestOf, type Session } from "../../../session/index.js";
import { openStore } from "../../../store/index.js";
import { openDatabase } from "../../../store/sqlite/driver.js";
import { rathSaver } from "../../langgraph/index.js";
import { postgresSaver, startPostgres } from "../../langgraph/testing/postgres.js";
import { newWorld, program, question } from "../../langgraph/testing/program.js";
import { folder } from "../../langgraph/testing/stores.js";
import type { Source } from "../exchange.js";
import { importLangGraphPostgres } from "./postgres.js";
import { type Rows, sessionsOf } from "./rows.js";
import { langgraph } from "./sqlite.js";

const { path, remove } = folder();
afterAll(remove);

/** Runs the program to its end in one thread, and into two branches in another. */
async function played(saver: BaseCheckpointSaver): Promise<void> {
  const graph = program(saver, newWorld());
  for (const thread_id of ["whole", "branched"]) {
    const config = { configurable: { thread_id } };
    await graph.invoke(question(), config);
    for (const resume of ["1", "2", "3"]) await graph.invoke(new Command({ resume }), config);
  }
  const config = { configurable: { thread_id: "branched" } };
  for await (const state of graph.getStateHistory(config))
    if (state.next.includes("tool")) {
      const fork = await graph.updateState(state.config, { answers: ["by hand"] }, "model");
      await graph.invoke(null, fork);
      return;
    }
}

async function everything(saver: BaseCheckpointSaver): Promise<readonly CheckpointTuple[]> {
  const tuples: CheckpointTuple[] = [];
  for await (const tuple of saver.list({ configurable: {} })) tuples.push(tuple);
  const place = ({ config }: CheckpointTuple): string => JSON.stringify(config.configurable);
  return tuples.sort((one, other) => (place(one) < place(other) ? -1 : 1));
}

/** The tables of LangGraph's SqliteSaver, with what its saver would have written there. */
async function sqliteOf(saver: MemorySaver): Promise<Source> {
  const file = join(path, `${randomUUID()}.db`);
  const database = openDatabase(file);
  database.exec(
    "CREATE TABLE checkpoints (thread_id TEXT NOT NULL, checkpoint_ns TEXT NOT NULL DEFAULT '', checkpoint_id TEXT NOT NULL, parent_checkpoint_id TEXT, type TEXT, checkpoint BLOB, metadata BLOB, PRIMARY KEY (thread_id, checkpoint_ns, checkpoint_id))",
  );
  database.exec(
    "CREATE TABLE writes (thread_id TEXT NOT NULL, checkpoint_ns TEXT NOT NULL DEFAULT '', checkpoint_id TEXT NOT NULL, task_id TEXT NOT NULL, idx INTEGER NOT NULL, channel TEXT NOT NULL, type TEXT, value BLOB, PRIMARY KEY (thread_id, checkpoint_ns, checkpoint_id, task_id, idx))",
  );
  for (const [thread, spaces] of Object.entries(saver.storage))
    for (const [space, checkpoints] of Object.entries(spaces))
      for (const [id, [checkpoint, metadata, parent]] of Object.entries(checkpoints))
        database
          .prepare("INSERT INTO checkpoints VALUES (?, ?, ?, ?, 'json', ?, ?)")
          .run(thread, space, id, parent ?? null, checkpoint, metadata);
  for (const [key, writes] of Object.entries(saver.writes)) {
    const [thread, space, id] = JSON.parse(key) as [string, string, string];
    for (const [inner, [task, channel, value]] of Object.entries(writes))
      database
        .prepare("INSERT INTO writes VALUES (?, ?, ?, ?, ?, ?, 'json', ?)")
        .run(thread, space, id, task, Number(inner.split(",").at(-1)), channel, value);
  }
  database.close();
  return sourceOf("checkpoints.db", readFileSync(file));
}

function sourceOf(name: string, bytes: Uint8Array): Source {
  return { name, bytes, digest: digestOf(bytes) };
}

it("[L1] [L4] a SQLite database becomes a session for each thread, with its branches and its conversation, always the same", async () => {
  const saver = new MemorySaver();
  await played(saver);
  const source = await sqliteOf(saver);
  expect(langgraph.fits(source)).toBe(true);
  const imported = await langgraph.read(source);
  expect(imported.map(({ name }) => name)).toEqual(["langgraph/branched", "langgraph/whole"]);
  const [branched, whole] = imported.map(({ session }) => session);
  expect([...(whole?.history() ?? [])].map(({ fact }) => fact.type)).not.toContain("branch-fork");
  expect(
    [...(branched?.history() ?? [])].filter(({ fact }) => fact.type === "branch-fork").length,
  ).toBeGreaterThan(0);
  expect(branched?.lineage.filter(({ kind }) => kind === "merge")).toHaveLength(1);
  expect([...(whole?.history() ?? [])][1]?.fact).toMatchObject({
    type: "record-import",
    format: "langgraph",
    digest: source.digest,
  });
  expect(whole?.transcript.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "assistant"]);
  expect((await langgraph.read(source)).map(({ session }) => session.id)).toEqual(
    imported.map(({ session }) => session.id),
  );
});

it("[L2] an imported thread is read as LangGraph's own saver read it, and goes on", async () => {
  const saver = new MemorySaver();
  await played(saver);
  const ours = await rathSaver("memory:");
  for (const { name, session } of await langgraph.read(await sqliteOf(saver)))
    await ours.store.save(session, { name });
  const expected = await everything(saver);
  const found = await everything(ours);
  // Answers of people are those of the branch that went on from there.
  const comparable = (tuples: readonly CheckpointTuple[]) =>
    tuples.map(({ pendingWrites, ...tuple }) => ({
      ...tuple,
      pendingWrites: pendingWrites
        ?.filter(([, channel]) => channel !== "__resume__")
        .map(String)
        .sort(),
    }));
  expect(comparable(found)).toEqual(comparable(expected));
  const graph = program(ours, newWorld());
  const config = { configurable: { thread_id: "branched" } };
  // The subgraph gives back what it was given, and the reducer adds it: so it is on LangGraph's own saver.
  for (const resume of ["4", "5", "6"]) await graph.invoke(new Command({ resume }), config);
  expect((await graph.getState(config)).values.answers).toEqual(["by hand", "by hand", "4", "5", "6"]);
  expect((await ours.store.check()).findings).toEqual([]);
  await ours.close();
});

it("[L9] branches that a thread left are gathered, and the newest line goes on", async () => {
  const saver = new MemorySaver();
  await played(saver);
  const [branched] = await langgraph.read(await sqliteOf(saver));
  const session = branched?.session as Session;
  const merge = [...session.history()].find(({ fact }) => fact.type === "branch-merge") as Session;
  expect(merge.fact).toMatchObject({ adopt: "none", by: "runtime:langgraph" });
  expect(merge.parents.map(({ branch }) => branch)).toEqual(["main", "fork-1"]);
  // The answers of the left branch are on it alone.
  const said = (one: Session | undefined): string => JSON.stringify(one?.transcript);
  expect(said(merge.parents[1])).toContain("Done: 1, 2, 3.");
  expect(said(session)).not.toContain("Done: 1, 2, 3.");
  expect(session.transcript.slice(0, merge.parents[0]?.transcript.length)).toEqual(
    merge.parents[0]?.transcript,
  );
  const store = await openStore("memory:");
  await store.save(session, { name: "branched" });
  const { answer } = await whichBranch(store, "branched");
  expect(answer).toContain("preferred none");
  expect(answer).not.toMatch(/adopted|rejected/);
});

it("[L8] a thread that is interrupted waits, and waits no longer once it goes on", async () => {
  const saver = new MemorySaver();
  const config = { configurable: { thread_id: "asked" } };
  await program(saver, newWorld()).invoke(question(), config);
  const [one] = await langgraph.read(await sqliteOf(saver));
  const asked = one?.session as Session;
  expect(statusOf(asked)).toBe("waiting");
  expect(asked.pending).toMatchObject([{ type: "signal-await", what: "interrupt" }]);
  const { tasks } = await program(saver, newWorld()).getState(config);
  const signal = [...asked.history()].find(({ fact }) => fact.type === "signal-await")?.fact;
  expect(JSON.stringify(signal)).toContain(JSON.stringify(tasks[0]?.interrupts[0]?.value));
  const ours = await rathSaver("memory:");
  await ours.store.save(asked, { name: one?.name as string });
  for (const resume of ["1", "2", "3"])
    await program(ours, newWorld()).invoke(new Command({ resume }), config);
  const after = await ours.store.load(one?.name as string);
  expect(after.pending).toEqual([]);
  expect(statusOf(after)).toBe("open");
  expect((await ours.store.check()).findings).toEqual([]);
  await ours.close();
});

it("[L3] a Postgres database imports the same way, and nothing is written to it", {
  timeout: 120_000,
}, async (context) => {
  const postgres = await startPostgres();
  if ("why" in postgres) return context.skip(postgres.why);
  const saver = await postgresSaver(postgres.url);
  try {
    await saver.setup();
    const graph = program(saver, newWorld());
    const config = { configurable: { thread_id: "whole" } };
    await graph.invoke(question(), config);
    for (const resume of ["1", "2", "3"]) await graph.invoke(new Command({ resume }), config);
    const before = await everything(saver);
    await saver.end();
    const imported = await importLangGraphPostgres(postgres.url);
    expect(imported.map(({ name }) => name)).toEqual(["langgraph/whole"]);
    expect(imported[0]?.session.transcript.map(({ role }) => role)).toEqual([
      "user",
      "assistant",
      "tool",
      "assistant",
    ]);
    const again = await importLangGraphPostgres(postgres.url, { thread: "whole" });
    expect(again[0]?.session.id).toBe(imported[0]?.session.id);
    const ours = await rathSaver("memory:");
    for (const { name, session } of imported) await ours.store.save(session, { name });
    const plain = (tuples: readonly CheckpointTuple[]) =>
      JSON.parse(
        JSON.stringify(
          tuples.map(({ checkpoint, parentConfig }) => ({
            checkpoint,
            parent: parentConfig?.configurable?.checkpoint_id,
          })),
        ),
      );
    expect(plain(await everything(ours))).toEqual(plain(before));
    await ours.close();
    await expect(importLangGraphPostgres(`${postgres.url}-none`, { schema: "none" })).rejects.toMatchObject({
      code: "import-refused",
    });
  } finally {
    await saver.end().catch(() => {});
    await postgres.stop();
  }
});

it("[L5] values without a fact are kept in notes and told", async () => {
  const saver = new MemorySaver();
  await played(saver);
  const source = await sqliteOf(saver);
  const file = join(path, "odd.db");
  const { writeFileSync } = await import("node:fs");
  writeFileSync(file, source.bytes);
  const database = openDatabase(file);
  database.exec("PRAGMA journal_mode=WAL");
  database
    .prepare("INSERT INTO checkpoints VALUES ('python', '', '1', NULL, 'msgpack', ?, ?)")
    .run(new Uint8Array([0x81, 0xff]), new Uint8Array([0x80]));
  database
    .prepare("INSERT INTO writes VALUES ('python', '', '2', 'task', 0, 'a', 'msgpack', ?)")
    .run(new Uint8Array([1, 2]));
  database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  database.close();
  const imported = await langgraph.read(sourceOf("odd.db", readFileSync(file)));
  const python = imported.find(({ name }) => name === "langgraph/python");
  expect(python?.warnings).toEqual([expect.stringContaining("odd.db-wal")]);
  expect(python?.notes.join("\n")).toMatch(/1 writes belong to no checkpoint[\s\S]*another serializer/);
  const kept = JSON.stringify([...(python?.session.history() ?? [])].map(({ fact }) => fact));
  expect(kept).toContain(Buffer.from([0x81, 0xff]).toString("base64"));
  expect(kept).toContain(Buffer.from([1, 2]).toString("base64"));
});

it("[L2] an imported thread is the same thread, under no other name", async () => {
  const saver = new MemorySaver();
  await played(saver);
  const ours = await rathSaver("memory:");
  const imported = await langgraph.read(await sqliteOf(saver));
  const whole = imported.find(({ name }) => name === "langgraph/whole");
  await ours.store.save(whole?.session as never, { name: "langgraph/whole-2" });
  await expect(ours.getTuple({ configurable: { thread_id: "whole-2" } })).rejects.toMatchObject({
    code: "langgraph-mismatch",
    data: { recorded: ["whole"] },
  });
  await ours.close();
});

it("[L7] rows are grouped once, however many threads there are", async () => {
  const THREADS = 300;
  let looks = 0;
  const named = <Row extends object>(thread: string, row: Row): Row & { readonly thread: string } =>
    Object.defineProperty(row, "thread", {
      get: () => {
        looks++;
        return thread;
      },
    }) as Row & { readonly thread: string };
  const threads = Array.from({ length: THREADS }, (_, index) => `t${index}`);
  const rows: Rows = {
    checkpoints: threads.map((thread) =>
      named(thread, {
        namespace: "",
        id: "1",
        parent: undefined,
        metadata: { type: "json", text: "{}" },
        head: { v: 4, ts: "2026-01-01T00:00:00.000Z" },
        values: new Map([["a", { type: "json", text: JSON.stringify(thread) }]]),
      }),
    ),
    writes: threads.map((thread) =>
      named(thread, {
        namespace: "",
        checkpoint: "1",
        task: "task",
        place: 0,
        channel: "a",
        value: { type: "json", text: JSON.stringify(`${thread} writes`) },
      }),
    ),
    odd: threads.map((thread) => named(thread, { what: "odd", row: { of: thread } })),
  };
  const imported = await sessionsOf(sourceOf("rows", new Uint8Array()), rows);
  expect(looks).toBeLessThanOrEqual(4 * 3 * THREADS);
  expect(imported).toHaveLength(THREADS);
  for (const { name, session } of imported) {
    const thread = name.slice("langgraph/".length);
    const kept = JSON.stringify([...session.history()].map(({ fact }) => fact));
    for (const own of [`"${thread}"`, `${thread} writes`, `{"of":"${thread}"}`]) expect(kept).toContain(own);
  }
});

it("[L6] another database is not taken for one, or refused with the reason", async () => {
  const saver = new MemorySaver();
  await played(saver);
  const { bytes } = await sqliteOf(saver);
  const garbage = [
    new Uint8Array(),
    Buffer.from("{}"),
    Buffer.from("SQLite format 3\0checkpoint_ns"),
    Buffer.alloc(10_000_000, 7),
    bytes.subarray(0, 5_000),
    bytes.subarray(0, bytes.length - 6_000),
  ];
  for (const [index, given] of garbage.entries()) {
    const source = sourceOf(`garbage-${index}`, given);
    expect(typeof langgraph.fits(source)).toBe("boolean");
    await expect(langgraph.read(source)).rejects.toMatchObject({ code: "import-refused" });
  }
  const file = join(path, "other.db");
  const database = openDatabase(file);
  database.exec("CREATE TABLE other (a TEXT)");
  database.close();
  const other = sourceOf("other.db", readFileSync(file));
  expect(langgraph.fits(other)).toBe(false);
  await expect(langgraph.read(other)).rejects.toMatchObject({ code: "import-refused" });
  await expect(importLangGraphPostgres("postgres://nobody:x@127.0.0.1:1/none")).rejects.toMatchObject({
    code: "import-refused",
  });
});
