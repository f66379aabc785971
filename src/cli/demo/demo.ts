import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { statusOf } from "../../runtime/index.js";
import type { Session } from "../../session/index.js";
import type { Store } from "../../store/index.js";
import { tellOutcome } from "../outcome.js";
import { programOf } from "../program.js";
import type { Shell } from "../shell.js";
import { count, oneLine } from "../text.js";
import { type Ending, tellEnding } from "./ending.js";
import { claimFolder, shown, unwritable, writeFiles } from "./files.js";
import { findingsOf } from "./findings.js";
import { BUDGET, type Endpoint, endpointOf, modelAt } from "./live.js";
import { takeInNotes } from "./notes.js";
import { type Place, placeFor } from "./place.js";
import { type Seen, Story } from "./story.js";
import { runUntil } from "./worker.js";

/**
 * The software task that motivates the project, end to end: research, a patch, real tests, a rejection, two repairs side
 * by side, a merge, a memory with its evidence. The process is killed on the way and another one goes on; a third replays
 * it. Everything is done with commands that anybody can type.
 */
export async function demo(
  shell: Shell,
  options: { readonly sandbox?: string; readonly scripted: boolean },
): Promise<number> {
  const endpoint = options.scripted ? undefined : endpointOf(process.env);
  // What is missing to ask it is told before anything is made.
  if (endpoint !== undefined) await modelAt(endpoint, process.env);
  const place = await placeFor(options.sandbox, endpoint !== undefined);
  const store = await opened(shell);
  const { name, folder } = await claimFolder(
    shell.home,
    async (free) => (await store.head(free)) !== undefined,
  );
  const files = writeFiles(folder, {
    name,
    sandbox: place.sandbox,
    ...(endpoint !== undefined && { endpoint }),
  });
  await takeInNotes(store, name);
  tellBeginning(shell, name, folder, place, endpoint);

  const story = new Story(shell);
  const killed = await begin(shell, story, { name, program: files.program, place, endpoint });
  const session = await goOn(shell, store, name, story, killed !== undefined);
  if (statusOf(session) === "waiting") return tellOutcome(shell, await shell.rath(), session, { name });
  const findings = await findingsOf(store, session, { name, folder, home: shell.home, url: shell.url });
  const ending: Ending = { name, folder, ...files, session, findings, rejection: story.rejection, killed };
  await tellEnding(shell, store, ending, { model: endpoint ?? "script", sandbox: place.sandbox });
  return findings.replay.same && findings.intact && findings.accepted ? 0 : 3;
}

/** The store, in a folder that can be written to. */
async function opened(shell: Shell): Promise<Store> {
  try {
    mkdirSync(shell.home, { recursive: true });
  } catch (error) {
    throw unwritable(shell.home, (error as Error).message, error);
  }
  return shell.store();
}

function tellBeginning(
  shell: Shell,
  name: string,
  folder: string,
  place: Place,
  endpoint: Endpoint | undefined,
): void {
  shell.say(`${shell.bold(name)}: agents repair a small repository (${shown(join(folder, "repo"))}).`);
  shell.say(
    endpoint === undefined
      ? "Model: a script, which says so; nobody is asked. Files, commands, tests and the kill are real."
      : `Model: ${oneLine(endpoint.model)} at ${oneLine(endpoint.url)}. What happens depends on it; it may spend ${BUDGET.steps} calls and ${count(BUDGET.tokens, "token")}.`,
  );
  shell.say(`Sandbox: ${place.words}.\n`);
}

/** Begins the run in a process of its own, as anybody would with `rath run`, and kills that in the middle. */
async function begin(
  shell: Shell,
  story: Story,
  {
    name,
    program,
    place,
    endpoint,
  }: {
    readonly name: string;
    readonly program: string;
    readonly place: Place;
    readonly endpoint: Endpoint | undefined;
  },
): Promise<Ending["killed"]> {
  const budget = Object.entries(BUDGET).map((pair) => pair.join("="));
  const { pid, killed } = await runUntil(
    [
      ...["run", program, "--name", name, "--events", "--store", shell.url],
      ...(endpoint === undefined ? [] : ["--budget", budget.join(",")]),
    ],
    (seen) => story.see(seen),
    // Not where a model works without a sandbox: what it had under way would be in doubt, and only a person could say.
    (seen) => (endpoint === undefined || place.sandbox === "local") && isInTheMiddle(seen),
  );
  if (!killed) return undefined;
  const { facts } = story;
  shell.say(
    `\n${shell.red("killed")}: process ${pid} with SIGKILL, while repairs were under way. ${count(facts, "fact")} are on the disk.\n${shell.green("resumed")} in this process: nothing that is finished is done again.\n`,
  );
  return { pid, facts };
}

/** Repairs are under way side by side, and one of them has changed a file. */
function isInTheMiddle({ branch, fact }: Seen): boolean {
  return fact.type === "workspace-change" && (branch === "small" || branch === "bold");
}

/** Goes on where the record ends, as `rath resume` does. */
async function goOn(
  shell: Shell,
  store: Store,
  name: string,
  story: Story,
  isCutOff: boolean,
): Promise<Session> {
  const program = await programOf(store, (await store.head(name)) as string);
  if (program === undefined) throw new Error("the record does not name its program");
  const rath = await shell.rath(program.options);
  if (!isCutOff) return rath.load(name);
  const stop = rath.observe((observation) => {
    if (observation.kind === "fact") story.see(observation.session);
  });
  try {
    return await rath.resume(name, program.module);
  } finally {
    stop();
  }
}
