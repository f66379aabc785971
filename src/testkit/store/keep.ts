import { deepStrictEqual, equal, ok } from "node:assert";
import { digestOf, type Json, Session } from "../../session/index.js";
import type { Store } from "../../store/index.js";
import { collected, skip } from "../runner.js";
import { AT, idsOf, isVolatile, promise, refused, type StoreCase, same, unkeyed } from "./case.js";
import { chain, Dice, headsOf, randomGraph } from "./graph.js";

/** Strings that have broken records before. */
const HOSTILE: readonly string[] = [
  "",
  "line\u2028and\u2029paragraph\u0085next\r\n\n",
  "\0 nul \u0000\u001f\u007f",
  "lone \ud800 and \udfff surrogates",
  "\ufeffbyte order mark, \ufffd, 😀, é, e\u0301",
  '"quotes" \\ back \\u0041 {"rath":1}',
  "__proto__",
];

export const keepCases: readonly StoreCase[] = [
  promise("[S1] a saved session loads with the same ids, bytes and answers", async ({ store }) => {
    const trunk = unkeyed("Fix issue 41.")
      .to("local")
      .append({ type: "tool-call", name: "look", input: { deep: [1, null] } });
    const [small, bold] = [trunk.fork("small").say("a"), trunk.fork("bold").say("b")];
    const session = small.merge(bold, { adopt: "theirs", why: "it is better" }).say("long ".repeat(3000));
    const saved = await store.save(session, { name: "main" });
    deepStrictEqual(saved, { id: session.id, written: 9, replayed: false });
    same(await store.load("main"), session);
    same(await store.load(session.id), session);
    for (const { line, id } of await collected(store.history("main"))) equal(digestOf(line), id);
  }),

  promise("[S2] any text and any JSON that a session takes comes back exactly", async ({ store }) => {
    for (const inline of [0, 4096]) {
      let session = Session.start(HOSTILE[1] as string, { inline });
      for (const text of HOSTILE) session = session.say(text).say(text.padEnd(5000, "…"));
      session = session.append({ type: "note", kind: "deep", body: nested(200), list: HOSTILE as Json });
      session = session.append({
        type: "tool-call",
        name: "t",
        input: JSON.parse(`{"__proto__":{"a":1},"1":2,"0":-1e-7}`) as Json,
      });
      session = session.say("ten megabytes ".repeat(750_000));
      await store.save(session);
      same(await store.load(session.id), session);
    }
    deepStrictEqual((await store.check()).findings, []);
  }),

  promise("[S3] saving again writes nothing, and saving more writes only what is new", async ({ store }) => {
    const session = chain(unkeyed("hi"), 20);
    equal((await store.save(session)).written, 21);
    equal((await store.save(session, { name: "main" })).written, 0);
    equal((await store.save(session, { name: "main" })).written, 0);
    equal((await store.save(session.say("more").say("and more"), { name: "main" })).written, 2);
    const loaded = await store.load(session.id);
    equal((await store.save(loaded.say("other"), { name: "other" })).written, 1);
    equal((await store.check()).facts, 24);
  }),

  promise("[S4] random graphs, saved in random parts and order, load as they were", async ({ store }) => {
    for (let seed = 1; seed <= 12; seed++) {
      const dice = new Dice(seed);
      const made = randomGraph(dice, 60);
      for (const session of dice.shuffled(made).slice(0, 25)) await store.save(session);
      await Promise.all(
        dice
          .shuffled(headsOf(made))
          .map((head) => store.save(head, { name: `${seed} ${head.id.slice(0, 8)}` })),
      );
      for (const session of [...headsOf(made), ...dice.shuffled(made).slice(0, 10)]) {
        ok(await store.has(session.id));
        same(await store.load(session.id), session);
      }
    }
    deepStrictEqual((await store.check()).findings, []);
  }),

  promise("[S5] what was acknowledged is there after opening again", async ({ store, reopen }) => {
    if (isVolatile(store)) skip("this store keeps nothing after it is closed");
    const heads = headsOf(randomGraph(new Dice(5), 80));
    for (const [index, head] of heads.entries()) await store.save(head, { name: `n${index}`, key: "step" });
    const digest = await store.putBlob(Buffer.from("bytes"));
    const names = await store.names();
    const again = await reopen();
    deepStrictEqual(await again.names(), names);
    for (const [index, head] of heads.entries()) {
      same(await again.load(`n${index}`), head);
      equal((await again.save(head, { name: `n${index}` })).written, 0);
      equal((await again.save(head.say("late"), { name: `n${index}`, key: "step" })).replayed, true);
    }
    equal(Buffer.from((await again.blob(digest)) ?? []).toString(), "bytes");
    deepStrictEqual((await again.check()).findings, []);
  }),

  promise("[S6] many saves at once all land, each as if it were alone", async ({ store }) => {
    const trunk = chain(unkeyed("hi"), 10);
    const heads = Array.from({ length: 64 }, (_, index) =>
      chain(trunk.fork(`b${index}`), index % 5, `b${index}`),
    );
    const saved = await Promise.all(heads.map((head, index) => store.save(head, { name: `b${index}` })));
    equal((await store.names()).length, 64);
    const { facts } = await store.check();
    const written = saved.reduce((sum, one) => sum + one.written, 0);
    deepStrictEqual([facts, written], [idsOf(heads).size, facts]);
    for (const [index, head] of heads.entries()) same(await store.load(`b${index}`), head);
  }),

  promise("[S7] branches share what came before and never see each other", async ({ store }) => {
    const trunk = chain(unkeyed("hi"), 10);
    await store.save(trunk, { name: "trunk" });
    const [left, right] = [
      (await store.load("trunk")).fork("left").say("L"),
      (await store.load("trunk")).fork("right").say("R"),
    ];
    equal((await store.save(left, { name: "left" })).written, 2);
    equal((await store.save(right, { name: "right" })).written, 2);
    same(await store.load("trunk"), trunk);
    same(await store.load("left"), left);
    same(await store.load("right"), right);
    ok(!(await collected(store.history("left"))).some(({ id }) => id === right.id));
  }),

  promise("[S8] facts of unknown types are kept and shown", async ({ store, fresh }) => {
    const root = unkeyed("hi");
    const line = `{"rath":1,"parents":["${root.id}"],"fact":{"type":"dream-report","at":"${AT}","by":"agent:later","of":{"sheep":3}}}`;
    await store.save(root);
    await store.import([line], { name: "main" });
    const loaded = await store.load("main");
    equal(loaded.line, line);
    equal(loaded.fact.type as string, "dream-report");
    deepStrictEqual(loaded.transcript, root.transcript);
    const session = loaded.say("go on");
    await store.save(session, { name: "main" });
    const copy = await fresh();
    await copy.import(store.export("main"), { name: "main" });
    same(await copy.load("main"), session);
    deepStrictEqual((await copy.check()).findings, []);
  }),

  promise("[S9] blobs are kept once under their digest, and found by it", async ({ store }) => {
    const bytes = Uint8Array.from({ length: 70_000 }, (_, index) => (index * 7) % 256);
    const digest = await store.putBlob(bytes);
    equal(digest, digestOf(bytes));
    equal(await store.putBlob(bytes), digest);
    deepStrictEqual(Uint8Array.from((await store.blob(digest)) ?? []), bytes);
    equal((await store.blob(await store.putBlob(new Uint8Array())))?.length, 0);
    equal(await store.blob("0".repeat(64)), undefined);
    const text = "the same long text ".repeat(500);
    await store.save(unkeyed(text).say(text).say(text));
    equal((await store.check()).blobs, 1);
    equal(Buffer.from((await store.blob(digestOf(text))) ?? []).toString(), text);
  }),

  promise("[S10] a closed store refuses everything, and can be closed twice", async ({ store }) => {
    const session = unkeyed("hi");
    await store.save(session, { name: "main" });
    await store.close();
    await store.close();
    const attempts: readonly (() => unknown)[] = [
      () => store.save(session),
      () => store.load("main"),
      () => store.resolve("main"),
      () => store.has(session.id),
      () => store.children(session.id),
      () => collected(store.history("main")),
      () => store.names(),
      () => store.point("main", session.id),
      () => store.forget("main"),
      () => store.lease("main"),
      () => collected(store.watch()),
      () => collected(store.export("main")),
      () => store.import([session.line]),
      () => store.putBlob(new Uint8Array(1)),
      () => store.putBlobs([]),
      () => store.blob(session.id),
      () => store.erase("main", { digests: [session.id], why: "asked" }),
      () => store.erasures(),
      () => store.gc(),
      () => store.check(),
    ];
    for (const attempt of attempts) await refused("store-closed", attempt);
  }),

  promise("[S15] an acknowledged save is here, even if gc collected it before", async ({ store, second }) => {
    const session = chain(unkeyed("hi"), 5);
    const others = store.capabilities.writers === "one-process" ? [store] : [store, await second()];
    for (const other of others) {
      await store.save(session);
      await other.gc();
      equal((await store.save(session)).written, 6);
      same(await store.load(session.id), session);
      const loaded = await store.load(session.id);
      await other.gc();
      await store.save(loaded);
      same(await store.load(session.id), session);
      await other.gc();
      await store.save(session, { name: "main" });
      same(await store.load("main"), session);
      await store.forget("main");
      await other.gc();
    }
  }),

  promise("[S16] a save that is refused or replayed has written nothing", async ({ store }) => {
    const trunk = chain(unkeyed("hi"), 3);
    await store.save(trunk.say("done"), { name: "main", key: "k" });
    const session = chain(trunk, 6000);
    const facts = (await store.check()).facts;
    const replayed = await store.save(session, { name: "main", key: "k" });
    deepStrictEqual([replayed.replayed, replayed.written], [true, 0]);
    await refused("name-conflict", store.save(session, { name: "main" }));
    await refused("name-conflict", store.save(session, { name: "main", expect: null }));
    await refused("name-conflict", store.save(session, { name: "main", expect: trunk.id }));
    const lease = await store.lease("main");
    await refused("name-fenced", store.save(session, { name: "main", force: true }));
    equal((await store.check()).facts, facts);
    await refused("name-conflict", store.save(session, { name: "main", lease }));
    equal((await store.check()).facts, facts);
    equal((await store.save(session, { name: "main", lease, force: true, key: "l" })).written, 6000);
    const on = chain(session, 6000, "on");
    equal((await store.save(on, { name: "main", lease, key: "m" })).written, 6000);
    equal((await store.save(on, { name: "main", lease, key: "m" })).replayed, true);
    same(await store.load("main"), on);
  }),

  promise("[S17] wrong arguments are a typed error, and nothing is written", async ({ store }) => {
    const session = unkeyed("hi");
    const any = store as Store & { readonly [method: string]: (...given: unknown[]) => Promise<unknown> };
    const attempts: readonly (readonly [string, ...unknown[]])[] = [
      ["save", undefined],
      ["save", "hi"],
      ["save", session, null],
      ["save", session, "main"],
      ["save", session, { name: 5 }],
      ["save", session, { name: "main", key: 5 }],
      ["save", session, { name: "main", expect: "yesterday" }],
      ["save", session, { name: "main", lease: null }],
      ["save", session, { key: "without a name" }],
      ["load", undefined],
      ["load", "main", null],
      ["load", "main", { horizon: "all" }],
      ["resolve", 5],
      ["children", null],
      ["point", "main"],
      ["forget", undefined],
      ["lease", "main", null],
      ["import", undefined],
      ["import", 5],
      ["import", {}],
      ["import", [], null],
      ["sync", undefined],
      ["sync", {}],
      ["putBlob", "text"],
      ["putBlob", undefined],
      ["putBlob", [1, 2]],
      ["putBlobs", undefined],
      ["putBlobs", Buffer.from("x")],
      ["putBlobs", ["text"]],
      ["erase", "main"],
      ["erase", "main", null],
      ["gc", null],
      ["check", null],
      ["backup", undefined],
    ];
    for (const [method, ...given] of attempts)
      await refused("store-failed", async () => (any[method] as () => unknown).apply(store, given as []));
    await refused("store-failed", () => store.watch(null as never));
    for (const given of [[], [5], [[5]], ["main", null]] as unknown[][])
      await refused("store-failed", () => collected(store.export(...(given as [string]))));
    await refused("record-refused", store.import([1] as never));
    equal(await store.has(5 as never), false);
    equal(await store.blob("../facts.jsonl"), undefined);
    await store.save(session, { name: "main" });
    await refused("store-failed", store.erase("main", {} as never));
    await refused("store-failed", store.erase("main", { digests: "all", why: "asked" } as never));
    deepStrictEqual(await store.check(), { facts: 1, blobs: 0, erased: 0, findings: [] });
  }),

  promise("[S18] a blob is the bytes of any view as they were when it was put", async ({ store }) => {
    const bytes = Buffer.from("before");
    const putting = store.putBlob(bytes);
    bytes.fill(0);
    equal(await putting, digestOf("before"));
    equal(Buffer.from((await store.blob(digestOf("before"))) ?? []).toString(), "before");
    const words = new Uint16Array([1, 2, 3, 4]);
    const digest = await store.putBlob(words.subarray(1, 3));
    deepStrictEqual(
      Uint8Array.from((await store.blob(digest)) ?? []),
      new Uint8Array(words.buffer.slice(2, 6)),
    );
    await store.putBlob(new DataView(words.buffer));
  }),
];

function nested(depth: number): Json {
  let value: Json = "bottom";
  for (let level = 0; level < depth; level++) value = level % 2 === 0 ? [value] : { in: value };
  return value;
}
