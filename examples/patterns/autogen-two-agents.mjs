// @ts-check
// AutoGen's two-agent chat, a student and a teacher with a summary: `npm run example -- patterns/autogen-two-agents`.
import assert from "node:assert/strict";
import { agent, openRath, scripted, workflow } from "openrath";
import { chat, maxMessages } from "openrath/pattern";

const teacher = agent({
  name: "teacher",
  instructions: "You teach geometry.",
  model: scripted("Two sides together are longer than the third.", "3, 4 and 5 do; 1, 2 and 9 do not."),
});
const student = agent({
  name: "student",
  instructions: "You want to understand it.",
  model: scripted("Which lengths make a triangle, then?"),
});
const summary = agent({
  name: "summary",
  instructions: "Sum up what was learnt.",
  model: scripted("In a triangle, any two sides together are longer than the third."),
});
const talk = chat("talk", [teacher, student], { until: maxMessages(3), maxTurns: 4 });
const lesson = workflow("lesson", { talk, summary }, async (session, parts) =>
  parts.summary.forward(await parts.talk.forward(session)),
);

const rath = openRath({ store: "memory:" });
const session = await rath.run(lesson, rath.start("What holds for the sides of a triangle?"), {
  name: "lesson",
});
console.log(session.text);

// Checks: who spoke, in which order, and that the record replays.
assert.match(session.text, /^In a triangle/);
assert.deepEqual(
  [...session.history()].flatMap(({ fact }) => (fact.type === "model-call" ? [fact.agent] : [])),
  ["teacher", "student", "teacher", "summary"],
);
assert.equal((await rath.replay("lesson", lesson, { mode: "verify" })).id, session.id);
console.log("replayed without a model: same id");
await rath.close();
