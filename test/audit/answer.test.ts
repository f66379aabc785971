import { agent, type FactId, openRath, renderedPrompt, Session, scripted, workflow } from "openrath";
import { whatModelSaw, whatStep, whichBranch, whichMemory } from "openrath/evidence";
import { why } from "openrath/memory";
import { digestOf } from "openrath/session";
import type { Recorded } from "openrath/store";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { faultsOf, ofType, scan } from "./scan.js";
import { type World, world } from "./world.js";

let here: World;
let facts: readonly Recorded[];
beforeAll(async () => {
  here = await world();
  facts = await scan(here.store, "work");
});
afterAll(() => here.rath.close());

const CALLS = ["model-call", "tool-call", "step-call"];
const steps = (): readonly Recorded[] => facts.filter(({ fact }) => CALLS.includes(fact.type));
const claimsAbout = (answer: { claims: readonly { text: string; facts: readonly FactId[] }[] }, id: FactId) =>
  answer.claims.filter((claim) => claim.facts.includes(id)).map(({ text }) => text);

describe("which branch produced this answer", () => {
  it("[Q2] [Q1] tells the call, the fork, the merge, and what was rejected beside it", async () => {
    const answer = await whichBranch(here.store, "work");
    expect(await faultsOf(here.store, answer)).toEqual([]);
    const reply = ofType(facts, "model-reply").at(-1) as Recorded;
    const fork = ofType(facts, "branch-fork").find(({ fact }) => fact.name === "small") as Recorded;
    const merge = ofType(facts, "branch-merge")[0] as Recorded;
    const failed = ofType(facts, "validation-report")[0] as Recorded;
    const lost = ofType(facts, "model-reply").findLast(({ fact }) => fact.agent === "bold") as Recorded;
    expect(answer.detail).toEqual({ message: reply.id, branch: "small" });
    expect(claimsAbout(answer, reply.id)[0]).toContain('"It is on the shelf." was given on the branch small');
    expect(claimsAbout(answer, (reply.fact as { of: string }).of)[0]).toContain("asked by agent:shipper");
    expect(claimsAbout(answer, fork.id)[0]).toMatch(
      /small was begun by workflow:repairing .* because: touch one line/,
    );
    expect(claimsAbout(answer, merge.id)[0]).toMatch(
      /by agent:judge .* adopted the branch small, because: its tests passed/,
    );
    expect(claimsAbout(answer, lost.id)[0]).toContain(
      'bold was rejected there; its last words were "I wrote it anew."',
    );
    expect(claimsAbout(answer, failed.id)[0]).toContain("checked tests: failed (zwei is not a price)");
    expect(answer.facts.map(({ id, branch }) => [id, branch])).toContainEqual([lost.id, "bold"]);
  });

  it("[Q2] says on which branch each message was said, as the session itself does", async () => {
    const session = await here.store.load("work");
    for (const node of session.history())
      if (node.fact.type === "model-reply") {
        const answer = await whichBranch(here.store, "work", { message: node.id.slice(0, 20) });
        expect(answer.detail).toEqual({ message: node.id, branch: node.branch });
        expect(await faultsOf(here.store, answer)).toEqual([]);
      }
  });

  it("[Q3] says which merge did not adopt a message, and what was adopted instead", async () => {
    const lost = ofType(facts, "model-reply").findLast(({ fact }) => fact.agent === "bold") as Recorded;
    const merge = ofType(facts, "branch-merge")[0] as Recorded;
    const { claims } = await whichBranch(here.store, "work", { message: lost.id });
    expect(claims.find(({ facts: named }) => named.includes(merge.id))?.text).toMatch(
      /adopted the branch small instead, and the words of bold did not go on, because: its tests passed/,
    );
  });

  it("[Q3] says of a message elsewhere that the session does not go on from it, and tells lines that were left", async () => {
    const rath = openRath({ store: "memory:" });
    const store = await rath.store();
    const one = agent({ name: "one", model: scripted("one") });
    const two = agent({ name: "two", model: scripted("two") });
    const race = workflow("race", { one, two }, async (session, parts) => {
      await parts.two.forward(session.fork("second"));
      return parts.one.forward(session.fork("first"));
    });
    const session = await rath.run(race, rath.start("Go."), { name: "race" });
    const answer = await whichBranch(store, "race");
    expect(await faultsOf(store, answer)).toEqual([]);
    expect(answer.answer).toMatch(
      /on the branch first .*1 other line of that run was left where it stood: second \(replied "two"\)/,
    );
    const apart = Session.start("Hello").say("elsewhere", { role: "assistant" });
    await store.save(apart, { name: "apart" });
    expect((await whichBranch(store, "race", { message: apart.id })).answer).toContain(
      `It is not in the past of ${session.id.slice(0, 12)}`,
    );
    expect((await whichBranch(store, apart.parentIds[0] as string)).answer).toMatch(
      /^Nobody has answered anything/,
    );
    await rath.close();
  });
});

describe("which memory was read at this step", () => {
  it("[Q4] tells of each model call exactly the readings whose notes stand in its prompt", async () => {
    const reads = ofType(facts, "memory-read");
    expect(reads.length).toBeGreaterThan(0);
    for (const [place, { id, fact }] of steps().entries()) {
      const answer = await whichMemory(here.store, "work", place + 1);
      expect(await faultsOf(here.store, answer)).toEqual([]);
      const told = (answer.detail as { memories: { reading: string; shown: boolean; memory: string }[] })
        .memories;
      if (fact.type === "model-call") {
        const prompt = JSON.stringify(renderedPrompt(await here.store.load(id)).messages);
        const standing = reads.filter(
          (one) => one.fact.shown && prompt.includes(JSON.stringify(one.fact.shown).slice(1, -1)),
        );
        expect(told.filter(({ shown }) => shown).map(({ reading }) => reading)).toEqual(
          standing.map((one) => one.id),
        );
      } else {
        expect(told.map(({ reading }) => reading)).toEqual(
          reads.filter((one) => one.fact.of === id).map((one) => one.id),
        );
      }
    }
  });

  it("[Q4] tells what was shown, and why the memory was there, down to the words of a person", async () => {
    const answer = await whichMemory(here.store, "work", 2);
    const { leaves } = await why(here.store, here.memory);
    expect(leaves.map(({ ground }) => ground)).toEqual(["person"]);
    expect(answer.answer).toContain('Of it, the model was shown: "[Recalled from the memory');
    expect(answer.answer).toMatch(/, in repairing › research.*, looked in the memory/);
    expect(claimsAbout(answer, here.memory).join(" ")).toMatch(
      /written by user:ada .* learnt from: human-correction/,
    );
    for (const { id } of leaves)
      expect(claimsAbout(answer, id).join(" ")).toContain("In the end it rests on the word of a person");
  });
});

describe("what the model saw at this step", () => {
  it("[Q7] renders every prompt again, with the digest of its call, and each message from its fact", async () => {
    for (const [place, { id, fact }] of steps().entries()) {
      if (fact.type !== "model-call") continue;
      const answer = await whatModelSaw(here.store, "work", place + 1);
      expect(await faultsOf(here.store, answer)).toEqual([]);
      expect(answer.gaps).toEqual([]);
      const detail = answer.detail as { call: string; digest: string; text: string };
      expect([detail.call, detail.digest]).toEqual([id, fact.prompt]);
      expect(digestOf(detail.text)).toBe(fact.prompt);
      const messages = answer.claims.filter(({ text }) => text.startsWith("Message "));
      const session = await here.store.load(id);
      // The conversation, and the notes before what was said last.
      expect(messages.length).toBe((session.parents[0] as Session).transcript.length + 1);
      for (const { facts: named } of messages)
        for (const one of named) expect(await here.store.has(one)).toBe(true);
    }
  });

  it("[Q7] tells at a tool the model that was asked last before it", async () => {
    const place = steps().findIndex(({ fact }) => fact.type === "tool-call");
    const answer = await whatModelSaw(here.store, "work", place + 1);
    expect(answer.answer).toMatch(/is not a model call; this is about the last model call before it/);
    expect((answer.detail as { call: string }).call).toBe(steps()[place - 1]?.id);
  });
});

describe("what happened at this step", () => {
  it("[Q12] by its number, its id, and anything that came of it; with everything that names it", async () => {
    for (const [place, { id }] of steps().entries()) {
      const answer = await whatStep(here.store, "work", place + 1);
      expect(await faultsOf(here.store, answer)).toEqual([]);
      expect(answer.detail).toEqual({ step: id, number: place + 1 });
      const about = facts.filter(
        ({ fact }) => (fact as { of?: string }).of === id && fact.type !== "effect-start",
      );
      const told = new Set(answer.facts.map((one) => one.id));
      expect(about.filter((one) => !told.has(one.id))).toEqual([]);
      for (const one of about)
        expect((await whatStep(here.store, "work", one.id)).detail).toEqual({ step: id, number: place + 1 });
      expect((await whatStep(here.store, "work", id.slice(0, 16))).detail).toEqual({
        step: id,
        number: place + 1,
      });
    }
  });
});

describe("questions that cannot be meant", () => {
  it("[Q13] are refused with what to write instead", async () => {
    const { store } = here;
    const total = steps().length;
    for (const step of ["0", "999", String(total + 1)])
      await expect(whatStep(store, "work", step)).rejects.toMatchObject({
        code: "step-unknown",
        hint: `name one from 1 to ${total}; \`rath log\` shows them`,
      });
    for (const step of ["", "seven", "-1", "1.5", "\ud800", "__proto__", "x".repeat(10_000_000)])
      await expect(whatModelSaw(store, "work", step)).rejects.toMatchObject({ code: "step-unknown" });
    await expect(whichMemory(store, "work", "abcdef0123")).rejects.toMatchObject({ code: "not-found" });
    const [first] = facts;
    await expect(whatStep(store, "work", first?.id ?? "")).rejects.toMatchObject({
      code: "step-unknown",
      message: expect.stringContaining("nothing was called on the way to it"),
    });
    for (const message of ["nonsense", "abcdef0123", ""])
      await expect(whichBranch(store, "work", { message })).rejects.toMatchObject({
        code: "message-unknown",
      });
    const call = ofType(facts, "tool-call")[0] as Recorded;
    await expect(whichBranch(store, "work", { message: call.id })).rejects.toThrow("it is a tool-call");
    await expect(whichBranch(store, "wrok")).rejects.toMatchObject({ code: "not-found" });
  });
});
