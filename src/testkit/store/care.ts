import { deepStrictEqual, equal, ok } from "node:assert";
import { digestOf, type Session } from "../../session/index.js";
import { skip } from "../runner.js";
import { promise, refused, type StoreCase, same, unkeyed, whileCollecting } from "./case.js";
import { chain, Dice, headsOf, randomGraph } from "./graph.js";

export const careCases: readonly StoreCase[] = [
  promise("[S60] gc removes what no name leads to; a dry run only says so", async ({ store }) => {
    const trunk = chain(unkeyed("kept ".repeat(2000)), 10);
    const kept = trunk.fork("kept").say("k");
    const loose = chain(trunk.fork("loose"), 5).say("gone ".repeat(2000));
    await store.save(kept, { name: "main" });
    await store.save(loose, { name: "loose" });
    const stray = await store.putBlob(Buffer.from("stray"));
    await store.forget("loose");
    const expected = { facts: 7, blobs: 2, keptFacts: 13, keptBlobs: 1, spared: 0 };
    deepStrictEqual(await store.gc({ dryRun: true, all: true }), expected);
    deepStrictEqual(await store.gc({ dryRun: true }), { ...expected, blobs: 1, spared: 1 });
    ok((await store.has(loose.id)) && (await store.blob(stray)) !== undefined, "a dry run removed something");
    deepStrictEqual(await store.gc({ all: true }), expected);
    equal(await store.has(loose.id), false);
    equal(await store.blob(stray), undefined);
    equal(await store.blob(digestOf("gone ".repeat(2000))), undefined);
    deepStrictEqual(await store.children(trunk.id), [(kept.parents[0] as Session).id]);
    same(await store.load("main"), kept);
    deepStrictEqual(await store.gc(), { ...expected, facts: 0, blobs: 0 });
    deepStrictEqual(await store.check(), { facts: 13, blobs: 1, erased: 0, findings: [] });
  }),

  promise("[S61] a collected session can be saved again, by anyone", async ({ store }) => {
    for (let seed = 60; seed < 64; seed++) {
      const dice = new Dice(seed);
      const made = randomGraph(dice, 60);
      for (const session of made) await store.save(session);
      const kept = dice.pick(made);
      await store.save(kept, { name: `kept ${seed}` });
      await store.gc();
      same(await store.load(`kept ${seed}`), kept);
      for (const head of headsOf(made)) await store.save(head.say("again"), { name: `again ${head.id}` });
      for (const head of headsOf(made))
        same((await store.load(`again ${head.id}`)).parents[0] as Session, head);
      deepStrictEqual((await store.check()).findings, []);
    }
  }),

  promise("[S62] gc while others write loses nothing that has a name", async ({ store }) => {
    const text = (index: number): string => `shared text ${index % 3} `.repeat(500);
    const trunk = chain(unkeyed("hi"), 5);
    const saved: Session[] = [];
    const write = async (writer: number): Promise<void> => {
      for (let step = 0; step < 12; step++) {
        const loose = trunk.fork(`w${writer}`).say(text(step)).say(`${writer} ${step}`);
        await store.save(loose);
        const session = loose.say(text(step + 1));
        await store.save(session, { name: `${writer} ${step}` });
        saved.push(session);
        await store.save(trunk.say(text(step + 2)));
      }
    };
    await whileCollecting(store, write);
    for (const session of saved) same(await store.load(session.id), session);
  }),

  promise("[S67] a session collected by one process is not found by another", async ({ store, second }) => {
    if (store.capabilities.writers === "one-process") skip("this store has one writer");
    const other = await second();
    const session = chain(unkeyed("hi"), 5);
    await store.save(session);
    same(await other.load(session.id), session);
    await store.gc();
    await store.save(chain(unkeyed("instead"), 9), { name: "main" });
    equal(await other.has(session.id), false);
    await refused("not-found", other.load(session.id));
    await refused("not-found", other.children(session.id));
    await other.save(session.say("again"), { name: "again" });
    same((await store.load("again")).parents[0] as Session, session);
    for (const one of [store, other]) deepStrictEqual((await one.check()).findings, []);
  }),

  promise("[S63] a check reads and counts everything; an intact store has no findings", async ({ store }) => {
    deepStrictEqual(await store.check(), { facts: 0, blobs: 0, erased: 0, findings: [] });
    await store.save(chain(unkeyed("long ".repeat(2000)), 2500), { name: "main" });
    const told: number[] = [];
    deepStrictEqual(await store.check({ progress: (facts) => told.push(facts) }), {
      facts: 2501,
      blobs: 1,
      erased: 0,
      findings: [],
    });
    equal(told.at(-1), 2501);
  }),
];
