import { execFile, spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { openRath } from "../runtime/index.js";
import { digestOf, graph, type Session, toMermaid } from "../session/index.js";
import { openStore } from "../store/index.js";
import { lanes } from "./lanes.js";
import { repair } from "./repair.js";
import { verify } from "./verify.js";

const program = fileURLToPath(new URL("./rath.js", import.meta.url));
const independent = fileURLToPath(new URL("../../tools/verify.py", import.meta.url));
const TASK = "Fix issue 41: totals are wrong when an order has a discount.";

/**
 * A small honest demonstration: a workflow with two agents runs, is killed, goes on in another process, is replayed in
 * a third and checked without any of our code. The model is a script and says so; edits and tests are real.
 */
export async function demo(options: { readonly json: boolean }): Promise<number> {
  const say = (text: string): void => {
    if (!options.json) process.stdout.write(`${text}\n`);
  };
  const home = resolve(process.env.RATH_HOME ?? ".rath");
  await mkdir(home, { recursive: true });
  const url = `sqlite:${home}/rath.db`;
  const name = await freeName(url);
  const workshop = `${home}/${name}`;

  say(
    "1. A workflow: two agents repair a file on two branches, side by side; real tests decide which one is adopted.",
  );
  say("   The agents' model is a script (nothing is asked of a model); the edits and the tests are real.\n");
  const killed = await workAndDie(url, name, workshop);
  say(
    killed.alive
      ? `   Process ${killed.pid} finished before it could be killed.`
      : `   Process ${killed.pid} made ${killed.facts} facts durable and was killed with SIGKILL in the middle.`,
  );

  const rath = openRath({ store: url });
  const flow = repair(workshop);
  const merged = await rath.resume(name, flow);
  say(`   This process went on where the record ended: what was finished was not done again.`);
  const { usage } = merged;
  say(
    `   ${usage.calls} model calls, ${usage.input} tokens in, ${usage.output} out; the record has ${count(merged)} facts.\n`,
  );

  say("2. The graph, newest first. Both branches stay: the rejected one is evidence.\n");
  say(indent(lanes(merged, describe)));

  const store = await rath.store();
  const file = `${home}/${name}.jsonl`;
  const lines: string[] = [];
  for await (const line of store.export(name)) lines.push(line);
  writeFileSync(file, `${lines.join("\n")}\n`);
  await rath.close();

  const { stdout } = await promisify(execFile)(process.execPath, [
    program,
    "demo-replay",
    url,
    name,
    workshop,
  ]);
  const second = JSON.parse(stdout) as { id: string; facts: number; findings: number; pid: number };
  const same = second.id === merged.id && second.findings === 0;
  say(
    "\n3. The record is the program's own state. Another process ran the workflow again with the record as the world:",
  );
  say(
    `   no model, no edit, no test, and ${same ? "the same id" : "ANOTHER ID"}: ${second.id.slice(0, 12)} (pid ${second.pid}).`,
  );
  say(`   It also checked all ${second.facts} facts of ${shown(home)}/rath.db.`);

  say("\n4. The id of a session is the SHA-256 of its line in the exported file, so anybody can check it:");
  const last = lines.at(-1) as string;
  say(`   tail -n 1 ${shown(file)} | tr -d '\\n' | sha256sum`);
  say(`   ${digestOf(last)}  -`);
  const intact =
    digestOf(last) === merged.id &&
    (await verify(file, { json: false, head: merged.id, write: (text) => say(`   ${text.trimEnd()}`) })) ===
      0;

  say(`\n${same && intact ? "All as it should be." : "SOMETHING IS WRONG."} Try next:`);
  say(`   node "${shown(program)}" verify "${shown(file)}" --head ${merged.id}`);
  say("                                       # and again after changing one letter of the file");
  say(`   python3 "${shown(independent)}" "${shown(file)}" --head ${merged.id}`);
  say("                                       # the same check without any of our code");
  say(`   cat ${shown(workshop)}/bold/total.mjs       # what the adopted branch wrote`);
  if (options.json)
    process.stdout.write(
      `${JSON.stringify({ name, id: merged.id, facts: lines.length, killed: killed.facts, file, same, intact, usage, mermaid: toMermaid(graph(merged)) })}\n`,
    );
  return same && intact ? 0 : 3;
}

/** What the process does that is going to be killed: says each fact that is durable. */
export async function work(url: string, name: string, workshop: string): Promise<number> {
  const rath = openRath({ store: url });
  rath.observe((event) => {
    if (event.kind === "fact") process.stdout.write(`${event.session.fact.type}\n`);
  });
  await rath.run(repair(workshop), rath.start(TASK, { by: "user:you" }), { name });
  await rath.close();
  return 0;
}

/** What the last process does: runs the workflow again with the record as the world, and checks the whole store. */
export async function replay(url: string, name: string, workshop: string): Promise<number> {
  const rath = openRath({ store: url });
  const session = await rath.replay(name, repair(workshop), { mode: "verify" });
  const checked = await (await rath.store()).check();
  process.stdout.write(
    JSON.stringify({
      id: session.id,
      facts: checked.facts,
      findings: checked.findings.length,
      pid: process.pid,
    }),
  );
  await rath.close();
  return 0;
}

/** Starts the run in a process of its own and kills it once a branch has edited its file. */
function workAndDie(
  url: string,
  name: string,
  workshop: string,
): Promise<{ pid: number; facts: number; alive: boolean }> {
  return new Promise((done, fail) => {
    const child = spawn(process.execPath, [program, "demo-work", url, name, workshop], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    let said = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      said += text;
      if (said.includes("tool-result\n")) child.kill("SIGKILL");
    });
    child.once("error", fail);
    child.once("close", (code) => {
      if (code !== null && code !== 0) fail(new Error(`the worker ended with ${code}`));
      else done({ pid: child.pid ?? 0, facts: said.split("\n").length - 1, alive: code === 0 });
    });
  });
}

async function freeName(url: string): Promise<string> {
  const store = await openStore(url);
  const taken = new Set((await store.names()).map(({ name }) => name));
  await store.close();
  let number = 1;
  while (taken.has(`demo-${number}`)) number += 1;
  return `demo-${number}`;
}

function count(session: Session): number {
  let facts = 0;
  for (const _ of session.history()) facts += 1;
  return facts;
}

function describe(session: Session): string {
  const { fact } = session;
  const id = session.id.slice(0, 8);
  const told = detailOf(session);
  return `${id} ${fact.type}${told === undefined ? "" : ` · ${told}`}`;
}

function detailOf({ fact }: Session): string | undefined {
  switch (fact.type) {
    case "session-start":
      return `${String(fact.text).slice(0, 40)}…`;
    case "branch-fork":
      return `${fact.name}: ${fact.why}`;
    case "branch-merge":
      return `adopt ${fact.adopt === 0 ? "small" : "bold"}: ${fact.why}`;
    case "run-start":
    case "module-enter":
      return fact.module;
    case "tool-call":
    case "step-call":
      return fact.name;
    case "model-call":
      return fact.model;
    case "model-reply":
      return typeof fact.content === "string"
        ? fact.content
        : fact.content.map((part) => (part.type === "text" ? part.text : `[${part.type}]`)).join(" ");
    case "validation-report":
      return `${fact.name}: ${fact.passed ? "passed" : "failed"}, ${fact.detail}`;
    default:
      return undefined;
  }
}

function indent(text: string): string {
  return text.replace(/^/gm, "   ");
}

function shown(path: string): string {
  return relative(process.cwd(), path) || path;
}
