// @ts-check
// Agents that hand over to each other, over several runs: `npm run example -- patterns/swarm`. The models are scripts.
import assert from "node:assert/strict";
import { agent, openRath, scripted } from "openrath";
import { activeIn, deedsOf, swarm } from "openrath/pattern";

/** @type {import("openrath").Agent<undefined>} */
const triage = agent({
  name: "triage",
  model: scripted({ tool: "transfer_to_billing", input: { reason: "it is about a bill" } }, "Good bye!"),
  handoffs: () => [billing],
});
/** @type {import("openrath").Agent<undefined>} */
const billing = agent({
  name: "billing",
  model: scripted("Bill 7 is wrong indeed.", "Bill 6 is right.", {
    tool: "transfer_to_triage",
    input: { reason: "no bill any more" },
  }),
  handoffs: () => [triage],
});
const desk = swarm({ members: [triage, billing], start: "triage" });

const rath = openRath({ store: "memory:" });
let session = await rath.run(desk, rath.start("Bill 7 is wrong."), { name: "talk" });
assert.equal(activeIn(session), "billing");
// The next message goes to who was active last.
session = await rath.run(desk, session.say("And bill 6?"), { name: "talk" });
assert.equal(activeIn(session), "billing");
session = await rath.run(desk, session.say("Thank you."), { name: "talk" });
assert.equal(activeIn(session), "triage");

for (const { branch, by, did } of deedsOf(session)) console.log(`  ${branch}  ${by}  ${did}`);
const began = [...session.history()].flatMap(({ fact }) =>
  fact.type === "route-choose" && fact.selector === "swarm" ? [`${fact.chosen}: ${fact.why}`] : [],
);
assert.deepEqual(began, [
  "triage: it begins here",
  "billing: it was active last",
  "billing: it was active last",
]);

const again = await rath.replay("talk", desk, { mode: "verify" });
assert.equal(again.id, session.id);
console.log("\nreplayed without a model: same id");
await rath.close();
