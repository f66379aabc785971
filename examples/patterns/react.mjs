// @ts-check
// ReAct with a model that writes its actions, and with one that calls tools: `npm run example -- patterns/react`.
import assert from "node:assert/strict";
import { openRath, scripted, tool } from "openrath";
import { deedsOf, episodeOf, react } from "openrath/pattern";

let looked = 0;
const search = tool({
  name: "Search",
  description: "Looks something up.",
  input: { type: "object", properties: { query: { type: "string" } }, required: ["query"] },
  effect: "read",
  run: ({ query }) => {
    looked += 1;
    return `${query} is a rock band from Franklin, Tennessee.`;
  },
});

// No model is called: both are scripts. The first one has never heard of tool calls.
const writes = scripted(
  "Thought 1: I do not know the band.\nAction 1: Search[Paramore]",
  "It is from Tennessee, then.", // no action: it is told so
  "Thought 2: Franklin is in Tennessee.\nAction 2: Finish[yes]",
);
const calls = scripted(
  { text: "I do not know the band.", tools: [{ tool: "Search", input: { query: "Paramore" } }] },
  "yes",
);

const rath = openRath({ store: "memory:" });
const clerk = react({ name: "clerk", model: writes, tools: [search] });
const session = await rath.run(clerk, rath.start("Is Paramore from Tennessee?"), { name: "text" });
for (const { branch, by, did } of deedsOf(session)) console.log(`  ${branch} | ${by} | ${did}`);
assert.equal(clerk.output(session), "yes");

// What was written is a tool call on the record, the same as if the model had made it.
const native = react({ name: "clerk", codec: "calls", model: calls, tools: [search] });
const other = await rath.run(native, rath.start("Is Paramore from Tennessee?"), { name: "calls" });
assert.equal(native.output(other), "yes");
assert.deepEqual(episodeOf(session, "clerk").steps[0], episodeOf(other, "clerk").steps[0]);
console.log(
  `\nboth codecs: ${JSON.stringify(episodeOf(session, "clerk").steps[0]?.action)}, answer ${clerk.output(other)}`,
);

assert.equal(looked, 2);
assert.equal((await rath.replay("text", clerk, { mode: "verify" })).id, session.id);
assert.equal((await rath.replay("calls", native, { mode: "verify" })).id, other.id);
assert.equal(looked, 2);
console.log("replayed without model or tool: same id");
await rath.close();
