import { deepStrictEqual, equal, ok } from "node:assert";
import { Session } from "../../session/index.js";
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

  promise("[S25] what cannot be a name is refused before anything is written", async ({ store }) => {
    const session = Session.start("hi");
    for (const name of ["", "a\nb", "\0", "\ud800", "f".repeat(64), "x".repeat(1000)])
      await refused("store-failed", store.save(session, { name }));
    equal(await store.has(session.id), false);
  }),

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
