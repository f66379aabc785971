import { describe, expect, it } from "vitest";
import { type Agent, agent } from "../../agent/index.js";
import { scripted } from "../../agent/model/index.js";
import { sandboxTools, tool } from "../../agent/tool/index.js";
import { openRath, RunFailedError } from "../../runtime/index.js";
import { withState } from "../../workflow/index.js";
import { all, failed, ran } from "../../workflow/testing/ran.js";
import { crew, TaskError } from "./index.js";
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

describe("a sequential crew", () => {
  it("[W1] does each task on a branch of its own by its agent, and goes on with the last answer", async () => {
    const report = crew({ name: "report", agents, tasks });
    const session = await ran(report, "Report.");
    expect(workIn(session)).toEqual([
      "find | researcher | Sources: A, B.",
      "write | writer | A page.",
      "check | writer | Another page.",
    ]);
    expect(session.lineage.map(({ kind, branch }) => `${kind} ${branch}`)).toEqual([
      "start main",
      "fork find",
      "fork write",
      "fork check",
    ]);
    expect(session.transcript.map(({ role }) => role)).toEqual(["user", "assistant"]);
    expect(session.recent(1)).toMatchObject([{ content: "Another page." }]);
    expect(report.results(session)).toEqual({
      find: "Sources: A, B.",
      write: "A page.",
      check: "Another page.",
    });
    expect(all(session, "step-call")).toMatchObject([
      { name: "find", input: { crew: "report", agent: "researcher" } },
      { name: "write" },
      { name: "check" },
    ]);
  });

  it("[W2] tells a task its expected answer, and the results of the tasks it names or of all before", async () => {
    const [find, write, check] = promptsIn(await ran(crew({ agents, tasks })));
    expect(find?.text).toContain("Your task: Find sources.");
    expect(find?.text).toContain("The answer shall be: A list.");
    expect(write?.text).toContain("find: Sources: A, B.");
    expect(check?.text).toContain("write: A page.");
    const alone = crew({ agents, tasks: [tasks[0], { ...tasks[1], context: [] }] });
    expect(promptsIn(await ran(alone))[1]?.text).not.toContain("Sources: A");
  });

  it("[W3] checks an answer by its schema, tells what is wrong, and takes it as JSON", async () => {
    const output = {
      type: "object",
      properties: { count: { type: "number" } },
      required: ["count"],
    } as const;
    const counter = says("counter", ["three", '{"count":"3"}', '```json\n{"count":3}\n```']);
    const count = crew({
      agents: [counter],
      tasks: [{ name: "count", description: "Count.", output, agent: "counter" }],
    });
    const session = await ran(count);
    expect(count.results(session)).toEqual({ count: { count: 3 } });
    expect(session.recent(1)).toMatchObject([{ content: '{"count":3}' }]);
    expect(all(session, "validation-report").map(({ name, passed }) => [name, passed])).toEqual([
      ["count", false],
      ["count", false],
      ["count", true],
    ]);
    const babbler = says("counter", [() => "I would say three."]);
    const { error, session: ended } = await failed(withBabbler(babbler, output));
    expect(error).toMatchObject({
      code: "step-failed",
      data: { step: "count", failure: { code: "task-unanswered" } },
    });
    expect(workIn(ended)).toHaveLength(3);
  });

  it("[W4] takes no half work for an answer: a limit or silence is the failure of the task", async () => {
    const look = tool({
      name: "look",
      description: "Looks.",
      input: { type: "object" },
      effect: "read",
      run: () => {
        throw new Error("it is dark");
      },
    });
    const stuck = says("writer", [() => ({ text: "One moment.", tools: [{ tool: "look" }] })], {
      tools: [look],
      maxSteps: 2,
    });
    const { error, session } = await failed(crew({ agents: [stuck], tasks: [{ ...tasks[1], context: [] }] }));
    expect(error).toMatchObject({ data: { failure: { code: "task-unanswered", data: { task: "write" } } } });
    expect(all(session, "tool-failure")).toHaveLength(2);
    // It has said something: what it said on the way to a limit is no answer either.
    const refuted = agent({
      name: "writer",
      model: scripted("A page, but no JSON."),
      output: { type: "object" },
      maxSteps: 1,
    });
    const halfway = await failed(crew({ agents: [refuted], tasks: [{ ...tasks[1], context: [] }] }));
    expect(halfway.error).toMatchObject({
      data: { failure: { message: expect.stringContaining("it reached a limit first") } },
    });
    const rath = openRath({ store: "memory:" });
    const spent = rath.run(crew({ agents, tasks }), rath.start("go"), { budget: { steps: 1 } });
    await expect(spent).rejects.toBeInstanceOf(RunFailedError);
    await expect(spent).rejects.toMatchObject({ cause: { data: { step: "write" } } });
    const mute = says("writer", [""]);
    const silent = await failed(crew({ agents: [mute], tasks: [{ ...tasks[1], context: [] }] }));
    expect(silent.error).toMatchObject({
      data: { failure: { message: expect.stringContaining("it said nothing") } },
    });
    expect(new TaskError("a", "b", "c").data).toEqual({ task: "a", agent: "b", reason: "c" });
    await rath.close();
  });

  it("[W5] is done again from a task on by a what-if, and what came before is taken over", async () => {
    const asked: string[] = [];
    const noted = (name: string, words: string): Agent<undefined> =>
      says(name, [
        (_prompt, turn) => {
          asked.push(name);
          return `${words} ${turn}`;
        },
      ]);
    const report = crew({
      name: "report",
      agents: [noted("researcher", "sources"), noted("writer", "page")],
      tasks,
    });
    const rath = openRath({ store: "memory:" });
    const first = await rath.run(report, rath.start("go"), { name: "report" });
    expect(asked.splice(0)).toEqual(["researcher", "writer", "writer"]);

    const shorter = withState(report, { "tasks.write.description": "Write half a page." });
    const other = await rath.replay("report", shorter, { mode: "what-if", name: "shorter" });
    expect(asked.splice(0)).toEqual(["writer", "writer"]);
    expect(report.results(other)).toEqual({ find: "sources 0", write: "page 0", check: "page 1" });

    // The same task, simply once more.
    const again = await rath.replay("report", withState(report, { "tasks.check.attempt": 2 }), {
      mode: "what-if",
      name: "again",
    });
    expect(asked.splice(0)).toEqual(["writer"]);
    expect(report.results(again)).toEqual(report.results(first));
    expect(all(again, "step-call").at(-1)).toMatchObject({ name: "check", input: { attempt: 2 } });
    expect((await rath.replay("report", report, { mode: "verify" })).id).toBe(first.id);
    expect(
      (await rath.replay("again", withState(report, { "tasks.check.attempt": 2 }), { mode: "verify" })).id,
    ).toBe(again.id);
    expect(asked).toEqual([]);
    await rath.close();
  });

  it("[W5] and so is a task that failed", async () => {
    const asked: string[] = [];
    let healthy = false;
    const noted = (name: string): Agent<undefined> =>
      says(
        name,
        [
          () => {
            asked.push(name);
            return healthy || name === "researcher" ? `${name} is done.` : new Error("no such model");
          },
        ],
        { retry: { attempts: 1 } },
      );
    const report = crew({ name: "report", agents: [noted("researcher"), noted("writer")], tasks });
    const rath = openRath({ store: "memory:" });
    await expect(rath.run(report, rath.start("go"), { name: "report" })).rejects.toBeInstanceOf(
      RunFailedError,
    );
    healthy = true;
    const again = withState(report, { "tasks.write.attempt": 2 });
    const session = await rath.replay("report", again, { mode: "what-if", name: "again" });
    expect(asked).toEqual(["researcher", "writer", "writer", "writer"]);
    expect(report.results(session)).toMatchObject({ find: "researcher is done.", check: "writer is done." });
    await rath.close();
  });

  it("[W6] hands files from task to task", async () => {
    const coder = says("coder", [{ tool: "write", input: { path: "a.txt", text: "A\n" } }, "Written."], {
      tools: sandboxTools(),
    });
    const reader = says("reader", [{ tool: "view", input: { path: "a.txt" } }, "Read."], {
      tools: sandboxTools(),
    });
    const both = crew({
      agents: [coder, reader],
      tasks: [
        { name: "make", description: "Make it.", agent: "coder" },
        { name: "read", description: "Read it.", agent: "reader" },
      ],
    });
    const rath = openRath({ store: "memory:" });
    const session = await rath.run(both, rath.start("go").to("virtual"), { name: "files" });
    expect(all(session, "tool-failure")).toEqual([]);
    expect(await (await rath.filesAt(session)).text("a.txt")).toBe("A\n");
    expect((await rath.replay("files", both, { mode: "verify" })).id).toBe(session.id);
    await rath.close();
  });
});

function withBabbler(counter: Agent<undefined>, output: object) {
  return crew({
    agents: [counter],
    tasks: [{ name: "count", description: "Count.", output: output as never, agent: "counter" }],
  });
}
