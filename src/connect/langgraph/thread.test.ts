import { uuid6 } from "@langchain/langgraph-checkpoint";
import { afterAll, describe, expect, it } from "vitest";
import { rathSaver, SaverInputError, ThreadMismatchError } from "./index.js";
import { empty, putAt } from "./testing/checkpoint.js";
import { folder, KINDS } from "./testing/stores.js";

const THREADS = [
  "1",
  "10",
  "ada@example.org",
  "ada",
  "ada@main",
  "a/b c",
  "%40",
  "~x",
  "__proto__",
  "constructor",
  "\ud800",
  "\n",
  "日本語",
  "x".repeat(121),
  "x".repeat(10_000),
  "f".repeat(64),
  "🙂",
];

describe.each(KINDS)("threads over $kind", ({ url }) => {
  const { path, remove } = folder();
  afterAll(remove);

  it("[V3] any text and any number is a thread of its own", async () => {
    const saver = await rathSaver(url(path, "any"));
    for (const thread of THREADS) await putAt(saver, thread, undefined, { a: thread });
    await putAt(saver, 7 as unknown as string, undefined, { a: "seven" });
    expect(new Set([...THREADS, "7"].map((thread) => saver.nameOf(thread))).size).toBe(THREADS.length + 1);
    for (const thread of THREADS)
      expect(
        (await saver.getTuple({ configurable: { thread_id: thread } }))?.checkpoint.channel_values,
      ).toEqual({ a: thread });
    const listed: string[] = [];
    for await (const { config } of saver.list({ configurable: {} }))
      listed.push(config.configurable?.thread_id as string);
    expect(listed.sort()).toEqual([...THREADS, "7"].sort());
    await saver.close();
  });

  it("[V3] invalid options are refused with valid ones", async () => {
    const saver = await rathSaver(url(path, "refused"));
    const metadata = { source: "loop", step: 0, parents: {} } as const;
    await expect(saver.put({}, empty(), metadata, {})).rejects.toThrow(/thread_id/);
    await expect(saver.putWrites({ configurable: { thread_id: "t" } }, [], "task")).rejects.toThrow(
      /checkpoint_id/,
    );
    await expect(saver.getTuple({ configurable: { thread_id: {} } })).rejects.toThrow(SaverInputError);
    await expect(saver.deleteThread("")).rejects.toThrow(SaverInputError);
    await expect(saver.put({ configurable: { thread_id: "t" } }, {} as never, metadata, {})).rejects.toThrow(
      /no id/,
    );
    await saver.close();
    await expect(saver.getTuple({ configurable: { thread_id: "t" } })).rejects.toThrow(/closed/);
  });

  it("[V3] a value that cannot be serialised is the caller's error, and the next one is kept", async () => {
    const saver = await rathSaver(url(path, "serde"), {
      serde: {
        dumpsTyped: async (value) => {
          if (value === "poison") throw new TypeError("cannot");
          return ["json", new TextEncoder().encode(JSON.stringify(value))];
        },
        loadsTyped: async (_, data) =>
          JSON.parse(typeof data === "string" ? data : new TextDecoder().decode(data)),
      },
    });
    const bad = putAt(saver, "t", undefined, { a: "poison" });
    const good = putAt(saver, "t", undefined, { a: "fine" });
    await expect(bad).rejects.toThrow("cannot");
    await good;
    expect((await saver.getTuple({ configurable: { thread_id: "t" } }))?.checkpoint.channel_values).toEqual({
      a: "fine",
    });
    await saver.close();
  });

  it("[V4] a deleted thread is gone with its branches, others stay, and collecting removes what it had", async () => {
    const saver = await rathSaver(url(path, "deleted"));
    for (const thread of ["1", "10", "1@x"]) {
      const first = await putAt(saver, thread, undefined, { a: 1 });
      await putAt(saver, thread, first, { a: 2 });
      await putAt(saver, thread, first, { a: 3 });
    }
    const names = (await saver.store.names()).length;
    await saver.deleteThread("1");
    expect(await saver.getTuple({ configurable: { thread_id: "1" } })).toBeUndefined();
    expect((await saver.store.names()).length).toBe(names - 3);
    for (const thread of ["10", "1@x"])
      expect(
        (await saver.getTuple({ configurable: { thread_id: thread } }))?.checkpoint.channel_values,
      ).toEqual({ a: 3 });
    expect((await saver.store.gc()).facts).toBeGreaterThan(3);
    await putAt(saver, "1", undefined, { a: "new" });
    const listed = [];
    for await (const { checkpoint } of saver.list({ configurable: { thread_id: "1" } }))
      listed.push(checkpoint.channel_values);
    expect(listed).toEqual([{ a: "new" }]);
    await saver.close();
  });

  it("[V5] another session with the name of a thread is not taken for it", async () => {
    const saver = await rathSaver(url(path, "other"));
    await putAt(saver, "user-1", undefined, { a: "secret of user-1" });
    await putAt(saver, "ada", undefined, { a: "ada" });
    const head = (await saver.store.head(saver.nameOf("user-1"))) ?? "";
    const name = saver.nameOf("user-1-2");
    await saver.store.point(name, head, { expect: null });
    const config = { configurable: { thread_id: "user-1-2" } };
    const all = async (of: object): Promise<readonly unknown[]> => {
      const listed: unknown[] = [];
      for await (const tuple of saver.list({ configurable: of })) listed.push(tuple.config.configurable);
      return listed;
    };
    for (const attempt of [
      saver.getTuple(config),
      all(config.configurable),
      putAt(saver, "user-1-2", undefined, { a: "mine" }),
      saver.session("user-1-2"),
      saver.deleteThread("user-1-2"),
      saver.getDeltaChannelHistory({ config, channels: ["a"] }),
    ]) {
      const error = await attempt.then(
        () => undefined,
        (reason: unknown) => reason,
      );
      expect(error).toBeInstanceOf(ThreadMismatchError);
      expect(error).toMatchObject({
        code: "langgraph-mismatch",
        data: { thread: "user-1-2", name, recorded: ["user-1"] },
      });
    }
    expect(await saver.store.head(name)).toBe(head);
    // The others are listed, and it is there again when the name is free.
    expect(await all({})).toMatchObject([{ thread_id: "ada" }, { thread_id: "user-1" }]);
    await saver.store.forget(name, { force: true });
    await putAt(saver, "user-1-2", undefined, { a: "mine" });
    expect((await saver.getTuple(config))?.checkpoint.channel_values).toEqual({ a: "mine" });
    // Names that imports give to what comes second are of no thread.
    await saver.store.point("langgraph/ada~2", head, { expect: null });
    expect(await saver.getTuple({ configurable: { thread_id: "ada~2" } })).toBeUndefined();
    for (const thread of ["ada~2", "~2", "~~2", "x".repeat(200), "", `${"x".repeat(119)}~2`])
      expect(saver.nameOf(thread)).not.toMatch(/~\d{1,9}$/);
    expect(await all({})).toHaveLength(3);
    await saver.close();
  });

  it("[F3] a branch of a thread is a branch of the session, with a name of its own", async () => {
    const saver = await rathSaver(url(path, "branches"));
    const first = await putAt(saver, "t", undefined, { a: 1 });
    const left = await putAt(saver, "t", first, { a: "left" });
    expect((await saver.store.names()).map(({ name }) => name)).toEqual(["langgraph/t"]);
    await saver.putWrites(first, [["a", "right"]], "task");
    // Until the branch has a checkpoint, LangGraph goes on from the newest, on the first line.
    expect((await saver.session("t"))?.branch).toBe("main");
    const right = await putAt(saver, "t", first, { a: "right" });
    await putAt(saver, "t", left, { a: "left on" });
    const names = new Map((await saver.store.names()).map(({ name, id }) => [name, id]));
    expect([...names.keys()].sort()).toEqual(["langgraph/t", "langgraph/t@fork-1", "langgraph/t@main"]);
    expect(names.get("langgraph/t")).toBe(names.get("langgraph/t@main"));
    const branch = await saver.store.load("langgraph/t@fork-1");
    expect([...branch.history()].filter(({ fact }) => fact.type === "branch-fork")).toHaveLength(1);
    expect(branch.branch).toBe("fork-1");
    expect(JSON.stringify([...branch.history()].map(({ fact }) => fact))).not.toContain("left");
    // Whoever knows only the branch reads all of it.
    const alone = await rathSaver("memory:");
    const lines: string[] = [];
    for await (const line of saver.store.export("langgraph/t@fork-1")) lines.push(line);
    await alone.store.import(lines, { name: "langgraph/t" });
    expect((await alone.getTuple({ configurable: { thread_id: "t" } }))?.checkpoint.id).toBe(
      right.configurable?.checkpoint_id,
    );
    await alone.close();
    await saver.close();
  });

  it("[F3] writes that come before their checkpoint are of its branch, and are kept when it never comes", async () => {
    const saver = await rathSaver(url(path, "early"));
    const first = await putAt(saver, "t", undefined, { a: 1 });
    await putAt(saver, "t", first, { a: "left" });
    const id = uuid6(9);
    const at = { configurable: { thread_id: "t", checkpoint_ns: "", checkpoint_id: id } };
    const early = saver.putWrites(at, [["a", "early"]], "task");
    await putAt(saver, "t", first, { a: "right" }, id);
    await early;
    const session = await saver.session("t");
    expect(session?.branch).toBe("fork-1");
    expect(session?.fact).toMatchObject({ kind: "langgraph-writes" });
    const lost = { configurable: { ...at.configurable, checkpoint_id: uuid6(10) } };
    const writing = saver.putWrites(lost, [["a", "late"]], "task");
    await saver.close();
    await writing;
  });
});

it("[V3] options that there are not are refused", async () => {
  await expect(rathSaver("memory:", { erasible: true } as never)).rejects.toThrow(/did you mean "erasable"/);
  await expect(rathSaver("memory:", { race: "win" } as never)).rejects.toThrow(/race/);
  for (const prefix of ["a@", "a~"]) await expect(rathSaver("memory:", { prefix })).rejects.toThrow(/prefix/);
  await expect(rathSaver("nowhere:")).rejects.toThrow(/Cannot open a store/);
});
