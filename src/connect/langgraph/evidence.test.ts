import { execFileSync } from "node:child_process";
import { readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { Command, END, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { afterAll, describe, expect, it } from "vitest";
import { type RathSaver, rathSaver } from "./index.js";
import { newWorld, program, question } from "./testing/program.js";
import { folder, KINDS } from "./testing/stores.js";

const { path, remove } = folder();
afterAll(remove);
const config = { configurable: { thread_id: "t" } };

async function ran(saver: RathSaver): Promise<ReturnType<typeof program>> {
  const graph = program(saver, newWorld());
  // With every step on the disk before the next begins, nothing is copied by a subgraph before it was said.
  const sync = { ...config, durability: "sync" as const };
  await graph.invoke(question(), sync);
  for (const resume of ["1", "2", "3"]) await graph.invoke(new Command({ resume }), sync);
  return graph;
}

/** A graph that answers; each turn is two messages of so many characters. */
function talker(checkpointer: RathSaver, characters: number) {
  return new StateGraph(MessagesAnnotation)
    .addNode("reply", ({ messages }) => ({
      messages: [
        new AIMessage({
          id: `a${messages.length}`,
          content: `${messages.length} `.padEnd(characters, "answer "),
        }),
      ],
    }))
    .addEdge(START, "reply")
    .addEdge("reply", END)
    .compile({ checkpointer });
}

describe.each(KINDS)("evidence over $kind", ({ url }) => {
  it("[E1] words, calls and answers stand in the conversation, once, with their cost", async () => {
    const saver = await rathSaver(url(path, "said"));
    await ran(saver);
    const session = await saver.session("t");
    expect(session?.transcript).toEqual([
      { role: "user", content: "How many pencils are left in the store room?" },
      {
        role: "assistant",
        content: [
          { type: "text", text: "I look it up." },
          { type: "tool-call", call: "c1", name: "look_up", input: { item: "pencil" } },
        ],
      },
      { role: "tool", call: "c1", name: "look_up", output: "twelve pencils, in three boxes, on the left" },
      { role: "assistant", content: "Done: 1, 2, 3." },
    ]);
    expect(session?.usage).toMatchObject({ input: 10, output: 5 });
    expect(session?.pending).toEqual([]);
    const lines: string[] = [];
    for await (const line of saver.store.export(saver.nameOf("t")))
      lines.push(
        line.startsWith('{"blob":') ? Buffer.from(JSON.parse(line).data, "base64").toString() : line,
      );
    for (const text of ["How many pencils are left", "twelve pencils, in three"])
      expect(lines.join("\n").split(text).length - 1, `how often the record has "${text}"`).toBe(1);
    await saver.close();
  });

  it("[E2] a thread is checked, exported, verified by others, and goes on in another store", async () => {
    const saver = await rathSaver(url(path, "export"));
    const graph = await ran(saver);
    const states = [];
    for await (const state of graph.getStateHistory(config)) states.push(state);
    await graph.updateState(states[3]?.config ?? {}, { answers: ["by hand"] }, "model");
    expect((await saver.store.check()).findings).toEqual([]);
    const names = (await saver.store.names()).map(({ name }) => name);
    const lines: string[] = [];
    for await (const line of saver.store.export(names)) lines.push(line);
    const file = join(path, `thread-${lines.length}.jsonl`);
    writeFileSync(file, `${lines.join("\n")}\n`);
    const verify = fileURLToPath(new URL("../../../tools/verify.py", import.meta.url));
    expect(execFileSync("python3", [verify, file], { encoding: "utf8" })).toMatch(/^ok: /);
    const other = await rathSaver(url(path, "import"));
    await other.store.sync(saver.store);
    const before = await saver.getTuple(config);
    expect(await other.getTuple(config)).toEqual(before);
    const on = program(other, newWorld());
    await on.invoke(null, config);
    expect((await on.getState(config)).values.answers).toEqual(expect.arrayContaining(["by hand"]));
    expect(await saver.getTuple(config)).toEqual(before);
    await other.close();
    await saver.close();
  });

  it("[E3] erased content is a mark in every checkpoint that had it, and the thread goes on", async () => {
    const saver = await rathSaver(url(path, "erased"), { erasable: true });
    const graph = talker(saver, 60);
    const secret = "my number is 555-0199, do not tell it to anybody";
    await graph.invoke({ messages: [new HumanMessage({ id: "1", content: secret })] }, config);
    await graph.invoke(
      { messages: [new HumanMessage({ id: "2", content: "and something else that is harmless" })] },
      config,
    );
    const session = await saver.session("t");
    const said = [...(session?.history() ?? [])].find(
      ({ fact }) => fact.type === "message-say" && fact.content === secret,
    );
    const digests = [...(said?.blobs() ?? [])].map(({ ref }) => ref.digest);
    await saver.store.erase(saver.nameOf("t"), { digests, why: "Ada asked for it.", by: "user:ada" });
    const again = await rathSaver(saver.store);
    const texts = (await talker(again, 60).getState(config)).values.messages.map(
      ({ text }: { text: string }) => text,
    );
    expect(texts[0]).toBe("[erased from the record]");
    expect(texts[2]).toBe("and something else that is harmless");
    const on = await talker(again, 60).invoke(
      { messages: [new HumanMessage({ id: "3", content: "go on" })] },
      config,
    );
    expect(on.messages).toHaveLength(6);
    const lines: string[] = [];
    for await (const line of saver.store.export(saver.nameOf("t"))) lines.push(line);
    const whole = lines.map((line) => line + Buffer.from(JSON.parse(line).data ?? "", "base64").toString());
    expect(whole.some((text) => text.includes("555-0199"))).toBe(false);
    expect((await saver.store.check()).findings).toEqual([]);
    await saver.close();
  });

  it("[E3] a checkpoint whose values are gone is an error that says so", async () => {
    const saver = await rathSaver(url(path, "gone"), { erasable: true });
    await talker(saver, 10).invoke({ messages: [new HumanMessage({ id: "1", content: "short" })] }, config);
    const session = await saver.session("t");
    const notes = [...(session?.history() ?? [])].filter(
      ({ fact }) => fact.type === "note" && fact.kind === "langgraph-checkpoint",
    );
    const digests = notes.flatMap((note) => [...note.blobs()].map(({ ref }) => ref.digest));
    await saver.store.erase(saver.nameOf("t"), { digests, why: "all of it", by: "user:ada" });
    const again = await rathSaver(saver.store);
    await expect(again.getTuple(config)).rejects.toMatchObject({ code: "langgraph-unreadable" });
    await saver.close();
  });
});

it("[S1] a step takes no more room after many turns than after a few", { timeout: 120_000 }, async () => {
  const turns = Number(process.env.OPENRATH_LANGGRAPH_TURNS ?? 120);
  const saver = await rathSaver(`sqlite:${join(path, "room.db")}`);
  const graph = talker(saver, 200);
  const sizes: number[] = [];
  for (let turn = 0; turn < turns; turn++) {
    await graph.invoke(
      { messages: [new HumanMessage({ id: `h${turn}`, content: `${turn} `.padEnd(200, "question ") })] },
      config,
    );
    sizes.push([10, 30, turns - 21, turns - 1].includes(turn) ? await bytesOf(saver) : 0);
  }
  const step = (from: number, to: number): number =>
    ((sizes[to] as number) - (sizes[from] as number)) / (to - from);
  const early = step(10, 30);
  const late = step(turns - 21, turns - 1);
  expect(late).toBeLessThan(early * 1.2);
  // All messages of a turn are 400 characters; LangGraph's savers store hundreds of thousands at the end.
  expect(late).toBeLessThan(400 * 12);
  expect((await graph.getState(config)).values.messages).toHaveLength(turns * 2);
  await saver.close();
  expect(
    readdirSync(path)
      .filter((name) => name.startsWith("room.db"))
      .reduce((sum, name) => sum + statSync(join(path, name)).size, 0),
  ).toBeLessThan(turns * 400 * 25);
});

/** What the record of the thread takes, as lines. */
async function bytesOf(saver: RathSaver): Promise<number> {
  const seen = lengths.get(saver) ?? { total: 0, head: undefined };
  const head = (await saver.store.head(saver.nameOf("t"))) as string;
  for await (const line of saver.store.export(head, seen.head === undefined ? {} : { without: [seen.head] }))
    seen.total += Buffer.byteLength(line);
  lengths.set(saver, { total: seen.total, head });
  return seen.total;
}
const lengths = new WeakMap<RathSaver, { total: number; head: string | undefined }>();
