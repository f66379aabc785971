import { deepStrictEqual, equal, ok } from "node:assert";
import { digestsOf, type FactOf, Session } from "../../session/index.js";
import { collected } from "../runner.js";
import { AT, isVolatile, linesOf, promise, refused, type StoreCase, same } from "./case.js";
import { chain } from "./graph.js";

const SECRET = "my address is Sesame Street 123";

/** The digests of what one session says. */
const contentOf = (session: Session): readonly string[] => digestsOf(session.line);
/** Whether a text can be read anywhere in a session's answers. */
const tells = (session: Session, text: string): boolean =>
  JSON.stringify([session.transcript, [...session.history()].map(({ fact }) => fact)]).includes(text);

export const eraseCases: readonly StoreCase[] = [
  promise("[S70] erased content is gone, the chain verifies, and a fact says why", async ({ store }) => {
    const before = Session.start("hi", { inline: 0 }).say(SECRET);
    const session = before.say("thanks");
    await store.save(session, { name: "main" });
    const digests = contentOf(before);
    const erased = await store.erase("main", { digests, why: "Ada asked", by: "user:ada" });
    equal(await store.resolve("main"), erased.id);
    const { type, by, at, ...told } = erased.fact as FactOf<"content-erase">;
    deepStrictEqual([type, by, told], ["content-erase", "user:ada", { digests, why: "Ada asked" }]);
    ok(!Number.isNaN(Date.parse(at)));
    const loaded = await store.load("main");
    for (const one of [erased, loaded])
      ok(!tells(one, SECRET) && tells(one, "thanks"), "the erased text is still told");
    deepStrictEqual(linesOf(loaded).slice(0, -1), linesOf(session));
    for (const { id } of loaded.history()) ok(await store.has(id));
    equal(await store.blob(digests[0] as string), undefined);
    deepStrictEqual(await store.check(), { facts: 4, blobs: 2, erased: 1, findings: [] });
    equal((await store.save(loaded.say("go on"), { name: "main" })).written, 1);
  }),

  promise("[S96] a long list of erasures is kept outside of its line", async ({ store, fresh }) => {
    let session = Session.start("hi", { inline: 0 });
    for (let index = 0; index < 80; index++) session = session.say(`${SECRET} ${index}`);
    await store.save(session, { name: "main" });
    const digests = [...session.history()].slice(1).flatMap(contentOf);
    const erased = await store.erase("main", { digests, why: "Ada asked", by: "user:ada" });
    equal(contentOf(erased).length, 1);
    // The list itself stays: who erased it would make claims of all that it says.
    await refused("not-erasable", store.erase("main", { digests: contentOf(erased), why: "tidy" }));
    const copy = await fresh();
    await copy.import(await collected(store.export("main")), { name: "main" });
    equal((await copy.erasures()).length, 80);
    deepStrictEqual((await copy.check()).findings, []);
    ok(!tells(await copy.load("main"), SECRET), "the erased text is told elsewhere");
  }),

  promise("[S71] erased content does not come back with old lines", async ({ store, fresh }) => {
    const session = Session.start("hi").say(SECRET.repeat(200)).say("x");
    const [, told] = [...session.history()] as [Session, Session];
    const digests = contentOf(told);
    await store.save(session, { name: "main" });
    const old = await collected(store.export("main"));
    const elsewhere = await fresh();
    await elsewhere.import(old);
    await store.erase("main", { digests, why: "asked" });
    equal((await store.import(old)).refused, 1);
    equal(await store.blob(digests[0] as string), undefined);
    // Anyone who still has it in memory and saves it again brings back nothing either.
    await store.save(session);
    await store.save(await elsewhere.load(session.id));
    equal(await store.blob(digests[0] as string), undefined);
    const copy = await fresh();
    await copy.sync(store);
    equal(await copy.blob(digests[0] as string), undefined);
    deepStrictEqual((await copy.check()).findings, []);
    ok(!tells(await copy.load("main"), SECRET));
    equal((await copy.import(old)).refused, 1);
    const anew = Session.start("again").say(SECRET.repeat(200));
    await store.save(anew, { name: "anew" });
    same(await store.load("anew"), anew);
  }),

  promise("[S72] erasing salted content leaves the same words in other sessions", async ({ store }) => {
    const [ours, theirs] = [
      Session.start(SECRET, { inline: 0 }).say(SECRET),
      Session.start(SECRET, { inline: 0 }),
    ];
    await store.save(ours, { name: "ours" });
    await store.save(theirs, { name: "theirs" });
    await store.erase("ours", { digests: contentOf(ours), why: "asked" });
    ok(!tells(await store.load("ours"), SECRET));
    same(await store.load("theirs"), theirs);
    deepStrictEqual((await store.check()).findings, []);
  }),

  promise("[S73] only blobs of a session's own history can be erased through it", async ({ store }) => {
    const [ours, theirs] = [Session.start("hi", { inline: 0 }), Session.start("their secret", { inline: 0 })];
    await store.save(ours, { name: "ours" });
    await store.save(theirs, { name: "theirs" });
    await refused("not-erasable", store.erase("ours", { digests: contentOf(theirs), why: "asked" }));
    await refused("not-erasable", store.erase("ours", { digests: [ours.id], why: "asked" }));
    await refused("nothing-to-erase", store.erase("ours", { digests: [], why: "asked" }));
    equal(await store.resolve("ours"), ours.id);
    same(await store.load("theirs"), theirs);
  }),

  promise("[S74] a loaded session keeps its salts until an erasure", async ({ store, second }) => {
    const session = Session.start("hi", { inline: 0, nonce: "n", at: AT });
    await store.save(session, { name: "main" });
    const loaded = await store.load("main");
    equal(loaded.say(SECRET, { at: AT }).id, session.say(SECRET, { at: AT }).id);
    await store.erase("main", { digests: contentOf(session), why: "asked" });
    const after = (await store.load("main")).say("hi", { at: AT });
    equal(contentOf(after).length, 1);
    ok(contentOf(after)[0] !== contentOf(session)[0], "the key of the salts is still there");
    // Anyone who still holds the key in memory and saves the session again does not bring it back.
    if (!isVolatile(store)) await (await second()).save(session.say("from memory", { at: AT }));
    ok(
      contentOf((await store.load("main")).say("hi", { at: AT }))[0] !== contentOf(session)[0],
      "the key came back",
    );
    await store.save(after, { name: "main" });
    ok(tells(await store.load("main"), "hi"));
  }),

  promise("[S75] caches for opening long sessions do not keep erased content", async ({ store }) => {
    const told = Session.start("hi", { inline: 0 }).say(SECRET);
    const session = chain(told, 120);
    await store.save(session, { name: "main" });
    for (let time = 0; time < 2; time++) await store.load("main", { horizon: 10 });
    await store.erase("main", { digests: contentOf(told), why: "asked" });
    for (let time = 0; time < 2; time++) {
      const loaded = await store.load("main", { horizon: 10 });
      ok(!JSON.stringify(loaded.recent(1000)).includes(SECRET), "the erased text is still told");
      deepStrictEqual(loaded.usage, session.usage);
    }
  }),

  promise("[S78] erasing needs the lease, and moves every name that stands there", async ({ store }) => {
    const session = Session.start("hi", { inline: 0 }).say(SECRET);
    const [digests, why] = [contentOf(session), "asked"];
    await store.save(session, { name: "main" });
    const stale = await store.lease("main", { owner: "ada" });
    const lease = await store.lease("main", { owner: "ada" });
    for (const refusedLease of [{}, { lease: stale }]) {
      await refused("name-fenced", store.erase("main", { digests, why, ...refusedLease }));
      await refused("name-fenced", store.erase(session.id, { digests, why, ...refusedLease }));
    }
    same(await store.load("main"), session);
    await store.save(session, { name: "also" });
    const erased = await store.erase(session.id, { digests, why, lease });
    deepStrictEqual(
      (await store.names()).map(({ id }) => id),
      [erased.id, erased.id],
    );
    ok(!tells(await store.load("also"), SECRET), "the erased text is still told");
  }),

  promise("[S135] an erasure without its fact is not believed", async ({ store, fresh }) => {
    const session = Session.start("hi", { inline: 0 }).say(SECRET);
    await store.save(session, { name: "main" });
    await store.erase("main", { digests: contentOf(session), why: "Ada asked", by: "user:ada" });
    const whole = await collected(store.export("main"));
    const other = await fresh();
    // Without its last line, the fact that erased: what is left says nothing that anybody could check.
    equal((await other.import(whole.slice(0, -1))).unproved, contentOf(session).length);
    deepStrictEqual(await other.erasures(), []);
    equal((await other.check()).findings.length, 1);
    equal((await other.import(whole)).unproved, 0);
    deepStrictEqual(await other.check(), { ...(await store.check()) });
  }),

  promise("[S79] who erased what, when and why is known also after a collection", async ({ store }) => {
    const session = Session.start("hi", { inline: 0 }).say(SECRET);
    await store.save(session.say("on"), { name: "main" });
    const digests = contentOf(session);
    // No name stands at this one, so the fact that tells of the erasure is loose.
    const { fact } = await store.erase(session.id, { digests, why: "Ada asked", by: "user:ada" });
    await store.gc();
    const [exported] = (await collected(store.export("main"))).filter((line) =>
      line.startsWith('{"erased":'),
    );
    const told = { by: "user:ada", at: fact.at, why: "Ada asked" };
    const { erased, fact: _, ...rest } = JSON.parse(exported ?? "{}");
    deepStrictEqual([[erased], rest], [digests, told]);
    await store.forget("main");
    await store.gc();
    const [{ fact: __, ...erasure } = { fact: "" }] = await store.erasures();
    deepStrictEqual({ ...erasure }, { digest: digests[0], ...told });
    deepStrictEqual((await store.check()).findings, []);
  }),
];
