import { describe, expect, it } from "vitest";
import { agent } from "../../src/agent/index.js";
import { scripted } from "../../src/agent/model/index.js";
import { tool } from "../../src/agent/tool/index.js";
import type { Module, Rath } from "../../src/runtime/index.js";
import { policy } from "../../src/runtime/policy/index.js";
import { answerName } from "../../src/runtime/run/names.js";
import { blind, rathOf, storeOf } from "../../src/runtime/testing/rath.js";
import type { FactOf, Json, Session, Terms } from "../../src/session/index.js";
import { approve, step } from "../../src/workflow/index.js";

/** A clerk whose first payment ends nobody knows how. */
function clerkOf(approval: boolean | Terms, input: Json = { to: "eve" }): { module: Module; paid: Json[] } {
  const paid: Json[] = [];
  const pay = tool({
    name: "pay",
    description: "Pays.",
    input: { type: "object" },
    effect: "write",
    approval,
    timeout: 30,
    run: (given) => {
      paid.push(given as Json);
      return paid.length === 1 ? new Promise<never>(() => {}) : "paid";
    },
  });
  const module = agent({ name: "clerk", model: scripted({ tool: "pay", input }, "Done."), tools: [pay] });
  return { module, paid };
}

async function doubtful(
  approval: boolean | Terms,
  by: readonly `user:${string}`[],
): Promise<{ rath: Rath; module: Module; paid: Json[] }> {
  const { module, paid } = clerkOf(approval);
  const rath = rathOf();
  await rath.run(module, rath.start("Refund me.", { by: "user:customer" }), { name: "r" });
  for (const one of by) await rath.approve("r", { by: one });
  await rath.resume("r", module);
  expect(paid).toHaveLength(1);
  return { rath, module, paid };
}

const facts = <Type extends "effect-settle" | "approval-ask">(session: Session, type: Type) =>
  [...session.history()].flatMap(({ fact }) => (fact.type === type ? [fact as FactOf<Type>] : []));

describe("what became of a call in doubt", () => {
  it("[A13] is for those to say who may approve it", async () => {
    const { rath, module, paid } = await doubtful({ from: "user:boss" }, ["user:boss"]);
    for (const decision of ["again", "done", "failed"] as const)
      for (const by of ["user:customer", "agent:clerk", "service:bank"] as const)
        await expect(rath.settle("r", { by, decision })).rejects.toMatchObject({
          code: "answer-refused",
          hint: "who may answer: user:boss",
        });
    await rath.settle("r", { by: "user:boss", decision: "done", value: "paid by then" });
    const ended = await rath.resume("r", module);
    expect([ended.fact.type, paid.length]).toEqual(["run-end", 1]);
  });

  it.each([
    [true, ["user:boss"], "user:ada", ["agent:other", "service:bank", "tool:pay"]],
    [false, [], "service:bank", ["agent:other", "tool:pay", "runtime"]],
  ] as const)("[A13] names nobody: approval %s", async (approval, approvers, may, others) => {
    const { rath, module } = await doubtful(approval, approvers);
    for (const by of others)
      await expect(rath.settle("r", { by, decision: "done" })).rejects.toMatchObject({
        code: "answer-refused",
        message: expect.stringContaining("is not a person"),
      });
    await rath.settle("r", { by: may, decision: "failed", why: "the bank knows nothing of it" });
    expect((await rath.resume("r", module)).fact.type).toBe("run-end");
  });

  it("[A13] stays open where somebody wrote into the record what they may not say", async () => {
    const { rath, module, paid } = await doubtful({ from: "user:boss" }, ["user:boss"]);
    const store = await rath.store();
    const id = (await rath.pending("r"))[0]?.id as string;
    const asked = await store.load(id);
    const forged = asked.append({ type: "effect-settle", of: id, decision: "again", by: "user:customer" });
    await store.save(forged, { name: answerName(asked.fact.run as string, id), expect: null });
    const waits = await rath.resume("r", module);
    expect([waits.fact.type, paid.length]).toEqual(["run-suspend", 1]);
    await rath.settle("r", { by: "user:boss", decision: "done", value: "paid" });
    const ended = await rath.resume("r", module);
    expect([ended.fact.type, paid.length]).toEqual(["run-end", 1]);
    expect((await blind(store).replay("r", module, { mode: "verify" })).id).toBe(ended.id);
  });

  it("[A14] again is a second execution, which an approver must approve", async () => {
    const { rath, module, paid } = await doubtful({ from: "user:boss" }, ["user:boss"]);
    const [doubt] = await rath.pending("r");
    await expect(
      rath.settle("r", { by: "user:boss", decision: "again", digest: "0".repeat(64) }),
    ).rejects.toMatchObject({ code: "answer-refused" });
    await rath.settle("r", { by: "user:boss", decision: "again", digest: doubt?.digest as string });
    const ended = await rath.resume("r", module);
    expect([ended.fact.type, paid.length]).toEqual(["run-end", 2]);
    expect(facts(ended, "effect-settle")).toMatchObject([{ by: "user:boss", digest: doubt?.digest }]);
    expect((await blind(await rath.store()).replay("r", module, { mode: "verify" })).id).toBe(ended.id);
  });

  it("[A14] again asks everybody else anew whose agreement it takes", async () => {
    const terms: Terms = { from: ["user:ada", "user:bob"], need: 2 };
    for (const second of ["approve", "reject"] as const) {
      const { rath, module, paid } = await doubtful(terms, ["user:ada", "user:bob"]);
      await rath.settle("r", { by: "user:ada", decision: "again" });
      expect((await rath.resume("r", module)).fact.type).toBe("run-suspend");
      expect(paid).toHaveLength(1);
      expect(await rath.pending("r")).toMatchObject([
        { type: "approval-ask", to: ["user:bob"], execution: 2, answered: false },
      ]);
      await expect(rath.settle("r", { by: "user:ada", decision: "again" })).rejects.toMatchObject({
        code: "answer-refused",
      });
      await rath[second]("r", { by: "user:bob" });
      const ended = await rath.resume("r", module);
      expect([ended.fact.type, paid.length]).toEqual(["run-end", second === "approve" ? 2 : 1]);
      expect((await blind(await rath.store()).replay("r", module, { mode: "verify" })).id).toBe(ended.id);
    }
  });

  it("[A14] again takes the agreement that every rule wants, and an edit is agreed to once", async () => {
    const { module, paid } = clerkOf({ from: "user:boss" });
    const rule = { name: "big", verdict: "ask", tool: "pay", approval: { from: "user:audit" } } as const;
    const rath = rathOf({ policy: policy("house", [rule]) });
    await rath.run(module, rath.start("Refund me.", { by: "user:customer" }), { name: "r" });
    const asks = await rath.pending("r");
    const of = (to: string): string => asks.find((one) => one.to?.[0] === to)?.id as string;
    await rath.approve("r", { by: "user:audit", ask: of("user:audit") });
    await rath.approve("r", { by: "user:boss", ask: of("user:boss"), edit: { to: "bob" } });
    await rath.resume("r", module);
    await rath.approve("r", { by: "user:audit" });
    await rath.resume("r", module);
    expect(paid).toEqual([{ to: "bob" }]);
    const [doubt] = await rath.pending("r");
    expect(doubt).toMatchObject({ shown: { tool: "pay", input: { to: "bob" } } });
    await rath.settle("r", { by: "user:boss", decision: "again" });
    await rath.resume("r", module);
    expect(paid).toHaveLength(1);
    expect(await rath.pending("r")).toMatchObject([{ to: ["user:audit"], execution: 2 }]);
    await rath.approve("r", { by: "user:audit" });
    const ended = await rath.resume("r", module);
    expect([ended.fact.type, paid]).toEqual(["run-end", [{ to: "bob" }, { to: "bob" }]]);
    expect((await blind(await rath.store()).replay("r", module, { mode: "verify" })).id).toBe(ended.id);
  });

  it("[A15] is shown with all that is needed to find it out", async () => {
    const { rath } = await doubtful({ from: "user:boss" }, ["user:boss"]);
    const [one] = await rath.pending("r");
    const start = [...(await rath.load("r")).history()].flatMap(({ fact }) =>
      fact.type === "effect-start" ? [fact] : [],
    )[0];
    expect(one).toMatchObject({
      type: "tool-call",
      what: "pay",
      doubt: true,
      shown: { tool: "pay", input: { to: "eve" } },
      digest: expect.stringMatching(/^[0-9a-f]{64}$/),
      key: start?.key,
      started: start?.at,
      attempts: 1,
      error: { name: "TimeoutError" },
      approved: ["user:boss"],
      to: ["user:boss"],
    });
    const plain = await doubtful(false, []);
    const [other] = await plain.rath.pending("r");
    expect(other).toMatchObject({ shown: { tool: "pay", input: { to: "eve" } }, attempts: 1 });
    expect(other).not.toHaveProperty("approved");
  });
});

describe("who approves", () => {
  it("[A16] is a person, or whom the terms name", async () => {
    for (const by of ["agent:other", "service:robot", "tool:x", "runtime:r"] as const)
      for (const from of [undefined, by]) {
        const { module } = clerkOf(from === undefined ? true : { from });
        const rath = rathOf();
        await rath.run(module, rath.start("go"), { name: "r" });
        if (from !== undefined) await rath.approve("r", { by });
        else {
          await expect(rath.approve("r", { by })).rejects.toMatchObject({ code: "answer-refused" });
          await expect(rath.takeOver("r", { by, value: 1 })).rejects.toMatchObject({
            code: "answer-refused",
          });
          await rath.reject("r", { by });
        }
        const consent = approve("consent", { pay: 1 });
        await rath.run(consent, rath.start("go"), { name: "c" });
        await expect(rath.approve("c", { by })).rejects.toMatchObject({
          hint: expect.stringContaining(`from: "${by}"`),
        });
      }
  });

  it("[A17] sees every character of what is shown, and agrees to its true bytes", async () => {
    const to = "pay\u202eeve\u200b \u00e9\u{e0041}\n";
    const { module, paid } = clerkOf(true, { to, "k\u2066": 1 });
    const rath = rathOf({ store: await storeOf() });
    await rath.run(module, rath.start("go"), { name: "r" });
    const [asked] = await rath.pending("r");
    expect(asked).toMatchObject({
      shown: { input: { to: "pay\\u202eeve\\u200b \u00e9\\u{e0041}\n", "k\\u2066": 1 } },
      escaped: true,
    });
    await rath.approve("r", { by: "user:ada", digest: asked?.digest as string });
    await rath.resume("r", module);
    expect(paid).toEqual([{ to, "k\u2066": 1 }]);
    expect((await rath.pending("r"))[0]).toMatchObject({ escaped: true, digest: asked?.digest });
    const plain = rathOf();
    await plain.run(clerkOf(true).module, plain.start("go"), { name: "r" });
    expect((await plain.pending("r"))[0]).not.toHaveProperty("escaped");
  });
});

describe("an approval that is revoked", () => {
  it("[A18] is a no, with both on the record, until it is used", async () => {
    const { module, paid } = clerkOf(true);
    const rath = rathOf();
    await rath.run(module, rath.start("go"), { name: "r" });
    await expect(rath.revoke("r", { by: "user:ada" })).rejects.toMatchObject({ code: "answer-refused" });
    const given = await rath.approve("r", { by: "user:ada" });
    await expect(rath.reject("r", { by: "user:ada" })).rejects.toMatchObject({
      code: "answer-refused",
      hint: expect.stringContaining("rath.revoke("),
    });
    await expect(rath.revoke("r", { by: "user:bob" })).rejects.toMatchObject({ code: "answer-refused" });
    const revoked = await rath.revoke("r", { by: "user:ada", why: "wrong account" });
    await expect(rath.revoke("r", { by: "user:ada" })).rejects.toMatchObject({ code: "answer-refused" });
    const ended = await rath.resume("r", module);
    expect([ended.fact.type, paid]).toEqual(["run-end", []]);
    const gives = [...ended.history()].filter(({ fact }) => fact.type === "approval-give");
    expect(gives.map(({ id }) => id)).toEqual([given, revoked]);
    expect(gives.map(({ fact }) => fact)).toMatchObject([
      { by: "user:ada", decision: "approve" },
      { by: "user:ada", decision: "reject", why: "wrong account" },
    ]);
    const store = await rath.store();
    expect((await store.names()).map(({ name }) => name)).toEqual(["r"]);
    expect((await blind(store).replay("r", module, { mode: "verify" })).id).toBe(ended.id);
    await expect(rath.revoke("r", { by: "user:ada" })).rejects.toMatchObject({ code: "answer-refused" });
  });

  it("[A18] cannot be taken back once it is used", async () => {
    const { rath } = await doubtful(true, ["user:ada"]);
    await expect(rath.revoke("r", { by: "user:ada" })).rejects.toMatchObject({ code: "answer-refused" });
  });
});

describe("the reason of a person", () => {
  it("[A19] is in no line, where the run repeats a rejection or a settlement", async () => {
    const word = "Jane Roe";
    const pay = step("pay", () => "paid", { effect: "write", approval: true });
    const rejected = rathOf();
    await rejected.run(pay, rejected.start("go"), { name: "r" });
    await rejected.reject("r", { by: "user:ada", why: word });
    await rejected.resume("r", pay).catch(() => {});
    const sessions = [await rejected.load("r")];
    for (const decision of ["done", "failed"] as const) {
      const { rath, module } = await doubtful(true, ["user:ada"]);
      const said = decision === "done" ? { value: word } : { why: word };
      await rath.settle("r", { by: "user:ada", decision, ...said });
      sessions.push(await rath.resume("r", module));
    }
    for (const session of sessions)
      expect([...session.history()].map(({ line }) => line).join()).not.toContain(word);
    const outcomes = sessions.map(
      (session) =>
        [...session.history()].find(({ fact }) => /^(tool|step)-(result|failure)$/.test(fact.type))?.fact,
    );
    expect(outcomes).toMatchObject([
      { type: "step-failure", error: { message: word } },
      { type: "tool-result", output: word, by: "user:ada" },
      { type: "tool-failure", error: { message: word }, by: "user:ada" },
    ]);
  });
});
