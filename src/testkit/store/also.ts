import { deepStrictEqual, equal, ok } from "node:assert";
import { Session } from "../../session/index.js";
import type { Store } from "../../store/index.js";
import { within } from "../runner.js";
import { isVolatile, promise, refused, type StoreCase, same } from "./case.js";
import { chain, Dice, randomGraph } from "./graph.js";

const LONG = { milliseconds: 600_000 };

export const alsoCases: readonly StoreCase[] = [
  promise("[S101] a save sets and takes away other names in the same commit", async ({ store, reopen }) => {
    const trunk = Session.start("hi").say("a");
    const [left, right] = [trunk.fork("left").say("l".repeat(9000)), trunk.fork("right").say("r")];
    const onward = right.say("on");
    const apart = Session.start("apart", { inline: 0 }).say("secret");
    await store.save(trunk, { name: "main", also: { gone: apart.parents[0] as Session, stays: trunk } });
    const saved = await store.save(left, {
      name: "main",
      key: "1",
      also: { right, apart, "back/ü 😀": trunk, gone: null, "never there": null },
    });
    deepStrictEqual(saved, { id: left.id, written: 5, replayed: false });
    const expected = { main: left, right, apart, "back/ü 😀": trunk, stays: trunk };
    await standsAt(store, expected);
    await refused("not-found", store.load("gone"));
    // They are names like any other: they keep what they lead to, and can be moved on.
    deepStrictEqual((await store.gc()).facts, 0);
    await store.save(onward, { name: "right", expect: right.id });
    const again = isVolatile(store) ? store : await reopen();
    await standsAt(again, { ...expected, right: onward });
    equal((await again.save(left, { name: "main", key: "1" })).replayed, true);
    // A former name keeps nothing.
    await again.save(left, { name: "main", also: { apart: null, right: null } });
    equal((await again.gc()).facts, 5);
    deepStrictEqual((await again.check()).findings, []);
  }),

  promise("[S102] a save that is refused or replayed changes no name or fact", async ({ store, fresh }) => {
    const trunk = Session.start("hi");
    const [ours, theirs, news] = [trunk.say("ours"), trunk.say("theirs"), Session.start("news")];
    const onward = ours.say("on");
    await store.save(ours, { name: "main", key: "1", also: { other: trunk, third: trunk } });
    const lease = await store.lease("leased", LONG);
    const before = await store.names();
    const also = { other: news, third: null, fourth: news };
    await refused("name-conflict", store.save(theirs, { name: "main", also }));
    await refused("name-conflict", store.save(theirs, { name: "main", expect: null, also }));
    await refused("name-conflict", store.save(theirs, { name: "main", expect: trunk.id, also }));
    await refused("name-fenced", store.save(theirs, { name: "leased", force: true, also }));
    await refused("name-fenced", async () => {
      await lease.release();
      await store.save(theirs, { name: "leased", lease, also });
    });
    // Another session in `also` does not move the main name forward.
    await refused("name-conflict", store.save(theirs, { name: "main", also: { other: onward } }));
    const again = await store.save(theirs, { name: "main", key: "1", also });
    deepStrictEqual(again, { id: ours.id, written: 0, replayed: true });
    const elsewhere = await fresh();
    await elsewhere.save(chain(Session.start("long"), 600), { name: "long" });
    await elsewhere.load("long", { horizon: 10 });
    const part = await elsewhere.load("long", { horizon: 10 });
    await refused("beyond-horizon", store.save(onward, { name: "main", also: { other: part } }));
    deepStrictEqual(await store.names(), before);
    for (const { id } of [theirs, news, onward]) equal(await store.has(id), false);
    await refused("not-found", store.load("fourth"));
  }),

  promise("[S103] all names move in the last commit; a refused save writes nothing", async ({ store }) => {
    const trunk = Session.start("hi");
    const rival = trunk.say("rival");
    await store.save(trunk, { name: "main", also: { rival } });
    const [main, long] = [chain(trunk, 3000, "main"), chain(Session.start("long"), 9000, "long")];
    const watch = store.watch()[Symbol.asyncIterator]();
    const heard = watch.next().then(async ({ value }) => {
      // Anyone who hears of one finds all of them.
      equal(await store.resolve("main"), main.id);
      equal(await store.resolve("long"), long.id);
      return value?.name;
    });
    // A main line that does not move stops all of it, whatever the other sessions descend from.
    await refused("name-conflict", store.save(main, { name: "rival", also: { long, side: rival.say("x") } }));
    await refused("name-conflict", store.save(trunk, { name: "rival", also: { long } }));
    equal(await store.has(long.id), false);
    equal(await store.has(([...long.history()][1] as Session).id), false);
    const saved = await store.save(main, {
      name: "main",
      also: { long, rival: null, half: long.parents[0] as Session },
    });
    deepStrictEqual(saved, { id: main.id, written: 3000 + 9001, replayed: false });
    equal(await within("hearing of a move", heard), "main");
    await watch.return?.();
    await standsAt(store, { main, long, half: long.parents[0] as Session });
    // Also where only the other sessions are long, and what is saved has been here all the time.
    const [next, longer] = [main.say("next"), chain(long, 6000, "longer")];
    await store.save(next);
    deepStrictEqual(await store.save(next, { name: "main", also: { long: longer, half: null } }), {
      id: next.id,
      written: 6000,
      replayed: false,
    });
    await standsAt(store, { main: next, long: longer });
    // Sessions that are stored already are only named.
    const named = await store.save(next, {
      name: "main",
      also: { half: long, more: main.parents[0] as Session },
    });
    equal(named.written, 0);
    equal(await store.resolve("half"), long.id);
    deepStrictEqual((await store.check()).findings, []);
  }),

  promise("[S104] names move from any session; their leases and steps stay", async ({ store }) => {
    const main = Session.start("main");
    const next = main.say("on");
    const [one, other] = [Session.start("one"), Session.start("other")];
    await store.save(one, { name: "side", key: "1" });
    const lease = await store.lease("side", { ...LONG, owner: "ada" });
    const early = await store.lease("early", { ...LONG, owner: "ada" });
    await store.save(main, { name: "main", also: { side: other, early: null } });
    const [side] = await store.names({ under: "side" });
    deepStrictEqual([side?.name, side?.id, side?.epoch, side?.owner], ["side", other.id, lease.epoch, "ada"]);
    await refused("name-fenced", store.save(other.say("x"), { name: "side" }));
    equal((await store.save(other, { name: "side", key: "1", lease })).replayed, true);
    await store.save(other.say("mine"), { name: "side", lease });
    await lease.renew();
    // A name that stands nowhere cannot be taken away, and keeps its lease.
    await refused("name-fenced", store.save(main, { name: "early" }));
    await early.renew();
    await store.save(next, { name: "main", also: { side: null } });
    await refused("not-found", store.load("side"));
    await refused("name-fenced", lease.renew());
    await refused("name-fenced", store.save(one, { name: "side", lease }));
    await store.save(next, { name: "main", also: { side: one } });
    equal((await store.save(one.say("2"), { name: "side", key: "1" })).replayed, false);
    await refused("name-fenced", store.save(one.say("2").say("3"), { name: "side", lease }));
    ok((await store.lease("side", LONG)).epoch > lease.epoch, "the epoch went back");
  }),

  promise("[S105] what cannot be meant with `also` is refused, and nothing is written", async ({ store }) => {
    const [session, other] = [Session.start("hi"), Session.start("other")];
    const attempt = (options: object): Promise<Error> =>
      refused("store-failed", store.save(session, options));
    await attempt({ also: { other } });
    await attempt({ also: {} });
    await attempt({ name: "main", also: { main: other } });
    await attempt({ name: "main", also: { main: null } });
    for (const name of ["", "a\nb", "\0", "\ud800", "f".repeat(64), "x".repeat(1000)])
      await attempt({ name: "main", also: { [name]: other } });
    for (const also of [null, 5, "other", [other], new Map([["other", other]]), other])
      await attempt({ name: "main", also });
    for (const at of [undefined, 5, other.id, {}]) await attempt({ name: "main", also: { fine: other, at } });
    await store.save(session);
    await refused("store-failed", store.point("main", session.id, { also: { other } } as object));
    deepStrictEqual(await store.names(), []);
    equal(await store.has(other.id), false);
  }),

  promise("[S113] names are listed by their beginning", async ({ store, reopen }) => {
    const one = Session.start("hi");
    const two = one.say("a");
    const names = [
      "run",
      "run/",
      "run/1",
      "run/1/a",
      "run/2",
      "run/\u{10ffff}x",
      "run0",
      "ruo",
      "Run/1",
      "ü/1",
    ];
    await store.save(two, { name: "main", also: Object.fromEntries(names.map((name) => [name, one])) });
    const listed = async (from: Store, under: string): Promise<readonly string[]> =>
      (await from.names({ under })).map(({ name }) => name).sort();
    const check = async (from: Store, all: readonly string[]): Promise<void> => {
      for (const under of ["", "run", "run/", "run/1", "run/1/", "ü", "none", "main"])
        deepStrictEqual(
          await listed(from, under),
          [...all, "main"].filter((name) => name.startsWith(under)).sort(),
        );
      for (const name of all) equal(await from.head(name), one.id);
      equal(await from.head("main"), two.id);
      for (const name of ["none", "", two.id]) equal(await from.head(name), undefined);
    };
    await check(store, names);
    await store.save(two, { name: "main", also: { "run/1": null, ruo: null } });
    await store.forget("run0");
    const left = names.filter((name) => !["run/1", "ruo", "run0"].includes(name));
    await check(store, left);
    const again = isVolatile(store) ? store : await reopen();
    await check(again, left);
    await refused("store-failed", again.names({ under: 3 as never }));
    await refused("store-failed", again.head(3 as never));
  }),

  promise("[S109] random saves leave the names that one after the other would", async ({ store }) => {
    for (let seed = 300; seed < 306; seed++) {
      const dice = new Dice(seed);
      const made = randomGraph(dice, 50);
      const expected = new Map<string, Session>();
      const known = new Set<string>();
      const name = (): string => `${seed} ${dice.pick(["a", "b", "c", "d"])}`;
      for (let step = 0; step < 40; step++) {
        const main = name();
        const session = dice.pick(made);
        const also: { [name: string]: Session | null } = {};
        for (let count = dice.roll(4); count > 0; count--)
          also[name()] = dice.roll(3) === 0 ? null : dice.pick(made);
        delete also[main];
        const at = expected.get(main);
        const forward = at === undefined || session.descendsFrom(at);
        const save = store.save(session, { name: main, ...(Object.keys(also).length > 0 && { also }) });
        if (forward) {
          const before = known.size;
          for (const head of [session, ...Object.values(also)])
            for (const one of head?.history() ?? []) known.add(one.id);
          equal((await save).written, known.size - before);
          expected.set(main, session);
          for (const [other, to] of Object.entries(also)) {
            if (to === null) expected.delete(other);
            else expected.set(other, to);
          }
        } else await refused("name-conflict", save);
        deepStrictEqual(
          (await store.names())
            .filter((one) => one.name.startsWith(`${seed} `))
            .map((one) => `${one.name} ${one.id}`),
          [...expected].map(([one, to]) => `${one} ${to.id}`).sort(),
        );
      }
      for (const [one, to] of expected) same(await store.load(one), to);
    }
    deepStrictEqual((await store.check()).findings, []);
  }),
];

/** Checks where all names stand, and what loads there. */
async function standsAt(store: Store, expected: { readonly [name: string]: Session }): Promise<void> {
  const names = (await store.names()).map(({ name }) => name);
  deepStrictEqual(names, Object.keys(expected).sort());
  for (const [name, session] of Object.entries(expected)) same(await store.load(name), session);
}
