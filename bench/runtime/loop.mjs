// @ts-check
// Our loop with a stub model: `node loop.mjs <store or "none"> <steps> <repeats>` prints a JSON list of milliseconds per step.
import { agent, openRath, Session, tool } from "openrath";
import { echoSchema, reply } from "./stub.mjs";

const [, , store = "none", steps = "100", repeats = "7"] = process.argv;
const count = Number(steps);

const echo = tool({
  name: "echo",
  description: "Says it again.",
  input: echoSchema,
  effect: "read",
  run: (input) => /** @type {{ text: string }} */ (input).text,
});
/** @type {import("openrath").LanguageModel} */
const model = {
  specificationVersion: "v3",
  provider: "stub",
  modelId: "stub",
  doGenerate: async ({ prompt }) =>
    reply(turnsIn(/** @type {readonly { role: string }[]} */ (prompt)), count),
  doStream: async () => {
    throw new Error("not here");
  },
};
const helper = agent({ name: "helper", instructions: "Echo.", model, tools: [echo], maxSteps: count + 2 });
const rath = openRath({ store: store === "none" ? "memory:" : store });

const times = [];
for (let repeat = 0; repeat < Number(repeats); repeat++) {
  const session = store === "none" ? Session.start("go") : rath.start("go");
  const start = performance.now();
  const end = await helper.forward(session);
  times.push((performance.now() - start) / count);
  if (end.usage.calls !== count + 1) throw new Error("the measurement is not what it says");
}
await rath.close();
process.stdout.write(JSON.stringify(times));

/** Every assistant message was one turn: counted from the end, where they are. @param {readonly { role: string }[]} prompt */
function turnsIn(prompt) {
  // One user message, then two for each turn; a system message stands before.
  return Math.floor((prompt.length - 1) / 2);
}
