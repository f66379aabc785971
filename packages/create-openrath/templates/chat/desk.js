// @ts-check
import { agent, scripted, tool } from "openrath";

const refund = tool({
  name: "refund",
  description: "Pays money back.",
  input: { type: "object", properties: { amount: { type: "number" } }, required: ["amount"] },
  effect: "write", // never repeated silently
  approval: (input) => Number(input.amount) > 100, // a colleague approves exactly these arguments
  run: ({ amount }) => `${amount} paid back`,
});

/**
 * A model that needs no key: it pays back the amount that the newest message names. Replace it by a real one:
 *
 *   npm install @ai-sdk/openai
 *   import { openai } from "@ai-sdk/openai";
 *   const model = openai("gpt-5");
 */
const model = scripted((prompt) => {
  const last = prompt.at(-1);
  if (last?.role === "tool") return "I have done what I could. Anything else?";
  const amount = /\d+/.exec(JSON.stringify(last?.content))?.[0];
  return amount === undefined
    ? "Hello! How much should I pay back?"
    : { call: [{ tool: "refund", input: { amount: Number(amount) } }] };
});

export const desk = agent({
  name: "desk",
  instructions: "Help customers. Pay back what is due.",
  model,
  tools: [refund],
});
