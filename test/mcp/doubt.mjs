// @ts-check
// A process that calls a `write` of a server which never answers, to be killed, and the same program later:
// `node doubt.mjs begin|resume <store> <server> <file>`. The server writes a line into the file for each call.
import { openRath } from "openrath";
import { agent } from "openrath/agent";
import { mcp } from "openrath/mcp";
import { scripted } from "openrath/model";

const [, , mode = "", store = "", program = "", file = ""] = process.argv;
const server = mcp(
  { name: "evil", command: process.execPath, args: [program, "hangs", file] },
  { settings: { good: { effect: "write" } }, deadline: 60_000 },
);
const rath = openRath({ store });
const model = scripted({ tool: "evil_good", input: {} }, "It is over.");
const caller = agent({ name: "caller", model, tools: await server.tools() });
if (mode === "begin") await rath.run(caller, rath.start("go"), { name: "deed" });
else {
  const waiting = await rath.resume("deed", caller);
  const [pending] = await rath.pending("deed");
  process.stdout.write(`${JSON.stringify({ waiting: waiting.fact.type, pending })}\n`);
  if (pending !== undefined) {
    const output = "A person looked: it was done.";
    await rath.settle("deed", { of: pending.id, by: "user:ada", decision: "done", value: output });
  }
  const session = await rath.resume("deed", caller);
  const facts = [...session.history()].map(({ fact }) => fact.type);
  process.stdout.write(`${JSON.stringify({ ended: session.fact.type, facts })}\n`);
}
await server.close();
await rath.close();
