// @ts-check
// Two sides argue on branches of their own, a judge decides: `npm run example -- patterns/debate`.
import assert from "node:assert/strict";
import { agent, openRath, routeOf, scripted } from "openrath";
import { debate, deedsOf } from "openrath/pattern";

const speaker = (/** @type {string} */ name, /** @type {string[]} */ ...arguments_) =>
  agent({ name, model: scripted(...arguments_) });

const trial = debate({
  name: "rewrite",
  sides: {
    rewrite: speaker("ada", "The old code has no tests.", "Tests of wrong behaviour are worth nothing."),
    repair: speaker("bob", "The old code works for our users.", "Tests can be added to what works."),
  },
  rounds: 2,
  judge: scripted(JSON.stringify({ winner: "repair", why: "what works can be tested, too" })),
});

const rath = openRath({ store: "memory:" });
const session = await rath.run(trial, rath.start("Shall we rewrite the billing?"), { name: "billing" });
for (const { branch, by, did } of deedsOf(session)) console.log(`  ${branch} | ${by} | ${did}`);

assert.deepEqual(trial.verdict(session), { winner: "repair", why: "what works can be tested, too" });
assert.equal(routeOf(session, "rewrite"), "repair");
// Nobody heard the words of the same round: no branch of a round has them in its past.
const ends = [...session.history()].filter(
  ({ fact }) => fact.type === "model-reply" && fact.finish === "stop",
);
const first = ends.find(({ branch }) => branch === "repair, round 1");
assert.doesNotMatch(JSON.stringify(first?.transcript), /no tests/);
const second = ends.find(({ branch }) => branch === "repair, round 2");
assert.match(JSON.stringify(second?.transcript), /no tests/);
console.log(`\n${trial.verdict(session)?.winner} won: ${trial.verdict(session)?.why}`);

assert.equal((await rath.replay("billing", trial, { mode: "verify" })).id, session.id);
console.log("replayed without anybody: same id");
await rath.close();
