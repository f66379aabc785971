// @ts-check
// Three agents, and a model that says who speaks next: `npm run example -- patterns/group-chat`. The models are scripts.
import assert from "node:assert/strict";
import { agent, byModel, openRath, scripted } from "openrath";
import { deedsOf, groupChat } from "openrath/pattern";

/** @param {string} name @param {string} description @param {string[]} words */
const member = (name, description, ...words) => agent({ name, description, model: scripted(...words) });
const planner = member("planner", "Makes plans.", "First the code, then a test.");
const coder = member(
  "coder",
  "Writes code.",
  "export const add = (a, b) => a - b;",
  "export const add = (a, b) => a + b;",
);
const tester = member("tester", "Runs tests.", "add(2, 3) gives -1.", "add(2, 3) gives 5.");

/** @param {string} route @param {string} why */
const choice = (route, why) => JSON.stringify({ route, why });
const chair = scripted(
  choice("planner", "a plan first"),
  choice("coder", "now the code"),
  choice("tester", "test it"),
  choice("coder", "it is wrong"),
  choice("tester", "test it again"),
  choice("none", "it works"),
);
const team = groupChat("team", [planner, coder, tester], {
  speaker: byModel({ model: chair, name: "chair" }),
  maxTurns: 12,
});

const rath = openRath({ store: "memory:" });
const session = await rath.run(team, rath.start("Write add(a, b)."), { name: "add" });

for (const { branch, by, did } of deedsOf(session))
  if (branch === "main" && !did.startsWith("gives")) console.log(`  ${branch}  ${by}  ${did}`);
const choices = [...session.history()].flatMap(({ fact }) => (fact.type === "route-choose" ? [fact] : []));
assert.deepEqual(
  choices.map(({ chosen }) => chosen),
  ["planner", "coder", "tester", "coder", "tester", null],
);
// Who has just spoken could not be chosen again.
assert.deepEqual(
  choices[1]?.candidates.map(({ name }) => name),
  ["coder", "tester"],
);
// The chair thinks on branches of its own: the conversation does not have its words, the record does.
assert.equal(session.transcript.length, 6);
assert.equal(
  [...session.history()].filter(({ branch, fact }) => branch === "chair" && fact.type === "model-reply")
    .length,
  6,
);

const again = await rath.replay("add", team, { mode: "verify" });
assert.equal(again.id, session.id);
console.log("\nreplayed without a model: same id");
await rath.close();
