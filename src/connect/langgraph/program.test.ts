import { type BaseCheckpointSaver, Command, MemorySaver } from "@langchain/langgraph";
import { afterAll, describe, expect, it } from "vitest";
import { rathSaver } from "./index.js";
import { newWorld, program, question } from "./testing/program.js";
import { folder, KINDS } from "./testing/stores.js";

type Durability = "sync" | "async" | "exit";
type Config = { configurable: { thread_id: string; checkpoint_id?: string }; durability?: Durability };

/** Runs the program through all its questions, a failure and a journey back; tells everything that can be seen of it. */
async function story(saver: BaseCheckpointSaver, durability: Durability): Promise<unknown[]> {
  const seen: unknown[] = [];
  const world = newWorld("part-2");
  const graph = program(saver, world);
  const config: Config = { configurable: { thread_id: `story-${durability}` }, durability };
  const look = async (subgraphs = false) => {
    const { values, next, tasks, metadata } = await graph.getState(config, { subgraphs });
    seen.push(
      plain({
        values,
        next,
        step: metadata?.step,
        source: metadata?.source,
        asked: tasks.map(({ interrupts }) => interrupts.map(({ value }) => value)),
      }),
    );
  };
  await graph.invoke(question(), config);
  await look(true);
  for (const resume of ["yes", "perhaps"]) {
    await graph.invoke(new Command({ resume }), config);
    await look();
  }
  // One of the tasks side by side fails; the others are not done again.
  seen.push(await graph.invoke(new Command({ resume: "no" }), config).catch((error: Error) => error.message));
  await look();
  seen.push(plain(await graph.invoke(null, config)));
  await look();
  const states = [];
  for await (const state of graph.getStateHistory(config)) states.push(state);
  seen.push(
    plain(
      states.map(({ values, next, metadata }) => ({
        values,
        next,
        source: metadata?.source,
        step: metadata?.step,
      })),
    ),
  );
  // Back to where the tool was about to run.
  const before = states.find(({ next }) => next.includes("tool"));
  if (before !== undefined) {
    await graph.invoke(null, before.config as Config);
    await look();
    for (const resume of ["a", "b", "c"]) await graph.invoke(new Command({ resume }), config);
    await look();
    const changed = await graph.updateState(before.config as Config, { answers: ["by hand"] }, "model");
    seen.push(plain((await graph.getState(changed)).values));
    await look();
  }
  seen.push(Object.fromEntries(world.runs));
  return seen;
}

function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}

describe.each(KINDS)("a program over $kind", ({ url }) => {
  const { path, remove } = folder();
  afterAll(remove);

  it.each<Durability>(["sync", "async", "exit"])(
    "[R1] it goes as on LangGraph's own saver, with durability %s",
    async (durability) => {
      const saver = await rathSaver(url(path, durability));
      expect(await story(saver, durability)).toEqual(await story(new MemorySaver(), durability));
      expect((await saver.store.check()).findings).toEqual([]);
      await saver.close();
    },
  );

  it("[R1] every step can be gone on with by a saver that was opened just now", async () => {
    const where = url(path, "anew");
    const world = newWorld();
    const first = await rathSaver(where);
    const config = { configurable: { thread_id: "t" } };
    const open = async () => program(await rathSaver(where === "memory:" ? first.store : where), world);
    await (await open()).invoke(question(), config);
    for (const resume of ["1", "2", "3"]) await (await open()).invoke(new Command({ resume }), config);
    const { values, next } = await (await open()).getState(config);
    expect({ answers: values.answers, parts: values.parts, next }).toEqual({
      answers: ["1", "2", "3"],
      parts: [1, 2, 3],
      next: [],
    });
    await first.close();
  });
});
