// @ts-check
// CrewAI's crew quick start, two agents and two tasks from its YAML files: `npm run example -- patterns/crewai-crew`.
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { openRath, scripted, tool } from "openrath";
import { crewFromYaml } from "openrath/pattern";

const search = tool({
  name: "search",
  description: "Searches the web.",
  input: { type: "object", properties: { query: { type: "string" } }, required: ["query"] },
  effect: "read",
  run: ({ query }) => `Three pages on ${query}.`,
});
/** @param {string} file */
const read = (file) => readFile(new URL(`../fixtures/crew/${file}`, import.meta.url), "utf8");
const crew = await crewFromYaml({
  agents: await read("agents.yaml"),
  tasks: await read("tasks.yaml"),
  models: {
    scout: scripted({ tool: "search", input: { query: "pencils" } }, "Graphite, cedar, clay (page 1, 2, 3)."),
    editor: scripted("# Pencils\n\nGraphite, cedar and clay."),
  },
  tools: { scout: search },
  inputs: { topic: "pencils" },
  ignore: ["output_file"],
});

const rath = openRath({ store: "memory:" });
const session = await rath.run(crew, rath.start("A report, please."), { name: "report" });
await writeFile("report.md", session.text);

// Checks: the answers of both tasks, and that the record replays.
assert.deepEqual(crew.results(session), {
  search: "Graphite, cedar, clay (page 1, 2, 3).",
  report: "# Pencils\n\nGraphite, cedar and clay.",
});
assert.equal(await readFile("report.md", "utf8"), session.text);
assert.equal((await rath.replay("report", crew, { mode: "verify" })).id, session.id);
console.log(`${session.text}\nreplayed without a model: same id`);
await rath.close();
