// @ts-check
// A hello agent with a tool: `npm run example -- hello`.
//
// Offline, the model is a script and says so. With an OpenAI-compatible endpoint (Ollama, vLLM, llama.cpp, …) the same
// program runs live: RATH_URL=http://127.0.0.1:11434/v1 RATH_MODEL=llama3.2 npm run example -- hello
import assert from "node:assert/strict";
import { agent, compatible, openRath, scripted, tool } from "openrath";
import { leaveDossier } from "./fixtures/leave-dossier.mjs";

const stock = { pencil: 12, eraser: 0 };

const count = tool({
  name: "count",
  description: "How many of an item are in stock.",
  input: {
    type: "object",
    properties: { item: { type: "string", enum: ["pencil", "eraser"] } },
    required: ["item"],
    additionalProperties: false,
  },
  effect: "read",
  run: (input) => {
    const { item } = /** @type {{ item: keyof typeof stock }} */ (input);
    return { item, left: stock[item] };
  },
});

const { RATH_URL: url, RATH_MODEL: model, RATH_KEY: key } = process.env;
const live = url !== undefined && model !== undefined;
const clerk = agent({
  name: "clerk",
  instructions: "You answer questions about the stock. Look it up; never guess.",
  model: live
    ? await compatible({ url, model, ...(key !== undefined && { key }) })
    : scripted({ call: [{ tool: "count", input: { item: "pencil" } }] }, "There are 12 pencils left."),
  tools: [count],
});

const rath = openRath({ store: "memory:" });
const session = await rath.run(clerk, rath.start("How many pencils are left?"), { name: "hello" });

console.log(live ? `model: ${model} at ${url}\n` : "model: a script (no model is called)\n");
for (const message of session.transcript) {
  if (message.role === "tool")
    console.log(`  tool  ${message.name} -> ${JSON.stringify(message.output ?? message.error)}`);
  else if (typeof message.content === "string") console.log(`  ${message.role}  ${message.content}`);
  else
    for (const part of message.content) {
      if (part.type === "text") console.log(`  ${message.role}  ${part.text}`);
      if (part.type === "tool-call")
        console.log(`  ${message.role}  calls ${part.name}(${JSON.stringify(part.input)})`);
    }
}
const { calls, input, output } = session.usage;
console.log(`\n${calls} model calls, ${input} tokens in, ${output} out; session ${session.id.slice(0, 12)}`);

// The record is the program's own state: run it again with the record as the world, and it ends in the same id.
stock.pencil = 99;
const again = await rath.replay("hello", clerk, { mode: "verify" });
assert.equal(again.id, session.id);
console.log("replayed without model or tool: same id");

if (!live) assert.equal(session.recent(1)[0]?.role, "assistant");
if (!live) assert.match(JSON.stringify(session.recent(1)), /12 pencils/);
await leaveDossier(await rath.store(), "hello", "hello");
await rath.close();
