import { describe, expect, it } from "vitest";
import { type FactInput, Session } from "../../session/index.js";
import { openStore } from "../../store/index.js";
import { repaired } from "../dossier/testing/repaired.js";
import { pages } from "./pages.js";
import { clock, step } from "./testing/steps.js";

describe("the plan of a rerun", () => {
  it("[R1] sorts requests into those taken from the record and those made again, with effects and places", async () => {
    const { store, small } = await repaired();
    const read = pages(store);
    const facts = [...small.history()];
    const first = facts.findLast(({ fact }) => fact.type === "branch-fork") as Session;
    const plan = await read.rerunPlan("issue-7", first.id, { kind: "instruction" });
    expect(plan.taken).toMatchObject([{ kind: "person" }]);
    expect(plan.real.map(({ kind, effect, place }) => [kind, effect, place])).toEqual([
      ["model", undefined, undefined],
      ["tool", "write", "a fork of the sandbox box-1"],
      ["tool", "write", "a fork of the sandbox box-1"],
      ["model", undefined, undefined],
    ]);
    expect([plan.writes, plan.asks, plan.tokens, plan.cost, plan.unknown]).toEqual([[], [], 315, 0.5, true]);
    expect(plan.sentence).toBe(
      "1 outcome is taken from the record. 2 model calls are made again, about 315 tokens, about $0.50. 2 calls are made again. After the first different answer the program may ask for other things.",
    );
    const call = facts.find(({ fact }) => fact.type === "tool-call") as Session;
    const own = await read.rerunPlan("issue-7", call.id, { kind: "input" });
    expect([own.counts.taken, own.real.length]).toEqual([2, 3]);
    const other = await read.rerunPlan("issue-7", call.id, { kind: "answer" });
    expect([other.counts.taken, other.real.length]).toEqual([3, 2]);
  });

  it("[R2] names writes on the host, questions to people, and doubts to settle", async () => {
    const store = await openStore("memory:");
    const at = clock();
    let session = Session.start("Do it.", { at: at() });
    const append = (fact: FactInput): string => {
      session = session.append({ ...fact, at: at() } as FactInput);
      return session.id;
    };
    const doubt = append({ type: "tool-call", name: "pay", input: {}, effect: "write" });
    append({ type: "effect-doubt", of: doubt, attempt: 1, error: { name: "Error", message: "gone" } });
    const from = append({ type: "note", kind: "here" });
    const send = append({ type: "tool-call", name: "send_mail", input: {}, effect: "write" });
    append({ type: "approval-ask", of: send, what: "x", digest: "ab".repeat(32) });
    append({ type: "tool-result", of: send, output: "sent" });
    await store.save(session, { name: "it" });
    const plan = await pages(store).rerunPlan("it", from, { kind: "instruction" });
    expect(plan.writes).toMatchObject([{ id: send, place: "the host" }]);
    expect(plan.asks.map(({ id }) => id)).toContain(send);
    expect(plan.doubts.map(({ id }) => id)).toEqual([doubt]);
    expect(plan.sentence).toMatch(/^1 call in doubt must be settled first\. 0 outcomes/);
    expect(plan.sentence).toContain("1 write is real: called send_mail on the host.");
  });

  it("[R3] its digest holds until the session has moved or the change is another one, and nothing is written", async () => {
    const { store, head, trunk } = await repaired();
    const read = pages(store);
    const plan = (): ReturnType<typeof read.rerunPlan> =>
      read.rerunPlan("issue-7", trunk.id, { kind: "model" });
    const { digest } = await plan();
    const before = (await store.check()).facts;
    expect((await plan()).digest).toBe(digest);
    expect((await read.rerunPlan("issue-7", trunk.id, { kind: "instruction" })).digest).not.toBe(digest);
    expect((await store.check()).facts).toBe(before);
    await store.save(step(head, "edit", "ok", clock()), { name: "issue-7" });
    expect((await plan()).digest).not.toBe(digest);
    await expect(read.rerunPlan("issue-7", trunk.id, { kind: "luck" as "model" })).rejects.toMatchObject({
      code: "question-refused",
    });
  });
});
