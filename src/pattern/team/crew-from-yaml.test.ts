import { describe, expect, it, vi } from "vitest";
import { type LanguageModel, scripted } from "../../agent/model/index.js";
import { tool } from "../../agent/tool/index.js";
import { all, ran } from "../../workflow/testing/ran.js";
import type { CrewFileOptions } from "./crew-from-yaml.js";
import { crewFromYaml } from "./index.js";
import { promptsIn, workIn } from "./testing/work.js";

const agents = `
# Who works on it.
researcher:
  role: >
    Expert on {topic}
  goal: Find facts on {topic}.
  backstory: >
    You have read about {topic}
    for {years} years.
  llm: big
  tools: [look_up]
  max_iter: 3
  verbose: true
writer:
  role: Writer
  goal: Write plain sentences.
  allow_delegation: false
`;
const tasks = `
find:
  description: Find two facts on {topic}.
  expected_output: A list of two.
  agent: researcher
outline:
  description: "Make an outline, such as {\\"a\\": 1}."
  agent: writer
  context: []
write:
  description: Write a page.
  expected_output: A page.
  agent: writer
  context: [find]
`;
const lookUp = tool({
  name: "look_up",
  description: "Looks something up.",
  input: { type: "object" },
  effect: "read",
  run: () => "2B is soft.",
});
const note = tool({
  name: "note",
  description: "Notes.",
  input: { type: "object" },
  effect: "pure",
  run: () => "noted",
});
const given = (): CrewFileOptions => ({
  name: "guide",
  agents,
  tasks,
  model: scripted("One, two.", "A page."),
  models: { big: scripted({ tool: "look_up", input: {} }, "2B is soft.") },
  tools: { look_up: lookUp, writer: [note] },
  inputs: { topic: "pencils", years: 20 },
});

describe("the files of a crew", () => {
  it("[W11] make a crew that does what they say", async () => {
    const guide = await crewFromYaml(given());
    expect(guide.name).toBe("guide");
    const session = await ran(guide, "A guide.");
    expect(workIn(session)).toEqual([
      "find | researcher | look_up()",
      "find | researcher | 2B is soft.",
      "outline | writer | One, two.",
      "write | writer | A page.",
    ]);
    expect(guide.results(session)).toMatchObject({ write: "A page." });
    const [researcher, writer] = all(session, "agent-configure");
    expect(researcher).toMatchObject({
      agent: "researcher",
      instructions:
        "Your role: Expert on pencils\nYour goal: Find facts on pencils.\nYour background: You have read about pencils for 20 years.",
      tools: [{ name: "look_up" }],
    });
    expect(writer).toMatchObject({
      instructions: "Your role: Writer\nYour goal: Write plain sentences.",
      tools: [{ name: "note" }],
    });
    const told = promptsIn(session).map(({ text }) => text);
    expect(told[0]).toContain("Find two facts on pencils.");
    expect(told[0]).toContain("A list of two.");
    // A text in braces that is not a name is not a placeholder.
    expect(told[2]).toContain(JSON.stringify('such as {"a": 1}').slice(1, -1));
    expect(told[2]).not.toContain("2B is soft.");
    expect(told[3]).toContain("find: 2B is soft.");
  });

  it("[W11] are values as well as texts, with a model for each agent and a manager", async () => {
    const file = { clerk: { role: "Clerk", goal: "Answer." } };
    const one = await crewFromYaml({
      agents: file,
      tasks: { answer: { description: "Answer.", agent: "clerk" } },
      models: { clerk: scripted("Yes.") },
    });
    expect(workIn(await ran(one))).toEqual(["answer | clerk | Yes."]);
    const managed = await crewFromYaml({
      agents: file,
      tasks: { answer: { description: "Answer.", agent: "clerk" } },
      model: scripted("Yes."),
      process: "hierarchical",
      manager: scripted(
        { tool: "ask_question_to_coworker", input: { coworker: "clerk", question: "?" } },
        "Yes!",
      ),
      ignore: ["agent"],
    });
    expect(workIn(await ran(managed)).at(-1)).toBe("answer | manager | Yes!");
  });

  const bad: readonly (readonly [
    what: string,
    change: Partial<CrewFileOptions>,
    where: string,
    reason: RegExp,
  ])[] = [
    [
      "a field",
      { tasks: `${tasks}  output_file: out.md\n` },
      "tasks.yaml: write.output_file",
      /line 15.*does not follow/,
    ],
    [
      "tools of a task",
      { tasks: `${tasks}  tools: [look_up]\n` },
      "tasks.yaml: write.tools",
      /does not follow/,
    ],
    [
      "async work",
      { tasks: `${tasks}  async_execution: true\n` },
      "tasks.yaml: write.async_execution",
      /does not follow/,
    ],
    [
      "delegation",
      { agents: `${agents}  allow_delegation: true\n`.replace("  allow_delegation: false\n", "") },
      "agents.yaml: writer.allow_delegation",
      /does not follow/,
    ],
    [
      "a placeholder",
      { inputs: { topic: "pencils" } },
      "agents.yaml: researcher.backstory",
      /line 7.*\{years\}/,
    ],
    ["a model", { models: {} }, "agents.yaml: researcher.llm", /line 10.*no model "big"/],
    [
      "a default model",
      { model: undefined as unknown as LanguageModel },
      "agents.yaml: writer",
      /it has no model/,
    ],
    ["a tool", { tools: {} }, "agents.yaml: researcher.tools", /line 11.*no tool "look_up"/],
    ["idle tools", { tools: { look_up: lookUp, wrter: note } }, "", /nobody has the tools "wrter"/],
    [
      "an agent",
      { tasks: tasks.replace("agent: writer", "agent: wrtier") },
      "tasks.yaml: outline.agent",
      /line 8.*no agent "wrtier"/,
    ],
    [
      "a context",
      { tasks: tasks.replace("[find]", "[fnd]") },
      "tasks.yaml: write.context",
      /line 14.*"fnd" is not a task before it/,
    ],
    [
      "a later context",
      { tasks: tasks.replace("context: []", "context: [write]") },
      "tasks.yaml: outline.context",
      /not a task before it/,
    ],
    [
      "a role",
      { agents: agents.replace("role: Writer", "role: ''") },
      "agents.yaml: writer",
      /its role is missing/,
    ],
    [
      "a number",
      { agents: agents.replace("role: Writer", "role: 3") },
      "agents.yaml: writer.role",
      /line 15.*it is 3/,
    ],
    [
      "a text in place of fields",
      { agents: "writer: Writes." },
      "agents.yaml: writer",
      /line 1.*it is "Writes\."/,
    ],
    ["an empty file", { tasks: "" }, "tasks.yaml", /not a map of names/],
    ["a list", { tasks: "- one" }, "tasks.yaml", /not a map of names/],
    ["text that is not YAML", { agents: "a: [b" }, "agents.yaml", /agents\.yaml, line 1/],
    ["a key twice", { agents: `${agents}writer: {}\n` }, "agents.yaml", /line 18/],
    ["many aliases", { agents: bomb() }, "agents.yaml", /alias/i],
    ["a wrong option", { ignore: "output_file" as unknown as [] }, "", /its `ignore` is "output_file"/],
  ];

  it.each(bad)("[W12] are refused with their place: %s", async (_, change, where, reason) => {
    await expect(crewFromYaml({ ...given(), ...change })).rejects.toMatchObject({
      code: "crew-file",
      message: expect.stringMatching(reason),
      data: { where },
    });
  });

  it("[W12] leave out what `ignore` has, and fields that ask for nothing", async () => {
    const text = `${tasks}  output_file: out.md\n  human_input: false\n  callback:\n`;
    const guide = await crewFromYaml({ ...given(), tasks: text, ignore: ["output_file"] });
    expect(guide.results(await ran(guide))).toHaveProperty("write");
  });

  it("[W12] need the package yaml only for texts", async () => {
    vi.doMock("yaml", () => {
      throw Object.assign(new Error("not here"), { code: "ERR_MODULE_NOT_FOUND" });
    });
    try {
      await expect(crewFromYaml(given())).rejects.toMatchObject({ code: "package-missing" });
      const clerk = { clerk: { role: "Clerk", goal: "Answer." } };
      const answer = { answer: { description: "Answer.", agent: "clerk" } };
      expect((await crewFromYaml({ agents: clerk, tasks: answer, model: scripted("Yes.") })).name).toBe(
        "crew",
      );
    } finally {
      vi.doUnmock("yaml");
    }
  });
});

/** Aliases of aliases, which stand for more values than there is memory. */
function bomb(): string {
  const lines = ["a: &a [x, x, x, x, x, x, x, x, x, x]"];
  for (const [place, name] of [..."bcdefgh"].entries()) {
    const before = "abcdefgh"[place];
    lines.push(`${name}: &${name} [${Array.from({ length: 10 }, () => `*${before}`).join(", ")}]`);
  }
  return lines.join("\n");
}
