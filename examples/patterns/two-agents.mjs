// @ts-check
// Two agents that talk until one of them is content: `npm run example -- patterns/two-agents`. The models are scripts.
import assert from "node:assert/strict";
import { agent, openRath, routeOf, scripted } from "openrath";
import { anyOf, chat, deedsOf, maxMessages, mentions } from "openrath/pattern";

const writer = agent({
  name: "writer",
  instructions: "Write a slogan.",
  model: scripted("Pencils!", "Pencils: think twice, erase once."),
});
const critic = agent({
  name: "critic",
  instructions: "Say what is missing, or APPROVE.",
  model: scripted("It says nothing. Why pencils?", "APPROVE"),
});
const review = chat("review", [writer, critic], {
  until: anyOf(mentions("APPROVE"), maxMessages(10)),
  maxTurns: 20,
});

const rath = openRath({ store: "memory:" });
const session = await rath.run(review, rath.start("We sell pencils. Say APPROVE when it is good."), {
  name: "slogan",
});

for (const { branch, by, did } of deedsOf(session)) console.log(`  ${branch}  ${by}  ${did}`);
// Why it ended is a fact: nobody goes on, and the question that also has the word in it did not end it.
const end = [...session.history()].map(({ fact }) => fact).findLast((fact) => fact.type === "route-choose");
assert.equal(end?.type === "route-choose" && end.why, 'critic said "APPROVE"');
assert.equal(routeOf(session, "review"), null);
assert.equal(session.transcript.length, 5);
assert.ok([...session.history()].every(({ branch }) => branch === "main"));

const again = await rath.replay("slogan", review, { mode: "verify" });
assert.equal(again.id, session.id);
console.log("\nreplayed without a model: same id");
await rath.close();
