import { describe, expect, it } from "vitest";
import { digestOf, type FactInput, type Json, Session } from "../../session/index.js";
import { type Appendable, sampleFacts } from "../../session/testing/facts.js";
import { openStore, type Store } from "../../store/index.js";
import { DossierOptionError, type DossierOptions, dossierHtml, dossierOf } from "./index.js";
import { Sample } from "./item.js";
import { straysOf } from "./strays.js";
import { repaired, Teller, treeOf } from "./testing/repaired.js";

/** A chain of calls and words, so many facts long. */
function long(facts: number): Session {
  let session = Session.start("A long one.");
  for (let place = 1; place < facts; place += 2) {
    const call = session.append({ type: "tool-call", name: "look", input: { place } });
    session = call.append({ type: "tool-result", of: call.id, output: `found ${place}` });
  }
  return session;
}

describe("what a dossier withstands", () => {
  it("[L1] lists keep the first and the last and count all; texts say how long they are", async () => {
    const store = await openStore("memory:");
    const session = long(1_001).say("x".repeat(5_000), { role: "assistant" });
    await store.save(session, { name: "long" });
    const { tools, timeline, outcome, counts } = await dossierOf(store, "long", {
      most: 10,
      characters: 100,
    });
    expect(counts.facts).toBe(1_002);
    expect(tools.total).toBe(500);
    expect(tools.items).toHaveLength(10);
    expect(tools.gap).toBe(5);
    expect(tools.items.map(({ input }) => JSON.parse((input as { text: string }).text).place)).toEqual([
      1, 3, 5, 7, 9, 991, 993, 995, 997, 999,
    ]);
    expect(tools.items.every(({ state }) => state === "done")).toBe(true);
    expect([timeline.items.length, timeline.total]).toEqual([10, 1_002]);
    expect(outcome.answer).toEqual({ text: "x".repeat(100), characters: 5_000 });
  });

  it("[L1] a sample of any size keeps the ends in order", () => {
    for (const most of [2, 3, 7, 10])
      for (const total of [0, 1, 2, 3, 9, 10, 11, 100]) {
        const dropped: number[] = [];
        const sample = new Sample<number>(most, (item) => dropped.push(item));
        for (let item = 0; item < total; item++) sample.add(item);
        const { items, gap } = sample.listed();
        const half = Math.ceil(most / 2);
        const all = Array.from({ length: total }, (_, item) => item);
        expect(items).toEqual(
          total <= most ? all : [...all.slice(0, half), ...all.slice(total - (most - half))],
        );
        expect(gap).toBe(total > most ? half : undefined);
        expect([...items, ...dropped].sort((one, other) => one - other)).toEqual(all);
      }
  });

  it("[L1] all texts together are cut to fit, the longest first", async () => {
    const store = await openStore("memory:");
    let session = Session.start("Go.");
    for (let place = 0; place < 100; place++) {
      const call = session.append({ type: "tool-call", name: "read", input: place });
      session = call.append({ type: "tool-result", of: call.id, output: "y".repeat(2_000) });
    }
    await store.save(session, { name: "it" });
    const { tools, task } = await dossierOf(store, "it", { size: 50_000 });
    const lengths = tools.items.map(({ output }) => (output as { text: string }).text.length);
    expect(Math.max(...lengths)).toBeLessThan(500);
    expect(tools.items[0]?.output).toMatchObject({ characters: 2_000 });
    expect(task.text).toEqual({ text: "Go.", characters: 3 });
  });

  it("[L1] calls that end after they were left out are counted once", async () => {
    const store = await openStore("memory:");
    let session = Session.start("Go.");
    const steps: string[] = [];
    const asked: string[] = [];
    for (let place = 0; place < 10; place++) {
      session = session.append({ type: "step-call", name: `step ${place}` });
      steps.push(session.id);
      session = session.append({ type: "model-call", model: "small-1" });
      asked.push(session.id);
    }
    for (const of of steps) session = session.append({ type: "step-result", of, value: null });
    for (const of of asked)
      session = session.append({
        type: "model-reply",
        of,
        content: "Done.",
        finish: "stop",
        usage: { input: 1, output: 1 },
      });
    await store.save(session, { name: "it" });
    const { tools, models } = await dossierOf(store, "it", { most: 4 });
    expect([tools.total, models.total]).toEqual([10, 10]);
    expect(tools.items.map(({ name, state }) => [name, state])).toEqual(
      [0, 1, 8, 9].map((place) => [`step ${place}`, "done"]),
    );
    expect(models.items.map(({ finish }) => finish)).toEqual(["stop", "stop", "stop", "stop"]);
  });

  it("[L2] a long record makes a dossier of the same size as a short one", async () => {
    const many = Number(process.env.OPENRATH_DOSSIER_FACTS ?? 8_000);
    const store = await openStore("memory:");
    await store.save(long(2_001), { name: "short" });
    await store.save(long(many + 1), { name: "long" });
    const sizes: number[] = [];
    for (const name of ["short", "long"]) {
      const heard: number[] = [];
      const dossier = await dossierOf(store, name, { most: 100, progress: (facts) => heard.push(facts) });
      expect(heard.length).toBeGreaterThan(0);
      sizes.push(dossierHtml(dossier).length);
      if (name === "long") expect([dossier.counts.facts, dossier.tools.total]).toEqual([many + 1, many / 2]);
    }
    expect((sizes[1] as number) / (sizes[0] as number)).toBeLessThan(1.2);
  });

  it("[L2] branches that nothing took in are found by walking, and in a long record by their names", async () => {
    const store = await openStore("memory:");
    const session = long(201);
    const early = [...session.history()][20] as Session;
    const lost = early.fork("lost").say("unheard");
    const joined = Session.start("From elsewhere.").merge(early.fork("gone"), { adopt: "ours" });
    await store.save(session, { name: "long" });
    await store.save(lost, { name: "lost" });
    await store.save(joined, { name: "joined" });
    await store.save(Session.start("Something else."), { name: "else" });
    const known = new Set([...session.history()].map(({ id }) => id));
    const wanted = [lost.id, joined.id].sort();
    for (const walked of [1_000, 10]) {
      const { heads, note } = await straysOf(
        store,
        session.id,
        (id) => known.has(id),
        known,
        known.size,
        walked,
      );
      expect(heads).toEqual(wanted);
      expect(note).toEqual(walked === 10 ? expect.stringContaining("by their names alone") : undefined);
    }
    const { counts, branches } = await dossierOf(store, "long");
    expect(counts).toMatchObject({ facts: 201, elsewhere: 5 });
    expect(
      branches.items
        .filter(({ elsewhere }) => elsewhere)
        .map(({ name }) => name)
        .sort(),
    ).toEqual(["gone", "lost", "main"]);
  });

  it("[L2] many branches are folded in the picture, and none is lost from the count", async () => {
    const store = await openStore("memory:");
    let session = Session.start("Try.");
    for (let place = 0; place < 400; place++)
      session = session
        .fork(`a${place}`)
        .say("x")
        .merge(session.fork(`b${place}`).say("y"), { adopt: "ours", why: "shorter" });
    await store.save(session, { name: "it" });
    const dossier = await dossierOf(store, "it", { most: 50 });
    expect(dossier.counts).toMatchObject({ branches: 801, rejected: 400 });
    expect(dossier.branches).toMatchObject({ total: 801 });
    expect(dossier.graph.rows.length).toBeLessThanOrEqual(240);
    expect(dossier.graph.total).toBeGreaterThan(240);
    expect(dossierHtml(dossier)).toContain("that are not drawn");
  });

  it("[L3] every type of fact, with any text in it", async () => {
    const store = await openStore("memory:");
    for (const text of ["plain", "<b>&\"'`", "\u0000\u001b[31m\u202e\ud800\u2028", "x".repeat(9_000)]) {
      let session = Session.start(text, { nonce: digestOf(text) });
      const facts = sampleFacts(text, session.id) as { readonly [Type in Appendable]: FactInput };
      for (const fact of Object.values(facts)) session = session.append(fact);
      await store.save(session, { name: "all", force: true });
      const page = dossierHtml(await dossierOf(store, "all"));
      expect(page).toContain("</html>");
      const alone = Object.values(facts).map((fact) => Session.start(undefined).append(fact));
      for (const one of alone) {
        await store.save(one, { name: "one", force: true });
        expect(dossierHtml(await dossierOf(store, "one"))).toContain("</html>");
      }
    }
  });

  it("[L3] texts of ten million characters, and values nested as deep as a record holds them", async () => {
    const store = await openStore("memory:");
    let deep: Json = "bottom";
    for (let level = 0; level < 480; level++) deep = level % 2 === 0 ? [deep] : { deep };
    const huge = "long ".repeat(2_000_000);
    const call = Session.start(huge).append({ type: "tool-call", name: "read", input: deep });
    await store.save(call.append({ type: "tool-result", of: call.id, output: { huge } }), { name: "it" });
    const dossier = await dossierOf(store, "it");
    expect(dossier.task.text).toMatchObject({ characters: huge.length });
    expect(dossierHtml(dossier).length).toBeLessThan(200_000);
  });

  it("[L3] types of other versions, wild fields, empty sessions", async () => {
    const store = await openStore("memory:");
    const root = Session.start(undefined, { at: "1970-01-01T00:00:00.000Z" });
    await store.save(root, { name: "empty" });
    expect((await dossierOf(store, "empty")).counts.facts).toBe(1);
    const id = "a".repeat(64);
    const wild: readonly { readonly [field: string]: Json }[] = [
      { type: "future-thing", __proto__x: { deep: [1] }, constructor: "x" },
      { type: "__proto__", toString: 1 },
      { type: "memory-read", space: "s", query: {}, hits: [{ memory: 1, score: "x" }, { toString: 1 }] },
      { type: "tool-result", of: id, output: { memory: id, version: id } },
      {
        type: "model-reply",
        of: id,
        content: [{ type: "text" }, { type: "withheld", digest: 1 }, { type: 5 }],
        finish: "",
        usage: { input: 0, output: 0 },
      },
      { type: "approval-give", of: id, decision: "later", digest: id },
      {
        type: "validation-report",
        name: "",
        passed: true,
        detail: { passed: 1, failed: 0, failures: [1, null, { toString: 1 }] },
      },
      {
        type: "workspace-change",
        before: id,
        after: id,
        paths: [{ path: "../x", change: "explode" }, { path: 5 }],
      },
      { type: "route-choose", selector: "s", candidates: [{ name: { toString: 1 } }], chosen: null },
    ];
    let [line, parent] = [root.line, root.id];
    const lines = [line];
    for (const fact of wild) {
      const { type, ...rest } = fact;
      line = JSON.stringify({
        rath: 1,
        parents: [parent],
        fact: { type, at: "yesterday", by: "nobody at all", ...rest },
      });
      parent = digestOf(line);
      lines.push(line);
    }
    // A reader takes all of these; a type that it knows with a field of another kind it refuses.
    const taken = await taking(store, lines);
    expect(taken).toBeGreaterThan(3);
    const dossier = await dossierOf(store, "wild");
    expect(dossierHtml(dossier)).toContain("future-thing");
  });

  it("[L4] erased content is nowhere, and told with who erased it and why", async () => {
    const store = await openStore("memory:");
    const canary = "CANARY-4711";
    const teller = new Teller();
    const start = Session.start(`My number is ${canary}.`, { inline: 0, by: "user:ada" });
    const asked = teller.ask(
      start,
      { agent: "clerk", instructions: `Remember ${canary}` },
      { content: `So it is ${canary}.` },
    );
    const tree = await treeOf(store, { "secret.txt": `${canary}\n` });
    const file = digestOf(Buffer.from(`${canary}\n`));
    const session = asked.append({ type: "tool-call", name: "look", input: { number: canary } }).append({
      type: "workspace-change",
      before: null,
      after: tree,
      paths: [{ path: "secret.txt", change: "add" }],
    });
    await store.save(session, { name: "it" });
    expect(JSON.stringify(await dossierOf(store, "it"))).toContain(canary);
    const digests = [...session.history()].flatMap((one) => [...one.blobs()].map(({ ref }) => ref.digest));
    await store.erase("it", { digests: [...digests, file], why: "Ada asked for it.", by: "user:ada" });
    const dossier = await dossierOf(store, "it");
    const page = dossierHtml(dossier);
    for (const text of [JSON.stringify(dossier), page]) expect(text).not.toContain(canary);
    expect(dossier.task.text).toMatchObject({
      withheld: "erased",
      erasure: { by: "user:ada", why: "Ada asked for it." },
    });
    expect(dossier.models.items[0]?.prompt).toMatchObject({ state: "not-rendered" });
    expect(dossier.patch?.files.items[0]?.note).toBeDefined();
    expect(page).toContain("Erased by user:ada");
    expect(dossier.erasures.items[0]).toMatchObject({ by: "user:ada", why: "Ada asked for it." });
    expect(dossier.proof.blobs.erased).toBeGreaterThan(3);
  });

  it("[L4] content that is not here is told as such", async () => {
    const [theirs, ours] = [await openStore("memory:"), await openStore("memory:")];
    const { store, head } = await repaired();
    const session = (await store.load(head.id)).say("long ".repeat(2_000), { role: "assistant" });
    await theirs.sync(store);
    await theirs.save(session, { name: "it" });
    await ours.import(theirs.export("it", { blobs: false }), { name: "it" });
    const dossier = await dossierOf(ours, "it");
    expect(dossier.outcome.answer).toMatchObject({ withheld: "missing" });
    expect(dossier.patch?.files.items[0]?.note).toBeDefined();
    expect(dossierHtml(dossier)).toContain("this copy of the record does not have it");
  });

  it("[L5] options that cannot be meant are refused", async () => {
    const { store } = await repaired();
    const refused = async (options: unknown): Promise<string> =>
      dossierOf(store, "issue-7", options as DossierOptions).then(
        () => "taken",
        (error: unknown) => (error instanceof DossierOptionError ? error.message : String(error)),
      );
    expect(await refused({ mots: 5 })).toMatch(/no option "mots"[\s\S]*did you mean "most"/);
    expect(await refused({ zzzzzz: 5 })).toMatch(/the options are name, most/);
    for (const options of [
      null,
      [],
      { most: 0 },
      { most: "5" },
      { characters: 1.5 },
      { size: -1 },
      { at: "soon" },
      { progress: 1 },
      { name: 5 },
    ])
      expect(await refused(options), JSON.stringify(options)).toMatch(/Cannot make a dossier/);
    await expect(dossierOf(store, "nobody")).rejects.toMatchObject({ code: "not-found" });
  });
});

/** Imports those of the lines that a store takes, one after the other, and names the last. */
async function taking(store: Store, lines: readonly string[]): Promise<number> {
  let taken: readonly string[] = [];
  let parent: string | undefined;
  for (const line of lines) {
    const { fact } = JSON.parse(line) as { fact: Json };
    const next = JSON.stringify({ rath: 1, parents: parent === undefined ? [] : [parent], fact });
    const tried = await store.import([...taken, next], { name: "wild" }).then(
      () => true,
      () => false,
    );
    if (!tried) continue;
    taken = [...taken, next];
    parent = digestOf(next);
  }
  return taken.length;
}
