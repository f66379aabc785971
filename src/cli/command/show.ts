import { statusOf } from "../../runtime/index.js";
import {
  BeyondHorizonError,
  jsonCopy,
  type Message,
  readFact,
  type Session,
  toneOf,
} from "../../session/index.js";
import { NotFoundError } from "../../store/index.js";
import { isAnswered } from "../awaited.js";
import { blobsOf } from "../blobs.js";
import { countOption, type Input } from "../entry.js";
import { stopText } from "../outcome.js";
import { commandWith, resumeCommand } from "../program-note.js";
import type { Shell } from "../shell.js";
import { argument, brief, count, describe, oneLine, plain, table } from "../text.js";
import { printFile } from "./files.js";
import { newestOf, stopOf } from "./list.js";

/** `rath show SESSION`: what a session is about and how it stands; of an id, the fact in full; of `NAME:path`, the file. */
export async function run(shell: Shell, input: Input): Promise<void> {
  const reference = input.args[0] as string;
  const file = await fileIn(shell, reference);
  if (file !== undefined) return printFile(shell, await shell.store(), file.id, file.path, file.session);
  const found = await shell.find(reference);
  if (found.name === undefined || input.options.fact === true) return showFact(shell, found.id);
  return showSession(shell, found.id, found.name, input);
}

/** The session and the path of `NAME:path`. A name may have colons too: the longest one that exists is meant. */
async function fileIn(shell: Shell, reference: string) {
  const store = await shell.store();
  const colons = [...reference.matchAll(/:/g)].map(({ index }) => index).reverse();
  if (colons.length === 0 || (await store.head(reference)) !== undefined) return undefined;
  for (const colon of colons.slice(0, MOST_COLONS)) {
    const path = reference.slice(colon + 1);
    const session = reference.slice(0, colon);
    try {
      if (session !== "" && path !== "") return { ...(await shell.find(session)), session, path };
    } catch (error) {
      if (!(error instanceof NotFoundError)) throw error;
      // The error that a user can act on is about the shortest name.
      if (colon === colons.at(-1)) throw error;
    }
  }
  return undefined;
}

const MOST_COLONS = 20;

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
  const words = plain(JSON.stringify(jsonCopy(body), null, 2));
  if (!shell.json && words !== "{}") await shell.write(`${words}\n`);
  const of = (body as { of?: unknown }).of;
  shell.hint(
    ...(typeof of === "string" ? [`rath show ${of.slice(0, 12)}   # what it is about`] : []),
    `rath log ${id.slice(0, 12)}`,
    `rath fork ${id.slice(0, 12)} --name NAME`,
  );
}

async function showSession(shell: Shell, id: string, name: string, input: Input): Promise<void> {
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
  const awaited = status === "waiting" ? await (await shell.rath()).pending(name) : [];
  const isReady = isAnswered(awaited);
  const isCut = status === "open" && (await isUnfinished(shell, name));
  const { fact: newest, stop } = await newestOf(store, id);
  const error = newest.type === "run-end" ? newest.error : undefined;
  shell.tell({
    name,
    id,
    status,
    ...(isCut && { unfinished: true }),
    ...(error !== undefined && { error }),
    ...(stop !== undefined && { stopped: stopOf(stop) }),
    ...(awaited.length > 0 && { answered: isReady }),
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
  const waits = (awaited.length > 0 ? awaited : session.pending)
    .map((one) => `${brief(one.what)}${"answered" in one && one.answered ? " (answered)" : ""}`)
    .join(", ");
  shell.say(`${shell.bold(plain(name))} ${shell.yellow(id)}`);
  shell.say(
    table([
      [
        "status",
        isReady
          ? `${status}: it is answered, and goes on when it is resumed`
          : isCut
            ? `${status}: its run has not ended: it is under way, or was cut off`
            : stop !== undefined
              ? `${status}: ${stopText(stop)}`
              : status,
      ],
      ...(error === undefined ? [] : [["because", oneLine(error.message, 300)]]),
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
  const word = argument(name);
  const resume = `rath resume ${word}`;
  if (isReady || isCut) shell.hint(await resumeCommand(shell, name));
  else if (status === "failed")
    shell.hint(await commandWith(shell, id, `${resume} --retry`), `rath log ${word}`);
  else if (status === "cancelled") shell.hint(await commandWith(shell, id, resume), `rath log ${word}`);
  else if (status === "waiting") shell.hint(`rath pending ${word}`);
  else shell.hint(`rath log ${word}`, `rath dossier ${word}`, `rath verify ${word}`);
}

/** Whether a run goes by this name that has not ended: it is under way, or was cut off. */
async function isUnfinished(shell: Shell, name: string): Promise<boolean> {
  return (await (await shell.rath()).unfinished()).some((one) => one.name === name && !one.waiting);
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
