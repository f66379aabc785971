import { deepStrictEqual, equal, ok } from "node:assert";
import { Session } from "../../session/index.js";
import { skip, sleep } from "../runner.js";
import { promise, refused, type StoreCase, same } from "./case.js";

export const nameCases: readonly StoreCase[] = [
  promise("[S20] a name moves only to a session that descends from where it stands", async ({ store }) => {
    const trunk = Session.start("hi").say("a");
    const [ours, theirs] = [trunk.fork("ours").say("1"), trunk.fork("theirs").say("2")];
    await store.save(trunk, { name: "main" });
    await store.save(ours, { name: "main" });
    const error = await refused("name-conflict", store.save(theirs, { name: "main" }));
    deepStrictEqual(error.data, { name: "main", wanted: theirs.id, actual: ours.id });
    await refused("name-conflict", store.save(trunk, { name: "main" }));
    await refused("name-conflict", store.save(Session.start("other"), { name: "main" }));
    equal(await store.resolve("main"), ours.id);
    const merged = theirs.merge(await store.load("main"));
    await store.save(merged, { name: "main" });
    same(await store.load("main"), merged);
  }),

  promise("[S21] `expect` names the place of a name; null is a new name", async ({ store }) => {
    const first = Session.start("hi");
    const [second, third] = [first.say("a"), first.say("a").say("b")];
    await refused("name-conflict", store.save(first, { name: "main", expect: first.id }));
    await store.save(first, { name: "main", expect: null });
    await refused("name-conflict", store.save(second, { name: "main", expect: null }));
    await store.save(second, { name: "main", expect: first.id });
    await refused("name-conflict", store.save(third, { name: "main", expect: first.id }));
    equal(await store.resolve("main"), second.id);
    const aside = first.say("aside");
    await store.save(aside, { name: "main", expect: second.id });
    equal(await store.resolve("main"), aside.id);
  }),

  promise("[S22] `force` moves a name whatever it stood at", async ({ store }) => {
    const [one, other] = [Session.start("one"), Session.start("other")];
    await store.save(one, { name: "main" });
    await store.save(other, { name: "main", force: true });
    equal(await store.resolve("main"), other.id);
    same(await store.load(one.id), one);
  }),

  promise("[S23] `point` moves a name to what is here, by the same rules", async ({ store }) => {
    const session = Session.start("hi").say("a");
    const root = session.parents[0] as Session;
    await store.save(session);
    await store.point("main", root.id);
    equal((await store.point("main", session.id, { expect: root.id })).id, session.id);
    await refused("name-conflict", store.point("main", root.id));
    await store.point("main", root.id, { force: true });
    equal(await store.resolve("main"), root.id);
    await refused("not-found", store.point("main", "0".repeat(64)));
  }),

  promise("[S24] names are listed with their place; forgetting keeps the facts", async ({ store }) => {
    const session = Session.start("hi");
    deepStrictEqual(await store.names(), []);
    for (const name of ["b", "a/ü 😀", "main"]) await store.save(session, { name });
    deepStrictEqual(
      new Set((await store.names()).map(({ name, id }) => `${name} ${id}`)),
      new Set(["b", "a/ü 😀", "main"].map((name) => `${name} ${session.id}`)),
    );
    await store.forget("b");
    deepStrictEqual((await store.names()).map(({ name }) => name).sort(), ["a/ü 😀", "main"]);
    await refused("not-found", store.load("b"));
    await refused("not-found", store.forget("b"));
    ok(await store.has(session.id));
    await store.save(Session.start("anew"), { name: "b", expect: null });
  }),

  promise(
    "[S25] what cannot be a name is refused before anything is written, and leads to nothing",
    async ({ store }) => {
      const session = Session.start("hi");
      for (const name of ["", "a\nb", "\0", "\ud800", "f".repeat(64), "x".repeat(1000)])
        await refused("store-failed", store.save(session, { name }));
      equal(await store.has(session.id), false);
      await store.save(session, { name: "\ufffd" });
      for (const name of ["a\nb", "a\0b", "\ud800"]) {
        equal(await store.head(name), undefined);
        await refused("not-found", store.load(name));
        deepStrictEqual(await store.names({ under: name }), []);
      }
      equal((await store.names({ after: "a\0b" })).length, 1);
    },
  ),

  promise("[S26] of writers that move a name at once, exactly one wins", async ({ store }) => {
    let head = Session.start("hi");
    await store.save(head, { name: "main" });
    for (let round = 0; round < 5; round++) {
      const rivals = Array.from({ length: 8 }, (_, index) => head.say(`round ${round} rival ${index}`));
      const outcomes = await Promise.allSettled(rivals.map((rival) => store.save(rival, { name: "main" })));
      const won = outcomes.flatMap((outcome, index) =>
        outcome.status === "fulfilled" ? [rivals[index] as Session] : [],
      );
      equal(won.length, 1, `${won.length} writers won one step`);
      for (const outcome of outcomes)
        if (outcome.status === "rejected") equal((outcome.reason as { code: string }).code, "name-conflict");
      head = won[0] as Session;
      equal(await store.resolve("main"), head.id);
      for (const rival of rivals)
        if (rival !== head) await store.save(rival, { name: `kept ${rival.id.slice(0, 8)}` });
    }
    same(await store.load("main"), head);
    deepStrictEqual((await store.check()).findings, []);
  }),
];

const LONG = { milliseconds: 600_000 };

export const leaseCases: readonly StoreCase[] = [
  promise("[S30] the holder of the lease of a name is its only writer", async ({ store }) => {
    const session = Session.start("hi");
    const lease = await store.lease("main", { ...LONG, owner: "ada" });
    const error = await refused("name-fenced", store.save(session, { name: "main" }));
    equal(error.data.owner, "ada");
    await refused("name-fenced", store.save(session, { name: "main", force: true }));
    await refused("name-fenced", store.lease("main", { ...LONG, owner: "bob" }));
    await store.save(session, { name: "main", lease });
    await refused("name-fenced", store.point("main", session.id));
    await store.save(session, { name: "other" });
    await refused("store-failed", store.save(session.say("x"), { name: "other", lease }));
    const [name] = (await store.names()).filter(({ name }) => name === "main");
    equal(name?.owner, "ada");
    equal(name?.epoch, lease.epoch);
  }),

  promise("[S31] every lease raises the epoch, and a replaced holder is refused", async ({ store }) => {
    const session = Session.start("hi");
    const first = await store.lease("main", { milliseconds: 1, owner: "ada" });
    await store.save(session, { name: "main", lease: first });
    await sleep(20);
    const second = await store.lease("main", { ...LONG, owner: "bob" });
    ok(second.epoch > first.epoch, "the epoch did not rise");
    const error = await refused(
      "name-fenced",
      store.save(session.say("late"), { name: "main", lease: first }),
    );
    equal(error.data.held, first.epoch);
    equal(error.data.current, second.epoch);
    await refused("name-fenced", first.renew());
    await first.release();
    await store.save(session.say("on"), { name: "main", lease: second });
    const third = await store.lease("main", { ...LONG, owner: "bob" });
    ok(third.epoch > second.epoch, "the epoch did not rise when its owner took it again");
    await refused("name-fenced", store.save(session.say("on").say("x"), { name: "main", lease: second }));
  }),

  promise("[S32] a lease ends by itself, is renewed, and is given back", async ({ store }) => {
    const session = Session.start("hi");
    const short = await store.lease("main", { milliseconds: 1, owner: "ada" });
    await sleep(20);
    await store.save(session, { name: "main" });
    await short.renew();
    const lease = await store.lease("other", LONG);
    await lease.renew();
    await refused("name-fenced", store.save(session, { name: "other" }));
    await lease.release();
    await store.save(session, { name: "other" });
    await refused("name-fenced", lease.renew());
    const next = await store.lease("other", { ...LONG, owner: "bob" });
    await lease.release();
    await refused("name-fenced", store.save(session.say("x"), { name: "other" }));
    await store.save(session.say("x"), { name: "other", lease: next });
  }),

  promise("[S33] forgetting a name does not bring back the epochs of its old leases", async ({ store }) => {
    const session = Session.start("hi");
    const old = await store.lease("main", { milliseconds: 1, owner: "ada" });
    await store.save(session, { name: "main", lease: old });
    await store.forget("main", { lease: old });
    await refused("name-fenced", store.save(session.say("late"), { name: "main", lease: old }));
    const lease = await store.lease("main", { ...LONG, owner: "bob" });
    ok(lease.epoch > old.epoch, "the epoch went back");
    await refused("name-fenced", store.save(session.say("late"), { name: "main", lease: old }));
  }),

  promise("[S34] a step is recorded once: a repetition answers with the record", async ({ store }) => {
    const session = Session.start("hi");
    const done = session.say("done");
    await store.save(session, { name: "main", key: "start" });
    equal((await store.save(done, { name: "main", key: "one" })).replayed, false);
    const other = session.say("done differently");
    const again = await store.save(other, { name: "main", key: "one" });
    equal(again.replayed, true);
    equal(again.id, done.id);
    equal(again.written, 0);
    equal(await store.has(other.id), false);
    // Keys belong to their name, and are texts, whatever they look like.
    equal((await store.save(other, { name: "elsewhere", key: "one" })).replayed, false);
    for (const key of ["", "a\0b", "a\0c", "__proto__", "\ud800", "\udbff", "x".repeat(5000)]) {
      equal(
        (await store.save(done, { name: "main", key })).replayed,
        false,
        `the key ${JSON.stringify(key.slice(0, 9))} was taken for another`,
      );
      equal((await store.save(done, { name: "main", key })).replayed, true);
    }
  }),

  promise("[S35] the step comes before the head: a repeated step is answered", async ({ store }) => {
    const session = Session.start("hi");
    const one = session.say("1");
    await store.save(one, { name: "main", key: "1" });
    const two = one.say("2");
    await store.save(two, { name: "main", key: "2" });
    const again = await store.save(session.say("1 again"), { name: "main", key: "1", expect: session.id });
    equal(again.replayed, true);
    equal(again.id, one.id);
    await refused("name-conflict", store.save(session.say("3"), { name: "main", key: "3" }));
    equal((await store.save(two.say("3"), { name: "main", key: "3" })).replayed, false);
  }),

  promise("[S36] the fence comes before the step: a stale holder is refused", async ({ store }) => {
    const session = Session.start("hi").say("1");
    const stale = await store.lease("main", { milliseconds: 1, owner: "ada" });
    await store.save(session, { name: "main", lease: stale, key: "1" });
    await sleep(20);
    const lease = await store.lease("main", { ...LONG, owner: "bob" });
    equal((await store.save(session, { name: "main", lease, key: "1" })).replayed, true);
    await refused("name-fenced", store.save(session, { name: "main", lease: stale, key: "1" }));
    await refused("name-fenced", store.save(session, { name: "main", key: "1" }));
  }),

  promise("[S37] a refused save leaves the name, its step and its lease as they were", async ({ store }) => {
    const session = Session.start("hi");
    await store.save(session.say("a"), { name: "main" });
    const rival = session.say("b");
    await refused("name-conflict", store.save(rival, { name: "main", key: "k" }));
    equal(
      (await store.save(rival.merge(await store.load("main")), { name: "main", key: "k" })).replayed,
      false,
    );
    const lease = await store.lease("main", LONG);
    await refused("name-fenced", store.save((await store.load("main")).say("x"), { name: "main", key: "l" }));
    const next = (await store.load("main")).say("y");
    equal((await store.save(next, { name: "main", key: "l", lease })).replayed, false);
    same(await store.load("main"), next);
  }),

  promise("[S27] a name that is leased is only its holder's to forget", async ({ store }) => {
    const session = Session.start("hi");
    await store.save(session, { name: "main", key: "k" });
    const stale = await store.lease("main", { ...LONG, owner: "ada" });
    const lease = await store.lease("main", { ...LONG, owner: "ada" });
    equal((await refused("name-fenced", store.forget("main"))).data.owner, "ada");
    await refused("name-fenced", store.forget("main", { lease: stale }));
    await refused("store-failed", store.forget("main", { lease: await store.lease("other", LONG) }));
    equal((await store.save(session, { name: "main", key: "k", lease })).replayed, true);
    await store.forget("main", { lease });
    await refused("not-found", store.load("main"));
    await store.save(session, { name: "main" });
    await store.lease("main", { ...LONG, owner: "bob" });
    await store.forget("main", { force: true });
    await refused("not-found", store.forget("main"));
    // A name that is leased and stands nowhere is not a name yet, and its lease stays.
    const early = await store.lease("early", LONG);
    await refused("not-found", store.forget("early"));
    await refused("not-found", store.forget("early", { lease: early }));
    await refused("name-fenced", store.save(session, { name: "early" }));
    await store.save(session, { name: "early", lease: early });
  }),

  promise("[S28] a lease that was given back passes no fence", async ({ store }) => {
    const session = Session.start("hi");
    const lease = await store.lease("main", LONG);
    await store.save(session, { name: "main", lease });
    await lease.release();
    await refused("name-fenced", store.save(session.say("late"), { name: "main", lease }));
    await refused("name-fenced", lease.renew());
    await lease.release();
    equal(await store.resolve("main"), session.id);
    await store.save(session.say("on"), { name: "main" });
  }),

  promise("[S111] an owner that may be alive is never taken for dead", async ({ store, second }) => {
    const mine = await store.lease("main", LONG);
    await store.save(Session.start("hi"), { name: "main", lease: mine });
    const ways = store.capabilities.writers === "one-process" ? [store] : [store, await second()];
    for (const way of ways) {
      equal((await refused("name-fenced", way.lease("main", LONG))).data.owner, mine.owner);
      await refused("name-fenced", way.lease("main", { ...LONG, owner: "bob" }));
    }
    await mine.renew();
    // Its owner takes it again by name; nobody else can say to be this process, or another.
    ok((await store.lease("main", { ...LONG, owner: mine.owner })).epoch > mine.epoch);
    for (const owner of ["nobody", "process 999999999 on nowhere", "localhost:999999999:0", "4194304"]) {
      const { epoch } = await store.lease(`by ${owner}`, { ...LONG, owner });
      const { data } = await refused("name-fenced", store.lease(`by ${owner}`, LONG));
      deepStrictEqual([data.owner, data.current], [owner, epoch]);
    }
    const other = mine.owner.replace(/^process \d+/, "process 4194000");
    if (other !== mine.owner) await refused("store-failed", store.lease("free", { ...LONG, owner: other }));
  }),

  promise("[S112] a writer that is refused for a lease is told when it ends", async ({ store }) => {
    const session = Session.start("hi");
    const from = Date.now();
    const lease = await store.lease("main", { ...LONG, owner: "ada" });
    const untils = [
      await refused("name-fenced", store.lease("main", { owner: "bob" })),
      await refused("name-fenced", store.save(session, { name: "main" })),
      await refused("name-fenced", async () => {
        await store.save(session, { name: "main", lease });
        await store.forget("main");
      }),
    ].map(({ data }) => data.until as number);
    equal(new Set(untils).size, 1);
    // The clock of the store may differ a little from that of this process.
    const away = 1_000;
    ok((untils[0] as number) >= from + LONG.milliseconds - away, "the lease ends too soon");
    ok((untils[0] as number) <= Date.now() + LONG.milliseconds + away, "the lease ends too late");
    await lease.release();
    equal((await refused("name-fenced", lease.renew())).data.until, null);
  }),

  promise(
    "[S150] leases end by the clock of the store, not by that of a process",
    async ({ store, second }) => {
      if (store.capabilities.writers === "one-process") skip("its one process has one clock");
      const there = await second();
      const { now } = Date;
      const lease = await store.lease("main", { ...LONG, owner: "ada" });
      try {
        Date.now = () => now() + 3_600_000;
        await refused("name-fenced", there.lease("main", { ...LONG, owner: "bob" }));
        await refused("name-fenced", there.save(Session.start("hi"), { name: "main" }));
        equal(Math.abs((await there.time()) - now()) < 600_000, true);
        Date.now = () => now() - 3_600_000;
        await lease.renew();
      } finally {
        Date.now = now;
      }
      await refused("name-fenced", there.lease("main", { ...LONG, owner: "bob" }));
    },
  ),

  promise("[S29] a lease has an owner and an end; wrong options are refused", async ({ store }) => {
    for (const milliseconds of [0, -1, Number.NaN, Number.POSITIVE_INFINITY, 1e12, "1000", null])
      await refused("store-failed", store.lease("main", { milliseconds: milliseconds as number }));
    for (const owner of ["", "a\nb", "\ud800", "x".repeat(201), 5, null])
      await refused("store-failed", store.lease("main", { owner: owner as string }));
    await store.save(Session.start("hi"), { name: "main" });
    equal((await store.lease("main", { milliseconds: 0.5 })).epoch, 1);
  }),
];
