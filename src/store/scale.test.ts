import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { Session } from "../session/index.js";
import { openStore } from "./open.js";
import { folder } from "./testing/folder.js";

const AT = "2026-01-01T00:00:00.000Z";

describe.each(["memory", "sqlite"])("%s:", (scheme) => {
  it("[S11] 10,000 chained merges are saved, loaded, told, exported and checked without recursion", async () => {
    const url = scheme === "memory" ? "memory:" : `${scheme}:${join(folder(), "rath")}`;
    let session = Session.start("hi");
    for (let step = 0; step < 10_000; step++)
      session = session.say("left", { at: AT }).merge(session.fork("right", { at: AT }), { at: AT });
    const store = await openStore(url);
    expect((await store.save(session, { name: "main" })).written).toBe(30_001);
    expect((await store.load("main")).usage).toEqual(session.usage);
    let lines = 0;
    for await (const line of store.export("main")) lines += line.startsWith('{"rath":') ? 1 : 0;
    expect(lines).toBe(30_001);
    expect((await store.save((await store.load("main")).say("on"), { name: "main" })).written).toBe(1);
    expect(await store.check()).toMatchObject({ facts: 30_002, findings: [] });
    expect(await store.gc()).toMatchObject({ facts: 0, keptFacts: 30_002 });
    await store.close();
  });

  it("[S11] 100,000 facts are saved and loaded, and with a horizon only the newest are", async () => {
    const url = scheme === "memory" ? "memory:" : `${scheme}:${join(folder(), "rath")}`;
    let session = Session.start("hi");
    for (let step = 0; step < 100_000; step++) session = session.say(`line ${step}`, { at: AT });
    const store = await openStore(url);
    expect((await store.save(session, { name: "main" })).written).toBe(100_001);
    const loaded = await store.load("main", { horizon: Number.POSITIVE_INFINITY });
    expect([loaded.id, loaded.depth]).toEqual([session.id, session.depth]);
    expect([...loaded.history()].length).toBe(100_001);
    const newest = await store.load("main", { horizon: 5000 });
    let held = 1;
    for (let one = newest; !one.atHorizon; one = one.parents[0] as Session) held += 1;
    expect(held).toBeLessThanOrEqual(5000);
    expect(newest.recent(50)).toEqual(session.recent(50));
    await store.close();
  });
});
