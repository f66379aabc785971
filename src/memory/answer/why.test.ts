import { describe, expect, it } from "vitest";
import { agent } from "../../agent/index.js";
import { scripted } from "../../agent/model/index.js";
import type { FactId } from "../../session/index.js";
import { openStore, type Store } from "../../store/index.js";
import { memoryTools } from "../index.js";
import { poisoned } from "../testing/poisoned.js";
import { forkBefore, influence, influenceText, type Why, why, whyText } from "./index.js";
import { HandRecord } from "./testing/record.js";

async function kept(record: HandRecord, names: { readonly [name: string]: FactId }): Promise<Store> {
  const store = await openStore("memory:");
  await record.to(store, names);
  return store;
}

const edges = (answer: Why): ReadonlySet<string> =>
  new Set(answer.edges.map(({ from, to, relation }) => `${from} ${relation} ${to}`));
const groundOf = (answer: Why, id: FactId) => answer.nodes.get(id)?.ground;

describe("why a memory is there", () => {
  it("[A10] lists its versions: author, time, source, scope, evidence", async () => {
    const record = new HandRecord();
    const words = record.start("It is blue.");
    const report = record.add([words], {
      type: "validation-report",
      by: "tool",
      name: "colours",
      passed: true,
    });
    const memory = record.write(record.start(), [words], { source: "human-correction", by: "agent:a" });
    const revised = record.add([memory], {
      type: "memory-revise",
      by: "user:ada",
      of: memory,
      text: "It is navy.",
      source: "validation",
      because: [report],
    });
    const wider = record.add([revised], {
      type: "memory-promote",
      by: "user:bob",
      of: memory,
      because: [words],
      to: ["project:paint"],
    });
    const revoked = record.add([wider], {
      type: "memory-revoke",
      by: "user:bob",
      of: memory,
      why: "painted over",
    });
    const store = await kept(record, { "memory/notes": revoked, s: report });
    const answer = await why(store, memory);
    expect(answer).toMatchObject({ memory, space: "notes", more: false });
    expect(answer.versions).toMatchObject([
      { id: memory, by: "agent:a", source: "human-correction", scope: ["user:ada"], because: [words] },
      { id: revised, by: "user:ada", text: "It is navy.", source: "validation", because: [report] },
      { id: wider, by: "user:bob", scope: ["project:paint"], because: [words] },
      { id: revoked, by: "user:bob", text: "painted over", because: [] },
    ]);
    expect(answer.versions[0]?.at).toMatch(/^2026-/);
    expect(answer.leaves.map(({ id, ground }) => [id, ground])).toEqual([
      [words, "person"],
      [report, "validation"],
    ]);
    // Any of its versions leads to it.
    expect((await why(store, revised)).memory).toBe(memory);
  });

  it("[A10] follows a reply to what was in its prompt", async () => {
    const record = new HandRecord();
    const root = record.start("Long ago.");
    const before = record.tool(root, "old");
    const asked = record.say(before, "Which colour?");
    const looked = record.tool(asked, "blue");
    const reply = record.reply(looked, "It is blue.");
    const memory = record.write(record.start(), [reply]);
    const store = await kept(record, { "memory/notes": memory, s: reply });
    const answer = await why(store, memory);
    expect(groundOf(answer, asked)).toBe("person");
    expect(groundOf(answer, looked)).toBe("tool");
    expect(groundOf(answer, reply)).toBeUndefined();
    const [began, earlier] = [root, record.facts.get(before)?.parents[0] as FactId];
    const call = record.facts.get(looked)?.parents[0] as FactId;
    expect(answer.nodes.get(call)).toMatchObject({
      type: "tool-call",
      text: expect.stringContaining("called look with {"),
    });
    expect(edges(answer)).toEqual(
      new Set([
        `${memory} because ${reply}`,
        `${reply} saw ${asked}`,
        `${reply} saw ${looked}`,
        `${looked} of ${call}`,
        `${reply} saw ${began}`,
        `${reply} saw ${before}`,
        `${before} of ${earlier}`,
      ]),
    );
  });

  it("[A17] follows earlier replies that were in the prompt, also of another session and of the writer", async () => {
    const { rath, store, by, keep, notes, poison, read, space } = await poisoned();
    // The first is what was said in the turn before.
    const answer = scripted(
      "Send it.",
      { tool: "memory_remember", input: { text: "Accounts: MAL-999." } },
      "Done.",
    );
    const clerk = agent({ name: "clerk", model: answer, tools: memoryTools(notes) });
    await rath.run(clerk, read.say("Remember this for later.", { by }), { name: "later" });
    const written = (await space.list()).find(({ text }) => text.startsWith("Accounts"))?.id as FactId;
    const asked = [...read.history()][0]?.id as FactId;
    const detached = await keep("Ours is MAL-999.", read.detach().say("Keep it.", { by }), { name: "d" });
    const older = await keep("Back to MAL-999.", read, { name: "o", because: [asked] });
    for (const memory of [written, detached, older]) {
      const { nodes } = await why(store, memory);
      expect([...nodes.values()].map(({ type }) => type)).toContain("memory-read");
      expect(nodes.has(poison)).toBe(true);
    }
    const fresh = await keep("Tea is at four.", rath.start("Tea is at four.", { by }), { name: "fresh" });
    expect((await why(store, fresh)).nodes.has(poison)).toBe(false);
    await rath.close();
  });

  it("[A10] follows a reading to the memories that it found, and those to what they rest on", async () => {
    const record = new HandRecord();
    const words = record.start("It is blue.");
    const first = record.write(record.start(), [words]);
    const navy = record.add([first], {
      type: "memory-revise",
      by: "user",
      of: first,
      text: "navy",
      because: [words],
    });
    const other = record.write(navy, [words]);
    const read = record.read(record.start("Which?"), [], {
      hits: [
        { memory: first, version: navy, score: 1 },
        { memory: other, score: 0.4 },
      ],
    });
    const reply = record.reply(read);
    const second = record.write(other, [reply], { merges: [other] });
    const store = await kept(record, { "memory/notes": second, s: reply });
    const told = edges(await why(store, second));
    for (const edge of [
      `${second} because ${reply}`,
      `${second} merges ${other}`,
      `${reply} saw ${read}`,
      `${read} found ${navy}`,
      `${read} found ${other}`,
      `${navy} of ${first}`,
      `${first} because ${words}`,
    ])
      expect(told).toContain(edge);
  });

  it("[A10] knows what people, tools, imports and other agents are", async () => {
    const record = new HandRecord();
    const start = record.start("Go.");
    const ask = record.add([start], {
      type: "approval-ask",
      by: "runtime",
      what: "delete it",
      digest: "d".repeat(64),
    });
    const give = record.add([ask], {
      type: "approval-give",
      by: "user:ada",
      of: ask,
      decision: "reject",
      digest: "d".repeat(64),
    });
    const run = record.add([give], {
      type: "command-run",
      by: "tool",
      sandbox: "s",
      incarnation: 1,
      command: "npm test",
      outcome: "exited",
      code: 1,
      milliseconds: 5,
    });
    const report = record.add([run], {
      type: "validation-report",
      by: "tool",
      name: "tests",
      passed: false,
      of: run,
    });
    const imported = record.add([], {
      type: "record-import",
      by: "service",
      format: "chat",
      source: "log",
      digest: "d".repeat(64),
    });
    const note = record.add([report], { type: "note", by: "user:ada", kind: "seen", text: "it broke" });
    const call = record.add([note], { type: "tool-call", name: "ask-bob", input: {} });
    const worker = record.reply(record.add([call], { type: "branch-fork", name: "bob" }), "bob's answer");
    const answered = record.add([call, worker], {
      type: "tool-result",
      by: "tool",
      of: call,
      output: "bob's answer",
    });
    const signal = record.add([answered], { type: "signal-await", name: "go" });
    const given = record.add([signal], { type: "signal-give", by: "user:bob", of: signal, value: "go" });
    const taken = record.add([signal, given], {
      type: "answer-take",
      by: "runtime",
      of: signal,
      answer: given,
    });
    const because = [give, report, imported, note, answered, taken];
    const memory = record.write(record.start(), because);
    const answer = await why(await kept(record, { "memory/notes": memory, s: taken, i: imported }), memory);
    expect([give, report, run, imported, note, answered, given].map((id) => groundOf(answer, id))).toEqual([
      "person",
      "validation",
      "tool",
      "import",
      "person",
      "tool",
      "person",
    ]);
    const told = edges(answer);
    expect(told).toContain(`${report} of ${run}`);
    expect(told).toContain(`${give} of ${ask}`);
    expect(told).toContain(`${answered} made by ${worker}`);
    expect(told).toContain(`${taken} answer ${given}`);
    // The agent that worked as a tool saw the words with which the turn began.
    expect(told).toContain(`${worker} saw ${start}`);
  });

  it("[A11] is bounded, nearest first, and says what is missing and that there is more", async () => {
    const record = new HandRecord();
    const gone = "0".repeat(64);
    let last = record.write(record.start(), [record.start("Blue."), gone]);
    const memories = [last];
    for (let count = 0; count < 50; count++) {
      last = record.write(last, [last, memories[0] as FactId]);
      memories.push(last);
    }
    const store = await kept(record, { "memory/notes": last });
    const whole = await why(store, last);
    expect(whole.more).toBe(false);
    // The first one is the evidence of all others, and stands there once.
    expect(whole.nodes.size).toBe(53);
    expect(groundOf(whole, gone)).toBe("missing");
    const part = await why(store, last, { most: 5 });
    expect(part.nodes.size).toBe(5);
    expect(part.more).toBe(true);
    expect(part.nodes.has(memories[49] as FactId)).toBe(true);
    for (const { from, to } of part.edges) expect(part.nodes.has(from) && part.nodes.has(to)).toBe(true);
    expect(whyText(part)).toContain("… and more than was followed");
    expect(whyText(whole)).toContain("(see above)");
  });

  it("[A11] looks at a turn of any length, to a bound", async () => {
    const record = new HandRecord();
    let last = record.start("Go.");
    for (let count = 0; count < 600; count++) last = record.tool(last);
    const reply = record.reply(last);
    const memory = record.write(record.start(), [reply]);
    const answer = await why(await kept(record, { "memory/notes": memory, s: reply }), memory);
    expect(answer.more).toBe(true);
    expect(answer.nodes.size).toBeLessThanOrEqual(1_000);
  });

  it("[A15] refuses an id that is not a memory of the store", async () => {
    const record = new HandRecord();
    const words = record.start("Blue.");
    const store = await kept(record, { words });
    const code = (act: Promise<unknown>) =>
      act.then(
        () => undefined,
        (error) => error.code,
      );
    expect(await code(why(store, words))).toBe("memory-unknown");
    expect(await code(why(store, "a".repeat(64)))).toBe("memory-unknown");
    expect(await code(why(store, words, { deep: 3 } as never))).toBe("memory-option");
  });
});

describe("as text", () => {
  it("[A13] keeps a fact on its line, whatever is in it", async () => {
    const record = new HandRecord();
    const evil = "\u001b[2J\u202eevil\nbecause tool-result fake\u2028\u0000\ud800";
    const words = record.start(evil);
    const memory = record.write(record.start(), [words], {
      space: evil,
      text: evil,
      source: evil,
      scope: [evil],
    });
    const read = record.reply(
      record.read(record.start("Go."), [memory], { space: evil, by: "agent:\u001b[2Jx" }),
      evil,
    );
    const second = record.write(memory, [read], { text: evil, space: evil });
    const store = await kept(record, { "memory/notes": second, s: read });
    const texts = [whyText(await why(store, second)), influenceText(await influence(store, memory))];
    for (const text of texts) {
      expect(text.isWellFormed()).toBe(true);
      expect(text.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
      for (const line of text.split("\n")) expect(line).not.toMatch(/^\s*because tool-result fake/);
    }
    expect(texts[0]).toContain("[person]");
    expect(texts[1]).toContain("later memories");
  });

  it("[A13] a text of ten million characters is a short line", async () => {
    const record = new HandRecord();
    const memory = record.write(record.start(), [record.start("x".repeat(10_000_000))], {
      text: " y".repeat(5_000_000),
    });
    const store = await kept(record, { "memory/notes": memory });
    expect(whyText(await why(store, memory)).length).toBeLessThan(2_000);
  });
});

describe("forking to before", () => {
  it("[A14] leaves the sessions alone, takes a free name, and says what it left out", async () => {
    const record = new HandRecord();
    const memory = record.write(record.start(), [record.start("Blue.")]);
    const start = record.start("Go.");
    const a = record.reply(record.read(start, [memory]));
    const b = record.reply(record.read(record.reply(a), [memory]));
    const root = record.add([], {
      type: "memory-read",
      space: "notes",
      query: "?",
      hits: [{ memory, score: 1 }],
    });
    const store = await kept(record, { "memory/notes": memory, a, b, root, "run/x/1": a });
    const reached = await influence(store, memory);
    const { forks, skipped } = await forkBefore(store, reached, { by: "user:ada", why: "it is red" });
    const end = `~before-${memory.slice(0, 8)}`;
    expect(forks.map(({ session, name, before }) => [session, name, before])).toEqual([
      ["a", `a${end}`, start],
      ["b", `b${end}`, start],
    ]);
    expect(skipped.map(({ session }) => session)).toEqual(["root", "run/x/1"]);
    expect([await store.head("a"), await store.head("b")]).toEqual([a, b]);
    for (const { name, id } of forks) {
      const session = await store.load(name);
      expect(session.id).toBe(id);
      expect(session.parentIds).toEqual([start]);
      expect(session.fact).toMatchObject({ type: "branch-fork", by: "user:ada", why: "it is red" });
    }
    const again = await forkBefore(store, reached, { by: "user:ada", why: "it is red", names: ["a"] });
    expect(again.forks.map(({ name }) => name)).toEqual([`a${end}-2`]);
    // What was forked is not reached: asked again, the answer is the same.
    expect((await influence(store, memory)).sessions).toEqual(reached.sessions);
  });

  it("[A14] [A15] refuses who does not say who, why, or which", async () => {
    const record = new HandRecord();
    const memory = record.write(record.start(), [record.start("Blue.")]);
    const store = await kept(record, { "memory/notes": memory });
    const reached = await influence(store, memory);
    const code = (options: unknown) =>
      forkBefore(store, reached, options as never).then(
        () => undefined,
        (error) => error.code,
      );
    expect(await code({ why: "x" })).toBe("memory-option");
    expect(await code({ by: "user:ada" })).toBe("memory-option");
    expect(await code({ by: "user:ada", why: "x", names: ["no"] })).toBe("memory-option");
    expect(await code({ by: "user:ada", why: "x", name: "no" })).toBe("memory-option");
    expect(await code({ by: "user:ada", why: "x" })).toBeUndefined();
  });
});
