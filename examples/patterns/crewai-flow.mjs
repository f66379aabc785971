// @ts-check
// CrewAI's flow quick start, a flow that sets a topic, runs a crew and leaves a report: `npm run example -- patterns/crewai-flow`.
import assert from "node:assert/strict";
import { readFile, rm, writeFile } from "node:fs/promises";
import { openRath, scripted, step, workflow } from "openrath";
import { crewFromYaml, flow, keep, keptIn } from "openrath/pattern";

const topic = "pencils";
const crew = await crewFromYaml({
  agents: { scout: { role: "Looks for news on {topic}", goal: "Find what is new about {topic}" } },
  tasks: { report: { description: "Report on {topic}.", expected_output: "Markdown.", agent: "scout" } },
  model: scripted("# Pencils\n\nGraphite, cedar and clay."),
  inputs: { topic },
});
const save = step("save", async (/** @type {{ text: string }} */ { text }) => writeFile("report.md", text), {
  effect: "idempotent",
});
const latest = flow({
  name: "latest",
  steps: {
    prepare: { run: workflow("prepare", async (session) => keep(session, { topic })) },
    research: { on: "prepare", run: crew },
    summarize: {
      on: "research",
      run: workflow(
        "summarize",
        { save },
        async (session) => (await save.call(session, { text: session.text })).session,
      ),
    },
  },
});

const rath = openRath({ store: "memory:" });
const session = await rath.run(latest, rath.start("The latest, please."), { name: "latest" });

// Checks: the state of the flow, the file, and that the record replays.
assert.deepEqual(keptIn(session), { topic });
assert.match(await readFile("report.md", "utf8"), /^# Pencils/);
await rm("report.md");
assert.equal((await rath.replay("latest", latest, { mode: "verify" })).id, session.id);
console.log("replayed without a model: same id");
await rath.close();
