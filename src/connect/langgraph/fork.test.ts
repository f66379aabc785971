import { MemorySaver } from "@langchain/langgraph";
import { afterAll, describe, expect, it } from "vitest";
import { rathSaver } from "./index.js";
import { CHANNELS, forkIsolation } from "./testing/fork-isolation.js";
import { postgresSaver, startPostgres } from "./testing/postgres.js";
import { folder, KINDS } from "./testing/stores.js";

describe.each(KINDS)("forks over $kind", ({ url }) => {
  const { path, remove } = folder();
  afterAll(remove);

  it.each(CHANNELS)("[F1] branches keep apart, in a channel of kind %s", async (channel) => {
    const saver = await rathSaver(url(path, channel));
    expect(await forkIsolation(saver, channel)).toEqual([]);
    expect((await saver.store.check()).findings).toEqual([]);
    await saver.close();
  });
});

describe("the savers of LangGraph", () => {
  it("[F2] LangGraph's MemorySaver passes the same check, but for deltas and for a question that is answered twice", async () => {
    const leaks = await forkIsolation(new MemorySaver(), "reducer");
    expect(leaks.filter(({ check }) => !check.startsWith("a question is answered otherwise"))).toEqual([]);
    expect((await forkIsolation(new MemorySaver(), "delta", ["updated"])).length).toBeGreaterThan(0);
  });

  it("[F2] LangGraph's PostgresSaver fails it; when this test fails, it was mended", async (context) => {
    const postgres = await startPostgres();
    if ("why" in postgres) return context.skip(postgres.why);
    const saver = await postgresSaver(postgres.url);
    try {
      await saver.setup();
      for (const channel of CHANNELS) {
        const leaks = await forkIsolation(saver, channel, ["updated"]);
        expect(leaks.map(({ check }) => check)).toContain(
          "an update at an earlier checkpoint: it has the update",
        );
      }
    } finally {
      await saver.end();
      await postgres.stop();
    }
  });
});
