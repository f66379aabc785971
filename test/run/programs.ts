import { writeFileSync } from "node:fs";
import { join } from "node:path";

/** Programs as somebody would write them, each in a file of its own. */
const PROGRAMS: { readonly [file: string]: string } = {
  "stock.mjs": `
import { agent, scripted, step, workflow } from "openrath";
export default agent({ name: "clerk", model: scripted((prompt) => "You said: " + prompt.at(-1).content[0].text) });
export const greet = workflow("greet", async (session) => session.say("Good morning.", { role: "assistant" }));
export const count = step("count", () => 12, { effect: "read" });
export const made = async ({ file, folder, store }) =>
  workflow("made", async (session) => session.say([file, folder, store].join("\\n"), { role: "assistant" }));
export const nothing = { name: "no module" };
export const broken = () => { throw new Error("no luck"); };
`,
  "begin.mjs": `
import { workflow } from "openrath";
export default workflow("begin", async (session) => session.say("done", { role: "assistant" }));
export const start = { text: "From the file.", by: "service:cron", sandbox: "virtual", spec: { limits: { wall: 1000 } } };
export const next = (name) => ["rath show " + name + "   # the first thing"];
export const options = ({ folder }) => ({ secrets: { FOLDER: folder + "-secret" } });
`,
  "claim.mjs": `
import { agent, approve, scripted, sequence, signal, tool, workflow } from "openrath";
const refund = tool({
  name: "refund",
  description: "Pays money back.",
  input: { type: "object", properties: { amount: { type: "number" } }, required: ["amount"] },
  effect: "write",
  approval: true,
  run: ({ amount }) => "refunded " + amount,
});
const clerk = agent({
  name: "clerk",
  model: scripted({ tool: "refund", input: { amount: 130 } }, (prompt) => /refunded \\d+/.exec(JSON.stringify(prompt))?.[0] ?? "not refunded"),
  tools: [refund],
});
const parcel = signal("parcel", { order: 7 });
export default workflow("claim", { parcel, clerk }, async (session) => {
  const { session: back, value } = await parcel.call(session);
  return clerk.forward(back.say("The parcel is back: " + JSON.stringify(value)));
});
export { clerk };
export const again = agent({
  name: "clerk",
  model: scripted((prompt) => (prompt.at(-1).role === "user" ? { tool: "refund", input: { amount: 130 } } : "refunded 130")),
  tools: [refund],
});
export const both = workflow("both", async (session) => {
  const sides = await Promise.all(["one", "two"].map((name) => approve(name, { name }).forward(session.fork(name))));
  return sides[0].merge(sides[1]).say("both agreed", { role: "assistant" });
});
export const boss = sequence("boss", [approve("raise", { amount: 5 }, { from: ["user:boss"], within: 3600000 })]);
`,
  "ask.mjs": `
import { agent, askPerson, scripted } from "openrath";
export default agent({
  name: "asker",
  model: scripted({ tool: "ask_person", input: { question: "Which colour?" } }, (prompt) => "You want " + (/blue/.exec(JSON.stringify(prompt)) ?? ["nothing"])[0]),
  tools: [askPerson()],
});
`,
  "slow.mjs": `
import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { step, workflow } from "openrath";
const log = (folder, word) => appendFileSync(join(folder, "log.txt"), word + "\\n");
export default ({ folder }) => {
  const first = step("first", () => log(folder, "first"), { effect: "write" });
  const wait = step("wait", async (_, { signal }) => {
    log(folder, "wait");
    if (process.env.WAIT === undefined) return "waited";
    await new Promise((resolve, reject) => {
      const timer = setTimeout(resolve, 60_000);
      if (process.env.WAIT === "heed") signal.addEventListener("abort", () => { clearTimeout(timer); reject(signal.reason); });
    });
  }, { effect: "idempotent" }); // on the disk before it starts, and so what came before
  return workflow("slow", { first, wait }, async (session) =>
    (await wait.forward(await first.forward(session))).say("all done", { role: "assistant" }));
};
export const deploy = ({ folder }) => step("deploy", async () => {
  log(folder, "deploy");
  if (process.env.WAIT !== undefined) await new Promise((resolve) => setTimeout(resolve, 60_000));
  return "deployed";
}, { effect: "write" });
export const fails = ({ folder }) => {
  const first = step("first", () => log(folder, "first"), { effect: "write" });
  const second = step("second", () => { if (process.env.HEALTHY === undefined) throw new Error("the service is down"); return "well"; }, { effect: "read" });
  return workflow("fails", { first, second }, async (session) => second.forward(await first.forward(session)));
};
`,
  "poem.mjs": `
import { agent, scripted } from "openrath";
export default agent({ name: "poet", instructions: "Be short.", model: scripted("A short poem.") });
`,
  "bolder.mjs": `
import { agent, scripted } from "openrath";
export default agent({ name: "poet", instructions: "Be bold.", model: scripted("A BOLD poem.") });
`,
  "open.mjs": `
import { createServer } from "node:http";
import { workflow } from "openrath";
createServer().listen(0, "127.0.0.1");
setInterval(() => {}, 1000);
export default workflow("open", async (session) => session.say("left open", { role: "assistant" }));
`,
  "broken.mjs": "export default {{{\n",
  "throws.mjs": 'throw new Error("not today");\n',
  "empty.mjs": "\n",
  "typed.ts":
    'import { workflow, type Session } from "openrath";\nexport default workflow("typed", async (session: Session) => session.say("typed", { role: "assistant" }));\n',
  "store.mjs":
    'export default { name: "x", forward: (session) => session };\nexport const options = { store: "memory:" };\n',
  "misspelt.mjs":
    'export default { name: "x", forward: (session) => session };\nexport const options = { secretes: {} };\n',
  "misplaced.mjs":
    'export default { name: "x", forward: (session) => session };\nexport const start = { sandbx: "local" };\n',
  "spends.mjs": `
import { agent, scripted, loop, workflow } from "openrath";
const thinker = agent({ name: "thinker", model: scripted((_, turn) => "thought " + turn) });
export default workflow("spends", { thinker }, async (session) => {
  let now = session;
  for (let turn = 0; turn < 5; turn++) now = await thinker.forward(now.say("on"));
  return now;
});
`,
  "files.mjs": `
import { step } from "openrath";
export default step("cat", async (_, { sandbox }) => {
  const { stdout } = await (await sandbox()).exec("cat hello.txt").result;
  return Buffer.from(stdout).toString("utf8");
}, { effect: "read" });
`,
};

/** Writes them all into a folder that no package is near. */
export function writePrograms(folder: string): void {
  for (const [file, text] of Object.entries(PROGRAMS)) writeFileSync(join(folder, file), text);
}
