import { afterEach, describe, expect, it } from "vitest";
import { canonical, digestOf, type Fact, Session, writeLine } from "../../session/index.js";
import { openStore } from "../../store/index.js";
import { ifFalse, whatDid, whatHappened, whatModelSaw, whatStep, whichBranch, whoApproved } from "./index.js";
import { faultsOf } from "./testing/faults.js";

describe("who approved what", () => {
  it("[Q4] an answer that names other bytes, and a question whose digest is not of what it shows, are said to count for nothing", async () => {
    const store = await openStore("memory:");
    const call = Session.start("Go.").append({ type: "tool-call", name: "pay", input: { amount: 9 } });
    const what = { amount: 9 };
    const ask = call.append({ type: "approval-ask", what, digest: digestOf(canonical(what)), of: call.id });
    const forged = call.append({
      type: "approval-ask",
      what: { amount: 1 },
      digest: digestOf(canonical(what)),
      of: call.id,
    });
    const give = (of: Session, digest: string) =>
      of.append({ type: "approval-give", of: of.id, decision: "approve", digest, by: "user:eve" });
    const merged = give(ask, "0".repeat(64)).merge(give(forged, digestOf(canonical(what))));
    await store.save(merged, { name: "s" });
    const { gaps } = await whoApproved(store, "s");
    expect(gaps.join(" ")).toMatch(/names another digest than what was shown: it counts for nothing/);
    expect(gaps.join(" ")).toMatch(/does not have the digest that it names: it proves nothing/);
    expect((await whoApproved(store, "s", { limit: 1 })).gaps.join(" ")).toMatch(/1 more question was asked/);
    expect((await whoApproved(store, call.id)).answer).toMatch(/^Nobody was asked to approve anything/);
  });
});

describe("what happened between two times", () => {
  it("[Q5] a day is meant with all its hours, and times can be told as how long ago", async () => {
    const store = await openStore("memory:");
    const start = Session.start("a", { at: "2026-05-03T23:59:59.000Z" });
    const later = start.append({ type: "note", kind: "b", at: "2026-05-04T00:00:00.000Z" });
    const odd = later.append({ type: "note", kind: "c", at: "2026-05-04T01:30:00+02:00" });
    await store.save(odd, { name: "s" });
    const timeless = { type: "note", at: "yesterday", by: "user" } as unknown as Fact;
    await store.import([writeLine([odd.id], timeless, { inline: 4096 })], { name: "t" });
    const total = async (from: string, to: string) =>
      (await whatHappened(store, "s", { from, to, now: Date.parse("2026-05-04T00:00:30Z") })).detail as {
        total: number;
      };
    expect((await total("2026-05-03", "2026-05-03")).total).toBe(2);
    expect((await total("2026-05-04", "2026-05-04")).total).toBe(1);
    expect((await total("1m", "now")).total).toBe(2);
    expect((await total("2026-05-03 23:00Z", "30m")).total).toBe(1);
    expect((await whatHappened(store, "t")).gaps.join(" ")).toContain(
      "1 fact tells no time that can be read",
    );
  });
});

describe("times as people write them", () => {
  const zone = process.env.TZ;
  afterEach(() => {
    if (zone === undefined) delete process.env.TZ;
    else process.env.TZ = zone;
  });

  it("[Q11] without a zone are UTC, wherever the machine is; a month is refused with the day to write", async () => {
    process.env.TZ = "America/New_York";
    expect(new Date("2026-05-04T01:00:00Z").getHours()).toBe(21);
    const store = await openStore("memory:");
    await store.save(Session.start("a", { at: "2026-05-04T01:00:00.000Z" }), { name: "s" });
    for (const [from, to, total] of [
      ["2026-05-04T00:30", "2026-05-04 01:30", 1],
      ["2026-05-04T01:30:00", "2026-05-04T06:00:00", 0],
      ["2026-05-04", "2026-05-04", 1],
    ] as const)
      expect((await whatHappened(store, "s", { from, to })).detail).toMatchObject({ total });
    for (const options of [{ from: "2026-05" }, { to: "2026-05" }])
      await expect(whatHappened(store, "s", options)).rejects.toMatchObject({
        code: "question-refused",
        hint: expect.stringContaining("2026-05-01"),
      });
  });
});

describe("behind a merge", () => {
  it("[Q12] the side that was adopted is asked", async () => {
    const store = await openStore("memory:");
    const ask = (session: Session, model: string, call: string) => {
      const asked = session.append({ type: "model-call", model, agent: model });
      return asked.append({
        type: "model-reply",
        of: asked.id,
        agent: model,
        content: [{ type: "tool-call", call, name: "t", input: {} }],
        finish: "tool-calls",
        usage: { input: 1, output: 1 },
      });
    };
    const start = Session.start("task");
    const [ours, theirs] = [ask(start.fork("a"), "model-a", "c"), ask(start.fork("b"), "model-b", "c")];
    const merged = ours.merge(theirs, { adopt: "theirs" });
    const call = merged.append({ type: "tool-call", name: "t", input: {}, call: "c" });
    await store.save(call.append({ type: "tool-result", of: call.id, output: "ok" }), { name: "s" });
    const saw = await whatModelSaw(store, "s", call.id);
    expect(saw.answer).toContain("asked the model model-b");
    expect(saw.answer).not.toContain("model-a");
    const step = await whatStep(store, "s", call.id);
    expect(step.answer).toContain(`its reply ${theirs.id.slice(0, 12)} to model-b asked for that call`);
  });
});

describe("what would be lost if this memory were false", () => {
  it("[Q6] nothing, of a memory that nobody read; refuses an id that is not a memory", async () => {
    const store = await openStore("memory:");
    const start = Session.start("so it is", { by: "user:ada" });
    const written = Session.start().append({
      type: "memory-write",
      space: "n",
      text: "so it is",
      scope: ["user:ada"],
      source: "human-correction",
      because: [start.id],
      by: "user:ada",
    });
    await store.save(start, { name: "s" });
    await store.save(written, { name: "memory/n" });
    expect((await ifFalse(store, written.id)).answer).toMatch(/^Nothing: nobody has ever read/);
    await expect(ifFalse(store, start.id)).rejects.toMatchObject({ code: expect.stringContaining("memory") });
    await expect(ifFalse(store, "zzz")).rejects.toMatchObject({ code: expect.stringContaining("memory") });
  });
});

describe("erased content", () => {
  it("[Q8] is in no answer; its eraser and the reason are", async () => {
    const store = await openStore("memory:");
    const secret = "Ada lives in Harrow Road.";
    const start = Session.start(secret, { inline: 0, by: "user:ada" });
    const call = start.append({ type: "model-call", model: "m", agent: "a" });
    const usage = { input: 1, output: 1 };
    const reply = call.append({ type: "model-reply", of: call.id, content: secret, finish: "stop", usage });
    await store.save(reply, { name: "s" });
    const digests = [...start.blobs(), ...reply.blobs()].map(({ ref }) => ref.digest);
    await store.erase("s", { digests: [...new Set(digests)], why: "her wish", by: "user:bob" });
    for (const answer of [
      await whichBranch(store, "s"),
      await whatHappened(store, "s"),
      await whatDid(store, "user:ada"),
      await whoApproved(store, "s"),
    ]) {
      expect(JSON.stringify(answer)).not.toContain("Harrow");
      expect(await faultsOf(store, answer)).toEqual([]);
    }
    expect((await whichBranch(store, "s")).answer).toMatch(/\[erased by user:bob at .*: her wish\]/);
  });
});
