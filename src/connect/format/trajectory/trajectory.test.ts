import { Validator } from "@cfworker/json-schema";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { statusOf } from "../../../runtime/index.js";
import { digestOf, type Fact, type FactInput, type Json, Session } from "../../../session/index.js";
import { campaign } from "../../../session/testing/campaign.js";
import { sampleFacts } from "../../../session/testing/facts.js";
import { programs, run } from "../../../session/testing/program.js";
import { openStore, type Store } from "../../../store/index.js";
import { atof } from "../atif/atof.js";
import { atif } from "../atif/read.js";
import { atifExport } from "../atif/write.js";
import type { Imported } from "../exchange.js";
import { Foreign } from "../foreign.js";
import { hfTraceExport } from "../hf-trace/write.js";
import { inspect } from "../inspect/read.js";
import { inspectEvalExport, inspectExport } from "../inspect/write.js";
import { openHands } from "../openhands/read.js";
import { sweAgent } from "../swe-agent/read.js";
import { sweAgentExport } from "../swe-agent/write.js";
import { Arrival, nameOf } from "./arrival.js";
import { kept, restored, untold } from "./kept.js";
import { Lines, shownOf, type Told } from "./line.js";

import { lacking, recorded, recordings, sourceOf } from "./testing/corpus.js";

const RUNS = Number(process.env.FUZZ_RUNS ?? campaign(60));
const exports = [atifExport, inspectExport, inspectEvalExport, sweAgentExport, hfTraceExport];
const trips = [
  [atifExport, atif],
  [inspectExport, inspect],
  [sweAgentExport, sweAgent],
] as const;

async function withStore<Result>(use: (store: Store) => Promise<Result>): Promise<Result> {
  const store = await openStore("memory:");
  try {
    return await use(store);
  } finally {
    await store.close();
  }
}

/** JSON with the keys and texts that a careless copy would trip over. */
const values = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small" },
    fc.constantFrom<Json>(
      null,
      true,
      0,
      -1.5,
      "",
      "short",
      "x".repeat(60),
      "y".repeat(60),
      "\ud800".repeat(60),
    ),
    fc.array(tie("value"), { maxLength: 4 }),
    fc
      .array(
        fc.tuple(fc.constantFrom("a", "at", "$fact", "$json", "__proto__", "constructor", "0"), tie("value")),
        { maxLength: 4 },
      )
      .map((entries) => Object.fromEntries(entries) as Json),
  ),
})).value;

describe("what is kept of a file", () => {
  it("[K1] is given back exactly", () => {
    fc.assert(
      fc.property(values, values, (piece, other) => {
        let session = Session.start("x".repeat(60), { nonce: "n" });
        session = session.append({ type: "note", kind: "k", value: other });
        const facts = [...session.history()].map(({ fact }) => fact);
        const note = session.append({
          type: "note",
          kind: "import-rest",
          what: "w",
          value: kept(piece, facts),
        });
        expect(restored(note, (note.fact as { value: Json }).value)).toEqual(piece);
      }),
      { numRuns: campaign(600) },
    );
  });

  it("[K2] is not kept twice, and is erased with what it names", async () => {
    await withStore(async (store) => {
      const secret = `secret ${"s".repeat(5000)}`;
      const arrival = Arrival.start(new Foreign("f", sourceOf("a", "x")), { name: "n" });
      arrival.say("user", secret);
      arrival.keep("w", { said: secret, more: [secret, "short"] });
      const { session } = arrival;
      expect(JSON.stringify(session.fact).length).toBeLessThan(300);
      await store.save(session, { name: "n" });
      const [blob] = [...(session.parents[0] as Session).blobs()];
      await store.erase("n", { digests: [blob?.ref.digest as string], by: "user", why: "asked for" });
      const loaded = (await store.load("n")).parents[0] as Session;
      expect(restored(loaded, (loaded.fact as { value: Json }).value)).toEqual({
        said: "[erased]",
        more: ["[erased]", "short"],
      });
    });
  });

  it("[K3] is told by its place where no fact says it", () => {
    const fact = { type: "note", at: "2026-01-01", by: "user", words: "known", list: [1] } as unknown as Fact;
    expect(
      untold(
        {
          a: "known",
          b: { c: "new", d: "new" },
          e: [
            { f: 1, g: "x" },
            { f: 1, g: "y" },
          ],
          h: null,
        },
        [fact],
      ),
    ).toEqual(["b", "e[].g", "e[].g"]);
    expect(untold("new", [fact])).toEqual([""]);
    const arrival = Arrival.start(new Foreign("f", sourceOf("a", "x")), { name: "n" });
    for (let count = 0; count < 3; count++) arrival.keep("w", { a: `other ${count}` }, "thing");
    expect(arrival.imported("n").notes).toEqual(["thing (3 times)"]);
  });
});

describe("the lines of a session", () => {
  function linesIn(lines: Lines, line: readonly Told[]): Told[] {
    return line.flatMap((told) => [
      told,
      ...lines.sidesOf(told.session).flatMap((side) => linesIn(lines, side.line)),
    ]);
  }

  it("[L1] hold every fact once", async () => {
    await withStore(async (store) => {
      await fc.assert(
        fc.asyncProperty(programs(), async (program) => {
          const session = run(program).at(-1) as Session;
          const lines = await Lines.of({ session, store });
          const told = linesIn(lines, lines.main).map(({ id }) => id);
          expect(new Set(told).size).toBe(told.length);
          expect([...told].sort()).toEqual([...session.history()].map(({ id }) => id).sort());
          expect(lines.main.at(-1)?.id).toBe(session.id);
        }),
        { numRuns: RUNS },
      );
    });
  });

  it("[L1] go on from the side that was adopted", async () => {
    await withStore(async (store) => {
      const trunk = Session.start("go");
      const [ours, theirs] = [trunk.fork("ours").say("a"), trunk.fork("theirs").say("b")];
      const words = async (session: Session): Promise<Json[]> =>
        (await Lines.of({ session, store })).main.flatMap(({ fact }) =>
          fact.type === "message-say" ? [fact.content as Json] : [],
        );
      expect(await words(ours.merge(theirs, { adopt: "theirs" }))).toEqual(["b"]);
      expect(await words(ours.merge(theirs, { adopt: 1 }))).toEqual(["b"]);
      expect(await words(ours.merge(theirs))).toEqual(["a"]);
    });
  });

  it("[L2] withhold what was erased", async () => {
    await withStore(async (store) => {
      const session = Session.start("z".repeat(5000)).say("more");
      expect(await shownOf({ session, store })).toBe(session);
      await store.save(session, { name: "n" });
      const [blob] = [...(session.parents[0] as Session).blobs()];
      await store.erase("n", { digests: [blob?.ref.digest as string], by: "user", why: "asked for" });
      const shown = await shownOf({ session, store });
      expect(shown.id).toBe(session.id);
      expect(shown.transcript[0]).toMatchObject({ content: [{ type: "withheld", reason: "erased" }] });
      // Without a store that knows of it, the fact that says so is enough.
      await withStore(async (other) => {
        const erased = await store.load("n");
        expect((await shownOf({ session: erased, store: other })).transcript[0]).toMatchObject({
          content: [{ type: "withheld" }],
        });
      });
    });
  });
});

describe("any session, in any format", () => {
  it("[X1] can be written, and nothing of it is missing in ATIF", async () => {
    await withStore(async (store) => {
      await fc.assert(
        fc.asyncProperty(programs(), async (program) => {
          const session = run(program).at(-1) as Session;
          const document = (await atifExport.write({ session, store })) as string;
          for (const { id } of session.history()) expect(document.includes(id)).toBe(true);
          for (const format of exports)
            expect((await format.write({ session, store })).length).toBeGreaterThan(0);
        }),
        { numRuns: RUNS },
      );
    });
  });

  it("[X1] can be written with a fact of every type", async () => {
    await withStore(async (store) => {
      let session = Session.start("go", { at: "2026-01-01T00:00:00Z" });
      for (const fact of Object.values(sampleFacts("words", "0".repeat(64))))
        session = session.append({ ...fact, at: "2026-01-01T00:00:00Z" } as FactInput);
      for (const format of exports)
        expect((await format.write({ session, store })).length).toBeGreaterThan(0);
    });
  });

  it("[X2] is the same after a round trip", async () => {
    await withStore(async (store) => {
      await fc.assert(
        fc.asyncProperty(programs(), async (program) => {
          const session = run(program).at(-1) as Session;
          for (const [write, read] of trips) {
            const first = (await write.write({ session, store, name: "n" })) as string;
            const [imported] = await read.read(sourceOf("n", first)).catch((error: Error) => {
              // A line in which nothing was said has nothing that SWE-agent could read.
              if (read === sweAgent && /neither a history/.test(error.message)) return [];
              throw error;
            });
            if (imported !== undefined)
              expect(await write.write({ session: imported.session, store })).toBe(first);
          }
        }),
        { numRuns: Math.ceil(RUNS / 2) },
      );
    });
  });

  it("[X4] tells nothing that was erased", async () => {
    const secret = `SECRET-${"s".repeat(4200)}`;
    await withStore(async (store) => {
      let session = Session.start(secret, { nonce: "n" });
      for (const fact of Object.values(sampleFacts(secret, session.id)))
        session = session.append(fact as FactInput);
      await store.save(session, { name: "n" });
      const digests = [...session.history()].flatMap((node) =>
        [...node.blobs()].map(({ ref }) => ref.digest),
      );
      const loaded = await store.erase("n", {
        digests: [...new Set(digests)],
        by: "user:ada",
        why: "asked for",
      });
      for (const subject of [session, loaded])
        for (const format of exports) {
          const text = Buffer.from(await format.write({ session: subject, store })).toString("latin1");
          expect(text.slice(Math.max(0, text.indexOf("SECRET") - 200), text.indexOf("SECRET") + 1)).toBe("");
        }
    });
  });
});

describe.skipIf(lacking !== undefined)(
  `the recordings of others${lacking === undefined ? "" : ` (${lacking})`}`,
  () => {
    it("[X1] any session is a log that the schema of Inspect takes", async () => {
      const { components } = JSON.parse(recorded("inspect-ai/inspect-openapi.json"));
      const schema = new Validator({ ...components.schemas.EvalLog, components } as never, "2020-12");
      await withStore(async (store) => {
        let every = Session.start("go", { at: "2026-01-01T00:00:00Z" });
        for (const fact of Object.values(sampleFacts("words", "0".repeat(64))))
          every = every.append({ ...fact, at: "2026-01-01T00:00:00Z" } as FactInput);
        const check = async (session: Session): Promise<void> => {
          const document = JSON.parse((await inspectExport.write({ session, store, name: "n" })) as string);
          expect(
            schema.validate(document).errors.map(({ instanceLocation, error }) => [instanceLocation, error]),
          ).toEqual([]);
        };
        await check(every);
        await fc.assert(
          fc.asyncProperty(programs(30), async (program) => check(run(program).at(-1) as Session)),
          { numRuns: Math.ceil(RUNS / 6) },
        );
      });
    });

    it("[X3] can be saved, checked, loaded and written in every format", async () => {
      const sources = [
        ...recordings("atif", /_atif\.json$/).map((source) => [atif, source] as const),
        ...recordings("atif", /_atof\.jsonl$/).map((source) => [atof, source] as const),
        ...recordings("inspect-ai", /(_.*\.json|\.eval)$/).map((source) => [inspect, source] as const),
        ...recordings("swe-agent/trajectories", /\.traj$/).map((source) => [sweAgent, source] as const),
        ...recordings("openhands", /\.jsonl$/).map((source) => [openHands, source] as const),
      ];
      expect(sources).toHaveLength(21);
      const formats = [atif, atof, inspect, sweAgent, openHands];
      await withStore(async (store) => {
        for (const [format, source] of sources) {
          expect(formats.filter((one) => one.fits(source))).toEqual([format]);
          for (const { name, session } of await format.read(source)) {
            // Two files may be called the same but for their ending.
            const place = `${source.name}: ${name}`;
            await store.save(session, { name: place });
            const loaded = await store.load(place);
            expect(loaded.transcript).toEqual(session.transcript);
            for (const one of exports)
              expect((await one.write({ session: loaded, store, name })).length).toBeGreaterThan(0);
          }
        }
        expect((await store.check()).findings).toEqual([]);
      });
    });
  },
);

describe("files of others", () => {
  it("[N1] propose names that a store takes", async () => {
    await withStore(async (store) => {
      const session = Session.start("hi");
      for (const name of [
        "",
        "a.json",
        ".traj",
        "x\u0000\ud800y.eval",
        "n".repeat(500),
        "f".repeat(64),
        "ü/ö.jsonl",
      ])
        await store.save(session, { name: nameOf(name), force: true });
      expect(nameOf("log.json", 1, 2)).toBe("log/1/2");
      await store.save(session, { name: nameOf("n".repeat(500), "m".repeat(500)), force: true });
    });
  });

  it("[N2] keep all digits of numbers", async () => {
    const digits = "12345678901234567890";
    const document = {
      schema_version: "ATIF-v1.5",
      session_id: "s",
      agent: { name: "a", version: "1" },
      steps: [{ step_id: 1, source: "user", message: `said ${digits}`, extra: { run: 1, other: 2 } }],
    };
    const text = JSON.stringify(document)
      .replace('"run":1', `"run":${digits}`)
      .replace('"other":2', '"other":-9007199254740993');
    const [{ session, notes }] = (await atif.read(sourceOf("a.json", text))) as [Imported];
    expect(notes).toContain("Numbers with more digits than can be counted with are kept as texts.");
    await withStore(async (store) => {
      const written = (await atifExport.write({ session, store })) as string;
      expect(JSON.parse(written).steps[0].extra).toEqual({ run: digits, other: "-9007199254740993" });
    });
    // What keeps its digits as a number stays one.
    const fine = new Foreign("f", sourceOf("a", "[100000000000000000000,9007199254740992,1e30]"));
    expect(fine.json()).toEqual([1e20, 2 ** 53, 1e30]);
    expect([...fine.notes]).toEqual([]);
  });

  it("[K4] a line that cannot be read is reported, and the others are read", () => {
    const file = new Foreign("lines", sourceOf("x", '{"a":1}\n\n[2]\n{"b":\n{"c":3}\n{"d'));
    expect(file.lines()).toEqual([
      { line: 1, value: { a: 1 } },
      { line: 5, value: { c: 3 } },
    ]);
    expect([...file.warnings]).toEqual([
      "line 3 is unreadable: an object was expected.",
      "line 4 is unreadable: it is not JSON.",
      "line 6 is unreadable: the file ends in the middle of it.",
    ]);
    expect(file.gaps).toEqual([3, 4, 6]);
    const kept = [...file.keepBroken(Session.start("x")).history()].slice(1).map(({ fact }) => fact);
    expect(kept.map((fact) => fact.type === "note" && fact.value)).toEqual(["[2]", '{"b":', '{"d']);
    expect(file.gaps).toEqual([]);
    const many = new Foreign("lines", sourceOf("x", `{}\n${"{\n".repeat(100)}`));
    many.lines();
    expect(many.warnings.size).toBe(21);
    expect([...many.warnings].at(-1)).toBe("80 more lines are unreadable.");
  });

  it("[K5] say of a person only what the file says of one", async () => {
    const begun = Arrival.start(new Foreign("f", sourceOf("a.json", "{}")), { name: "a" });
    begun.add({ type: "note", kind: "task", task: { user: "mia" } });
    begun.say("assistant", "Hello.");
    const asked = Arrival.start(new Foreign("f", sourceOf("a.json", "{}")), { name: "a", text: "Book it." });
    asked.say("user", "Thanks.");
    const authors = (arrival: Arrival): unknown[] =>
      [...arrival.session.history()].map(({ fact }) => `${fact.type} ${fact.by}`);
    expect(authors(begun)).toEqual([
      "session-start runtime",
      "record-import runtime",
      "note runtime",
      "message-say agent",
    ]);
    expect(authors(asked)).toEqual(["session-start user", "record-import runtime", "message-say user"]);
  });

  it("[K6] wait for an approval that was asked for and not given", () => {
    const arrival = Arrival.start(new Foreign("f", sourceOf("a.json", "{}")), { name: "a" });
    arrival.decide({ pay: 1 }, "approve", "user:ada");
    arrival.suspend();
    expect(statusOf(arrival.session)).toBe("open");
    const of = arrival.add({ type: "approval-ask", what: { pay: 2 }, digest: digestOf("2") });
    arrival.suspend();
    expect(statusOf(arrival.session)).toBe("waiting");
    expect(arrival.session.fact).toMatchObject({ waiting: [of], by: "runtime" });
  });

  it("[G1] are told from the rest", () => {
    const foreign = (content: string | Uint8Array): Foreign => new Foreign("f", sourceOf("a", content));
    const where = (use: () => unknown): unknown => {
      try {
        return use();
      } catch (error) {
        return (error as { data: { where: string } }).data.where;
      }
    };
    expect(where(() => foreign(Buffer.from([0xff])).text())).toBe("");
    expect(where(() => foreign("{\n\n[").lines())).toBe("line 1");
    expect(where(() => foreign("[1]").lines())).toBe("line 1");
    expect(where(() => foreign(`${"[ ".repeat(450)}${"]".repeat(450)}`).json())).toBe("");
    const deep = `${"[ ".repeat(450)}${"]".repeat(450)}`;
    expect(() => foreign(deep).json()).toThrow(/deeper than 400 levels/);
    expect(() => foreign("[".repeat(100_000)).json()).toThrow(/deeper than 400/);
    const long = { ...sourceOf("a", ""), bytes: { length: 400 * 1024 ** 2 + 1 } as Uint8Array };
    expect(() => new Foreign("f", long).text()).toThrow(/longer than 419430400 bytes/);
    const odd = foreign('{"__proto__":{"polluted":1}}').json();
    expect(Object.keys(odd as object)).toEqual(["__proto__"]);
    expect(({} as { polluted?: unknown }).polluted).toBe(undefined);
  });
});
