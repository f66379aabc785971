import { describe, expect, it } from "vitest";
import { Session } from "../../session/index.js";
import { openStore } from "../../store/index.js";
import {
  actReport,
  answerText,
  eraseContent,
  findContent,
  ifFalse,
  whatDid,
  whatHappened,
  whatModelSaw,
  whatStep,
  whichBranch,
  whichCall,
  whichMemory,
  whoApproved,
} from "./index.js";
import { faultsOf } from "./testing/faults.js";

describe("which branch produced this answer", () => {
  it("[Q1] tells merges that went on with both sides, of three, and of a reply with words above one that only calls", async () => {
    const store = await openStore("memory:");
    const usage = { input: 1, output: 1 };
    const trunk = Session.start("Go.");
    const said = (session: Session, content: string) => {
      const call = session.append({ type: "model-call", model: "m" });
      return call.append({ type: "model-reply", of: call.id, content, finish: "stop", usage });
    };
    const [a, b, c] = ["a", "b", "c"].map((name) => said(trunk.fork(name), `of ${name}`)) as [
      Session,
      Session,
      Session,
    ];
    const chosen = a.merge([b, c], { adopt: 2, by: "user:ada", why: "best" });
    const both = chosen.merge(said(trunk.fork("d"), "of d"), { adopt: "both" });
    await store.save(both, { name: "s" });
    const answer = await whichBranch(store, "s");
    expect(await faultsOf(store, answer)).toEqual([]);
    expect(answer.detail).toEqual({ message: c.id, branch: "c" });
    expect(answer.answer).toMatch(
      /adopted the branch c, because: best\. The branch a was rejected.*The branch b was rejected/,
    );
    expect(answer.answer).toMatch(
      /went on with all sides, the branch c among them, and the record does not say why/,
    );
  });
});

describe("which branch produced this answer, of trials", () => {
  it("[Q1] branches that were gathered are told with their last words, and none as rejected", async () => {
    const store = await openStore("memory:");
    const trunk = Session.start("Go.");
    const trials = [0, 1].map((number) =>
      trunk
        .fork(`trial-${number}`)
        .say(`done ${number}`, { role: "assistant" })
        .append({ type: "validation-report", name: "reward", passed: number === 1, score: number }),
    );
    await store.save(trunk.merge(trials, { adopt: "none", by: "runtime", why: "trials" }), { name: "task" });
    const answer = await whichBranch(store, "task");
    expect(await faultsOf(store, answer)).toEqual([]);
    expect(answer.answer).toMatch(/gathered 3 branches and preferred none/);
    expect(answer.answer).toMatch(/The branch trial-1 ended with .*done 1/);
    expect(answer.answer).toMatch(/reward/);
    expect(answer.answer).not.toMatch(/rejected/);
    const one = await whichBranch(store, "task", {
      message: (trials[0] as Session).parents[0]?.id as string,
    });
    expect(one.answer).toMatch(/After it, the merge .* gathered 3 branches and preferred none/);
    expect(one.answer).not.toMatch(/rejected|did not go on/);
  });
});

describe("the answer of a session that gathers", () => {
  it("[Q15] is not one, though its branches answered", async () => {
    const store = await openStore("memory:");
    const trunk = Session.start("Go.");
    const trials = [0, 1].map((number) =>
      trunk.fork(`trial-${number}`).say(`done ${number}`, { role: "assistant" }),
    );
    await store.save(trunk.merge(trials, { adopt: "none", by: "runtime" }), { name: "task" });
    await store.save(trunk, { name: "silent" });
    expect((await whichBranch(store, "task")).answer).toMatch(/has no single answer: its branches answered/);
    expect((await whichBranch(store, "task")).answer).not.toMatch(/no model replied/);
    expect((await whichBranch(store, "silent")).answer).toMatch(/no model replied/);
  });
});

describe("which memory was read at this step", () => {
  it("[Q2] a later reading takes the place of one before; an agent that begins in the middle was told nothing before", async () => {
    const store = await openStore("memory:");
    const read = (shown: string) =>
      ({
        type: "memory-read",
        space: "notes",
        query: "?",
        hits: [{ memory: "a".repeat(64), score: 1 }],
        shown,
        by: "agent:a",
      }) as const;
    const first = Session.start("Go.", { by: "user:ada" }).append(read("one"));
    const second = first.append(read("two"));
    const call = second.append({ type: "model-call", model: "m", agent: "a" });
    const config = second.append({ type: "agent-configure", agent: "sub", since: second.id });
    const inside = config.append({ type: "model-call", model: "m", agent: "sub", config: config.id });
    await store.save(call, { name: "s" });
    await store.save(inside, { name: "t" });
    const shownIn = async (name: string) =>
      (
        (await whichMemory(store, name, 1)).detail as { memories: { reading: string; shown: boolean }[] }
      ).memories.map(({ shown }) => shown);
    expect(await shownIn("s")).toEqual([false, true]);
    expect(await shownIn("t")).toEqual([false, false]);
    // What a tool looked up is its outcome, and no note.
    const tool = Session.start("Go.").append({ type: "tool-call", name: "recall", input: {} });
    const hits = [
      { memory: "b".repeat(64), score: 1 },
      { memory: "c".repeat(64), score: 0.1, parts: { told: false } },
    ];
    const looked = tool.append({
      type: "memory-read",
      space: "notes",
      query: "?",
      hits,
      of: tool.id,
      by: "tool",
    });
    await store.save(looked, { name: "u" });
    expect((await whichMemory(store, "u", 1)).answer).toMatch(
      /returned by the tool recall.*Memory b{12} was found and given back by the tool.*Memory c{12} was found and left out/,
    );
    // The memory itself is nowhere, and that is said.
    expect((await whichMemory(store, "s", 1)).gaps.join(" ")).toContain("is not in this store");
  });
});

describe("an answer as text", () => {
  it("[Q7] has every claim and gap, and nothing that moves a terminal", async () => {
    const store = await openStore("memory:");
    const evil = "\u001b]0;owned\u0007\u001b[2J\u202e\u2028 fine";
    const start = Session.start(evil, { by: `user:${evil}` });
    const call = start.append({ type: "model-call", model: evil, by: `agent:${evil}` });
    const usage = { input: 1, output: 1 };
    const reply = call.append({ type: "model-reply", of: call.id, content: evil, finish: "stop", usage });
    const forked = reply.fork(evil, { why: evil }).append({ type: "note", kind: evil, [evil]: evil });
    await store.save(forked, { name: "s" });
    for (const answer of [
      await whichBranch(store, "s"),
      await whatStep(store, "s", 1),
      await whatModelSaw(store, "s", 1),
      await whichMemory(store, "s", 1),
    ]) {
      const text = answerText(answer, { columns: 60 });
      // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be there
      expect(text).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e]/);
      const words = text.replaceAll(/\s+/g, " ");
      for (const { text: claim } of answer.claims)
        expect(words).toContain(claim.replaceAll(/\s+/g, " ").slice(0, 30));
      for (const gap of answer.gaps) expect(words).toContain(gap.replaceAll(/\s+/g, " ").slice(0, 30));
    }
  });
});

describe("options", () => {
  it("[Q10] that there are not are refused with the one that was meant", async () => {
    const store = await openStore("memory:");
    await store.save(Session.start("Go."), { name: "s" });
    const wrong: readonly (readonly [Promise<unknown>, string])[] = [
      [whichBranch(store, "s", { mesage: "x" } as never), 'did you mean "message"?'],
      [whoApproved(store, "s", { limt: 1 } as never), 'did you mean "limit"?'],
      [whatHappened(store, "s", { until: "now" } as never), "the options are from, to, limit, all, now"],
      [whichCall(store, "s", "f", { lines: 1 } as never), 'did you mean "line"?'],
      [whatDid(store, "user", { name: "s" } as never), 'did you mean "names"?'],
      [ifFalse(store, "a".repeat(64), { Limit: 1 } as never), 'did you mean "limit"?'],
      [actReport(store, undefined, { profil: "x" } as never), 'did you mean "profile"?'],
      [findContent(store, { abuot: "x" } as never), 'did you mean "about"?'],
      [whichBranch(store, "s", null as never), "the options are message, horizon"],
    ];
    for (const [asked, hint] of wrong)
      await expect(asked).rejects.toMatchObject({ code: "question-refused", hint });
    const found = await findContent(store, { about: "Go" });
    await expect(
      eraseContent(store, found, { why: "x", by: "user:a", bassis: "y" } as never),
    ).rejects.toMatchObject({
      hint: 'did you mean "basis"?',
    });
  });
});
