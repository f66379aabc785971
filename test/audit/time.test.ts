import { agent, type FactId, openRath, policy, type Rath, scripted } from "openrath";
import { ifFalse, whatDid, whatHappened, whoApproved } from "openrath/evidence";
import { influence } from "openrath/memory";
import { digestOf } from "openrath/session";
import { openStore, type Recorded } from "openrath/store";
import { tool } from "openrath/tool";
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

describe("who approved what", () => {
  it("[Q8] tells every question and every answer of a scan, and what was shown has its digest", async () => {
    const answer = await whoApproved(here.store, "work");
    expect(await faultsOf(here.store, answer)).toEqual([]);
    expect(answer.gaps).toEqual([]);
    const asks = ofType(facts, "approval-ask");
    const gives = ofType(facts, "approval-give");
    expect([asks.length, gives.length]).toEqual([2, 2]);
    const claims = (id: FactId) => answer.claims.filter((one) => one.facts[0] === id).map(({ text }) => text);
    for (const { id, fact } of asks) {
      expect(digestOf(sorted(fact.what))).toBe(fact.digest);
      expect(claims(id).join(" ")).toMatch(
        /user:ada and user:bob were asked .* by the rule house\/shipping and shown/,
      );
      expect(claims(id).join(" ")).toContain(
        `the digest ${fact.digest.slice(0, 12)} that the question names`,
      );
    }
    expect(claims(gives[0]?.id ?? "")).toEqual([
      expect.stringMatching(
        /^user:bob agreed to "\{"to":"top shelf"\}" in place of it .* because: there is room\.$/,
      ),
    ]);
    expect(claims(gives[1]?.id ?? "")).toEqual([
      expect.stringMatching(/^user:ada rejected it .* because: too far\.$/),
    ]);
  });

  it("[Q8] take-overs, expiries, withdrawals, edited questions and open questions, of a real run", async () => {
    let now = Date.parse("2026-01-01T00:00:00Z");
    const rath = openRath({
      store: "memory:",
      clock: () => now,
      policy: policy("house", [
        {
          name: "two",
          verdict: "ask",
          tool: "pay",
          approval: { from: ["user:ada", "user:bob"], need: 2, within: 1_000 },
        },
      ]),
    });
    const pay = tool({
      name: "pay",
      description: "Pays.",
      input: { type: "object", properties: { to: { type: "string" } }, required: ["to"] },
      effect: "write",
      run: () => "paid",
    });
    const clerk = (to: string) =>
      agent({ name: "clerk", model: scripted({ tool: "pay", input: { to } }, "Done."), tools: [pay] });
    const store = await rath.store();
    const run = async (name: string) => {
      await rath.run(clerk(name), rath.start("Pay."), { name });
      return clerk(name);
    };
    await run("open");
    await whoSays(rath, "taken", await run("taken"), "takeOver");
    const edited = await run("edited");
    await rath.approve("edited", { by: "user:ada", edit: { to: "eve" } });
    await rath.resume("edited", edited);
    const late = await run("late");
    now += 5_000;
    await rath.resume("late", late);
    const told = async (name: string) => {
      const answer = await whoApproved(store, name);
      expect(await faultsOf(store, answer)).toEqual([]);
      return answer.answer;
    };
    expect(await told("open")).toMatch(
      /Nobody has answered it; it can be answered until 2026-01-01T00:00:01/,
    );
    expect(await told("taken")).toMatch(
      /user:ada took it over and gave "done by hand" in place of the outcome/,
    );
    expect(await told("edited")).toMatch(/user:ada agreed to "\{"to":"eve"\}" in place of it/);
    expect(await told("edited")).toMatch(/It had been put in place of .* by user:ada/);
    expect(await told("edited")).toMatch(/It was withdrawn at/);
    expect(await told("late")).toMatch(/Nobody answered in time: it expired at/);
    await rath.close();
  });
});

describe("an answer that was given and not taken in", () => {
  it("[Q14] is told with who gave it, and that the run has not taken it in", async () => {
    const rath = openRath({
      store: "memory:",
      policy: policy("house", [
        { name: "all", verdict: "ask", model: "*", approval: { from: ["user:ada"] } },
      ]),
    });
    const store = await rath.store();
    const clerk = agent({ name: "clerk", model: scripted("Done.") });
    await rath.run(clerk, rath.start("Go."), { name: "run" });
    expect((await whoApproved(store, "run")).answer).toContain("Nobody has answered it");
    const given = await rath.approve("run", { by: "user:ada", why: "it is fine" });
    const answer = await whoApproved(store, "run");
    expect(await faultsOf(store, answer)).toEqual([]);
    expect(answer.answer).not.toContain("Nobody");
    expect(answer.answer).toMatch(/user:ada agreed to exactly that at .* because: it is fine/);
    expect(answer.answer).toContain("The run has not taken that answer in yet");
    expect(answer.claims.at(-1)?.facts[0]).toBe(given);
    await rath.resume("run", clerk);
    const after = (await whoApproved(store, "run")).answer;
    expect(after).toMatch(/user:ada agreed to exactly that/);
    expect(after).not.toContain("not taken");
    await rath.close();
  });
});

describe("what happened between two times", () => {
  it("[Q9] exactly the facts of a scan, by the clock, for every pair of times of the record", async () => {
    const times = [...new Set(facts.map(({ fact }) => fact.at))].sort();
    for (let place = 0; place < times.length; place += 7)
      for (const to of [times[place], times[place + 5], times.at(-1)]) {
        const from = times[place] as string;
        if (to === undefined) continue;
        const answer = await whatHappened(here.store, "work", { from, to, all: true, limit: 1_000 });
        const wanted = facts.filter(({ fact }) => fact.at >= from && fact.at <= to).map(({ id }) => id);
        const told = answer.claims.slice(1).map((claim) => claim.facts[0]);
        expect([...told].sort()).toEqual([...wanted].sort());
        const ats = answer.claims.slice(1).map(({ text }) => /^At (\S+),/.exec(text)?.[1] ?? "");
        expect(ats).toEqual([...ats].sort());
        expect((answer.detail as { total: number }).total).toBe(wanted.length);
      }
    expect(await faultsOf(here.store, await whatHappened(here.store, "work", { from: "1h" }))).toEqual([]);
  });

  it("[Q9] says how many more there are, and how much bookkeeping was left out", async () => {
    const all = await whatHappened(here.store, "work", { all: true, limit: 10 });
    expect(all.claims.length).toBe(11);
    expect(all.gaps.join(" ")).toContain(`${facts.length - 10} more facts of that time are not told here`);
    const first = [...facts].sort((one, other) => (one.fact.at < other.fact.at ? -1 : 1)).slice(0, 1);
    expect(all.claims[1]?.text).toContain(first[0]?.fact.at ?? "?");
    const some = await whatHappened(here.store, "work", { limit: 1_000 });
    const dull = facts.length - (some.claims.length - 1);
    expect(some.gaps.join(" ")).toContain(`${dull} facts of bookkeeping are counted and not told`);
    const none = await whatHappened(here.store, "work", { from: "1999-01-01", to: "1999-12-31" });
    expect(none.answer).toMatch(/^Nothing that .* knows of happened in that time/);
  });

  it("[Q13] times that nobody can read, or that end before they begin, are refused", async () => {
    for (const from of ["", "soon", "01/02/2026", "2026-13-45", "99999999999d", "\0", "x".repeat(1_000_000)])
      await expect(whatHappened(here.store, "work", { from })).rejects.toMatchObject({
        code: "question-refused",
      });
    await expect(whatHappened(here.store, "work", { from: "now", to: "2h" })).rejects.toMatchObject({
      hint: "turn them round",
    });
  });
});

describe("what did this principal do", () => {
  it("[Q10] in all sessions, each fact once, as a scan counts it", async () => {
    const all = await scan(here.store);
    const everybody = [...new Set(all.map(({ fact }) => fact.by))];
    expect(everybody.length).toBeGreaterThan(8);
    for (const principal of everybody) {
      const answer = await whatDid(here.store, principal, { limit: 1_000 });
      expect(await faultsOf(here.store, answer)).toEqual([]);
      const { counts } = answer.detail as { counts: { [how: string]: { [type: string]: number } } };
      const total = (how: string) => Object.values(counts[how] ?? {}).reduce((sum, one) => sum + one, 0);
      expect(total("by")).toBe(all.filter(({ fact }) => fact.by === principal).length);
      const agentName = principal.startsWith("agent:") ? principal.slice(6) : undefined;
      const as = all.filter(
        ({ fact }) =>
          fact.by !== principal &&
          agentName !== undefined &&
          (fact as { agent?: string }).agent === agentName,
      );
      // Who changed arguments is told, too.
      const edits = all.filter(
        ({ fact }) =>
          fact.by !== principal && (fact as { edited?: { by?: string } }).edited?.by === principal,
      );
      expect(total("as")).toBe(as.length + edits.length);
      expect(total("for")).toBe(
        ofType(all, "policy-decide").filter(({ fact }) => fact.for?.includes(principal)).length,
      );
      expect(total("asked")).toBe(
        ofType(all, "approval-ask").filter(({ fact }) => fact.to?.includes(principal)).length,
      );
    }
  });

  it("[Q10] only in the sessions that are named, with what is left out counted", async () => {
    const answer = await whatDid(here.store, "user:ada", { names: ["yesterday"], limit: 1 });
    expect((answer.detail as { sessions: object }).sessions).toEqual({ yesterday: 1 });
    expect((await whatDid(here.store, "user:ada", { limit: 1 })).gaps.join(" ")).toMatch(
      /15 more deeds are counted/,
    );
    expect((await whatDid(await openStore("memory:"), "user:ada")).gaps.join(" ")).toContain("no sessions");
  });

  it("[Q13] whoever there is not is refused with who was meant", async () => {
    await expect(whatDid(here.store, "user:adda")).rejects.toMatchObject({ hint: "did you mean user:ada?" });
    await expect(whatDid(here.store, "usr:ada")).rejects.toMatchObject({ hint: "did you mean user:ada?" });
    await expect(whatDid(here.store, "ada")).rejects.toMatchObject({
      hint: expect.stringContaining("user:ada"),
    });
    await expect(whatDid(here.store, "")).rejects.toMatchObject({ code: "question-refused" });
    await expect(whatDid(here.store, `user:${"x".repeat(1_000_000)}`)).rejects.toMatchObject({
      code: "question-refused",
    });
  });
});

describe("what would be lost if this memory were false", () => {
  it("[Q11] what it reached, as a scan finds it: readings, everything after them, sessions", async () => {
    const answer = await ifFalse(here.store, here.memory);
    expect(await faultsOf(here.store, answer)).toEqual([]);
    const reads = ofType(facts, "memory-read").filter(({ fact }) =>
      fact.hits.some(({ memory }) => memory === here.memory),
    );
    const reached = new Set(reads.map(({ id }) => id));
    for (const { id, parents } of facts) if (parents.some((parent) => reached.has(parent))) reached.add(id);
    const { totals } = answer.detail as { totals: { facts: number; reads: number; decisions: number } };
    expect([totals.facts, totals.reads]).toEqual([reached.size, reads.length]);
    expect(totals).toEqual((await influence(here.store, here.memory)).totals);
    expect(answer.answer).toContain("The session work rests on it");
    expect(answer.answer).toMatch(/ read it in repairing › research.* at /);
    const few = await ifFalse(here.store, here.memory, { limit: 2 });
    expect(few.gaps.join(" ")).toMatch(/17 more .* are counted and not told one by one/);
  });
});

async function whoSays(
  rath: Rath,
  name: string,
  module: Parameters<Rath["resume"]>[1],
  verb: "takeOver",
): Promise<void> {
  await rath[verb](name, { by: "user:ada", value: "done by hand" });
  await rath.resume(name, module);
}

/** JSON whose keys are in order, which is what an approval's digest is of. */
function sorted(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) =>
    typeof inner === "object" && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([one], [other]) => (one < other ? -1 : 1)))
      : inner,
  );
}
