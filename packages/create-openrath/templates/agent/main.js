// @ts-check
// `npm start`, or `npm start -- "How many erasers are left?"`
import { openRath } from "openrath";
import { clerk } from "./agent.js";

const question = process.argv.slice(2).join(" ") || "How many pencils are left?";
const rath = openRath(); // saves everything in .rath/rath.db
for await (const event of rath.stream.turn(clerk, "stock", question, { by: "user:me" })) {
  if (event.type === "tool-call")
    console.log(`${event.module} calls ${event.tool} ${JSON.stringify(event.input)}`);
  if (event.type === "text") process.stdout.write(event.text); // token by token, as the model writes
}
const { usage } = await rath.load("stock");
console.log(
  `\n\n${usage.calls} model calls, cost ${usage.cost ?? "unknown"}. See what happened: npx rath log stock`,
);
await rath.close();
