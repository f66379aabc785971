// @ts-check
// AutoGen's group chat, agents that each know one operation turn 3 into 13: `npm run example -- patterns/autogen-group-chat`.
import assert from "node:assert/strict";
import { agent, byModel, openRath, scripted } from "openrath";
import { groupChat } from "openrath/pattern";

/** @param {string} name @param {string} description @param {string[]} answers */
const member = (name, description, ...answers) =>
  agent({
    name,
    description,
    instructions: `${description} Answer with the number.`,
    model: scripted(...answers),
  });
const members = [
  member("adder", "Adds 1.", "4"),
  member("doubler", "Multiplies by 2.", "8", "14"),
  member("subtracter", "Subtracts 1.", "7", "13"),
  member("halver", "Divides by 2."),
];
const choices = ["adder", "doubler", "subtracter", "doubler", "subtracter", "none"];
const chair = scripted(...choices.map((route) => JSON.stringify({ route, why: "towards 13" })));
const team = groupChat("team", members, { speaker: byModel(chair), maxTurns: 6 });

const rath = openRath({ store: "memory:" });
const session = await rath.run(team, rath.start("Turn 3 into 13."), { name: "numbers" });
console.log(session.transcript.map((message) => ("content" in message ? message.content : "")).join(" -> "));

// Checks: every choice is on the record, and the record replays.
assert.equal(session.text, "13");
const chosen = [...session.history()].flatMap(({ fact }) =>
  fact.type === "route-choose" ? [fact.chosen ?? "none"] : [],
);
assert.deepEqual(chosen, choices);
assert.equal((await rath.replay("numbers", team, { mode: "verify" })).id, session.id);
console.log("replayed without a model: same id");
await rath.close();
