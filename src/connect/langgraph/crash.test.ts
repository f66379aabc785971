import { afterAll, describe, expect, it } from "vitest";
import { rathSaver, ThreadConflictError } from "./index.js";
import { putAt } from "./testing/checkpoint.js";
import { inChild } from "./testing/child.js";
import { drive } from "./testing/killed.js";
import { folder, KINDS } from "./testing/stores.js";

const { path, remove } = folder();
afterAll(remove);

/** After how many acknowledgements each process ends; every moment with OPENRATH_LANGGRAPH_KILLS=1. */
const MOMENTS =
  process.env.OPENRATH_LANGGRAPH_KILLS === undefined ? [1, 4] : [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13];

it("[R2] a program that is killed between any two steps goes on where it was, and nothing acknowledged is lost", {
  timeout: 300_000,
}, async () => {
  const expected = await drive(await rathSaver("memory:"));
  for (const moment of MOMENTS) {
    const url = `sqlite:${path}/kill-${moment}.db`;
    const acknowledged: { namespace: string; id: string; task?: string }[] = [];
    let done: unknown;
    for (let round = 0; done === undefined && round < 40; round++) {
      const { lines, signal, code } = await inChild(
        "killed",
        "killed",
        url,
        round === 0 ? moment : moment + 6,
      );
      expect(signal ?? code, "killed, or at its end").toSatisfy((end) => end === "SIGKILL" || end === 0);
      for (const line of lines) {
        const told = JSON.parse(line);
        if (told.done === undefined) acknowledged.push(told);
        else done = told.done;
      }
    }
    expect(done).toEqual(expected);
    const saver = await rathSaver(url);
    expect((await saver.store.check()).findings).toEqual([]);
    for (const { namespace, id, task } of acknowledged) {
      const tuple = await saver.getTuple({
        configurable: { thread_id: "t", checkpoint_ns: namespace, checkpoint_id: id },
      });
      expect(tuple?.checkpoint.id).toBe(id);
      if (task !== undefined && !tuple?.pendingWrites?.some(([by]) => by === task)) {
        // Answers of people are those of the branch that went on; everything else stands where it was put.
        expect(JSON.stringify(await everyFact(saver))).toContain(task);
      }
    }
    await saver.close();
  }
});

async function everyFact(saver: Awaited<ReturnType<typeof rathSaver>>): Promise<readonly unknown[]> {
  const facts: unknown[] = [];
  for (const { name } of await saver.store.names())
    for await (const { fact } of saver.store.history(name)) facts.push(fact);
  return facts;
}

it("[R3] processes that write to one thread at once lose nothing: each step stands on the one it was made from", {
  timeout: 120_000,
}, async () => {
  const url = `sqlite:${path}/shared.db`;
  const told = (
    await Promise.all(["a", "b", "c"].map((name) => inChild("killed", "talk", url, name, 8)))
  ).flatMap(({ lines, code }) => {
    expect(code).toBe(0);
    return lines.map((line) => JSON.parse(line) as { id: string; parent: string | null; log: string[] });
  });
  expect(told).toHaveLength(24);
  const saver = await rathSaver(url);
  for (const { id, parent, log } of told) {
    const tuple = await saver.getTuple({ configurable: { thread_id: "shared", checkpoint_id: id } });
    expect(tuple?.checkpoint.channel_values).toEqual({ log });
    expect(tuple?.parentConfig?.configurable?.checkpoint_id ?? null).toBe(parent);
    expect(tuple?.pendingWrites).toHaveLength(1);
  }
  expect((await saver.store.check()).findings).toEqual([]);
  await saver.close();
});

describe.each(KINDS)("two graphs at once over $kind", ({ url }) => {
  it("[R3] both are kept, each on a branch of its own", async () => {
    const one = await rathSaver(url(path, "two"));
    const other = await rathSaver(one.store);
    const first = await putAt(one, "t", undefined, { a: "first" });
    await other.getTuple(first);
    const left = await putAt(one, "t", first, { a: "left" });
    const right = await putAt(other, "t", first, { a: "right" });
    for (const saver of [one, other])
      for (const [at, a] of [
        [left, "left"],
        [right, "right"],
      ] as const)
        expect((await saver.getTuple(at))?.checkpoint.channel_values).toEqual({ a });
    expect((await one.store.names()).map(({ name }) => name).sort()).toEqual([
      "langgraph/t",
      "langgraph/t@fork-1",
      "langgraph/t@main",
    ]);
    await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        putAt(index % 2 === 0 ? one : other, "t", first, { a: index }),
      ),
    );
    const found = [];
    for await (const { checkpoint } of one.list({ configurable: { thread_id: "t" } }))
      found.push(checkpoint.channel_values.a);
    expect(found).toHaveLength(23);
    expect((await one.store.check()).findings).toEqual([]);
    await one.close();
  });

  it("[R3] a write to the trunk is kept while another saver begins the first branch", async () => {
    const one = await rathSaver(url(path, "trunk"));
    const other = await rathSaver(one.store);
    const first = await putAt(one, "u", undefined, { a: "first" });
    const newest = await putAt(one, "u", first, { a: "newest" });
    await other.getTuple(newest);
    const later = await putAt(one, "u", newest, { a: "later" });
    await other.getTuple(later);
    // The branch is older than the end of the trunk: the thread's own name stays there.
    await other.putWrites(first, [["b", "aside"]], "task-2");
    await one.putWrites(later, [["b", "kept"]], "task-1");
    await putAt(other, "u", first, { a: "aside" });
    await putAt(other, "u", first, { a: "another" });
    const reader = await rathSaver(one.store);
    expect((await reader.getTuple(later))?.pendingWrites).toHaveLength(1);
  });

  it("[R3] the second is told where it asked for that, and nothing of it is kept", async () => {
    const one = await rathSaver(url(path, "refuse"), { race: "refuse" });
    const other = await rathSaver(one.store, { race: "refuse" });
    const first = await putAt(one, "t", undefined, { a: "first" });
    await other.getTuple(first);
    await putAt(one, "t", first, { a: "left" });
    await expect(putAt(other, "t", first, { a: "right" })).rejects.toThrow(ThreadConflictError);
    expect((await one.store.names()).map(({ name }) => name)).toEqual(["langgraph/t"]);
    expect((await other.getTuple({ configurable: { thread_id: "t" } }))?.checkpoint.channel_values).toEqual({
      a: "left",
    });
    // Going back on purpose is no race.
    await putAt(other, "t", first, { a: "back" });
    expect((await one.getTuple({ configurable: { thread_id: "t" } }))?.checkpoint.channel_values).toEqual({
      a: "back",
    });
    await one.close();
  });
});
