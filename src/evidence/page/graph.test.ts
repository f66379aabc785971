import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type FactInput, Session } from "../../session/index.js";
import { openStore, type Store } from "../../store/index.js";
import { repaired } from "../dossier/testing/repaired.js";
import type { GraphRow } from "./graph-page.js";
import { LEVELS, type LevelName } from "./level.js";
import { type Pages, pages } from "./pages.js";
import { factRow } from "./row.js";
import { clock, step } from "./testing/steps.js";

async function rowsOf(read: Pages, ref: string, level: LevelName): Promise<readonly GraphRow[]> {
  const { rows: counts } = await read.summary(ref);
  const rows: GraphRow[] = [];
  for (let page = 0; rows.length < counts[level]; page++)
    rows.push(...(await read.graph(ref, { level, page })).rows);
  return rows;
}

/** A random session of steps on branches that are merged now and then, saved after every few facts. */
function historyOf(choices: readonly number[]): readonly Session[] {
  const at = clock();
  let lines = [Session.start("Do it.", { at: at() })];
  return choices.map((choice) => {
    const line = lines[choice % lines.length] as Session;
    const rest = lines.filter((one) => one !== line);
    if (choice % 7 === 0) lines = [...lines, line.fork(`b${choice}`, { at: at() })];
    else if (choice % 7 === 1 && rest.length > 0) {
      const [other, ...others] = rest as [Session, ...Session[]];
      lines = [...others, line.merge(other, { adopt: choice % 2 === 0 ? "ours" : "none", at: at() })];
    } else lines = [...rest, step(line, "edit", "ok", at)];
    return lines.at(-1) as Session;
  });
}

describe("graphs", () => {
  it("[G1] has every fact once, parents first and by time", async () => {
    const { store, head } = await repaired();
    const rows = await rowsOf(pages(store), "issue-7", "fact");
    expect(rows.map(({ id }) => id).sort()).toEqual([...head.history()].map(({ id }) => id).sort());
    expect(rows.map(({ index }) => index)).toEqual(rows.map((_, place) => place));
    const times = rows.map(({ at }) => at as number);
    expect(times).toEqual([...times].sort((one, other) => one - other));
    const place = new Map(rows.map(({ id }, index) => [id, index]));
    for (const { id, parentIds } of head.history())
      for (const parent of parentIds) expect(place.get(parent)).toBeLessThan(place.get(id) as number);
  });

  it("[G2] appended facts come last, in a graph that was kept as in one that is read again", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(10_000), { minLength: 1, maxLength: 25 }), async (choices) => {
        const store = await openStore("memory:");
        const kept = pages(store);
        let before: { readonly [level: string]: readonly GraphRow[] } = {};
        let tip: Session | undefined;
        for (const session of historyOf(choices)) {
          if (tip !== undefined && !session.descendsFrom(tip)) continue;
          tip = session;
          await store.save(session, { name: "it" });
          const now: { [level: string]: readonly GraphRow[] } = {};
          for (const level of LEVELS) {
            now[level] = await rowsOf(kept, "it", level);
            const places = (rows: readonly GraphRow[] = []) =>
              rows.map(({ id, lane, column }) => [id, lane, column]);
            expect(places(now[level]).slice(0, before[level]?.length ?? 0)).toEqual(places(before[level]));
            if (level === "fact") expect(now[level]).toHaveLength([...session.history()].length);
          }
          before = now;
        }
        const again = await rowsOf(pages(store), "it", "fact");
        expect(new Set(again.map(({ id }) => id))).toEqual(new Set(before.fact?.map(({ id }) => id)));
        await store.close();
      }),
      { numRuns: 25 },
    );
    const store = await openStore("memory:");
    const at = clock();
    let session = Session.start("Go on.", { at: at() });
    const kept = pages(store);
    for (let round = 0; round < 120; round++) {
      session = step(round % 10 === 9 ? session.fork(`b${round}`, { at: at() }) : session, "edit", "ok", at);
      await store.save(session, { name: "long" });
      if (round % 40 === 0) await kept.graph("long", { level: "fact", page: 0 });
    }
    for (const level of LEVELS)
      expect(await rowsOf(kept, "long", level)).toEqual(await rowsOf(pages(store), "long", level));
    expect((await kept.graph("long", { level: "fact", of: session.id })).page).toBe(1);
  });

  it("[G3] groups what comes of a call on its row, also of calls side by side", async () => {
    const store = await openStore("memory:");
    const at = clock();
    let session = Session.start("Do it.", { at: at() });
    const append = (fact: FactInput): string => {
      session = session.append({ ...fact, at: at() } as FactInput);
      return session.id;
    };
    const one = append({ type: "tool-call", name: "read", input: {} });
    const other = append({ type: "tool-call", name: "test", input: {} });
    append({ type: "tool-result", of: one, output: "text" });
    append({ type: "tool-failure", of: other, error: { name: "Error", message: "broken" } });
    append({ type: "message-say", role: "assistant", content: "Over." });
    await store.save(session, { name: "calls" });
    const rows = await rowsOf(pages(store), "calls", "step");
    expect(
      rows.map(({ type, text, facts, tone, flags, column }) => [type, text, facts, tone, flags, column]),
    ).toEqual([
      ["session-start", "Do it.", 1, "plain", [], 0],
      ["tool-call", "returned text", 2, "plain", [], 0],
      ["tool-call", "failed: broken", 2, "bad", ["failed"], 0],
      ["message-say", "Over.", 1, "plain", [], 0],
    ]);
    const turns = await rowsOf(pages(store), "calls", "turn");
    expect(turns.map(({ type, facts }) => [type, facts])).toEqual([
      ["session-start", 5],
      ["message-say", 1],
    ]);
    expect(await rowsOf(pages(store), "calls", "run")).toHaveLength(1);
  });

  it("[G4] tells the fate of branches and why, and what-ifs beside the session", async () => {
    const { store, head, trunk } = await repaired();
    const at = clock();
    const from = { run: "r1", start: trunk.id, leaves: [head.id] };
    const begun = trunk.append({
      type: "run-start",
      nonce: "r2",
      module: "repair",
      from,
      run: "r2",
      seq: 0,
    } as FactInput);
    await store.save(step(begun, "edit", "other", at), { name: "issue-7-what-if" });
    const read = pages(store);
    const { branches } = await read.summary("issue-7");
    expect(branches.map(({ name, fate, reason }) => [name, fate, reason])).toEqual([
      ["main", "open", undefined],
      ["small", "accepted", "its tests pass; tests passed, 1"],
      ["bold", "rejected", "its tests pass; tests did not pass, 0"],
      ["what-if from main", "what-if", undefined],
    ]);
    const rows = await rowsOf(read, "issue-7", "step");
    expect(rows.filter(({ tone }) => tone === "what-if").length).toBeGreaterThan(1);
    expect((await read.summary("issue-7-what-if")).branches.map(({ name }) => name)).not.toContain(
      "what-if from main",
    );
    const grown = step(await store.load("issue-7-what-if"), "edit", "more", at);
    const before = (await read.summary("issue-7")).rows.fact;
    await store.save(grown, { name: "issue-7-what-if" });
    await read.moved(grown.id);
    expect((await read.summary("issue-7")).rows.fact).toBe(before + 4);
  });

  it("[G9] with patience, a long session is read beside the question, and short ones do not wait", async () => {
    const store = await openStore("memory:");
    let long = Session.start("Long.");
    for (let fact = 1; fact < 30_000; fact++) long = long.say(`fact ${fact}`);
    await store.save(long, { name: "long" });
    await store.save(Session.start("Short.").say("Yes."), { name: "short" });
    const read = pages(store, { patience: 5_000 });
    const asking = () =>
      read.graph("long").then(
        (page) => page.level,
        (error: { code: string }) => error.code,
      );
    await expect(read.graph("long")).rejects.toMatchObject({
      code: "indexing",
      data: { total: 30_000, retryAfter: 1 },
    });
    expect((await read.graph("short")).rows.length).toBeGreaterThan(0);
    await expect.poll(asking, { timeout: 60_000 }).toBe("step");
    // What is appended is little: it is read by the question, or before it.
    await store.save(long.say("More."), { name: "long" });
    await read.kept("long");
    expect((await read.summary("long")).rows.fact).toBe(30_001);
    const whole = await pages(store).summary("long");
    expect(await read.summary("long")).toEqual(whole);
  });

  it("[G5] counts what people look for, and names what is open", async () => {
    const store = await openStore("memory:");
    const at = clock();
    const begun = step(Session.start("Do it.", { at: at() }), "edit", "ok", at).fork("b", { at: at() });
    const failed = begun.append({
      type: "budget-stop",
      limit: "calls",
      allowed: 1,
      spent: 1,
      asked: 1,
      at: at(),
    });
    const waiting = failed.append({ type: "signal-await", name: "go", at: at() });
    await store.save(waiting, { name: "it" });
    const { buckets, open, rows, state } = await pages(store).summary("it");
    const sums = [0, 1, 2, 3].map((kind) => buckets.reduce((sum, one) => sum + (one[kind] ?? 0), 0));
    expect(sums).toEqual([rows.step, 1, 1, 1]);
    expect([open, state]).toEqual([[waiting.id], "open"]);
    const read = pages(store);
    const marked = async (only: "failed" | "waiting") =>
      (await read.marked("it", { only })).items.map(({ id }) => id);
    expect([await marked("failed"), await marked("waiting")]).toEqual([[failed.id], [waiting.id]]);
    await expect(read.marked("it", { only: "toString" as "failed" })).rejects.toMatchObject({
      code: "question-refused",
    });
  });

  it("[G6] refuses what there is not", async () => {
    const { store } = await repaired();
    const read = pages(store);
    const asked: readonly Parameters<Pages["graph"]>[1][] = [
      { page: 9 },
      { page: -1 },
      { page: 0.5 },
      { level: "day" as LevelName },
      { of: "ab".repeat(32) },
    ];
    for (const options of asked)
      await expect(read.graph("issue-7", options)).rejects.toMatchObject({ code: "question-refused" });
    await expect(read.graph("issue-8")).rejects.toMatchObject({ code: "not-found" });
  });

  it("[G7] every fact of a record is a row in words", async () => {
    const { head } = await repaired();
    const long = head.append({ type: "note", kind: "big", text: "x\u202e".repeat(5_000) });
    for (const { id, fact } of long.history()) {
      const row = factRow({ id, fact });
      expect(row.label.length).toBeLessThanOrEqual(120);
      expect(row.label).not.toMatch(/[\p{Cc}\u202e]/u);
      expect(row.kind).not.toBe("other");
    }
    const other = { type: "moon-landing", at: "1969-07-20T20:17:40.000Z", by: "user:neil" } as never;
    expect(factRow({ id: head.id, fact: other })).toMatchObject({ kind: "other", tone: "plain", flags: [] });
  });

  it("[G2] reads a linear history of many facts in order", async () => {
    const store: Store = await openStore("memory:");
    let session = Session.start("Count.");
    for (let number = 0; number < 3_000; number++) session = session.append({ type: "note", number });
    await store.save(session, { name: "long" });
    const read = pages(store);
    const page = await read.graph("long", { level: "fact", page: 0 });
    expect([page.sealed, page.lanes]).toEqual([true, [[0, 0, 0, 256, 0, 0]]]);
    expect(page.etag).toBe((await read.graph("long", { level: "fact", page: 0 })).etag);
  });
});
