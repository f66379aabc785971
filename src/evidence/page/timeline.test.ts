import { describe, expect, it } from "vitest";
import { type FactInput, Session } from "../../session/index.js";
import { openStore } from "../../store/index.js";
import { repaired } from "../dossier/testing/repaired.js";
import { pages } from "./pages.js";
import { clock, step } from "./testing/steps.js";

const usage = { input: 10, output: 2 };

describe("the timeline", () => {
  it("[S1] tells what took time, how long, what it cost, and in what", async () => {
    const { store } = await repaired();
    const { items } = await pages(store).timeline("issue-7");
    expect(items.map(({ kind, name, state }) => [kind, name, state])).toEqual([
      ["wait", "push", "done"],
      ["model", "small-1", "done"],
      ["tool", "edit", "done"],
      ["tool", "test", "done"],
      ["command", "npm test", "done"],
      ["model", "small-1", "done"],
      ["model", "small-1", "done"],
      ["tool", "edit", "done"],
      ["tool", "test", "done"],
      ["command", "npm test", "failed"],
    ]);
    const [, model, , test, command] = items;
    expect(model).toMatchObject({ ms: 1_200, tokens: { input: 100, output: 10 }, cost: 0.25, retries: 0 });
    expect(command?.parent).toBe(test?.id);
    expect((command?.to ?? 0) - (command?.from ?? 0)).toBe(command?.ms);
  });

  it("[S2] tells repeated attempts, doubts, what is open, modules, and a cost that is not known", async () => {
    const store = await openStore("memory:");
    const at = clock();
    let session = Session.start("Do it.", { at: at() });
    const append = (fact: FactInput): string => {
      session = session.append({ ...fact, at: at() } as FactInput);
      return session.id;
    };
    const error = { name: "Error", message: "busy" };
    const outer = append({ type: "module-enter", module: "outer" });
    const inner = append({ type: "module-enter", module: "inner" });
    const model = append({ type: "model-call", model: "small-1" });
    append({ type: "model-reply", of: model, content: "", finish: "stop", usage });
    const tool = append({ type: "tool-call", name: "send", input: {} });
    append({ type: "effect-fail", of: tool, attempt: 1, error, wait: 5 });
    append({ type: "tool-failure", of: tool, error, from: model });
    append({ type: "module-exit", of: inner });
    const doubt = append({ type: "tool-call", name: "pay", input: {} });
    append({ type: "effect-doubt", of: doubt, attempt: 1, error });
    append({ type: "signal-await", name: "go" });
    await store.save(session, { name: "it" });
    const read = pages(store);
    const { items } = await read.timeline("it");
    expect(items.map(({ name, state, parent, retries }) => [name, state, parent, retries])).toEqual([
      ["outer", "open", undefined, 0],
      ["inner", "done", outer, 0],
      ["small-1", "done", inner, 0],
      ["send", "failed", inner, 1],
      ["pay", "in-doubt", outer, 0],
      ["go", "waiting", outer, 0],
    ]);
    expect([items[2]?.cost, items[3]?.taken]).toEqual([null, model]);
    expect((await read.series("it")).total).toMatchObject({ calls: 1, tokens: 12, cost: null });
    const half = await read.timeline("it", { limit: 4 });
    expect((await read.timeline("it", { after: half.next as string })).items).toEqual(items.slice(4));
  });

  it("[S3] sums tokens, cost and latency in buckets, and names pauses", async () => {
    const store = await openStore("memory:");
    const at = clock();
    let session = Session.start("Do it.", { at: at() });
    for (let round = 0; round < 20; round++) session = step(session, "edit", "ok", at);
    const late = session.append({ type: "note", at: new Date(Date.parse(at()) + 100_000).toISOString() });
    await store.save(late, { name: "it" });
    const read = pages(store);
    const { buckets, total, idle, from, to } = await read.series("it", { buckets: 10 });
    expect(total).toEqual({ calls: 20, tokens: 240, cost: 10, latency: 20, longest: 20 });
    expect(buckets.reduce((sum, { tokens }) => sum + tokens, 0)).toBe(240);
    expect(buckets).toHaveLength(10);
    expect(idle).toEqual([[(to ?? 0) - 101_000, to]]);
    expect((to ?? 0) - (from ?? 0)).toBe(181_000);
    await expect(read.series("it", { buckets: 5_000 })).rejects.toMatchObject({ code: "question-refused" });
  });
});
