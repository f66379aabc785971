// @ts-check
// Tool choice in the manner of Toolformer: `npm run example -- patterns/inline-tools`.
//
// The model writes calls into its text; a call stays if its result makes the text better by a score that can be measured. Here
// that is how many of the words the text has in common with a reference, a stand-in for the likelihood of what follows.
import assert from "node:assert/strict";
import { openRath, scripted, tool } from "openrath";
import { deedsOf, inlineTools } from "openrath/pattern";

const divide = tool({
  name: "divide",
  description: "Divides a by b, in percent.",
  input: {
    type: "object",
    properties: { a: { type: "number" }, b: { type: "number" } },
    required: ["a", "b"],
  },
  effect: "pure",
  run: ({ a, b }) => `${Math.round((100 * Number(a)) / Number(b))}%`,
});
const today = tool({
  name: "today",
  description: "The day of the week.",
  input: { type: "object" },
  effect: "read",
  run: () => "Monday",
});

const reference = "Of the 1400 participants 29% passed the test.".split(/\W+/);
const score = (/** @type {string} */ text) => {
  const words = text.split(/\W+/);
  return reference.filter((word) => words.includes(word)).length / Math.max(reference.length, words.length);
};

const writer = inlineTools({
  name: "writer",
  model: scripted("Of the 1400 participants [divide(400, 1400)] passed the test [today()]."),
  tools: [divide, today],
  score,
  threshold: 0.01,
  splice: (_call, result) => result,
});
const rath = openRath({ store: "memory:" });
const session = await rath.run(writer, rath.start("How did the test go?"), { name: "text" });
for (const { branch, by, did } of deedsOf(session)) console.log(`  ${branch} | ${by} | ${did}`);

const [last] = session.recent(1);
assert.equal(last?.role === "assistant" && last.content, "Of the 1400 participants 29% passed the test.");
const chosen = [...session.history()].flatMap(({ fact }) =>
  fact.type === "route-choose" ? [fact.chosen] : [],
);
assert.deepEqual(chosen, ["with result", "without"]);
// Each way of writing it is a branch with its score; those that lost are still there.
assert.equal(session.lineage.filter(({ kind }) => kind === "fork").length, 6);
console.log(`\nwhat goes on: ${last?.role === "assistant" && last.content}`);

assert.equal((await rath.replay("text", writer, { mode: "verify" })).id, session.id);
console.log("replayed without model, tools or score: same id");
await rath.close();
