// @ts-check
// AutoGen's nested chats, a group chat, code that checks it and a poem behind one agent: `npm run example -- patterns/autogen-nested-chat`.
import assert from "node:assert/strict";
import { agent, openRath, scripted, workflow } from "openrath";
import { groupChat, nestedChat } from "openrath/pattern";
import { sandboxTools } from "openrath/tool";

/** @param {string} name @param {string} instructions @param {string[]} script */
const member = (name, instructions, ...script) => agent({ name, instructions, model: scripted(...script) });
const operations = nestedChat({
  name: "operations",
  chat: groupChat(
    "numbers",
    [
      member("adder", "Add 1.", "4"),
      member("doubler", "Double.", "8"),
      member("subtracter", "Subtract 1.", "7"),
    ],
    { maxTurns: 3 },
  ),
  summary: member("clerk", "List the operations.", "3 + 1 = 4, 4 * 2 = 8, 8 - 1 = 7"),
});
const coder = agent({
  name: "coder",
  instructions: "Check the operations with a script.",
  model: scripted(
    { tool: "shell", input: { command: "test $(( (3 + 1) * 2 - 1 )) = 7 && echo correct" } },
    "Correct.",
  ),
  tools: sandboxTools(),
});
const poet = member(
  "poet",
  "Write two lines about it.",
  "Three took a step and saw its double shine,\none less is seven: all of it was fine.",
);
const arithmetic = nestedChat({
  name: "arithmetic",
  chat: workflow("steps", { operations, coder, poet }, async (session, parts) =>
    parts.poet.forward(await parts.coder.forward(await parts.operations.forward(session))),
  ),
});

const rath = openRath({ store: "memory:" });
const session = await rath.run(arithmetic, rath.start("Turn 3 into 7.").to("virtual"), { name: "poem" });
console.log(session.text);

// Checks: the conversation has the poem alone; the chats and the script that ran are on branches of the record.
assert.match(session.text, /^Three took a step/);
assert.equal(session.transcript.length, 2);
const facts = [...session.history()];
const ran = facts.flatMap(({ fact, branch }) =>
  fact.type === "tool-result" ? [{ branch, output: fact.output }] : [],
);
assert.match(JSON.stringify(ran), /correct/);
assert.ok(ran.every(({ branch }) => branch !== "main"));
assert.equal((await rath.replay("poem", arithmetic, { mode: "verify" })).id, session.id);
console.log("replayed without a model: same id");
await rath.close();
