// @ts-check
// A plan, its steps, and another plan when a step fails: `npm run example -- patterns/plan-execute`.
import assert from "node:assert/strict";
import { agent, openRath, scripted, tool } from "openrath";
import { deedsOf, PLAN, planExecute, planOf } from "openrath/pattern";

const shelf = new Map([["flour", 3]]);
const take = tool({
  name: "take",
  description: "Takes something from the shelf.",
  input: { type: "object", properties: { what: { type: "string" } }, required: ["what"] },
  effect: "read",
  run: (input, { record }) => {
    const what = String(input.what);
    const passed = shelf.has(what);
    record({
      type: "validation-report",
      name: "shelf",
      passed,
      detail: passed ? what : `there is no ${what}`,
    });
    return passed ? `one ${what}` : `no ${what}`;
  },
});

const planner = agent({
  name: "planner",
  model: scripted(
    JSON.stringify({ steps: ["take flour", "take butter", "bake"] }),
    JSON.stringify({ steps: ["bake without butter"] }),
  ),
  output: PLAN,
});
const cook = agent({
  name: "cook",
  model: scripted((prompt) => {
    const asked = JSON.stringify(prompt.at(-1));
    const [, what] = /: take (\w+)/.exec(asked) ?? [];
    return what === undefined ? "Done." : { tool: "take", input: { what } };
  }),
  tools: [take],
});

const rath = openRath({ store: "memory:" });
const bread = planExecute({ name: "bread", planner, executor: cook, replans: 1 });
const session = await rath.run(bread, rath.start("Bake bread."), { name: "bread" });
for (const { branch, by, did } of deedsOf(session)) console.log(`  ${branch} | ${by} | ${did}`);

const plan = planOf(session, "bread");
console.log("\nthe plan as it ended:");
for (const { task, state, branch, why } of plan?.steps ?? [])
  console.log(
    `  ${state.padEnd(7)} ${task}${branch === undefined ? "" : ` (${branch})`}${why === undefined ? "" : `: ${why}`}`,
  );
assert.deepEqual(
  plan?.steps.map(({ task, state }) => [task, state]),
  [
    ["take flour", "done"],
    ["take butter", "failed"],
    ["bake", "dropped"],
    ["bake without butter", "done"],
  ],
);
assert.equal(plan?.version, 2);

shelf.clear();
assert.equal((await rath.replay("bread", bread, { mode: "verify" })).id, session.id);
console.log("replayed with an empty shelf: same id");
await rath.close();
