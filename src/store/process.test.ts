import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { Session } from "../session/index.js";
import { openStore } from "./open.js";
import { folder } from "./testing/folder.js";
import { ensureBuilt, Worker } from "./testing/worker.js";

beforeAll(ensureBuilt, 120_000);

describe.each(["sqlite", "file"])("processes on one %s: store", (scheme) => {
  it("[S12] eight writers on one name: exactly one wins each step, the others lose nothing, also while a ninth collects", async () => {
    const url = `${scheme}:${join(folder(), "rath")}`;
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
    const url = `${scheme}:${join(folder(), "rath")}`;
    const workers = Array.from({ length: 6 }, () => new Worker("collect", url));
    for (const worker of workers) worker.go();
    for (const worker of workers) await worker.next();
  });

  it("[S14] whoever reads while others write and collect sees whole sessions and no damage", async () => {
    const url = `${scheme}:${join(folder(), "rath")}`;
    // A check of a folder that is being written anew may speak of files that were just replaced.
    const readers = [1, 2].map(() => new Worker("read", url, { check: scheme === "sqlite" }));
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

  it("[S38] under leases, a step that several processes attempt is recorded once", async () => {
    const url = `${scheme}:${join(folder(), "rath")}`;
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
    const url = `${scheme}:${join(folder(), "rath")}`;
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

  it("[S83] a watcher hears of a move by another process", async () => {
    const url = `${scheme}:${join(folder(), "rath")}`;
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
    const url = `${scheme}:${join(folder(), "rath")}`;
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
