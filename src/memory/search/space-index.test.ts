import { describe, expect, it } from "vitest";
import type { FactId, Session } from "../../session/index.js";
import { openStore, type Store } from "../../store/index.js";
import { folder } from "../../store/testing/folder.js";
import type { Memory } from "../state.js";
import { type FindOptions, SpaceIndex } from "./space-index.js";
import { hashingEmbedder } from "./testing/embedder.js";
import { emptySpace, SPACE, saved, write, writeAll } from "./testing/space.js";

const NOW = "2026-11-02T00:00:00.000Z";

async function indexed(
  space: Session,
  embedder = hashingEmbedder(),
): Promise<{ index: SpaceIndex; store: Store }> {
  const store = await openStore("memory:");
  const index = new SpaceIndex({ folder: undefined, space: SPACE, embedder });
  await index.sync(store, await saved(store, space));
  return { index, store };
}

async function texts(index: SpaceIndex, query: string, more: Partial<FindOptions> = {}): Promise<string[]> {
  const found = await index.find(query, { limit: 10, threshold: 0.2, now: NOW, ...more });
  return found.map(({ memory }) => memory.text);
}

describe("finding", () => {
  it("[S11] Chinese, Japanese, Korean and Thai are found by parts of what was written", async () => {
    const notes = [
      "林婉清对花生和虾过敏",
      "水野香織は朝の会議に出ない",
      "黒い猫が庭にいる",
      "서울 사무실은 월요일에 문을 닫는다",
      "คุณพิมพ์ชนกไม่กินเนื้อวัว",
      "the printer is on the second floor",
    ];
    const { index } = await indexed(writeAll(emptySpace(), notes));
    for (const [query, note] of [
      ["花生", 0],
      ["香織の会議", 1],
      ["猫", 2],
      ["사무실", 3],
      ["เนื้อวัว", 4],
    ] as const)
      for (const mode of ["words", "fused"] as const)
        expect((await texts(index, query, { mode }))[0]).toBe(notes[note]);
  });

  it("[S12] identifiers are found by the whole and by parts", async () => {
    const notes = [
      "ERR_STORE_42 means that the disk is full",
      "ERR_STORE_43 means that the lock is held",
      "look into src/app/main.ts first",
      "v2.3.1 broke the login",
      "the class SpaceIndex is derived",
    ];
    const { index } = await indexed(writeAll(emptySpace(), notes));
    for (const [query, note] of [
      ["ERR_STORE_42", 0],
      ["err store 43", 1],
      ["main.ts", 2],
      ["src/app/main.ts", 2],
      ["2.3.1", 3],
      ["space index", 4],
      ["spaceindex", 4],
    ] as const)
      expect((await texts(index, query, { mode: "words" }))[0]).toBe(notes[note]);
  });

  it("[S9] only live memories are found, and not after they expire", async () => {
    let space = write(emptySpace(), "tea is at four", { expires: "2026-11-02T00:00:00.000Z" });
    space = write(space, "tea is in the kitchen", { needs: "approval" });
    const held = space.id;
    space = write(space, "tea is cheap");
    const revoked = space.id;
    space = space.append({ type: "memory-revoke", by: "user:ada", of: revoked, why: "no" });
    space = write(space, "tea is good");
    const { index, store } = await indexed(space);
    expect(await texts(index, "tea", { now: "2026-11-01T23:59:59.999Z" })).toEqual(
      expect.arrayContaining(["tea is at four", "tea is good"]),
    );
    expect(await texts(index, "tea")).toEqual(["tea is good"]);
    expect(index.get(held)?.status).toBe("held");
    expect(index.get(revoked)).toMatchObject({ status: "revoked", why: "no" });
    expect(index.get("f".repeat(64))).toBeUndefined();
    space = space.append({ type: "memory-promote", by: "user:bob", of: held, because: [held] });
    await index.sync(store, await saved(store, space));
    expect((await texts(index, "tea")).sort()).toEqual(["tea is good", "tea is in the kitchen"]);
  });

  it("[S10] filters by scope, time, source, trust, person and subject", async () => {
    const inProject = ["project:rath"] as const;
    let space = write(emptySpace(), "port one", { scope: [...inProject], source: "validation" });
    space = write(space, "port two", { scope: [...inProject, "user:ada"], origins: ["user"] });
    space = write(space, "port three", {
      scope: [...inProject, "user:bob"],
      by: "agent:coder",
      subject: "port",
    });
    space = write(space, "port four", { scope: ["project:other"], at: "2026-10-01T00:00:00.000Z" });
    const { index } = await indexed(space);
    const asked = async (more: Partial<FindOptions>): Promise<string[]> => {
      const found = (await texts(index, "port", more)).sort();
      const listed = index
        .list(more)
        .map((one) => one.text)
        .sort();
      expect(listed).toEqual(found);
      return found;
    };
    expect((await asked({})).length).toBe(4);
    expect(await asked({ scope: ["project:rath"] })).toEqual(["port one"]);
    expect(await asked({ scope: ["project:rath", "user:ada"] })).toEqual(["port one", "port two"]);
    expect(await asked({ scope: ["project:rath"], within: true })).toEqual([
      "port one",
      "port three",
      "port two",
    ]);
    expect(await asked({ sources: ["validation", "import"] })).toEqual(["port one"]);
    expect(await asked({ trust: "trusted" })).toEqual(["port two"]);
    expect(await asked({ by: "agent:coder" })).toEqual(["port three"]);
    expect(await asked({ subject: "port" })).toEqual(["port three"]);
    expect(await asked({ since: "2026-10-15T00:00:00.000Z" })).toEqual([
      "port one",
      "port three",
      "port two",
    ]);
    expect(await asked({ until: "2026-10-15T00:00:00.000Z" })).toEqual(["port four"]);
    expect(await asked({ since: "no time" })).toEqual([]);
    expect(index.bySubject("port").map((one) => one.text)).toEqual(["port three"]);
    expect(index.bySubject("Port")).toEqual([]);
  });

  it("[S10] one that is meant is found among thousands that are not and would be better", async () => {
    let space = emptySpace();
    for (let at = 0; at < 1_500; at++) space = write(space, `alpha beta ${at}`, { scope: ["user:eve"] });
    space = write(space, "alpha gamma delta epsilon zeta eta theta", { scope: ["user:ada"] });
    const { index } = await indexed(space);
    expect(await texts(index, "alpha beta", { scope: ["user:ada"] })).toEqual([
      "alpha gamma delta epsilon zeta eta theta",
    ]);
  });

  it("[S14] scores are from 0 to 1, best first, and the threshold is kept", async () => {
    const notes = [
      "releases are cut on Tuesdays from the branch stable",
      "the staging database is postgres 16 on port 5433",
      "Ada drinks green tea in the afternoon",
      "deploy with make ship and never by hand",
    ];
    const { index } = await indexed(writeAll(emptySpace(), notes));
    const found = await index.find("staging database port", { limit: 10, threshold: 0, now: NOW });
    expect(found[0]?.memory.text).toBe(notes[1]);
    expect(found.map(({ score }) => score)).toEqual(
      found.map(({ score }) => score).toSorted((a, b) => b - a),
    );
    for (const { score, parts } of found)
      for (const value of [score, parts.words, parts.meaning]) {
        expect(value).toBeGreaterThanOrEqual(0);
        expect(value).toBeLessThanOrEqual(1);
      }
    const best = found[0]?.score as number;
    expect(best).toBeGreaterThan(0.3);
    expect((await index.find("staging database port", { limit: 1, threshold: 0, now: NOW })).length).toBe(1);
    expect(await index.find("staging database port", { limit: 9, threshold: best + 1e-9, now: NOW })).toEqual(
      [],
    );
    for (const nothing of ["quantum chromodynamics lecture", "", "???", "\ud800"])
      expect(await index.find(nothing, { limit: 9, threshold: 0.3, now: NOW, mode: "words" })).toEqual([]);
  });

  it("[S16] `near` gives what shares most of its words, nearest first", async () => {
    const { index, store } = await indexed(
      writeAll(emptySpace(), [
        "the port of the staging database is 5433",
        "the port of the staging database is 5432 since may",
        "Ada drinks green tea",
      ]),
    );
    const near = (text: string, most: number): string[] =>
      index.near(text, most).map((one: Memory) => one.text);
    expect(near("the port of the staging database is 6000", 5)).toEqual([
      "the port of the staging database is 5433",
      "the port of the staging database is 5432 since may",
    ]);
    expect(near("the port of the staging database is 6000", 1).length).toBe(1);
    expect(near("something else altogether", 5)).toEqual([]);
    expect(near("", 5)).toEqual([]);
    await store.close();
  });

  it("[S3] brought to an earlier id, it answers as it did then", async () => {
    const store = await openStore("memory:");
    const embedder = hashingEmbedder();
    const index = new SpaceIndex({ folder: undefined, space: SPACE, embedder });
    const then: { head: FactId; answer: unknown }[] = [];
    let space = emptySpace();
    const answer = (): Promise<unknown> =>
      index.find("port of the cache", { limit: 5, threshold: 0, now: NOW });
    for (const text of [
      "the cache is on port 1",
      "the port is blocked",
      "caches are cleared",
      "a port of call",
    ]) {
      space = write(space, text);
      await index.sync(store, await saved(store, space));
      then.push({ head: space.id, answer: await answer() });
    }
    const first = index.list()[0]?.id as FactId;
    space = space.append({ type: "memory-revoke", by: "user:ada", of: first, why: "wrong" });
    await index.sync(store, await saved(store, space));
    expect((await answer()) as unknown[]).toHaveLength(3);
    for (const { head, answer: before } of then.toReversed()) {
      await index.sync(store, head);
      expect(await answer()).toEqual(before);
      const fresh = new SpaceIndex({ folder: undefined, space: SPACE, embedder });
      await fresh.sync(store, head);
      expect(await fresh.find("port of the cache", { limit: 5, threshold: 0, now: NOW })).toEqual(before);
      fresh.close();
    }
  });

  it("[S1] rules and scope are those of the last word about the space that was not undone", async () => {
    let space = emptySpace();
    const stamp = { type: "memory-space", by: "user:ada", space: "notes" } as const;
    space = space.append({ ...stamp, scope: "project:x", rules: { hold: true } });
    const changed = space.id;
    const { index, store } = await indexed(space);
    expect([index.rules, index.scope]).toEqual([{ hold: true }, "project:x"]);
    space = space.append({
      type: "memory-rollback",
      by: "user:ada",
      to: changed,
      undoes: [changed],
      why: "too strict",
    });
    await index.sync(store, await saved(store, space));
    expect([index.rules, index.scope]).toEqual([undefined, "project:rath"]);
  });

  it("[S1] nothing is there before the first sync, whatever the file holds", async () => {
    const [place, store] = [folder(), await openStore("memory:")];
    const options = { folder: place, space: SPACE, embedder: hashingEmbedder() };
    const index = new SpaceIndex(options);
    const head = await saved(store, write(emptySpace(), "tea"));
    await index.sync(store, head);
    expect(index.list().length).toBe(1);
    index.close();
    expect(() => index.get(head)).toThrow("it was closed");
    const again = new SpaceIndex(options);
    expect(again.head).toBeUndefined();
    expect([again.list(), again.get(head), again.rules]).toEqual([[], undefined, undefined]);
    expect(await again.find("tea", { limit: 5, threshold: 0, now: NOW })).toEqual([]);
    again.close();
  });
});
