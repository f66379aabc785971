import { describe, expect, it } from "vitest";
import type { FactId } from "../../session/index.js";
import { openStore } from "../../store/index.js";
import { rollback } from "../index.js";
import { poisoned } from "../testing/poisoned.js";
import { influence, influenceText } from "./index.js";
import { naive, plain } from "./testing/naive.js";
import { HandRecord } from "./testing/record.js";

/** A space with a memory that rests on somebody's words. */
function noted() {
  const record = new HandRecord();
  const evidence = record.start("It is blue.");
  const space = record.start();
  const memory = record.write(space, [evidence]);
  return { record, evidence, space, memory };
}

describe("what a memory reached", () => {
  it("[A1] follows a reading through forks and merges, and leaves the rest alone", async () => {
    const { record, evidence, memory } = noted();
    const other = record.write(memory, [evidence]);
    const trunk = record.reply(record.start("Paint it."));
    const fork = record.add([trunk], { type: "branch-fork", name: "bold" });
    const read = record.read(fork, [memory]);
    const bold = record.tool(record.reply(read));
    const side = record.add([trunk], { type: "branch-fork", name: "small" });
    const small = record.reply(record.read(side, [other]));
    const merged = record.add([small, bold], { type: "branch-merge", adopt: "ours" });
    const end = record.reply(merged);
    const names = { evidence, "memory/notes": other, small, bold, end, trunk };
    const store = await openStore("memory:");
    await record.to(store, names);
    const found = await influence(store, memory);
    expect(plain(found)).toEqual(naive(record.facts, names, memory));
    expect(found.reads).toMatchObject([
      { id: read, memories: [memory], branch: "bold", shown: true, score: 0.5 },
    ]);
    expect(found.sessions).toEqual([
      { name: "bold", id: bold, first: read, branch: "bold", before: fork },
      { name: "end", id: end, first: read, branch: "bold", before: fork },
    ]);
    expect(found.counts).toEqual({
      "branch-merge": 1,
      "memory-read": 1,
      "model-call": 2,
      "model-reply": 2,
      "tool-call": 1,
      "tool-result": 1,
    });
    expect(found.totals).toEqual({ facts: 8, reads: 1, decisions: 3, direct: 3, memories: 0 });
    expect(found).toMatchObject({ memories: [], spaces: ["notes"], more: false, unresolved: 0 });
  });

  it("[A1] goes back to before the call that a reading is evidence of", async () => {
    const { record, memory } = noted();
    const asked = record.start("Go.");
    const call = record.add([asked], { type: "step-call", name: "recall", effect: "read" });
    const start = record.add([call], { type: "effect-start", of: call, attempt: 1 });
    const read = record.read(start, [memory], { of: call });
    const store = await openStore("memory:");
    await record.to(store, { "memory/notes": memory, s: read });
    expect((await influence(store, memory)).sessions).toMatchObject([{ first: read, before: asked }]);
    // One that names a call elsewhere is not believed.
    const stray = record.read(asked, [memory], { of: memory });
    await record.to(store, { s: stray });
    expect((await influence(store, memory)).sessions).toMatchObject([{ first: stray, before: asked }]);
  });

  it("[A1] takes the reading that has none before it for the first, whatever clocks say", async () => {
    const { record, memory } = noted();
    const start = record.start("Go.");
    const first = record.read(start, [memory], { at: "2026-05-05T00:00:00.000Z" });
    const second = record.read(record.reply(first), [memory], { at: "2026-02-02T00:00:00.000Z" });
    const store = await openStore("memory:");
    await record.to(store, { "memory/notes": memory, s: second });
    expect((await influence(store, memory)).sessions).toMatchObject([{ first, before: start }]);
  });

  it("[A1] marks the names that the runtime keeps", async () => {
    const { record, memory } = noted();
    const read = record.read(record.start("Go."), [memory]);
    const store = await openStore("memory:");
    await record.to(store, { "memory/notes": memory, s: read, "run/x/1": read });
    const { sessions } = await influence(store, memory);
    expect(sessions.map(({ name, kept }) => [name, kept])).toEqual([
      ["run/x/1", true],
      ["s", undefined],
    ]);
  });

  it("[A2] follows memories that came of it, through two spaces, and the readings of those", async () => {
    const { record, evidence, memory } = noted();
    const read = record.read(record.start("Paint."), [memory]);
    const told = record.reply(read);
    const team = record.start();
    const second = record.write(team, [told], { space: "team" });
    const far = record.read(record.start("Paint more."), [second], { space: "team" });
    const done = record.tool(far);
    const third = record.write(second, [done], { space: "team" });
    const revised = record.add([third], {
      type: "memory-revise",
      of: third,
      text: "So.",
      because: [evidence],
    });
    const names = { evidence, "memory/notes": memory, a: told, "memory/team": revised, b: done };
    const store = await openStore("memory:");
    await record.to(store, names);
    const found = await influence(store, memory);
    expect(plain(found)).toEqual(naive(record.facts, names, memory));
    expect(found.memories).toEqual([
      {
        id: second,
        fact: second,
        because: told,
        from: memory,
        read,
        space: "team",
        text: expect.any(String),
      },
      {
        id: third,
        fact: third,
        because: done,
        from: second,
        read: far,
        space: "team",
        text: expect.any(String),
      },
    ]);
    expect(found.spaces).toEqual(["notes", "team"]);
    expect(found.sessions.map(({ name }) => name)).toEqual(["a", "b"]);
    // What came later says nothing about what was before.
    expect((await influence(store, third)).totals).toMatchObject({ facts: 0, memories: 0 });
  });

  it("[A2] takes a memory that merges it, cites it or one of its versions for its own", async () => {
    const { record, evidence, memory } = noted();
    const revised = record.add([memory], {
      type: "memory-revise",
      of: memory,
      text: "It was blue.",
      because: [evidence],
    });
    const merging = record.write(revised, [evidence], { merges: [memory] });
    const citing = record.write(merging, [revised]);
    const other = record.write(citing, [evidence], { contradicts: [memory] });
    const promoted = record.add([other], { type: "memory-promote", of: other, because: [merging] });
    const read = record.read(record.start("Go."), [merging]);
    const names = { "memory/notes": promoted, s: read };
    const store = await openStore("memory:");
    await record.to(store, names);
    const found = await influence(store, memory);
    expect(plain(found)).toEqual(naive(record.facts, names, memory));
    expect(new Set(found.memories.map(({ id }) => id))).toEqual(new Set([merging, citing, other]));
    expect(found.memories.find(({ id }) => id === other)).toMatchObject({ fact: promoted, from: merging });
    expect(found.reads.map(({ id }) => id)).toEqual([read]);
    // Asked by a later version, it is the same memory.
    expect((await influence(store, revised)).memory).toBe(memory);
    expect((await influence(store, memory.slice(0, 10))).memory).toBe(memory);
  });

  it("[A3] tells decisions in the turn of a reading from later ones", async () => {
    const { record, evidence, memory } = noted();
    const other = record.write(memory, [evidence]);
    const read = record.read(record.start("Go."), [memory]);
    const now = record.reply(read);
    const another = record.read(now, [other]);
    const still = record.reply(record.say(another, "an agent's words", "agent:b"));
    const next = record.reply(record.say(still, "And now?"));
    // Read again, but others were shown in its place.
    const left = record.read(next, [memory], { hits: [{ memory, score: 0.1, parts: { told: false } }] });
    const last = record.reply(left);
    const names = { "memory/notes": other, s: last };
    const store = await openStore("memory:");
    await record.to(store, names);
    const found = await influence(store, memory);
    expect(plain(found)).toEqual(naive(record.facts, names, memory));
    expect(found.decisions.map(({ id, direct }) => [id, direct])).toEqual([
      [now, true],
      [still, true],
      [next, false],
      [last, false],
    ]);
    expect(found.totals.direct).toBe(2);
    expect(found.reads.map(({ shown }) => shown)).toEqual([true, false]);
    const bounded = await influence(store, memory, { most: 1 });
    expect(bounded).toMatchObject({ more: true, totals: found.totals, decisions: [{ id: now }] });
    expect(influenceText(bounded)).toContain("… and 3 more");
  });

  it("[A3] a turn that goes on on one side of a merge goes on, and words with two parents end it on both", async () => {
    const { record, evidence, memory } = noted();
    const other = record.write(memory, [evidence]);
    const read = record.read(record.start("Go."), [memory]);
    const on = record.reply(read);
    const over = record.say(read, "Next.");
    const merged = [
      record.reply(record.add([on, over], { type: "branch-merge", adopt: "ours" })),
      record.reply(record.add([over, on], { type: "branch-merge", adopt: "ours" })),
    ] as const;
    const elsewhere = record.read(record.start("Go."), [other]);
    const said = record.add([read, elsewhere], {
      type: "message-say",
      by: "user",
      role: "user",
      content: "Now.",
    });
    const told = record.reply(said);
    const names = { "memory/notes": other, a: merged[0], b: merged[1], c: told };
    const store = await openStore("memory:");
    await record.to(store, names);
    const found = await influence(store, memory);
    expect(plain(found)).toEqual(naive(record.facts, names, memory));
    const direct = new Map(found.decisions.map((one) => [one.id, one.direct]));
    expect([merged[0], merged[1], told].map((id) => direct.get(id))).toEqual([true, true, false]);
  });

  it("[A4] follows a session without a name, as long as a memory rests on it", async () => {
    const { record, evidence, memory } = noted();
    const alone = record.reply(record.read(record.start("Nobody named this."), [memory]));
    const store = await openStore("memory:");
    await record.to(store, { evidence, "memory/notes": memory });
    expect((await influence(store, memory)).totals.reads).toBe(0);
    const second = record.write(memory, [alone]);
    await record.to(store, { "memory/notes": second });
    const found = await influence(store, memory);
    expect(plain(found)).toEqual(naive(record.facts, { evidence, "memory/notes": second }, memory));
    expect(found.memories.map(({ id }) => id)).toEqual([second]);
    expect(found.sessions).toEqual([]);
    // The memory is taken back, and with it what led there.
    await record.to(store, { "memory/notes": memory });
    expect((await influence(store, memory)).totals).toMatchObject({ reads: 0, facts: 0, memories: 0 });
  });
});

describe("what was written after a reading", () => {
  it("[A16] follows detached sessions, the session that wrote a memory, and forks of the space", async () => {
    const { rath, store, by, keep, poison, read, space } = await poisoned();
    const old = [[...read.history()][0]?.id as FactId] as const;
    const innocent = await keep("Parcels go out on Mondays.", rath.start("On Mondays.", { by }), {
      name: "b",
    });
    const detached = await keep("Our account is MAL-999.", read.detach().say("Remember it.", { by }), {
      name: "detached",
    });
    const older = await keep("Money goes back to MAL-999.", read, { name: "older", because: old });
    await keep("Parcels go to MAL-999.", read, { name: "revised", because: old, of: innocent });
    await space.fork("notes-fork", { by });
    const found = await influence(store, poison);
    expect(found.memories.map(({ id }) => id).sort()).toEqual([detached, older, innocent].sort());
    const names = found.sessions.flatMap(({ name, kept }) => (kept ? [] : [name]));
    expect(names).toEqual(["detached", "older", "read", "revised"]);
    expect(found).toMatchObject({ spaces: ["notes", "notes-fork"], unresolved: 0 });
    const before = (await store.load(poison)).parents[0]?.id as FactId;
    const { reached } = await rollback(space, before, { why: "poison", by });
    expect(reached[0]?.influence.spaces).toContain("notes-fork");
    await rath.close();
  });

  it("[A16] a root whose origin is not here counts as unresolved until it comes", async () => {
    const { record, evidence, memory } = noted();
    const away = new HandRecord();
    const told = away.reply(away.read(away.start("Elsewhere."), [memory]));
    const head = record.reply(record.detach(told));
    const store = await openStore("memory:");
    await record.to(store, { evidence, "memory/notes": memory, s: head });
    expect(await influence(store, memory)).toMatchObject({ sessions: [], unresolved: 1 });
    await away.to(store);
    const found = await influence(store, memory);
    expect(found.sessions.map(({ name }) => name)).toEqual(["s"]);
    expect(found).toMatchObject({ unresolved: 0, counts: { "session-detach": 1, "model-reply": 2 } });
  });
});

describe("refusals", () => {
  it("[A15] refuses an id that is not a memory, and unknown options", async () => {
    const { record, evidence, memory } = noted();
    const store = await openStore("memory:");
    await record.to(store, { evidence, "memory/notes": memory });
    const refused = async (act: Promise<unknown>) =>
      act.then(
        () => expect.unreachable(),
        (error) => [error.code, error.message.split("\n")[0], error.hint],
      );
    expect(await refused(influence(store, evidence))).toEqual([
      "memory-unknown",
      `Cannot ask about a memory: ${evidence.slice(0, 12)} is a session-start.`,
      expect.stringContaining("give the id of a memory"),
    ]);
    expect((await refused(influence(store, "f".repeat(64))))[1]).toContain("is not in the store");
    expect((await refused(influence(store, "notes")))[1]).toContain('"notes" is not the id of a memory');
    expect(await refused(influence(store, memory, { mots: 3 } as never))).toEqual([
      "memory-option",
      'Cannot ask what a memory reached: it has no option "mots".',
      'did you mean "most"?',
    ]);
    expect((await refused(influence(store, memory, { most: 0 })))[0]).toBe("memory-option");
    expect((await refused(influence(store, memory, { progress: 3 } as never)))[0]).toBe("memory-option");
  });
});
