import { describe, expect, it } from "vitest";
import { agent } from "../../agent/index.js";
import { scripted } from "../../agent/model/index.js";
import { tool } from "../../agent/tool/index.js";
import { openRath } from "../../runtime/index.js";
import { storeOf } from "../../runtime/testing/rath.js";
import { stateOf, withState } from "../../workflow/index.js";
import { all, ran } from "../../workflow/testing/ran.js";
import { crew } from "./index.js";
import { promptsIn, says, workIn } from "./testing/work.js";

const researcher = says("researcher", ["Sources: A, B.", "More sources: C."], {
  description: "Finds sources.",
});
const writer = says("writer", ["A page.", "Another page.", "A third page."], { description: "Writes." });
const agents = [researcher, writer];
const tasks = [
  { name: "find", description: "Find sources.", expected: "A list.", agent: "researcher" },
  { name: "write", description: "Write a page.", agent: "writer", context: ["find"] },
  { name: "check", description: "Check the page.", agent: "writer" },
] as const;

describe("a hierarchical crew", () => {
  const delegating = scripted(
    {
      call: [
        {
          tool: "delegate_work_to_coworker",
          input: { coworker: "researcher", task: "Find sources.", context: "Old ones." },
        },
      ],
    },
    {
      call: [{ tool: "ask_question_to_coworker", input: { coworker: "writer", question: "Is it enough?" } }],
    },
    "Two sources, and it is enough.",
  );
  const goal = [{ name: "report", description: "Report.", expected: "A sentence." }];

  it("[W7] has a manager that can only delegate and ask; the chosen coworker is on the branch of each call", async () => {
    const managed = crew({ agents, tasks: goal, process: "hierarchical", manager: delegating });
    const session = await ran(managed);
    expect(workIn(session)).toEqual([
      "report | manager | delegate_work_to_coworker()",
      "delegate_work_to_coworker | researcher | Sources: A, B.",
      "report | manager | ask_question_to_coworker()",
      "ask_question_to_coworker | writer | A page.",
      "report | manager | Two sources, and it is enough.",
    ]);
    const [config] = all(session, "agent-configure");
    expect(((config?.tools ?? []) as { name: string }[]).map(({ name }) => name)).toEqual([
      "delegate_work_to_coworker",
      "ask_question_to_coworker",
    ]);
    expect(config?.instructions).toContain("- researcher: Finds sources.");
    expect(all(session, "route-choose").map(({ selector, chosen }) => [selector, chosen])).toEqual([
      ["delegate_work_to_coworker", "researcher"],
      ["ask_question_to_coworker", "writer"],
    ]);
    const [, asked] = promptsIn(session);
    expect(asked?.text).toContain("Find sources.\\n\\nWhat you need to know:\\nOld ones.");
    expect(asked?.text).not.toContain("Report.");
    expect(managed.results(session)).toEqual({ report: "Two sources, and it is enough." });
  });

  it("[W8] tells the manager of a coworker that there is not, and goes on", async () => {
    const confused = scripted(
      { call: [{ tool: "delegate_work_to_coworker", input: { coworker: "plumber", task: "Mend it." } }] },
      { call: [{ tool: "do_it_yourself", input: {} }] },
      "Nobody can.",
    );
    const session = await ran(crew({ agents, tasks: goal, process: "hierarchical", manager: confused }));
    expect(all(session, "tool-failure").map(({ error }) => error.code)).toEqual([
      "tool-input-refused",
      "tool-unknown",
    ]);
    expect(workIn(session).every((work) => work.startsWith("report | manager"))).toBe(true);
    expect(session.recent(1)).toMatchObject([{ content: "Nobody can." }]);
  });

  it("[W9] goes on after a kill in a coworker's work, and repeats nothing that is finished", async () => {
    const store = await storeOf();
    const sent: string[] = [];
    const send = tool({
      name: "send",
      description: "Sends.",
      input: { type: "object" },
      effect: "write",
      approval: true,
      run: (_input, { key }) => {
        sent.push(key);
        return "sent";
      },
    });
    const clerk = agent({ name: "writer", model: scripted({ tool: "send" }, "It is sent."), tools: [send] });
    const make = () =>
      crew({ agents: [researcher, clerk], tasks: goal, process: "hierarchical", manager: delegating });
    const first = openRath({ store });
    expect((await first.run(make(), first.start("go"), { name: "crew" })).fact.type).toBe("run-suspend");
    await first.approve("crew", { by: "user:ada" });
    const second = openRath({ store });
    const session = await second.resume("crew", make());
    expect([sent.length, session.fact.type]).toEqual([1, "run-end"]);
    expect((await second.replay("crew", make(), { mode: "verify" })).id).toBe(session.id);
    expect(sent).toHaveLength(1);
  });

  it("[W10] is a module like others, and refused when it makes no sense", () => {
    const report = crew({ agents, tasks });
    expect(report.name).toBe("crew");
    expect(Object.isFrozen(report)).toBe(true);
    expect(stateOf(report)).toMatchObject({
      process: "sequential",
      "tasks.find.expected": "A list.",
      "tasks.write.attempt": 1,
      "writer.maxSteps": 50,
    });
    expect(withState(report, stateOf(report))).toBe(report);
    for (const state of [
      { process: "hierarchical" },
      { "tasks.write.description": "" },
      { "tasks.write.attempt": 0 },
      { "tasks.write.task": {} },
    ])
      expect(() => withState(report, state as never)).toThrow(
        expect.objectContaining({ code: "module-refused" }),
      );
    const refused: [unknown, RegExp][] = [
      [{ agents, tasks: [] }, /no tasks/],
      [{ agents, tasks: [{ ...tasks[0], agent: "nobody" }] }, /names an unknown agent/],
      [{ agents, tasks: [{ name: "a", description: "b" }] }, /the task "a" has no agent/],
      [{ agents, tasks: [tasks[1]] }, /does not come before it/],
      [{ agents, tasks: [tasks[0], tasks[0]] }, /two tasks/],
      [{ agents, tasks: [{ ...tasks[0], description: " " }] }, /description/],
      [{ agents, tasks: [{ ...tasks[0], expect: "x" }] }, /no option/],
      [{ agents, tasks: goal, process: "hierarchical" }, /nobody manages/],
      [{ agents, tasks, manager: delegating }, /nothing to manage/],
      [{ agents, tasks, process: "hierarchical", manager: delegating }, /manager chooses/],
      [{ agents, tasks, process: "parallel" }, /process/],
      [{ agents, tasks, memory: true }, /no option/],
    ];
    for (const [options, message] of refused) expect(() => crew(options as never)).toThrow(message);
  });
});
