// @ts-check
// A crew with tasks, one with a manager, and a task that is done again: `npm run example -- patterns/crew`. The models are scripts.
import assert from "node:assert/strict";
import { agent, openRath, scripted, withState } from "openrath";
import { crew, deedsOf } from "openrath/pattern";

let asked = 0;
/** @param {string[]} words */
const script = (...words) =>
  scripted((_prompt, turn) => {
    asked += 1;
    return words[turn] ?? "(nothing more to say)";
  });
const researcher = agent({
  name: "researcher",
  description: "Finds facts.",
  model: script('{"facts":["2B is soft","4H is hard"]}'),
});
const writer = agent({
  name: "writer",
  description: "Writes.",
  model: script("Take 2B to draw and 4H to draft."),
});

const guide = crew({
  name: "guide",
  agents: [researcher, writer],
  tasks: [
    {
      name: "find",
      description: "Find two facts on pencils.",
      output: { type: "object", properties: { facts: { type: "array" } }, required: ["facts"] },
      agent: "researcher",
    },
    {
      name: "write",
      description: "Write one sentence.",
      expected: "A sentence.",
      agent: "writer",
      context: ["find"],
    },
  ],
});

/** What was done on the branches of the tasks; the conversation goes on with the answer to the last one. @param {import("openrath").Session} session */
function tell(session) {
  for (const { branch, by, did } of deedsOf(session))
    if (branch !== "main" && by.startsWith("agent:")) console.log(`  ${branch}  ${by}  ${did}`);
}

const rath = openRath({ store: "memory:" });
const session = await rath.run(guide, rath.start("A guide to pencils."), { name: "guide" });
console.log("one task after the other:");
tell(session);
assert.deepEqual(guide.results(session), {
  find: { facts: ["2B is soft", "4H is hard"] },
  write: "Take 2B to draw and 4H to draft.",
});
assert.deepEqual(
  session.lineage.map(({ branch }) => branch),
  ["main", "find", "write"],
);

// What if the second task had been another one? The first is taken over from the record, and not done again.
const before = asked;
const other = withState(guide, { "tasks.write.description": "Write half a sentence." });
const shorter = await rath.replay("guide", other, { mode: "what-if", name: "guide-short" });
assert.equal(asked - before, 1);
assert.deepEqual(guide.results(shorter).find, guide.results(session).find);
console.log("\nwhat if from the second task on: one model call, the first task taken over");

// The same agents under a manager, who can only delegate and ask.
const managed = crew({
  name: "managed",
  agents: [researcher, writer],
  tasks: [{ name: "guide", description: "A sentence on pencils." }],
  process: "hierarchical",
  manager: scripted(
    { tool: "delegate_work_to_coworker", input: { coworker: "plumber", task: "Find facts." } }, // there is none
    { tool: "delegate_work_to_coworker", input: { coworker: "researcher", task: "Find facts." } },
    { tool: "ask_question_to_coworker", input: { coworker: "writer", question: "2B or 4H?" } },
    "2B to draw, 4H to draft.",
  ),
});
const led = await rath.run(managed, rath.start("A guide, please."), { name: "managed" });
console.log("\na manager sees to it:");
tell(led);
assert.equal(led.usage.calls, 6);

for (const [name, module, ended] of /** @type {const} */ ([
  ["guide", guide, session],
  ["managed", managed, led],
]))
  assert.equal((await rath.replay(name, module, { mode: "verify" })).id, ended.id);
console.log("\nboth replayed without a model: same id");
await rath.close();
