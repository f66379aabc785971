import { statusOf } from "../../runtime/index.js";
import { BeyondHorizonError, type Message, readFact, type Session, toneOf } from "../../session/index.js";
import { blobsOf } from "../blobs.js";
import { countOption, type Input } from "../entry.js";
import type { Shell } from "../shell.js";
import { brief, count, describe, jsonOf, plain, table } from "../text.js";

/** `rath show SESSION`: what a session is about and how it stands; of an id, the fact in full. */
export async function run(shell: Shell, input: Input): Promise<void> {
  const reference = input.args[0] as string;
  const found = await shell.find(reference);
  const isSession = found.name !== undefined && input.options.fact !== true;
  return isSession ? showSession(shell, found.id, found.name, input) : showFact(shell, found.id);
}

async function showFact(shell: Shell, id: string): Promise<void> {
  const store = await shell.store();
  const line = (await store.line(id)) as string;
  const fact = readFact(line, await blobsOf(store, line));
  const children = await store.children(id);
  const session = await store.load(id);
  shell.tell({ id, parents: session.parentIds, children, branch: session.branch, fact });
  const { type, at, by, run, seq, ...body } = fact as typeof fact & { run?: string; seq?: number };
  shell.say(`${shell.bold(type)} ${shell.yellow(id)}`);
  shell.say(
    table([
      ["by", plain(by)],
      ["at", plain(at)],
      ["branch", plain(session.branch)],
      ...(run === undefined ? [] : [["run", `${plain(run)}, place ${seq ?? "?"}`]]),
      ["after", session.parentIds.map((parent) => shell.id(parent)).join(" ") || "nothing: it is a root"],
      ["before", children.map((child) => shell.id(child)).join(" ") || "nothing: it is a head"],
    ]),
  );
  const words = plain(JSON.stringify(jsonOf(body), null, 2));
  if (!shell.json && words !== "{}") await shell.write(`${words}\n`);
  const of = (body as { of?: unknown }).of;
  shell.hint(
    ...(typeof of === "string" ? [`rath show ${of.slice(0, 12)}   # what it is about`] : []),
    `rath log ${id.slice(0, 12)}`,
    `rath fork ${id.slice(0, 12)} --name NAME`,
  );
}

async function showSession(shell: Shell, id: string, name: string | undefined, input: Input): Promise<void> {
  const store = await shell.store();
  const session = await store.load(id);
  const status = statusOf(session);
  const most = countOption(input, "messages", 0) ?? 6;
  const { usage } = session;
  const task = taskOf(session);
  const branches = branchesOf(session);
  const files = session.files;
  const reports = whole(() =>
    [...session.history()].flatMap(({ fact }) => (fact.type === "validation-report" ? [fact] : [])),
  );
  shell.tell({
    name,
    id,
    status,
    branch: session.branch,
    depth: session.depth,
    task,
    usage,
    placement: session.placement,
    files,
    pending: session.pending,
    branches,
    lineage: whole(() => session.lineage) ?? [],
    validations: reports ?? [],
    messages: session.recent(most),
  });
  if (shell.json) return;
  const waits = session.pending.map((one) => brief(one.what)).join(", ");
  shell.say(`${shell.bold(name ?? id)} ${shell.yellow(id)}`);
  shell.say(
    table([
      ["status", status],
      ...(task === "" ? [] : [["task", task]]),
      ...(branches === undefined ? [] : [["branches", branches.map(plain).join(", ")]]),
      ["used", `${count(usage.calls, "model call")}, ${usage.input} tokens in, ${usage.output} out`],
      ...(session.placement === undefined ? [] : [["placed on", plain(session.placement.sandbox)]]),
      ...(waits === "" ? [] : [["waits for", waits]]),
    ]),
  );
  for (const fact of reports ?? [])
    shell.say(`  ${toneOf(fact) === "good" ? shell.green("✓") : shell.red("✗")} ${describe(fact, 120)}`);
  shell.say();
  for (const message of session.recent(most)) shell.say(messageText(shell, message));
  if (status === "waiting") shell.hint(`rath pending ${name}`);
  else shell.hint(`rath log ${name}`, `rath dossier ${name} -o ${brief(name)}.html`, `rath verify ${name}`);
}

function branchesOf(session: Session): readonly string[] | undefined {
  const lineage = whole(() => session.lineage);
  return (
    lineage && [
      ...new Set(["main", ...lineage.flatMap(({ kind, branch }) => (kind === "fork" ? [branch] : []))]),
    ]
  );
}

function messageText(shell: Shell, message: Message): string {
  const who = message.role === "tool" ? `tool ${message.name}` : (message.author ?? message.role);
  const what = message.role === "tool" ? (message.error?.message ?? message.output) : message.content;
  return `${shell.bold(brief(who))}  ${brief(what, 300)}`;
}

function taskOf(session: Session): string {
  const first = whole(() => session.transcript[0]) ?? session.recent(1)[0];
  return first === undefined || first.role === "tool" ? "" : brief(first.content, 200);
}

/** Of a session that is too long to be held in memory, some questions have no answer here. */
function whole<Answer>(ask: () => Answer): Answer | undefined {
  try {
    return ask();
  } catch (error) {
    if (error instanceof BeyondHorizonError) return undefined;
    throw error;
  }
}
