// @ts-check
// A support agent in the terminal: it streams, asks before it pays back, and keeps the conversation over restarts and
// `kill -9`. `npm run example -- support`; its model is a script that looks at the last message.
import { createInterface } from "node:readline/promises";
import { agent, openRath, scripted, statusOf, tool } from "openrath";

const lookUp = tool({
  name: "look_up",
  description: "Looks up an order.",
  input: { type: "object", properties: { order: { type: "string" } }, required: ["order"] },
  effect: "read",
  run: ({ order }) => ({ order, item: "desk", total: 130, status: "delivered" }),
});
const refund = tool({
  name: "refund",
  description: "Pays money back.",
  input: { type: "object", properties: { amount: { type: "number" } }, required: ["amount"] },
  effect: "write",
  approval: ({ amount }) => Number(amount) > 50,
  run: ({ amount }, { key }) => ({ paid: amount, receipt: key.slice(0, 8) }),
});
const support = agent({
  name: "support",
  instructions: "You are a support agent.",
  model: scripted((prompt) => {
    const last = JSON.stringify(prompt.at(-1));
    if (prompt.at(-1)?.role === "tool")
      return `I looked: ${last.includes("paid") ? "it is paid back" : "it was delivered"}.`;
    if (/refund/i.test(last)) return { tool: "refund", input: { amount: 130 } };
    return /order/i.test(last) ? { tool: "look_up", input: { order: "A-17" } } : "How can I help?";
  }),
  tools: [lookUp, refund],
});

const [name = "support-1"] = process.argv.slice(2);
const rath = openRath();
// At a terminal a person types; elsewhere these lines are typed.
const script = ["Where is my order?", "A refund, please.", "y", ""];
const lines = process.stdin.isTTY
  ? createInterface({ input: process.stdin })[Symbol.asyncIterator]()
  : script.values();
const ask = async (/** @type {string} */ prompt) => {
  process.stdout.write(prompt);
  return String((await lines.next()).value ?? "");
};

/**
 * A message, or without one what waited or was cut off; then what it waits for, until nothing is awaited any more.
 *
 * @param {string} [text] @returns {Promise<void>}
 */
async function turn(text) {
  for await (const event of rath.stream.turn(support, name, text, { by: "user:customer" }))
    if (event.type === "text") process.stdout.write(event.text);
  for (const { what, shown, doubt, digest = "" } of await rath.pending(name)) {
    const decision = { by: /** @type {const} */ ("user:boss"), digest };
    console.log(`\n[waits] ${JSON.stringify(shown ?? what)}`);
    if (doubt)
      await rath.settle(name, {
        ...decision,
        decision: (await ask("did it happen? y/n ")) === "y" ? "done" : "failed",
      });
    else if ((await ask("approve? y/n ")) === "y") await rath.approve(name, decision);
    else await rath.reject(name, { ...decision, why: "not this time" });
  }
  const session = await rath.load(name);
  if (statusOf(session) === "waiting") return turn();
  const { calls, input, output, cost } = session.usage;
  console.log(
    `\n[${statusOf(session)}; ${calls} calls, ${input}+${output} tokens, cost ${cost ?? "unknown"}]`,
  );
}

if ((await rath.unfinished()).some((run) => run.name === name)) await turn();
for (let text = await ask("you: "); text !== ""; text = await ask("\nyou: ")) await turn(text);

const again = await rath.replay(name, support, { mode: "verify" });
if (again.id !== (await rath.load(name)).id) throw new Error("the replay differs");
console.log("\nThe replay of the last turn, without a model, gives the same id.");
await rath.close();
process.exit(); // the terminal is open
