// @ts-check
// A supervisor that hands work to two at once and quotes one of them: `npm run example -- patterns/supervisor`. The models are scripts.
import assert from "node:assert/strict";
import { agent, openRath, renderedPrompt, scripted } from "openrath";
import { deedsOf, supervisor } from "openrath/pattern";

const math = agent({
  name: "math",
  description: "Reckons.",
  model: scripted("12 pencils at 0.35 are 4.20."),
});
const legal = agent({
  name: "legal",
  description: "Knows contracts.",
  model: scripted("“Delivery within 14 days”, § 3 (2)."),
});
const desk = supervisor({
  name: "desk",
  model: scripted(
    {
      call: [
        { tool: "transfer_to_math", input: { task: "What are 12 pencils at 0.35?" } },
        { tool: "transfer_to_legal", input: { task: "When must they be delivered?" } },
      ],
    },
    { tool: "forward_message", input: { from: "legal" } },
  ),
  workers: [math, legal],
  output: "last",
});

const rath = openRath({ store: "memory:" });
const session = await rath.run(desk, rath.start("Reckon the price, and quote the clause on delivery."), {
  name: "order",
});

for (const { branch, by, did } of deedsOf(session))
  if (by !== "runtime") console.log(`  ${branch}  ${by}  ${did}`);
// Each worker saw its own call alone.
const prompts = [...session.history()].flatMap((node) =>
  node.fact.type === "model-call" && node.branch !== "main"
    ? [JSON.stringify(renderedPrompt(node).messages)]
    : [],
);
assert.equal(prompts.length, 2);
assert.ok(prompts.every((prompt) => prompt.includes("0.35") !== prompt.includes("delivered")));
// Over and back, on the branch of each handoff.
const ways = [...session.history()].flatMap(({ branch, fact }) =>
  fact.type === "route-choose" ? [`${branch}: ${fact.selector} -> ${fact.chosen}`] : [],
);
assert.deepEqual(ways.toSorted(), [
  "transfer_to_legal: desk -> legal",
  "transfer_to_legal: legal -> desk",
  "transfer_to_math: desk -> math",
  "transfer_to_math: math -> desk",
]);
// Word for word, and by whom it was said.
const last = [...session.history()].map(({ fact }) => fact).findLast((fact) => fact.type === "message-say");
assert.deepEqual(
  [last?.by, last?.type === "message-say" && last.content],
  ["agent:legal", "“Delivery within 14 days”, § 3 (2)."],
);

const again = await rath.replay("order", desk, { mode: "verify" });
assert.equal(again.id, session.id);
console.log("\nreplayed without a model: same id");
await rath.close();
