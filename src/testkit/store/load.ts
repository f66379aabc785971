import { deepStrictEqual, equal, ok } from "node:assert";
import { Session } from "../../session/index.js";
import type { Store } from "../../store/index.js";
import { collected } from "../runner.js";
import { AT, answersOf, idsOf, linesOf, promise, refused, type StoreCase, same } from "./case.js";
import { chain, Dice, headsOf, randomGraph } from "./graph.js";

export const loadCases: readonly StoreCase[] = [
  promise("[S40] a session is found by its name, its id and the beginning of its id", async ({ store }) => {
    const session = chain(Session.start("hi"), 300);
    await store.save(session, { name: "main" });
    for (const key of ["main", ...[64, 40, 13, 12].map((digits) => session.id.slice(0, digits))]) {
      equal(await store.resolve(key), session.id);
      equal((await store.load(key)).id, session.id);
    }
    // A name wins over the beginning of an id.
    const taken = session.id.slice(0, 16);
    await store.save(Session.start("other"), { name: taken });
    ok((await store.resolve(taken)) !== session.id);
  }),

  promise("[S41] what is not there is refused with a typed error that says what is", async ({ store }) => {
    for (const nothing of ["main", "0".repeat(64), "abcdef", ""])
      await refused("not-found", store.load(nothing));
    const session = Session.start("hi");
    await store.save(session, { name: "greeting", also: { "run/1": session, "answer/1/2": session } });
    const error = await refused("not-found", store.resolve("greetings"));
    ok(error.message.includes("greeting"), "the error does not list the names there are");
    ok(!/(run|answer)\/1/.test(error.message), "the error lists names that nobody gave");
    await refused("not-found", store.children("0".repeat(64)));
    await refused("not-found", () => collected(store.history("nobody")));
    await refused("not-found", () => collected(store.export("nobody")));
    await refused("not-found", store.erase("nobody", { digests: [session.id], why: "asked" }));
    equal(await store.has("0".repeat(64)), false);
  }),

  promise("[S42] history tells every fact once, in the order of `Session.history()`", async ({ store }) => {
    for (let seed = 100; seed < 108; seed++) {
      const made = randomGraph(new Dice(seed), 70);
      for (const head of new Dice(seed).shuffled(headsOf(made))) await store.save(head);
      for (const session of made) {
        const told = await collected(store.history(session.id));
        const lines = told.map(({ line }) => line);
        deepStrictEqual(lines, linesOf(session));
        const last = told.at(-1);
        deepStrictEqual([last?.id, last?.parents, last?.fact], [session.id, session.parentIds, session.fact]);
      }
    }
  }),

  promise("[S107] the history of many sessions has each fact once, in the same order", async ({ store }) => {
    for (let seed = 400; seed < 406; seed++) {
      const dice = new Dice(seed);
      const made = randomGraph(dice, 70);
      for (const head of dice.shuffled(headsOf(made))) await store.save(head);
      for (let round = 0; round < 30; round++) {
        const some = (most: number): Session[] =>
          Array.from({ length: dice.roll(most + 1) }, () => dice.pick(made));
        const [heads, without] = [some(4), some(3)];
        const left = idsOf(without);
        const expected: Session[] = [];
        for (const one of heads.flatMap((head) => [...head.history()])) {
          if (left.has(one.id)) continue;
          left.add(one.id);
          expected.push(one);
        }
        const ids = heads.map(({ id }) => id);
        const options = { without: without.map(({ id }) => id) };
        deepStrictEqual(
          (await collected(store.lines(ids, options))).flat(),
          expected.map(({ id, line }) => ({ id, line })),
        );
        deepStrictEqual(
          await collected(store.history(ids, options)),
          expected.map(({ id, line, parentIds, fact }) => ({ id, parents: parentIds, line, fact })),
        );
      }
    }
    const session = chain(Session.start("long"), 2500);
    const middle = [...session.history()][1200] as Session;
    await store.save(session, { name: "long", also: { middle } });
    deepStrictEqual(
      (await collected(store.lines("long", { without: ["middle"] }))).flat().map(({ id }) => id),
      [...session.history()].slice(1201).map(({ id }) => id),
    );
    deepStrictEqual(await collected(store.lines([])), []);
    deepStrictEqual(await collected(store.lines("middle", { without: ["long"] })), []);
    await refused("not-found", () => collected(store.lines(["long", "nobody"])));
    await refused("not-found", () => collected(store.history("long", { without: ["nobody"] })));
    for (const wrong of [5, null, undefined, [5]] as never[]) {
      await refused("store-failed", () => collected(store.lines(wrong)));
      await refused("store-failed", () => collected(store.history(wrong)));
    }
    await refused("store-failed", () => collected(store.lines("long", null as never)));
    await refused("store-failed", () => collected(store.lines("long", { without: [null as never] })));
  }),

  promise("[S43] children are the sessions made directly from one, each once", async ({ store }) => {
    for (let seed = 200; seed < 208; seed++) {
      const made = randomGraph(new Dice(seed), 60);
      for (const session of new Dice(seed).shuffled(made)) await store.save(session);
      for (const session of made) {
        const children = new Set(
          made.filter(({ parentIds }) => parentIds.includes(session.id)).map(({ id }) => id),
        );
        const told = await store.children(session.id);
        deepStrictEqual(new Set(told), children);
        equal(told.length, children.size);
      }
    }
  }),

  promise("[S44] a long session opens with its newest part and all its answers", async ({ store }) => {
    const session = await long(store, 600);
    const loaded = await store.load("long", { horizon: 100 });
    ok(loadedPart(loaded) <= 100, `${loadedPart(loaded)} facts were loaded where 100 were asked for`);
    deepStrictEqual(answersOf(loaded), answersOf(session));
    deepStrictEqual(loaded.recent(20), session.recent(20));
    const told = await collected(store.history("long"));
    deepStrictEqual(
      told.map(({ line }) => line),
      linesOf(session),
    );
    same(await store.load("long", { horizon: Number.POSITIVE_INFINITY }), session);
    for (const horizon of [0, -1, Number.NaN]) await refused("store-failed", store.load("long", { horizon }));
  }),

  promise("[S45] questions beyond the horizon are typed errors, never wrong answers", async ({ store }) => {
    const session = await long(store, 600);
    const loaded = await store.load("long", { horizon: 100 });
    const count = { start: 0, step: (sum: number): number => sum + 1 };
    await refused("beyond-horizon", () => loaded.view(count));
    await refused("beyond-horizon", () => [...loaded.history()]);
    let first = loaded;
    while (!first.atHorizon) first = first.parents[0] as Session;
    await refused("beyond-horizon", () => first.parents);
    deepStrictEqual(first.parentIds, [...session.history()].find(({ id }) => id === first.id)?.parentIds);
  }),

  promise("[S46] appends, forks and merges within the horizon change nothing", async ({ store }) => {
    const whole = await long(store, 600);
    const loaded = await store.load("long", { horizon: 100 });
    const go = (session: Session): Session => {
      const trunk = session.say("on", { at: AT });
      const [left, right] = [
        chain(trunk.fork("left", { at: AT }), 5),
        chain(trunk.fork("right", { at: AT }), 5),
      ];
      return left.merge(right, { at: AT }).say("end", { at: AT });
    };
    const [expected, session] = [go(whole), go(loaded)];
    deepStrictEqual(answersOf(session), answersOf(expected));
    equal((await store.save(session, { name: "long" })).written, 15);
    same(await store.load("long"), expected);
    const again = await store.load("long", { horizon: 100 });
    deepStrictEqual(answersOf(again), answersOf(expected));
    deepStrictEqual(again.recent(3), expected.recent(3));
  }),

  promise("[S47] branches loaded with horizons merge, or say why not", async ({ store, fresh }) => {
    const trunk = await long(store, 600);
    const [left, right] = [
      chain(trunk.fork("left", { at: AT }), 10, "l"),
      chain(trunk.fork("right", { at: AT }), 20, "r"),
    ];
    await store.save(left, { name: "left" });
    await store.save(right, { name: "right" });
    const expected = left.merge(right, { at: AT });
    for (const horizon of [5, 15, 25, 100]) {
      for (let time = 0; time < 2; time++) {
        const [ours, theirs] = [
          await store.load("left", { horizon }),
          await store.load("right", { horizon }),
        ];
        let merged: Session;
        try {
          merged = ours.merge(theirs, { at: AT });
          equal(merged.id, expected.id);
          deepStrictEqual([merged.usage, merged.lineage], [expected.usage, expected.lineage]);
        } catch (error) {
          equal((error as { code?: string }).code, "beyond-horizon", String(error));
          continue;
        }
        await store.save(merged);
        same(await store.load(merged.id), expected);
      }
    }
    const apart = await store.load("left", { horizon: 5 });
    if (loadedPart(apart) < 600) await refused("beyond-horizon", (await fresh()).save(apart));
    deepStrictEqual((await store.check()).findings, []);
  }),

  promise(
    "[S140] a session that fetches its past answers as one that is loaded whole, and can be saved anywhere",
    async ({ store, fresh }) => {
      const count = { start: 0, step: (sum: number): number => sum + 1 };
      for (let seed = 300; seed < 303; seed++) {
        const heads = headsOf(randomGraph(new Dice(seed), 60));
        for (const head of heads) await store.save(chain(head, 12), { name: head.id.slice(0, 8) });
        for (const { id } of heads) {
          const whole = await store.load(id.slice(0, 8));
          // The first loading prepares the place that the others open at.
          for (const horizon of [10, 10, 3]) {
            const loaded = await store.load(whole.id, { horizon, fetch: true });
            equal(loaded.view(count), whole.view(count));
            same(loaded, whole);
            deepStrictEqual([loaded.files, loaded.conflicts], [whole.files, whole.conflicts]);
          }
        }
      }
      const trunk = await long(store, 600);
      const open = (): Promise<Session> => store.load("long", { horizon: 100, fetch: true });
      const [ours, theirs] = [(await open()).fork("a", { at: AT }), (await open()).fork("b", { at: AT })];
      const merged = ours.merge(theirs, { at: AT });
      equal(merged.id, trunk.fork("a", { at: AT }).merge(trunk.fork("b", { at: AT }), { at: AT }).id);
      deepStrictEqual(merged.lineage.length, trunk.lineage.length + 3);
      equal((await store.save(merged, { name: "merged" })).written, 3);
      const copy = await fresh();
      equal((await copy.save(merged, { name: "merged" })).written, merged.depth + 2);
      same(await copy.load("merged"), await store.load("merged"));
      await refused("store-failed", store.load("long", { fetch: "yes" as never }));
      const left = await open();
      await store.close();
      deepStrictEqual(left.usage, trunk.usage);
      try {
        equal(left.view(count), 603);
      } catch (error) {
        equal((error as { code?: string }).code, "store-closed", String(error));
      }
    },
  ),

  promise("[S48] a long session is prepared for its horizon when it is saved", async ({ store, fresh }) => {
    const session = chain(Session.start("a long way"), 3000);
    await store.save(session, { name: "long" });
    ok(loadedPart(await store.load("long", { horizon: 100 })) <= 100, "a saved session was loaded whole");
    let grown = session;
    for (let step = 0; step < 3000; step++) {
      grown = grown.say(`step ${step}`, { at: AT });
      if (step % 50 === 49) await store.save(grown, { name: "long" });
    }
    const loaded = await store.load("long", { horizon: 2200 });
    ok(loadedPart(loaded) <= 2200, "a session that grew was loaded whole");
    deepStrictEqual([loaded.usage, loaded.recent(5)], [grown.usage, grown.recent(5)]);
    const copy = await fresh();
    await copy.sync(store);
    const synchronised = await copy.load("long", { horizon: 100 });
    ok(loadedPart(synchronised) <= 100, "a synchronised session was loaded whole");
  }),
];

/** A long session, and a store that has had the time to prepare for opening it quickly. */
async function long(store: Store, length: number): Promise<Session> {
  const session = chain(Session.start("a long way").to("local").fork("way"), length);
  await store.save(session, { name: "long" });
  await store.load("long", { horizon: 100 });
  return session;
}

/** How many facts are held in memory. */
function loadedPart(head: Session): number {
  const seen = new Set<Session>([head]);
  for (const session of seen) if (!session.atHorizon) for (const parent of session.parents) seen.add(parent);
  return seen.size;
}
