import { describe, expect, it } from "vitest";
import { agent } from "../../agent/index.js";
import { renderedPrompt, type ScriptedReply, scripted } from "../../agent/model/index.js";
import { tool } from "../../agent/tool/index.js";
import { openRath } from "../../runtime/index.js";
import { storeOf } from "../../runtime/testing/rath.js";
import type { Session } from "../../session/index.js";
import { stateOf, withState } from "../../workflow/index.js";
import { all, failed, ran } from "../../workflow/testing/ran.js";
import { type SupervisorOptions, supervisor } from "./index.js";
import { says, workIn } from "./testing/work.js";

const add = tool({
  name: "add",
  description: "Adds.",
  input: { type: "object", properties: { a: { type: "number" }, b: { type: "number" } } },
  effect: "pure",
  run: (input) => Number(input.a) + Number(input.b),
});
const math = says("math", [{ tool: "add", input: { a: 2, b: 3 } }, "It is 5."], {
  description: "Reckons.",
  tools: [add],
});
const research = says("research", ["The sky is blue."], { description: "Looks things up." });
const workers = [math, research];
const to = (worker: string, task: string) => ({ tool: `transfer_to_${worker}`, input: { task } });
const lead = (script: readonly ScriptedReply[], options: Partial<SupervisorOptions> = {}) =>
  supervisor({ name: "desk", model: scripted(script), workers, ...options });

describe("a supervisor", () => {
  it("[S1] hands work over and gets it back, each on a branch, and both ways are on the record", async () => {
    const session = await ran(lead([to("math", "2+3?"), "Five."]));
    expect(workIn(session)).toEqual([
      "main | desk | transfer_to_math()",
      "transfer_to_math | math | add()",
      "transfer_to_math | math | It is 5.",
      "main | desk | Five.",
    ]);
    const ways = [...session.history()].filter(({ fact }) => fact.type === "route-choose");
    expect(ways.map(({ branch, fact }) => [branch, fact.by, fact])).toMatchObject([
      [
        "transfer_to_math",
        "agent:desk",
        { chosen: "math", candidates: [{ name: "math" }, { name: "research" }] },
      ],
      ["transfer_to_math", "agent:math", { selector: "math", chosen: "desk", why: "it is done" }],
    ]);
    expect(all(session, "tool-result").at(-1)).toMatchObject({ output: "It is 5." });
  });

  it("[S2] hands over to several at once, and each sees its own call alone", async () => {
    const session = await ran(
      lead([{ call: [to("math", "2+3?"), to("research", "The sky?")] }, "5 and blue."]),
    );
    expect(workIn(session).toSorted()).toEqual([
      "main | desk | 5 and blue.",
      "main | desk | transfer_to_math()transfer_to_research()",
      "transfer_to_math | math | It is 5.",
      "transfer_to_math | math | add()",
      "transfer_to_research | research | The sky is blue.",
    ]);
    expect(session.lineage.map(({ kind, branch }) => `${kind} ${branch}`).toSorted()).toEqual([
      "fork transfer_to_math",
      "fork transfer_to_research",
      "start main",
    ]);
    const seen = (name: string) =>
      [...session.history()].flatMap((node) =>
        node.fact.type === "model-call" && node.fact.agent === name
          ? [JSON.stringify(renderedPrompt(node).messages)]
          : [],
      )[0];
    expect(seen("math")).toContain("2+3?");
    expect(seen("math")).not.toContain("The sky?");
    expect(seen("research")).toContain("The sky?");
    expect(seen("research")).not.toContain("2+3?");
  });

  it("[S3] sees the last message of a worker, or all that it did", async () => {
    const outputs = (session: Session) =>
      all(session, "tool-result").filter(({ by }) => by === "tool:transfer_to_math");
    expect(outputs(await ran(lead([to("math", "2+3?"), "Five."], { output: "last" })))).toMatchObject([
      { output: "It is 5." },
    ]);
    const [full] = outputs(await ran(lead([to("math", "2+3?"), "Five."], { output: "full" })));
    expect(full?.output).toMatchObject([
      { role: "assistant", content: [{ type: "tool-call", name: "add" }] },
      { role: "tool", name: "add", output: 5 },
      { role: "assistant", content: expect.anything() },
    ]);
    expect(full?.output).toHaveLength(3);
  });

  it("[S4] passes an answer on word for word, as the worker's own", async () => {
    const script = [to("math", "2+3?"), { tool: "forward_message", input: { from: "math" } }, "Never said."];
    for (const output of ["last", "full"] as const) {
      const session = await ran(lead(script, { output }));
      expect(session.recent(1)).toMatchObject([{ role: "assistant", content: "It is 5." }]);
      expect(all(session, "message-say").at(-1)).toMatchObject({ by: "agent:math", role: "assistant" });
      expect(workIn(session).at(-1)).toBe("main | desk | forward_message()");
    }
  });

  it("[S5] is told when there is nothing to pass on, or nobody of that name, and goes on", async () => {
    const session = await ran(
      lead([
        { tool: "forward_message", input: { from: "math" } },
        { tool: "forward_message", input: { from: "plumber" } },
        to("plumber", "Mend it."),
        "I give up.",
      ]),
    );
    expect(all(session, "tool-failure").map(({ error }) => error.message)).toMatchObject([
      expect.stringContaining("math has not answered yet"),
      expect.stringContaining("from"),
      expect.stringContaining("transfer_to_plumber"),
    ]);
    expect(workIn(session).at(-1)).toBe("main | desk | I give up.");
    const bare = await ran(
      lead([{ tool: "forward_message", input: { from: "math" } }, "So be it."], { forward: false }),
    );
    expect(all(bare, "tool-failure")).toMatchObject([{ error: { code: "tool-unknown" } }]);
  });

  it("[S6] takes no half work for an answer, and reads the failure of a worker", async () => {
    const stuck = says("math", [() => ({ text: "Let me see.", tools: [{ tool: "add" }] })], {
      tools: [add],
      maxSteps: 2,
    });
    const session = await ran(
      supervisor({ name: "desk", model: scripted(to("math", "2+3?"), "Hm."), workers: [stuck] }),
    );
    expect(all(session, "tool-result").at(-1)?.output).toContain(
      "[math: it reached a limit before it was done.]",
    );
    expect(all(session, "route-choose").at(-1)).toMatchObject({
      why: "it reached a limit before it was done",
    });
    const down = says("math", [new Error("no such model")], { retry: { attempts: 1 } });
    const told = await ran(
      supervisor({ name: "desk", model: scripted(to("math", "2+3?"), "Sorry."), workers: [down] }),
    );
    expect(all(told, "tool-failure")).toMatchObject([{ error: { code: "model-failed" } }]);
    expect(workIn(told).at(-1)).toBe("main | desk | Sorry.");
    const mute = says("math", [""]);
    const silent = await ran(
      supervisor({ name: "desk", model: scripted(to("math", "2+3?"), "Hm."), workers: [mute] }),
    );
    expect(all(silent, "tool-result")).toMatchObject([{ output: "math handed back without a word." }]);
  });

  it("[S7] spends one budget with all its workers, and stops at its limits", async () => {
    const spent = await ran(lead([() => to("math", "2+3?")], { budget: { steps: 4 } }));
    expect(workIn(spent)).toHaveLength(4);
    expect(all(spent, "budget-stop").length).toBeGreaterThan(0);
    const short = await ran(
      lead([() => to("research", "The sky?")], { maxSteps: 2, workers: [says("research", [() => "Blue."])] }),
    );
    expect(all(short, "budget-stop")).toMatchObject([{ limit: "steps", allowed: 2 }]);
    const { error } = await failed(lead([new Error("no such model")]));
    expect(error).toMatchObject({ code: "model-failed" });
  });

  it("[S8] leads supervisors as well, each branch in the branch of its call", async () => {
    const team = supervisor({
      name: "team",
      description: "Reckons.",
      model: scripted(to("math", "2+3?"), "5, says math."),
      workers: [math],
    });
    const session = await ran(
      supervisor({ name: "desk", model: scripted(to("team", "Reckon 2+3."), "Five."), workers: [team] }),
    );
    expect(workIn(session)).toEqual([
      "main | desk | transfer_to_team()",
      "transfer_to_team | team | transfer_to_math()",
      "transfer_to_math | math | add()",
      "transfer_to_math | math | It is 5.",
      "transfer_to_team | team | 5, says math.",
      "main | desk | Five.",
    ]);
  });

  it("[S9] goes on after a kill in a worker's work while another is done", async () => {
    const store = await storeOf();
    let looked = 0;
    const risky = tool({
      name: "risky",
      description: "Risks it.",
      input: { type: "object" },
      effect: "write",
      approval: true,
      run: () => "done",
    });
    const doer = agent({ name: "doer", model: scripted({ tool: "risky" }, "Done."), tools: [risky] });
    const looker = says("looker", [
      () => {
        looked += 1;
        return "Seen.";
      },
    ]);
    const make = () =>
      supervisor({
        name: "desk",
        model: scripted({ call: [to("doer", "Do."), to("looker", "Look.")] }, "Both."),
        workers: [doer, looker],
      });
    const first = openRath({ store });
    expect((await first.run(make(), first.start("go"), { name: "desk" })).fact.type).toBe("run-suspend");
    await first.approve("desk", { by: "user:ada" });
    const second = openRath({ store });
    const session = await second.resume("desk", make());
    expect([looked, workIn(session).at(-1)]).toEqual([1, "main | desk | Both."]);
    expect((await second.replay("desk", make(), { mode: "verify" })).id).toBe(session.id);
  });

  it("[S10] is a module like others, and refused when it makes no sense", async () => {
    const desk = lead([to("math", "2+3?"), "Five."], { instructions: "Be kind." });
    expect(Object.isFrozen(desk)).toBe(true);
    const state = stateOf(desk);
    expect(state).toMatchObject({ output: "last", forward: true, "lead.transfer_to_math.math.maxSteps": 50 });
    expect(state["lead.instructions"]).toMatch(/Be kind\.$/);
    const kinder = withState(desk, {
      "lead.instructions": "Be kinder.",
      "lead.transfer_to_math.math.instructions": "Reckon.",
    });
    const session = await ran(kinder);
    expect(all(session, "agent-configure").map(({ instructions }) => instructions)).toEqual([
      "Be kinder.",
      "Reckon.",
    ]);
    expect(workIn(session)).toHaveLength(4);
    expect(() => withState(desk, { output: "full" })).toThrow(/code, not a value/);
    const refused: [unknown, string][] = [
      [{ name: "" }, "module-refused"],
      [{ name: "desk", model: scripted("a"), workers: [] }, "module-refused"],
      [{ name: "desk", model: scripted("a"), workers, output: "all" }, "module-refused"],
      [{ name: "desk", model: scripted("a"), workers, forward: 1 }, "module-refused"],
      [{ name: "desk", model: scripted("a"), workers: { ...workers, x: 3 } }, "module-refused"],
      [{ name: "desk", model: scripted("a"), workers, worker: 1 }, "module-refused"],
      [{ name: "desk", workers }, "agent-refused"],
    ];
    for (const [options, code] of refused)
      expect(() => supervisor(options as never)).toThrow(expect.objectContaining({ code }));
  });
});
