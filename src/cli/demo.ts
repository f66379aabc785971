import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { digestOf, graph, Session, toMermaid } from "../session/index.js";
import { openStore } from "../store/index.js";
import { lanes } from "./lanes.js";
import { verify } from "./verify.js";

const program = fileURLToPath(new URL("./rath.js", import.meta.url));
const independent = fileURLToPath(new URL("../../tools/verify.py", import.meta.url));

/**
 * A small honest demonstration of the value and the store. No model runs here: the messages are written in
 * this file and say so.
 */
export async function demo(options: { readonly json: boolean }): Promise<number> {
  const say = (text: string): void => {
    if (!options.json) process.stdout.write(`${text}\n`);
  };
  const home = resolve(process.env.RATH_HOME ?? ".rath");
  await mkdir(home, { recursive: true });
  const url = `sqlite:${home}/rath.db`;
  const store = await openStore(url);
  const taken = new Set((await store.names()).map(({ name }) => name));
  let number = 1;
  while (taken.has(`demo-${number}`)) number += 1;
  const name = `demo-${number}`;

  say(
    "1. A session is a value: one fact and the sessions it was made from. Nothing is asked of a model here; the",
  );
  say("   messages and the token counts below are made up by this demonstration.\n");
  const trunk = answer(
    Session.start("Fix issue 41: totals are wrong when an order has a discount.", { by: "user:you" }).to(
      "local",
      { workspace: "./shop" },
    ),
    "Two ways to repair it; I try both.",
    900,
  );
  const small = work(trunk.fork("small", { why: "patch the rounding only" }), "round.ts", false);
  const bold = work(trunk.fork("bold", { why: "compute in cents everywhere" }), "money.ts", true);
  const merged = small
    .merge(bold, { adopt: "theirs", by: "user:you", why: "only the bold repair passes the tests" })
    .say("Accepted. Ship it.", { by: "user:you" });
  say(`   trunk ${short(trunk)}, two forks of it, and their merge ${short(merged)}`);
  say(
    `   the trunk's 900 tokens are counted once: ${merged.usage.input} in, ${merged.usage.output} out, ${merged.usage.calls} calls`,
  );
  say(
    `   the conversation goes on from the adopted side (${merged.transcript.length} messages); the record keeps all ${[...merged.history()].length} facts\n`,
  );

  say("2. The graph, newest first:\n");
  say(indent(lanes(merged, describe)));

  const saved = await store.save(merged, { name });
  const file = `${home}/${name}.jsonl`;
  const lines: string[] = [];
  for await (const line of store.export(name)) lines.push(line);
  writeFileSync(file, `${lines.join("\n")}\n`);
  await store.close();
  say(
    `\n3. Saved ${saved.written} facts as "${name}" in ${shown(home)}/rath.db, on disk when save() returned.`,
  );

  const { stdout } = await promisify(execFile)(process.execPath, [program, "demo-reopen", url, name]);
  const second = JSON.parse(stdout) as {
    id: string;
    facts: number;
    usage: { input: number };
    findings: number;
    pid: number;
  };
  const same = second.id === merged.id && second.usage.input === merged.usage.input && second.findings === 0;
  say(
    `   A second process (pid ${second.pid}) loaded it, checked ${second.facts} facts of the store and found the ${same ? "same id" : "WRONG ID"}: ${second.id.slice(0, 12)}`,
  );

  say("\n4. The id of a session is the SHA-256 of its line in the exported file, so anybody can check it:");
  const last = lines.at(-1) as string;
  say(`   tail -n 1 ${shown(file)} | tr -d '\\n' | sha256sum`);
  say(`   ${digestOf(last)}  -`);
  const intact =
    digestOf(last) === merged.id &&
    (options.json || (await verify(file, { json: false, head: merged.id })) === 0);

  say(`\n${same && intact ? "All as it should be." : "SOMETHING IS WRONG."} Try next:`);
  say(`   node "${shown(program)}" verify "${shown(file)}" --head ${merged.id}`);
  say("                                       # and again after changing one letter of the file");
  say(`   python3 "${shown(independent)}" "${shown(file)}" --head ${merged.id}`);
  say("                                       # the same check without any of our code");
  if (options.json)
    process.stdout.write(
      `${JSON.stringify({ name, id: merged.id, facts: saved.written, file, same, intact, usage: merged.usage, mermaid: toMermaid(graph(merged)) })}\n`,
    );
  return same && intact ? 0 : 3;
}

/** What the second process does: reads the session by its name and checks the whole store. */
export async function reopen(url: string, name: string): Promise<number> {
  const store = await openStore(url);
  const session = await store.load(name);
  const checked = await store.check();
  process.stdout.write(
    JSON.stringify({
      id: session.id,
      facts: checked.facts,
      usage: session.usage,
      findings: checked.findings.length,
      pid: process.pid,
    }),
  );
  await store.close();
  return 0;
}

function answer(session: Session, text: string, tokens: number): Session {
  const asked = session.append({ type: "model-call", model: "written-by-hand", by: "agent:coder" });
  return asked.append({
    type: "model-reply",
    of: asked.id,
    content: text,
    finish: "stop",
    usage: { input: tokens, output: 40 },
    by: "agent:coder",
  });
}

function work(branch: Session, path: string, passed: boolean): Session {
  const thought = answer(branch, `I change ${path}.`, 1000);
  const call = thought.append({
    type: "tool-call",
    name: "edit",
    input: { path },
    effect: "write",
    by: "agent:coder",
  });
  return call
    .append({ type: "tool-result", of: call.id, output: { changed: path }, by: "tool:edit" })
    .append({
      type: "validation-report",
      name: "npm test",
      passed,
      detail: passed ? "12 of 12" : "11 of 12: discount.test.ts",
      by: "tool:test",
    });
}

function describe(session: Session): string {
  const { fact } = session;
  const id = short(session);
  if (fact.type === "session-start") return `${id} start · ${String(fact.text).slice(0, 40)}…`;
  if (fact.type === "branch-fork") return `${id} fork ${fact.name} · ${fact.why}`;
  if (fact.type === "branch-merge") return `${id} merge, adopt ${fact.adopt} · ${fact.why}`;
  if (fact.type === "model-reply" || fact.type === "message-say")
    return `${id} ${fact.type} · ${String(fact.content)}`;
  if (fact.type === "validation-report")
    return `${id} ${fact.type} · ${fact.name}: ${fact.passed ? "passed" : "failed"}, ${fact.detail}`;
  return `${id} ${fact.type}`;
}

function short(session: Session): string {
  return session.id.slice(0, 8);
}

function indent(text: string): string {
  return text.replace(/^/gm, "   ");
}

function shown(path: string): string {
  return relative(process.cwd(), path) || path;
}
