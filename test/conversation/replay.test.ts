import {
  agent,
  DivergenceError,
  openRath,
  renderedPrompt,
  scripted,
  statusOf,
  tool,
  workflow,
} from "openrath";
import { describe, expect, it } from "vitest";

let drawn = 0;
const draw = tool({
  name: "draw",
  description: "Draws.",
  input: { type: "object" },
  effect: "read",
  run: () => ++drawn,
});
const player = (answer: string) =>
  agent({
    name: "player",
    model: scripted({ tool: "draw", input: {} }, { tool: "draw", input: {} }, answer),
    tools: [draw],
  });
const opened = () => openRath({ store: "memory:" });

async function played() {
  const rath = opened();
  const session = await rath.run(player("Done."), rath.start("Play."), { name: "game" });
  const results = [...session.history()]
    .filter(({ fact }) => fact.type === "tool-result")
    .map(({ id }) => id);
  return { rath, session, results: results as [string, string] };
}

describe("replaying a part", () => {
  it("[RP1] ends at the fact that was named", async () => {
    const { rath, results } = await played();
    const before = drawn;
    const there = await rath.replay("game", player("Done."), { until: results[0] });
    expect(there.id).toBe(results[0]);
    expect(drawn).toBe(before);
    // The answer comes later, so that another one makes no difference up to there.
    expect((await rath.replay("game", player("Other."), { until: results[1] })).id).toBe(results[1]);
    const other = agent({ name: "player", instructions: "Else.", model: scripted("x"), tools: [draw] });
    await expect(rath.replay("game", other, { until: results[0] })).rejects.toBeInstanceOf(DivergenceError);
    await rath.close();
  });

  it("[RP2] goes its own way after the fact that was named", async () => {
    const { rath, session, results } = await played();
    const before = drawn;
    const other = await rath.replay("game", player("Done."), {
      mode: "what-if",
      from: results[0],
      name: "other",
    });
    expect(statusOf(other)).toBe("finished");
    expect(other.id).not.toBe(session.id);
    const outputs = [...other.history()].flatMap(({ fact }) =>
      fact.type === "tool-result" ? [fact.output] : [],
    );
    expect(outputs).toEqual([before - 1, before + 1]);
    expect((await rath.replay("other", player("Done."), { mode: "verify" })).id).toBe(other.id);
    expect((await rath.replay("game", player("Done."), { mode: "verify" })).id).toBe(session.id);
    await rath.close();
  });

  it("[RP1] also of a what-if, at each of its facts", async () => {
    const { rath, results } = await played();
    await rath.replay("game", player("Other."), { mode: "what-if", from: results[0], name: "other" });
    const ids: string[] = [];
    for await (const { session, fact } of rath.steps("other"))
      if (fact.type !== "run-end") ids.push(session.id);
    expect(ids.length).toBeGreaterThan(8);
    for (const until of ids) expect((await rath.replay("other", player("Other."), { until })).id).toBe(until);
    await rath.close();
  });

  it("[RP6] asks again about a request that it does anew, whatever was decided before", async () => {
    const rath = opened();
    let paid = 0;
    const pay = tool({
      name: "pay",
      description: "Pays.",
      input: { type: "object" },
      effect: "write",
      approval: true,
      run: () => ++paid,
    });
    const payer = agent({
      name: "payer",
      model: scripted({ tool: "pay", input: {} }, "Paid."),
      tools: [pay],
    });
    await rath.run(payer, rath.start("Pay."), { name: "p" });
    await rath.approve("p", { by: "user:ada" });
    const session = await rath.resume("p", payer);
    for (const type of ["approval-ask", "answer-take"]) {
      const from = [...session.history()].find(({ fact }) => fact.type === type)?.id ?? "";
      const again = await rath.replay("p", payer, { mode: "what-if", from, name: `from ${type}` });
      expect([type, again.fact.type]).toEqual([type, "run-suspend"]);
    }
    expect(paid).toBe(1);
    await rath.close();
  });

  it("[RP3] refuses facts that are not on the way, and options of other modes", async () => {
    const { rath, session, results } = await played();
    const elsewhere = await rath.run(player("Done."), rath.start("Again."), { name: "elsewhere" });
    for (const until of [elsewhere.soleParent?.id ?? "", session.id])
      await expect(rath.replay("game", player("Done."), { until })).rejects.toMatchObject({
        code: "run-refused",
      });
    await expect(rath.replay("game", player("Done."), { from: results[0] })).rejects.toThrow("what-if");
    await expect(
      rath.replay("game", player("Done."), { mode: "what-if", until: results[0] }),
    ).rejects.toThrow("option of a replay");
    await expect(
      rath.replay("game", player("Done."), { mode: "what-if", from: results[0], until: results[0] }),
    ).rejects.toThrow("`until` too");
    await rath.close();
  });

  it("[RP4] steps through a run", async () => {
    const rath = opened();
    const write = workflow("write", async (session) => (await session).say("noted"));
    const session = await rath.run(write, rath.start("Go.").to("virtual"), { name: "w" });
    const steps = [];
    for await (const step of rath.steps("w", write)) steps.push(step);
    expect(steps.map(({ fact }) => fact.type)).toEqual(["run-start", "message-say", "run-end"]);
    expect(steps.at(-1)?.session.id).toBe(session.id);
    const [first] = steps;
    expect(await first?.files().then((files) => files.list())).toEqual([]);
    expect(first?.recalled).toEqual([]);
    const { rath: other } = await played();
    for await (const { session: at, fact } of other.steps("game"))
      if (fact.type === "model-call") expect(renderedPrompt(at).digest).toBe(fact.prompt);
    await expect(async () => {
      for await (const _ of other.steps("game", write)) break;
    }).rejects.toBeInstanceOf(DivergenceError);
    await rath.close();
    await other.close();
  });

  it("[RP5] loads three facts back, and a branch", async () => {
    const rath = opened();
    const trunk = rath.start("Go.");
    const side = trunk.fork("side").say("aside");
    await rath.save(trunk.fork("main-2").say("on").merge(side, { adopt: "ours" }), "w");
    expect((await rath.load("w~1")).fact).toMatchObject({ type: "message-say", content: "on" });
    expect((await rath.load("w@side")).id).toBe(side.id);
    await expect(rath.load("w@sidd")).rejects.toThrow("did you mean side");
    await rath.close();
  });
});
