import { describe, expect, it } from "vitest";
import { agent } from "../../agent/index.js";
import { type ScriptedReply, scripted } from "../../agent/model/index.js";
import { openRath } from "../../runtime/index.js";
import { stateOf, withState, workflow } from "../../workflow/index.js";
import { fails, slow } from "../../workflow/testing/modules.js";
import { all, failed, ran } from "../../workflow/testing/ran.js";
import { routeOf } from "../selector/index.js";
import { type DebateOptions, debate, deedsOf } from "./index.js";

const heard: { [side: string]: string[] } = {};

/** Somebody who argues, and whose prompts are kept. */
function speaker(name: string): ReturnType<typeof agent> {
  heard[name] = [];
  const reply: ScriptedReply = (prompt, turn) => {
    heard[name]?.push(JSON.stringify(prompt));
    return `${name} argues ${turn + 1}.`;
  };
  return agent({ name, model: scripted(reply) });
}

const judging = (winner: string | null, why = "better reasons") => scripted(JSON.stringify({ winner, why }));

function trial(more: Partial<DebateOptions> = {}) {
  return debate({
    name: "trial",
    sides: { for: speaker("ada"), against: speaker("bob") },
    judge: judging("against"),
    ...more,
  });
}

describe("a debate", () => {
  it("[D1] lets each side speak on its branch, without the words of the same round", async () => {
    const session = await ran(trial(), "Is tea better than coffee?");
    const words = deedsOf(session).filter(
      ({ branch, did }) => branch.includes("round") && /^replied \w+ argues/.test(did),
    );
    expect(words.map(({ branch, by, did }) => [branch, by, did])).toEqual([
      ["for, round 1", "agent:ada", "replied ada argues 1."],
      ["against, round 1", "agent:bob", "replied bob argues 1."],
      ["for, round 2", "agent:ada", "replied ada argues 2."],
      ["against, round 2", "agent:bob", "replied bob argues 2."],
    ]);
    const [first = "", second = ""] = heard.ada ?? [];
    expect(first).toContain("You speak for: for.");
    expect([
      first.includes("bob argues"),
      second.includes("bob argues 1."),
      second.includes("bob argues 2."),
    ]).toEqual([false, true, false]);
    expect(heard.bob?.[1]).toContain("for, round 1: ada argues 1.");
  });

  it("[D2] is decided by a judge, on the record", async () => {
    const session = await ran(trial());
    expect(trial().verdict(session)).toEqual({ winner: "against", why: "better reasons" });
    expect(routeOf(session, "trial")).toBe("against");
    expect(all(session, "route-choose")).toMatchObject([
      {
        selector: "trial",
        candidates: [{ name: "for" }, { name: "against" }],
        chosen: "against",
        chooser: "judge of trial",
        by: "agent:judge of trial",
      },
    ]);
    const [configured] = all(session, "agent-configure").slice(-1);
    expect(configured?.output).toMatchObject({
      properties: { winner: { enum: ["for", "against", "none"] } },
    });
    const draw = await ran(trial({ judge: judging("none", "both are right") }));
    expect(trial().verdict(draw)).toEqual({ winner: null, why: "both are right" });
    expect(trial().verdict(await ran(workflow("other", async (given) => given)))).toBeUndefined();
  });

  it("[D3] keeps every branch, and goes on with every argument", async () => {
    const session = await ran(trial({ rounds: 1 }));
    const forks = session.lineage.filter(({ kind }) => kind === "fork").map(({ branch }) => branch);
    expect(forks.sort()).toEqual(["against, round 1", "for, round 1", "judge"]);
    const said = session.transcript.map((message) => JSON.stringify(message));
    expect(said.some((one) => one.includes("for, round 1: ada argues 1."))).toBe(true);
    expect(said.some((one) => one.includes("against, round 1: bob argues 1."))).toBe(true);
    expect(all(session, "message-say").filter(({ by }) => by === "agent:ada").length).toBe(1);
    // What a side said before it ended at its limit is no argument.
    const busy = agent({
      name: "busy",
      model: scripted({ text: "Let me look it up.", tools: [{ tool: "search" }] }),
      maxSteps: 1,
    });
    const cut = await ran(trial({ sides: { for: speaker("ada"), against: busy }, rounds: 1 }));
    expect(JSON.stringify(cut.transcript)).toContain("against, round 1: (no answer)");
    expect(JSON.stringify(cut.transcript)).not.toContain("Let me look it up.");
  });

  it("[D6] gathers the sides of a round and prefers none", async () => {
    const session = await ran(trial({ rounds: 2 }));
    expect(all(session, "branch-merge").map(({ adopt, why }) => [adopt, why])).toEqual([
      ["none", "trial: round 1 is over"],
      ["none", "trial: round 2 is over"],
    ]);
  });

  it("[D4] fails where the judge names nobody, and where a side fails", async () => {
    const odd = workflow("odd", async (session) =>
      session.say("The moderator!", { role: "assistant", by: "agent:odd" }),
    );
    expect((await failed(trial({ judge: odd }))).error).toMatchObject({
      code: "pattern-answer",
      message: expect.stringContaining("The moderator!"),
    });
    expect((await failed(trial({ judge: scripted("hm", "hm", "hm") }))).error).toMatchObject({
      code: "output-refused",
    });
    const { error, session } = await failed(
      trial({ sides: { for: slow("ada", 1), against: fails("bob", 9), third: slow("eve", 60_000) } }),
    );
    expect(error).toMatchObject({ code: "step-failed" });
    expect(session.lineage.filter(({ kind }) => kind === "fork").length).toBe(3);
    for (const [more, reason] of [
      [{ sides: { for: speaker("ada") } }, /1 sides/],
      [{ sides: { for: speaker("ada"), none: speaker("bob") } }, /called "none"/],
      [{ rounds: 0 }, /rounds/],
      [{ judge: undefined }, /model/],
      [{ judges: [] }, /no option "judges"/],
    ] as const)
      expect(() => trial(more as never)).toThrow(reason);
    expect(stateOf(withState(trial(), { rounds: 5, "for.instructions": "Be fair." }))).toMatchObject({
      rounds: 5,
      "for.instructions": "Be fair.",
    });
  });

  it("[D5] replays to the same id, and a budget that is spent ends it with what was said", async () => {
    const rath = openRath({ store: "memory:" });
    const flow = trial();
    const session = await rath.run(flow, rath.start("Tea?"), { name: "s" });
    expect((await rath.replay("s", flow, { mode: "verify" })).id).toBe(session.id);
    const poor = await rath.run(flow, rath.start("Tea?"), { name: "p", budget: { steps: 3 } });
    expect(flow.verdict(poor)).toBeUndefined();
    expect(all(poor, "model-reply").length).toBe(3);
    expect(all(poor, "budget-stop").length).toBeGreaterThan(0);
    await rath.close();
  });
});
