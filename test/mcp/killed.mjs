// @ts-check
// A process that uses servers and is going to be killed: `node killed.mjs <server> <behaviour>`. It tells their numbers.
import { readFileSync } from "node:fs";
import { mcp } from "openrath/mcp";

const [, , program = "", ...behaviours] = process.argv;
const pids = [];
for (const behaviour of behaviours) {
  const server = mcp({ name: "evil", command: process.execPath, args: [program, behaviour] });
  await server.tools();
  const pid = await server.process();
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8")
    .split(" ")
    .filter(Boolean)
    .map(Number);
  pids.push(pid, ...children);
}
process.stdout.write(`${JSON.stringify(pids)}\n`);
setInterval(() => {}, 1000);
