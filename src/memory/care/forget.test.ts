import { describe, expect, it } from "vitest";
import { agent } from "../../agent/index.js";
import { scripted } from "../../agent/model/index.js";
import { rathOf, storeOf } from "../../runtime/testing/rath.js";
import type { Store } from "../../store/index.js";
import { notesOf } from "../tier/testing/tiers.js";
import { memoryTools } from "../tools.js";
import { consolidate } from "./consolidate.js";
import { forget, readsOf } from "./forget.js";
import { noted } from "./testing/notes.js";

const by = "user:ada";
const DAY = 24 * 3_600_000;
const later = (days: number): string => new Date(Date.now() + days * DAY).toISOString();
const textsIn = async (store: Store): Promise<readonly string[]> =>
  (await notesOf().open(store).list()).map(({ text }) => text);

describe("forgetting", () => {
  it("[KF1] lets expire what fulfils all that was asked for, and deletes nothing", async () => {
    const store = await storeOf();
    const space = notesOf().open(store);
    const ids = await noted(store, [
      ["Dull and old.", { importance: 2 }],
      ["Weighty and old.", { importance: 8 }],
      "Judged by nobody.",
      ["Dull but pinned.", { importance: 1, meta: { pinned: true } }],
      ["Dull block.", { importance: 1, subject: "core/human" }],
      ["Dull file.", { importance: 1, subject: "/memories/a" }],
      ["Over anyway.", { expires: later(10), importance: 9 }],
    ]);
    const keep = ({ meta }: { meta?: unknown }) =>
      (meta as { pinned?: boolean } | undefined)?.pinned === true;
    const asked = { by, olderThan: 30 * DAY, importanceBelow: 3, keep } as const;
    expect((await forget(space, asked)).forgotten).toEqual([]);
    const head = await space.head();
    const now = later(60);
    const dry = await forget(space, { ...asked, now, dry: true });
    expect(dry.forgotten.map(({ memory, why }) => [memory, why])).toEqual([
      [ids[0], "it is 60 days old, its importance is 2"],
      [ids[6], expect.stringContaining("it was to be told until")],
    ]);
    expect(await space.head()).toBe(head);
    const done = await forget(space, { ...asked, now });
    expect(done.forgotten).toEqual(dry.forgotten);
    expect(await textsIn(store)).toEqual([
      "Weighty and old.",
      "Judged by nobody.",
      "Dull but pinned.",
      "Dull block.",
      "Dull file.",
    ]);
    expect(await space.get(ids[0] as string)).toMatchObject({
      status: "expired",
      text: "Dull and old.",
      why: "it is 60 days old, its importance is 2",
    });
    for (const id of (await space.get(ids[0] as string))?.because ?? [])
      expect(await store.has(id)).toBe(true);
    expect(await (await space.at(head as string)).list()).toHaveLength(7);
    const again = await forget(space, { ...asked, now });
    expect(again.forgotten).toEqual([]);
    expect(again.head).toBe(done.head);
    expect((await forget(space, { by, olderThan: DAY, now: later(60), limit: 1 })).more).toBe(true);
  });

  it("[KF2] of more than there is room for, those with the lowest score go", async () => {
    const store = await storeOf();
    const space = notesOf().open(store);
    const ids = await noted(store, [
      ["Weighty.", { importance: 9 }],
      ["Dull.", { importance: 1 }],
      ["Dull but read.", { importance: 1 }],
      "Not judged.",
      ["Block.", { subject: "core/human", importance: 0 }],
    ]);
    const rath = rathOf({ store });
    const [recall] = memoryTools(notesOf(), { readOnly: true, threshold: 0 });
    const call = { tool: "memory_recall", input: { query: "Dull but read" } };
    const reader = agent({
      name: "reader",
      model: scripted(call, call, call, call, "ok"),
      tools: [recall as never],
    });
    await rath.run(reader, rath.start("go"), { name: "reader" });
    const reads = await readsOf(store, "notes");
    expect(reads.get(ids[2] as string)?.count).toBe(4);
    const { forgotten } = await forget(space, { by, most: 3 });
    const scores = (await forget(space, { by, most: 0, dry: true })).forgotten;
    expect(forgotten[0]?.why).toContain("there is room for 3");
    expect(forgotten).toHaveLength(2);
    expect(await textsIn(store)).toHaveLength(3);
    expect(await textsIn(store)).toContain("Block.");
    expect(await textsIn(store)).toContain("Weighty.");
    for (const gone of forgotten)
      for (const { score } of scores) expect(score).toBeGreaterThanOrEqual(gone.score);
    expect((await forget(space, { by, most: 3 })).forgotten).toEqual([]);
  });

  it("[KF2] older memories count less, and important ones more", async () => {
    const store = await storeOf();
    const space = notesOf().open(store);
    const ids = await noted(store, [
      ["one", { importance: 4 }],
      ["two", { importance: 2 }],
      ["three", { importance: 1 }],
    ]);
    const order = async (halfLife: number) =>
      (await forget(space, { by, most: 0, dry: true, halfLife, now: later(10) })).forgotten;
    expect((await order(30 * DAY)).map(({ memory }) => memory)).toEqual([ids[2], ids[1], ids[0]]);
    const [quick, slow] = [await order(DAY), await order(300 * DAY)];
    for (const [place, { score }] of quick.entries())
      expect(score).toBeLessThan(slow[place]?.score as number);
  });

  it("[KF3] a memory that anybody found is not unread", async () => {
    const store = await storeOf();
    const space = notesOf().open(store);
    const [read] = await noted(store, ["The port is 8080.", "Nobody ever asks for zebras."]);
    const rath = rathOf({ store });
    const notes = notesOf();
    const module = {
      name: "asker",
      forward: async (session: Parameters<typeof notes.recall>[0]) =>
        (await notes.recall(session, "The port is 8080", { limit: 1, threshold: 0.1 })).session,
    };
    await rath.run(module, rath.start("go"), { name: "asker" });
    expect([...(await readsOf(store, "notes")).keys()]).toEqual([read]);
    expect((await readsOf(store, "other")).size).toBe(0);
    const { forgotten } = await forget(space, { by, unreadFor: 5 * DAY, now: later(6), dry: true });
    expect(forgotten.map(({ why }) => why).sort()).toEqual([
      "nobody has ever found it",
      "nobody has found it for 6 days",
    ]);
    const fresh = await forget(space, {
      by,
      unreadFor: 60_000,
      now: new Date(Date.now() + 30_000).toISOString(),
    });
    expect(fresh.forgotten).toEqual([]);
  });

  it("[KF4] a merged memory takes with it what it had taken the place of", async () => {
    const store = await storeOf();
    const space = notesOf().open(store);
    const ids = await noted(store, ["One thing.", "one thing", "ONE thing"]);
    const { merges } = await consolidate(space, { by });
    const done = await forget(space, { by, most: 0 });
    expect(done.forgotten.map(({ memory }) => memory)).toEqual([merges[0]?.into]);
    expect(await textsIn(store)).toEqual([]);
    for (const id of ids) expect((await space.get(id))?.status).toBe("expired");
    // A crash came between.
    const other = await storeOf();
    const second = notesOf().open(other);
    const parts = await noted(other, ["One thing.", "one thing"]);
    const [merge] = (await consolidate(second, { by })).merges;
    await second.expire(merge?.into as string, { why: "there is room for 0", by });
    expect(await textsIn(other)).toHaveLength(2);
    const mended = await forget(second, { by, most: 10 });
    expect(mended.forgotten.map(({ memory }) => memory).sort()).toEqual(parts.toSorted());
    expect(await textsIn(other)).toEqual([]);
  });
});
