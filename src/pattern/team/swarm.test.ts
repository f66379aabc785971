import { describe, expect, it } from "vitest";
import { type Agent, agent } from "../../agent/index.js";
import { type ScriptedReply, scripted } from "../../agent/model/index.js";
import { openRath } from "../../runtime/index.js";
import { storeOf } from "../../runtime/testing/rath.js";
import { describe as described, signal, stateOf, withState, workflow } from "../../workflow/index.js";
import { all, failed, ran } from "../../workflow/testing/ran.js";
import { activeIn, swarm } from "./index.js";
import { says, workIn } from "./testing/work.js";

/** Two agents that hand over to each other, each by its script. */
function pair(
  first: readonly ScriptedReply[],
  second: readonly ScriptedReply[],
): readonly [Agent<undefined>, Agent<undefined>] {
  const triage: Agent<undefined> = agent({
    name: "triage",
    model: scripted(first),
    handoffs: () => [billing],
  });
  const billing: Agent<undefined> = agent({
    name: "billing",
    model: scripted(second),
    handoffs: () => [triage],
  });
  return [triage, billing];
}

const toBilling = { tool: "transfer_to_billing", input: { reason: "it is about money" } };
const toTriage = { tool: "transfer_to_triage", input: {} };

describe("a swarm", () => {
  it("[A1] begins with one of its members, who hands over to others; all of it is on the record", async () => {
    const session = await ran(
      swarm({ members: pair([toBilling], ["Your bill is right."]), start: "triage" }),
    );
    expect(workIn(session)).toEqual([
      "main | triage | transfer_to_billing()",
      "main | billing | Your bill is right.",
    ]);
    expect(all(session, "route-choose")).toMatchObject([
      {
        selector: "swarm",
        chosen: "triage",
        why: "it begins here",
        candidates: [{ name: "triage" }, { name: "billing" }],
        by: "runtime",
      },
      { selector: "triage", chosen: "billing", why: "it is about money", by: "agent:triage" },
    ]);
    expect(activeIn(session)).toBe("billing");
  });

  it("[A2] goes on in the next run with who was active last, in any process", async () => {
    const store = await storeOf();
    const make = () =>
      swarm({
        members: pair([toBilling, "Hello again."], ["Right.", "Still right.", toTriage]),
        start: "triage",
      });
    const first = openRath({ store });
    await first.run(make(), first.start("My bill?"), { name: "talk" });
    await first.close();
    const second = openRath({ store });
    const next = await second.run(make(), (await second.load("talk")).say("Sure?"), { name: "talk" });
    expect(workIn(next).at(-1)).toBe("main | billing | Still right.");
    expect(all(next, "route-choose").at(-1)).toMatchObject({ chosen: "billing", why: "it was active last" });
    const third = await second.run(make(), next.say("Something else."), { name: "talk" });
    expect(workIn(third).slice(-2)).toEqual([
      "main | billing | transfer_to_triage()",
      "main | triage | Hello again.",
    ]);
    expect([activeIn(next), activeIn(third)]).toEqual(["billing", "triage"]);
    expect((await second.replay("talk", make(), { mode: "verify" })).id).toBe(third.id);
  });

  it("[A3] begins anew where the last active agent is no longer a member", async () => {
    const rath = openRath({ store: "memory:" });
    const given = await rath.run(swarm({ members: pair([toBilling], ["Right."]) }), rath.start("go"));
    const other = swarm({ members: [says("triage", ["(handed over)", "I am alone now."])], name: "small" });
    const session = await rath.run(other, given.say("And now?"));
    expect(all(session, "route-choose").at(-1)).toMatchObject({
      selector: "small",
      chosen: "triage",
      why: "it begins here",
    });
    expect(workIn(session).at(-1)).toBe("main | triage | I am alone now.");
    expect(activeIn(rath.start("new"))).toBeUndefined();
    await rath.close();
  });

  it("[A4] hands over no more often than agents may, and stops at budgets", async () => {
    const restless = swarm({
      members: pair(
        [(_prompt, turn) => (turn < 15 ? toBilling : "I answer it myself.")],
        [(_prompt, turn) => (turn < 15 ? toTriage : "I answer it myself.")],
      ),
    });
    const session = await ran(restless);
    expect(all(session, "tool-failure").every(({ error }) => error.code === "handoff-limit")).toBe(true);
    expect(all(session, "route-choose").filter(({ by }) => by !== "runtime")).toHaveLength(20);
    expect(workIn(session).at(-1)).toMatch(/I answer it myself/);
    const rath = openRath({ store: "memory:" });
    const short = await rath.run(restless, rath.start("go"), { budget: { steps: 3 } });
    expect(workIn(short)).toHaveLength(3);
    // Who had it when the budget was spent has it in the next run.
    expect(activeIn(short)).toBe("billing");
    await rath.close();
  });

  it("[A5] knows who was active also when a run failed, or waits", async () => {
    const down = pair([toBilling], [new Error("no such model")]);
    const { error, session } = await failed(swarm({ members: down }));
    expect([error, activeIn(session)]).toMatchObject([{ code: "model-failed" }, "billing"]);
    const store = await storeOf();
    const person = workflow("person", async (given) =>
      (await signal("person").call(given)).session.say("Ada here.", { by: "user:ada" }),
    );
    const make = () => {
      const clerk = agent({
        name: "clerk",
        model: scripted({ tool: "transfer_to_person" }),
        handoffs: [person],
      });
      return swarm({ members: [clerk, person], start: "clerk" });
    };
    const first = openRath({ store });
    const waiting = await first.run(make(), first.start("go"), { name: "talk" });
    expect([waiting.fact.type, activeIn(waiting)]).toEqual(["run-suspend", "person"]);
    await first.signal("talk", "person", "hello", "user:ada");
    const second = openRath({ store });
    const done = await second.resume("talk", make());
    expect(activeIn(done)).toBe("person");
    expect((await second.replay("talk", make(), { mode: "verify" })).id).toBe(done.id);
  });

  it("[A6] tells its agents what they did wrong, and goes on", async () => {
    const session = await ran(
      swarm({
        members: pair([{ tool: "transfer_to_plumber" }, { call: [toBilling, toBilling] }], ["Right."]),
      }),
    );
    expect(all(session, "tool-failure").map(({ error }) => error.code)).toEqual([
      "tool-unknown",
      "handoff-twice",
    ]);
    expect(activeIn(session)).toBe("billing");
  });

  it("[A7] is a module like others, and refused when it makes no sense", async () => {
    const desk = swarm({ members: pair([toBilling], ["Right."]), start: "billing" });
    expect(Object.isFrozen(desk)).toBe(true);
    expect(described(desk)).toMatchObject({ name: "swarm", kind: "swarm", state: { start: "billing" } });
    expect(stateOf(desk).start).toBe("billing");
    const other = await ran(withState(desk, { start: "triage" }));
    expect(workIn(other)).toHaveLength(2);
    expect(() => withState(desk, { start: "nobody" })).toThrow(/must be the name of a member/);
    for (const options of [
      {},
      { members: [] },
      { members: [{}] },
      { members: pair([], []), start: "x" },
      { members: pair([], []), begin: "triage" },
    ])
      expect(() => swarm(options as never)).toThrow(expect.objectContaining({ code: "module-refused" }));
  });
});
