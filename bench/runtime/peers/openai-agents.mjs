// The same loop in OpenAI Agents: `node openai-agents.mjs <steps> <repeats>` prints a JSON list of milliseconds per step.
import { Agent, Runner, setTracingDisabled, tool, Usage } from "@openai/agents";
import { echoSchema } from "../stub.mjs";

const [, , steps = "100", repeats = "7"] = process.argv;
const count = Number(steps);
setTracingDisabled(true);
const echo = tool({
  name: "echo",
  description: "Says it again.",
  parameters: echoSchema,
  strict: true,
  execute: async ({ text }) => text,
});

class Stub {
  turn = 0;
  async getResponse() {
    const turn = this.turn++;
    const output =
      turn >= count
        ? [
            {
              type: "message",
              role: "assistant",
              status: "completed",
              content: [{ type: "output_text", text: "done" }],
            },
          ]
        : [
            {
              type: "function_call",
              callId: `call-${turn}`,
              name: "echo",
              status: "completed",
              arguments: JSON.stringify({ text: "x".repeat(200) }),
            },
          ];
    return { usage: new Usage({ inputTokens: 10, outputTokens: 5, totalTokens: 15 }), output };
  }
  getStreamedResponse() {
    throw new Error("not here");
  }
}

const times = [];
for (let repeat = 0; repeat < Number(repeats); repeat++) {
  const agent = new Agent({ name: "helper", instructions: "Echo.", model: new Stub(), tools: [echo] });
  const runner = new Runner({ tracingDisabled: true });
  const start = performance.now();
  const end = await runner.run(agent, "go", { maxTurns: count + 2 });
  times.push((performance.now() - start) / count);
  if (end.finalOutput !== "done") throw new Error("the measurement is not what it says");
}
process.stdout.write(JSON.stringify(times));
