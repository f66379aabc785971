import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { Session } from "../../session/index.js";
import { openStore } from "../open.js";
import type { SaveOptions, Store } from "../store.js";
import { needsPostgres, PostgresServer, postgresPrograms } from "../testing/postgres.js";

/** Given by `npm run crash -- postgres`. */
const ROUNDS = process.env.OPENRATH_CRASH_ROUNDS;
const isCampaign = ROUNDS !== undefined;

describe("a server that is killed", () => {
  needsPostgres();
  let mine: PostgresServer;
  beforeAll(async () => {
    if (postgresPrograms() !== undefined) mine = await PostgresServer.start({ supervised: true });
  });
  afterAll(() => mine?.stop());

  it("[P7] killed under load again and again, the server loses nothing that was acknowledged, and writers go on", async () => {
    const store = await openStore(mine.url());
    onTestFinished(() => store.close());
    const rounds = Number(ROUNDS ?? 1);
    const acknowledged: string[][] = [[], [], [], []];
    let stopped = false;
    onTestFinished(() => {
      stopped = true;
    });
    const writers = acknowledged.map(async (ids, writer) => {
      let session = Session.start(`writer ${writer}`);
      for (let step = 0; !stopped; step++) {
        session = session.say(`step ${step}`);
        const place = {
          name: `w${writer}`,
          key: `${step}`,
          ...(step > 0 && { expect: session.parentIds[0] as string }),
        };
        ids.push(await saved(store, session, place));
      }
    });
    // Never ends unless a writer fails, which then ends the test.
    const failed = Promise.all(writers).then(() => {});
    for (let round = 0; round < rounds; round++) {
      const before = acknowledged.flat().length;
      while (acknowledged.flat().length < before + 20)
        await Promise.race([new Promise((done) => setTimeout(done, 5)), failed]);
      mine.kill();
    }
    stopped = true;
    await Promise.all(writers);
    for (const [writer, ids] of acknowledged.entries()) {
      const loaded = await store.load(`w${writer}`);
      expect(loaded.id).toBe(ids.at(-1));
      expect([...loaded.history()].length).toBe(ids.length + 1);
    }
    expect((await store.check()).findings).toEqual([]);
  });

  it("[P13] while its server is away, a store waits without keeping its process from other work", async () => {
    const store = await openStore(`${mine.url()}?schema=away`);
    onTestFinished(() => store.close());
    await store.save(Session.start("hi", { inline: 0 }).say("on"), { name: "main" });
    const loaded = await store.load("main");
    const watch = store.watch()[Symbol.asyncIterator]();
    let turns = 0;
    const turning = setInterval(() => turns++, 5);
    onTestFinished(() => clearInterval(turning));
    mine.keepAway();
    onTestFinished(() => mine.letBack());
    const moved = watch.next();
    // The connection says by itself that it is gone.
    await new Promise((done) => setTimeout(done, 50));
    let isLoaded = false;
    const loading = store.load("main").finally(() => {
      isLoaded = true;
    });
    const before = turns;
    while (turns < before + 10) await new Promise((done) => setTimeout(done, 5));
    expect(isLoaded).toBe(false);
    mine.letBack();
    expect((await loading).id).toBe(loaded.id);
    await store.save(loaded.say("and on"), { name: "main" });
    expect((await moved).value).toMatchObject({ name: "main" });
    // It stays away: what must be read at once fails soon, and from then on without a wait.
    const unread = await store.load("main");
    await mine.stop();
    for (const _ of [1, 2]) expect(() => unread.transcript).toThrow(/Cannot reach the database/);
    if (!isCampaign) return;
    await expect(store.save(Session.start("late"), { name: "late" })).rejects.toMatchObject({
      code: "store-unreachable",
      data: { retry: true },
    });
  });

  it("[P11] a primary that is killed under load loses nothing to its synchronous standby, which takes over", async (context) => {
    if (!isCampaign) return context.skip("npm run crash -- postgres");
    const primary = await PostgresServer.start({ settings: ["synchronous_standby_names=standby"] });
    onTestFinished(() => primary.stop());
    const standby = await PostgresServer.start({ from: primary });
    onTestFinished(() => standby.stop());
    const store = await openStore(primary.url());
    expect(store.capabilities.durability).toBe("machine-loss");
    const ids: string[] = [];
    const writing = (async () => {
      let session = Session.start("hi");
      for (;;) {
        session = session.say(`step ${ids.length}`);
        await store.save(session, { name: "main" });
        ids.push(session.id);
      }
    })().catch((error) => error.code);
    while (ids.length < 200) await new Promise((done) => setTimeout(done, 5));
    primary.kill();
    standby.promote();
    expect(await writing).toBe("store-unreachable");
    await store.close();
    const next = await openStore(standby.url());
    onTestFinished(() => next.close());
    const kept = new Set<string>();
    for await (const { id } of next.history("main")) kept.add(id);
    expect(ids.filter((id) => !kept.has(id))).toEqual([]);
    await next.save((await next.load("main")).say("on"), { name: "main" });
    expect((await next.check()).findings).toEqual([]);
  });
});

/** Saves, again with its key where a busy machine kept the server away for longer than a save waits. */
async function saved(store: Store, session: Session, place: SaveOptions): Promise<string> {
  for (let isFirst = true; ; isFirst = false) {
    try {
      const { replayed } = await store.save(session, place);
      if (isFirst) expect(replayed).toBe(false);
      return session.id;
    } catch (error) {
      if ((error as { code?: unknown }).code !== "store-unreachable") throw error;
    }
  }
}
