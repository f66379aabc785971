// @ts-check
import { agent, scripted, tool } from "openrath";

const stock = new Map([
  ["pencil", 12],
  ["eraser", 0],
]);

const lookUp = tool({
  name: "look_up",
  description: "How many of an item are in stock.",
  input: { type: "object", properties: { item: { type: "string" } }, required: ["item"] },
  effect: "read", // its effect on the world decides what happens after a crash: pure, read, idempotent or write
  run: ({ item }) => ({ item: String(item), left: stock.get(String(item)) ?? 0 }),
});

/**
 * A model that needs no key: it looks up pencils, and then answers. Replace it by a real one:
 *
 *   npm install @ai-sdk/openai
 *   import { openai } from "@ai-sdk/openai";
 *   const model = openai("gpt-5");
 */
const model = scripted((prompt) =>
  prompt.at(-1)?.role === "tool"
    ? "There are 12 pencils left."
    : { call: [{ tool: "look_up", input: { item: "pencil" } }] },
);

export const clerk = agent({
  name: "clerk",
  instructions: "Answer questions about the stock. Look it up; never guess.",
  model,
  tools: [lookUp],
});
