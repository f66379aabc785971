// The same loop in the AI SDK: `node ai-sdk.mjs <steps> <repeats> <ai or ai7>` prints a JSON list of milliseconds per step.
import { echoSchema, reply } from "../stub.mjs";

const [, , steps = "100", repeats = "7", name = "ai"] = process.argv;
const { generateText, jsonSchema, stepCountIs, tool } = await import(name);
const count = Number(steps);
const tools = {
  echo: tool({
    description: "Says it again.",
    inputSchema: jsonSchema(echoSchema),
    execute: async ({ text }) => text,
  }),
};
const model = {
  specificationVersion: "v3",
  provider: "stub",
  modelId: "stub",
  supportedUrls: {},
  doGenerate: async ({ prompt }) => reply(Math.floor((prompt.length - 1) / 2), count),
};

const times = [];
for (let repeat = 0; repeat < Number(repeats); repeat++) {
  const start = performance.now();
  const end = await generateText({
    model,
    system: "Echo.",
    prompt: "go",
    tools,
    stopWhen: stepCountIs(count + 2),
  });
  times.push((performance.now() - start) / count);
  if (end.steps.length !== count + 1) throw new Error("the measurement is not what it says");
}
process.stdout.write(JSON.stringify(times));
