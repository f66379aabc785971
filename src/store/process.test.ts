import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { Session } from "../session/index.js";
import type { Lease } from "./name/lease.js";
import { openStore } from "./open.js";
import { folder } from "./testing/folder.js";
import { ensureBuilt, Worker } from "./testing/worker.js";

beforeAll(ensureBuilt);

describe("processes on one sqlite: store", () => {
  it("[S12] eight writers on one name: exactly one wins each step, the others lose nothing, also while a ninth collects", async () => {
    const url = `sqlite:${join(folder(), "rath")}`;
    const store = await openStore(url);
    await store.save(Session.start("hi"), { name: "main" });
    const collector = new Worker("collect", url);
    const workers = Array.from(
      { length: 8 },
      (_, index) => new Worker("race", url, { me: `w${index}`, wins: 5 }),
    );
    const told = await Promise.all(
      workers.map((worker) => worker.next<{ won: string[]; conflicts: number }>()),
    );
    collector.go();
    expect((await collector.next<{ rounds: number }>()).rounds).toBeGreaterThan(0);
    const ids: string[] = [];
    const texts: unknown[] = [];
    for await (const { id, fact } of store.history("main")) {
      ids.push(id);
      texts.push("content" in fact ? fact.content : undefined);
    }
    expect(ids.length).toBe(1 + 8 * 5 * 2);
    expect(new Set(ids).size).toBe(ids.length);
    for (const { won } of told) for (const id of won) expect(ids).toContain(id);
    for (let worker = 0; worker < 8; worker++)
      for (let win = 0; win < 5; win++)
        expect(texts.filter((text) => text === `w${worker} ${win}`).length).toBe(1);
    expect(await store.check()).toMatchObject({ findings: [] });
    await store.close();
  });

  it("[S13] processes that make the same new store at once all get it", async () => {
    const url = `sqlite:${join(folder(), "rath")}`;
    const workers = Array.from({ length: 6 }, () => new Worker("collect", url));
    for (const worker of workers) worker.go();
    for (const worker of workers) await worker.next();
  });

  it("[S14] whoever reads while others write and collect sees whole sessions and no damage", async () => {
    const url = `sqlite:${join(folder(), "rath")}`;
    const readers = [1, 2].map(() => new Worker("read", url, { check: true }));
    const writers = ["a", "b", "c"].map((me) => new Worker("churn", url, { me, rounds: 20 }));
    const written = await Promise.all(writers.map((writer) => writer.next<{ id: string }>()));
    for (const reader of readers) reader.go();
    for (const reader of readers) {
      const { loaded, wrong } = await reader.next<{ loaded: number; wrong: string[] }>();
      expect(wrong).toEqual([]);
      expect(loaded).toBeGreaterThan(0);
    }
    const store = await openStore(url);
    for (const [index, name] of ["a", "b", "c"].entries())
      expect(await store.resolve(name)).toBe(written[index]?.id);
    expect((await store.check()).findings).toEqual([]);
    await store.close();
  });

  it("[S116] what a process has put for a fact that it saves later is left by another one's gc", async () => {
    const url = `sqlite:${join(folder(), "rath")}`;
    const store = await openStore(url);
    const writer = new Worker("files", url, { me: "a", rounds: 1, wait: true });
    const { digests } = await writer.next<{ digests: string[] }>();
    await store.save(Session.start("loose"));
    // The one blob is the words of the loose session itself.
    expect(await store.gc()).toMatchObject({ facts: 1, blobs: 1, spared: digests.length });
    writer.go();
    const { id } = await writer.next<{ id: string }>();
    await store.gc({ all: true });
    expect(await store.resolve("a")).toBe(id);
    for (const digest of digests) expect(await store.blob(digest)).toBeDefined();
    expect((await store.check()).findings).toEqual([]);
    await store.close();
  });

  it("[S124] processes that put files and name them lose none while another collects", async () => {
    const url = `sqlite:${join(folder(), "rath")}`;
    const collector = new Worker("collect", url);
    const writers = ["a", "b", "c"].map((me) => new Worker("files", url, { me, rounds: 10 }));
    for (const writer of writers) await writer.next();
    collector.go();
    expect((await collector.next<{ rounds: number }>()).rounds).toBeGreaterThan(0);
    const store = await openStore(url);
    expect(await store.check()).toMatchObject({ facts: 33, findings: [] });
    await store.close();
  });

  it("[S38] under leases, a step that several processes attempt is recorded once", async () => {
    const url = `sqlite:${join(folder(), "rath")}`;
    const store = await openStore(url);
    await store.save(Session.start("hi"), { name: "main" });
    const workers = ["a", "b", "c"].map((me) => new Worker("relay", url, { me, steps: 8 }));
    const told = await Promise.all(workers.map((worker) => worker.next<{ recorded: number[] }>()));
    expect(told.flatMap(({ recorded }) => recorded).toSorted((one, other) => one - other)).toEqual([
      0, 1, 2, 3, 4, 5, 6, 7,
    ]);
    expect([...(await store.load("main")).history()].length).toBe(9);
    await store.close();
  });

  it("[S39] a holder that was stopped and wakes after a takeover is refused, even for a step that is recorded", async () => {
    const url = `sqlite:${join(folder(), "rath")}`;
    const store = await openStore(url);
    await store.save(Session.start("hi"), { name: "main" });
    const sleeper = new Worker("hold", url, { milliseconds: 50 });
    const { epoch, id } = await sleeper.next<{ epoch: number; id: string }>();
    sleeper.process.kill("SIGSTOP");
    await new Promise((done) => setTimeout(done, 100));
    const lease = await store.lease("main", { owner: "next", milliseconds: 600_000 });
    expect(lease.epoch).toBeGreaterThan(epoch);
    const session = await store.load("main");
    expect(session.id).toBe(id);
    expect((await store.save(session, { name: "main", lease, key: "one" })).replayed).toBe(true);
    await store.save(session.say("two"), { name: "main", lease, key: "two" });
    sleeper.go();
    sleeper.process.kill("SIGCONT");
    expect(await sleeper.next()).toEqual({ again: "name-fenced", next: "name-fenced", renew: "name-fenced" });
    expect([...(await store.load("main")).history()].length).toBe(3);
    await store.close();
  });

  it("[S106] a process that is killed leaves names that move together together", async () => {
    const url = `sqlite:${join(folder(), "rath")}`;
    await save(url, Session.start("hi"));
    for (let round = 0; round < 6; round++) {
      const worker = new Worker("together", url);
      await worker.next();
      await new Promise((done) => setTimeout(done, 7 * round));
      await killed(worker);
      const store = await openStore(url);
      const names = new Map((await store.names()).map(({ name, id }) => [name, id]));
      const [side, ...others] = [...names.keys()].filter((name) => name === "even" || name === "odd");
      expect(others).toEqual([]);
      expect(names.get("twin")).toBe(names.get("main"));
      const { parents } = await store.load(side as string);
      expect(parents[0]?.parentIds).toEqual([names.get("main")]);
      expect((await store.check()).findings).toEqual([]);
      await store.close();
    }
  });

  it("[S110] the lease of a process of this machine that was killed is taken over at once, by one", async (context) => {
    if (process.platform !== "linux")
      return context.skip("only Linux tells which processes are gone for certain");
    const url = `sqlite:${join(folder(), "rath")}`;
    await save(url, Session.start("hi"));
    const holder = new Worker("keep", url);
    const { epoch, owner } = await holder.next<{ epoch: number; owner: string }>();
    const [store, other] = [await openStore(url), await openStore(url)];
    const attempts = (): Promise<PromiseSettledResult<Lease>[]> =>
      Promise.allSettled([store, other, store, other].map((way) => way.lease("main")));
    const isRefused = { status: "rejected", reason: { code: "name-fenced" } };
    expect(await attempts()).toMatchObject([isRefused, isRefused, isRefused, isRefused]);
    await expect(store.lease("main")).rejects.toMatchObject({ data: { owner, current: epoch } });
    // Stopped is not dead.
    holder.process.kill("SIGSTOP");
    await expect(store.lease("main")).rejects.toMatchObject({ code: "name-fenced" });
    await killed(holder);
    const outcomes = await attempts();
    const [won, ...rest] = outcomes.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
    expect(rest).toEqual([]);
    expect(outcomes.filter(({ status }) => status === "rejected")).toMatchObject([
      isRefused,
      isRefused,
      isRefused,
    ]);
    expect(won?.epoch).toBeGreaterThan(epoch);
    await store.save((await store.load("main")).say("on"), { name: "main", lease: won as Lease });
    await store.close();
    await other.close();
  });

  it("[S111] an owner that someone chose is not judged, though its process was killed", async () => {
    const url = `sqlite:${join(folder(), "rath")}`;
    await save(url, Session.start("hi"));
    const holder = new Worker("keep", url, { lease: { owner: "the worker" } });
    const { epoch } = await holder.next<{ epoch: number }>();
    await killed(holder);
    const store = await openStore(url);
    await expect(store.lease("main")).rejects.toMatchObject({
      code: "name-fenced",
      data: { owner: "the worker", current: epoch, until: expect.any(Number) },
    });
    await store.lease("main", { owner: "the worker" });
    await store.close();
  });

  it("[S83] a watcher hears of a move by another process", async () => {
    const url = `sqlite:${join(folder(), "rath")}`;
    const store = await openStore(url);
    await store.save(Session.start("hi"), { name: "main" });
    const stop = new AbortController();
    const moves = store.watch({ name: "main", signal: stop.signal })[Symbol.asyncIterator]();
    const heard = moves.next();
    const { id } = await new Worker("move", url).next<{ id: string }>();
    expect((await heard).value).toMatchObject({ name: "main", id });
    stop.abort();
    expect((await moves.next()).done).toBe(true);
    await store.close();
  });

  it("[S86] a program that waits for a move stays alive, and ends when its watch does", async () => {
    const url = `sqlite:${join(folder(), "rath")}`;
    const store = await openStore(url);
    await store.save(Session.start("hi"), { name: "main" });
    const watcher = new Worker("watch", url);
    const ended = new Promise((done) => watcher.process.once("exit", done));
    await watcher.next();
    await new Promise((done) => setTimeout(done, 500));
    expect(watcher.process.exitCode).toBeNull();
    const session = (await store.load("main")).say("on");
    await store.save(session, { name: "main" });
    expect(await watcher.next()).toEqual({ id: session.id });
    expect(await ended).toBe(0);
    await store.close();
  });
});

async function save(url: string, session: Session): Promise<void> {
  const store = await openStore(url);
  await store.save(session, { name: "main" });
  await store.close();
}

async function killed(worker: Worker): Promise<void> {
  const ended = new Promise((done) => worker.process.once("exit", done));
  worker.process.kill("SIGKILL");
  await ended;
}
