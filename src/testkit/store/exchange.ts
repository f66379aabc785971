import { deepStrictEqual, equal, ok } from "node:assert";
import { digestOf, parentsOf, refsOf, type Session } from "../../session/index.js";
import { collected } from "../runner.js";
import { AT, idsOf, linesOf, promise, refused, type StoreCase, same, unkeyed } from "./case.js";
import { chain, Dice, headsOf, randomGraph } from "./graph.js";

export const exchangeCases: readonly StoreCase[] = [
  promise("[S50] an export has every line once, parents and blobs first", async ({ store }) => {
    const heads = headsOf(randomGraph(new Dice(7), 80));
    for (const head of heads) await store.save(head);
    const lines = await collected(store.export(heads.map(({ id }) => id)));
    const seen = new Set<string>();
    for (const line of lines) {
      ok(!line.includes("\n"), "a line has a newline in it");
      const blob = /^\{"blob":"([0-9a-f]{64})","data":"([^"]*)"\}$/.exec(line);
      const id = blob?.[1] ?? digestOf(line);
      if (blob !== null) equal(digestOf(Buffer.from(blob[2] as string, "base64")), id);
      else
        for (const need of [...parentsOf(line), ...Object.values(refsOf(line)).map(({ digest }) => digest)])
          ok(seen.has(need), `${id} comes before ${need}`);
      ok(!seen.has(id), `${id} comes twice`);
      seen.add(id);
    }
    const facts = lines.filter((line) => line.startsWith('{"rath":'));
    deepStrictEqual(new Set(facts.map((line) => digestOf(line))), idsOf(heads));
    const [head] = heads as [Session];
    deepStrictEqual(await collected(store.export(head.id, { blobs: false })), linesOf(head));
  }),

  promise("[S51] an imported export is the same record, byte for byte", async ({ store, fresh }) => {
    for (let seed = 20; seed < 26; seed++) {
      const heads = headsOf(randomGraph(new Dice(seed), 50));
      for (const head of heads) await store.save(head);
      const ids = heads.map(({ id }) => id);
      const lines = await collected(store.export(ids));
      const facts = lines.filter((line) => line.startsWith('{"rath":')).length;
      const copy = await fresh();
      const report = await copy.import(lines.map((line) => `${line}\n`));
      deepStrictEqual([report.written, report.known, report.refused], [facts, 0, 0]);
      deepStrictEqual(new Set(report.heads), new Set(ids));
      deepStrictEqual(await collected(copy.export(ids)), lines);
      for (const head of heads) same(await copy.load(head.id), head);
      deepStrictEqual((await copy.check()).findings, []);
      const again = await copy.import(lines.join("\n"), { name: "last", head: ids[0] as string });
      deepStrictEqual([again.written, again.known], [0, facts]);
      equal((await copy.check()).facts, facts);
      equal(await copy.resolve("last"), ids.at(-1));
    }
  }),

  promise("[S52] an import refuses a bad line, and keeps working", async ({ store, fresh }) => {
    const session = unkeyed("long ".repeat(2000)).say("a").say("b", { at: AT }).say("c");
    await store.save(session, { name: "main" });
    const lines = await collected(store.export("main"));
    const alter =
      (index: number, from: string, to: string) =>
      (all: string[]): string[] =>
        all.with(index, (all[index] as string).replace(from, to));
    const damage: readonly (readonly [number, string, (lines: string[]) => string[]])[] = [
      [4, "an altered fact", alter(2, '"content":"a"', '"content":"x"')],
      [1, "an altered blob", alter(0, '"data":"b', '"data":"c')],
      [3, "not JSON", (all) => all.with(2, (all[2] as string).slice(0, -9))],
      [3, "not in normal form", alter(2, '{"rath":1,', '{"rath": 1,')],
      [3, "a key twice", alter(2, '"by":"user"', '"by":"agent","by":"user"')],
      [3, "a newer format", alter(2, '{"rath":1,', '{"rath":2,')],
      [3, "a fact without its fields", alter(2, '"content":', '"contents":')],
      [3, "children before parents", (all) => all.with(2, all[3] as string).with(3, all[2] as string)],
      [3, "a line left out", (all) => all.toSpliced(2, 1)],
      [2, "text of another kind", (all) => all.toSpliced(1, 0, "hello")],
      [1, "a list", (all) => all.toSpliced(0, 0, "[]")],
      [1, "a blob with more to say", alter(0, "}", ',"x":1}')],
      [1, "a blob in other words", alter(0, '{"blob":', '{"blob": ')],
    ];
    for (const [number, what, harm] of damage) {
      const copy = await fresh();
      const error = await refused("record-refused", copy.import(harm([...lines]), { name: "main" })).catch(
        (cause: unknown) => Promise.reject(new Error(`${what}: ${String(cause)}`)),
      );
      ok(error.message.includes(`line ${number}`), `${what} in line ${number}: ${error.message}`);
      equal(error.data.line, number, what);
      for (const line of harm([...lines])
        .slice(0, number - 1)
        .filter((one) => one.startsWith('{"rath":')))
        ok(await copy.has(digestOf(line)), `${what}: what came before it did not stay`);
      deepStrictEqual(await copy.names(), []);
      await copy.import(lines, { name: "main" });
      same(await copy.load("main"), session);
      await copy.close();
    }
  }),

  promise("[S53] an import with a head reports lines that are cut off", async ({ store, fresh }) => {
    const session = chain(unkeyed("hi"), 10);
    await store.save(session);
    const lines = await collected(store.export(session.id));
    const copy = await fresh();
    await refused("record-refused", copy.import(lines.slice(0, -1), { head: session.id, name: "main" }));
    deepStrictEqual(await copy.names(), []);
    ok(await copy.has((session.parents[0] as Session).id), "what was intact is not kept");
    await copy.import(lines, { head: session.id, name: "main" });
    equal(await copy.resolve("main"), session.id);
  }),

  promise("[S54] an export without what the other side has is exactly the rest", async ({ store, fresh }) => {
    for (let seed = 40; seed < 46; seed++) {
      const dice = new Dice(seed);
      const made = randomGraph(dice, 60);
      for (const head of headsOf(made)) await store.save(head);
      const copy = await fresh();
      for (let round = 0; round < 6; round++) {
        const [head, ...known] = [dice.pick(made), dice.pick(made), dice.pick(made)];
        const without = known.map(({ id }) => id);
        const past = idsOf(known);
        const rest = [...head.history()].filter(({ id }) => !past.has(id)).map(({ line }) => line);
        deepStrictEqual(await collected(store.export(head.id, { without, blobs: false })), rest);
        await copy.import(store.export(without));
        await copy.import(store.export(head.id, { without }));
        same(await copy.load(head.id), head);
      }
      await copy.close();
    }
  }),

  promise("[S55] stores synchronise, and names only move forward", async ({ store, fresh }) => {
    const copy = await fresh();
    const trunk = chain(unkeyed("long ".repeat(2000)), 50);
    await store.save(trunk, { name: "main" });
    await store.save(trunk.fork("side").say("x"), { name: "side" });
    equal((await copy.sync(store)).written, 53);
    deepStrictEqual(await copy.names(), await store.names());
    deepStrictEqual([(await copy.sync(store)).written, (await copy.sync(store)).known], [0, 0]);
    const [ours, theirs] = [trunk.say("ours"), trunk.say("theirs").say("more")];
    await store.save(ours, { name: "main" });
    await copy.save(theirs, { name: "main" });
    const report = await copy.sync(store);
    deepStrictEqual([report.written, report.known], [1, 0]);
    deepStrictEqual(report.heads, [ours.id]);
    equal(await copy.resolve("main"), theirs.id);
    const merged = theirs.merge(ours);
    await copy.save(merged, { name: "main" });
    equal((await store.sync(copy, { names: false })).written, 3);
    equal(await store.resolve("main"), ours.id);
    await store.sync(copy);
    same(await store.load("main"), merged);
    for (const one of [store, copy]) deepStrictEqual((await one.check()).findings, []);
  }),

  promise("[S56] an import refuses content that is not what its line says of it", async ({ store }) => {
    const line = (text: string, ref: object): string[] => {
      const blobs = { text: { digest: digestOf(text), size: Buffer.byteLength(text), ...ref } };
      const fact = { type: "session-start", at: AT, by: "user", nonce: digestOf(text + JSON.stringify(ref)) };
      return [
        JSON.stringify({ blob: digestOf(text), data: Buffer.from(text).toString("base64") }),
        JSON.stringify({ rath: 1, parents: [], blobs, fact }),
      ];
    };
    const deep = (levels: number): string => "[".repeat(levels) + "]".repeat(levels);
    const json = { media: "application/json" };
    for (const [text, ref] of [
      ["five", { media: "text/plain", size: 5 }],
      ["{", json],
      [deep(502), json],
      [deep(100_000), json],
    ] as const) {
      const lines = line(text, ref);
      for (const parts of [[lines], lines.map((one) => [one])]) {
        const numbers: unknown[] = [];
        for (const part of parts)
          await store
            .import(part)
            .catch((error: { data?: { line?: number } }) => numbers.push(error.data?.line));
        deepStrictEqual(numbers, [parts.length === 1 ? 2 : 1], text.slice(0, 20));
      }
      equal(await store.has(digestOf(lines[1] as string)), false);
    }
    for (const text of ["[]", deep(500)]) await store.import(line(text, json));
    equal((await store.check()).facts, 2);
  }),

  promise("[S57] a synchronisation brings missing content", async ({ store, fresh }) => {
    const session = unkeyed("long ".repeat(2000)).say("longer ".repeat(2000));
    await store.save(session, { name: "main" });
    const copy = await fresh();
    await copy.import(store.export("main", { blobs: false }), { name: "main" });
    equal((await copy.check()).findings.length, 2);
    deepStrictEqual([(await copy.sync(store)).blobs, (await copy.sync(store)).blobs], [2, 0]);
    same(await copy.load("main"), session);
    deepStrictEqual((await copy.check()).findings, []);
  }),

  promise("[S58] an export never leaves content out in silence", async ({ store, fresh }) => {
    const session = unkeyed("long ".repeat(2000)).say("on");
    await store.save(session, { name: "main" });
    const copy = await fresh();
    await copy.import(store.export("main", { blobs: false }), { name: "main" });
    await refused("store-damaged", () => collected(copy.export("main")));
    deepStrictEqual(await collected(copy.export("main", { blobs: false })), linesOf(session));
  }),
];
