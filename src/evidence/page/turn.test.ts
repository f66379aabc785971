import { describe, expect, it } from "vitest";
import { type FactInput, Session } from "../../session/index.js";
import { openStore } from "../../store/index.js";
import { repaired } from "../dossier/testing/repaired.js";
import { type Pages, pages } from "./pages.js";
import { clock, step } from "./testing/steps.js";
import type { Turn } from "./turn.js";

const usage = { input: 10, output: 2 };

async function turnsOf(read: Pages, options: Parameters<Pages["turns"]>[1] = {}): Promise<readonly Turn[]> {
  const { items, next } = await read.turns("it", options);
  return next === null ? items : [...items, ...(await turnsOf(read, { ...options, after: next }))];
}

describe("turns", () => {
  it("[T1] are those of the way that was adopted, with calls, commands and files", async () => {
    const { store, bold } = await repaired();
    const read = pages(store);
    const { items } = await read.turns("issue-7");
    expect(items.map(({ role, branch, index }) => [role, branch, index])).toEqual([
      ["user", "main", 0],
      ["notice", "main", 1],
      ["notice", "small", 2],
      ["assistant", "small", 3],
      ["assistant", "small", 4],
      ["notice", "small", 5],
      ["notice", "small", 6],
    ]);
    const reply = items[3] as Turn;
    expect(reply).toMatchObject({ model: "small-1", usage: { input: 100, cost: 0.25, milliseconds: 1_200 } });
    expect(reply.parts.slice(0, 2)).toEqual([
      { type: "reasoning", text: "Think.", size: 6 },
      { type: "text", text: "I shall edit.", size: 13 },
    ]);
    expect(reply.parts.slice(3)).toMatchObject([
      {
        tool: "edit",
        state: "done",
        attempts: 1,
        files: [{ path: "a.txt" }, { path: "b.txt" }],
        notes: [{ type: "policy-decide" }],
      },
      { tool: "test", commands: [{ code: 0, stdout: { text: "ok 1" } }], notes: [{ tone: "good" }] },
    ]);
    const rejected = await read.turns("issue-7", { head: bold.id });
    expect(rejected.items.at(-1)).toMatchObject({ role: "assistant", branch: "bold" });
    const notices = items.flatMap(({ parts }) =>
      parts.flatMap((part) => (part.type === "notice" ? [part.row.type] : [])),
    );
    expect(notices).toContain("approval-give");
  });

  it("[T2] a call tells its attempts, doubts, large outputs, and what a model wanted and nobody began", async () => {
    const store = await openStore("memory:");
    const at = clock();
    let session = Session.start("Do it.", { at: at() });
    const append = (fact: FactInput): string => {
      session = session.append({ ...fact, at: at() } as FactInput);
      return session.id;
    };
    const error = { name: "Error", message: "busy" };
    const model = append({ type: "model-call", model: "small-1" });
    const image = { type: "file", media: "image/png", data: "iVBORw0KGgo=" } as const;
    const call = (name: string) => ({ type: "tool-call", call: name, name, input: {} }) as const;
    append({
      type: "model-reply",
      of: model,
      content: [image, call("one"), call("two"), call("three")],
      finish: "tool-calls",
      usage,
    });
    const one = append({ type: "tool-call", name: "one", input: {}, call: "one", effect: "write" });
    append({ type: "effect-start", of: one, attempt: 1 });
    append({ type: "effect-fail", of: one, attempt: 1, error, wait: 5 });
    append({ type: "effect-start", of: one, attempt: 2 });
    const two = append({ type: "tool-call", name: "two", input: {}, call: "two" });
    append({ type: "tool-result", of: one, output: "x".repeat(5_000_000), from: model });
    append({ type: "effect-doubt", of: two, attempt: 1, error });
    append({ type: "model-call", model: "small-1" });
    await store.save(session, { name: "it" });
    const read = pages(store);
    const [, reply, open] = (await turnsOf(read)) as [Turn, Turn, Turn];
    expect(reply.parts).toMatchObject([
      { type: "image", media: "image/png", part: 0, size: 8 },
      { tool: "one", state: "done", attempts: 2, tries: [{ json: true }], taken: model },
      { tool: "two", state: "in-doubt", notes: [{ flags: ["in-doubt"] }] },
      { tool: "three", state: "open" },
    ]);
    const [, first] = reply.parts;
    const blob = first?.type === "call" ? first.outcome?.blob : undefined;
    expect((await store.blob(blob as string))?.length).toBeGreaterThan(4_999_999);
    expect(open).toMatchObject({ open: true, parts: [] });
    const file = await read.part(reply.parts[0]?.type === "image" ? reply.parts[0].fact : "", 0);
    expect([file.media, file.bytes.length]).toEqual(["image/png", 8]);
    await expect(read.part(one, 0)).rejects.toMatchObject({ code: "question-refused" });
  });

  it("[T3] [T4] pages forwards and backwards are the whole, also of a program without a model", async () => {
    const store = await openStore("memory:");
    const at = clock();
    let session = Session.start("Do it.", { at: at() });
    for (let round = 0; round < 9; round++) session = step(session, "edit", "ok", at);
    for (let round = 0; round < 900; round++) {
      const call = session.append({ type: "step-call", name: "work", at: at() });
      session = call.append({ type: "step-result", of: call.id, value: round, at: at() });
    }
    await store.save(session, { name: "it" });
    const read = pages(store);
    const whole = await turnsOf(read, { limit: 1_000 });
    expect(whole.map(({ index }) => index)).toEqual(whole.map((_, place) => place));
    expect(whole.flatMap(({ parts }) => parts).filter(({ type }) => type === "call")).toHaveLength(909);
    expect(await turnsOf(read, { limit: 3 })).toEqual(whole);
    expect((await turnsOf(read, { limit: 3, reverse: true })).toReversed()).toEqual(whole);
    const last = await read.turns("it", { reverse: true, limit: 2 });
    expect([last.previous, last.items[0]?.index]).toEqual([null, whole.length - 1]);
    // [T4] From the middle: the turn of a fact, what follows, and what was before.
    const half = Math.floor(whole.length / 2);
    const middle = whole[half] as Turn;
    const [call] = middle.parts.flatMap((part) => (part.type === "call" ? [part.id] : []));
    for (const of of [middle.id, call as string]) {
      const page = await read.turns("it", { of, limit: 3 });
      expect(page.items.map(({ index }) => index)).toEqual([half, half + 1, half + 2]);
      const before = await read.turns("it", { of, limit: 2, after: page.previous as string });
      expect(before.items.map(({ index }) => index)).toEqual([half - 1, half - 2]);
    }
    expect((await read.turns("it", { of: session.id })).items.map(({ index }) => index)).toEqual([
      whole.length - 1,
    ]);
    for (const options of [{ limit: 0 }, { limit: 1_001 }, { after: "7" }])
      await expect(read.turns("it", options)).rejects.toMatchObject({ code: "question-refused" });
  });
});
