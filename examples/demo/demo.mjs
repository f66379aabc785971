// @ts-check
// `rath demo`, or `npm start`: the software task that motivates the project, from end to end. Agents research an issue and
// write a patch; real tests fail, and a validator rejects it; two repairs compete, the better one is merged, and the lesson is
// remembered with its evidence. The process is killed on the way and another one continues; a third one replays the run.
import { join, relative } from "node:path";
import { pathToFileURL } from "node:url";
import { openRath, statusOf } from "openrath";
import { graph, toMermaid } from "openrath/session";
import { runUntil } from "./command.mjs";
import { claimFolder, makeHome, writeFiles } from "./files.mjs";
import { findingsOf } from "./findings.mjs";
import { drawGraph } from "./graph.mjs";
import { placeFor } from "./place.mjs";
import { BUDGET, endpointInEnvironment, modelAt } from "./program.mjs";
import { importNotes } from "./project.mjs";
import { Story } from "./story.mjs";

/**
 * @typedef {import("openrath").FactId} FactId
 * @typedef {import("openrath").Session} Session
 * @typedef {import("openrath/store").Store} Store
 *
 * Where the words go, and where the records are.
 *
 * @typedef {object} Shell
 * @property {(text: string) => void} say
 * @property {(document: unknown) => void} tell
 * @property {(...commands: string[]) => void} hint
 * @property {(text: string) => string} bold
 * @property {(text: string) => string} dim
 * @property {(text: string) => string} red
 * @property {(text: string) => string} green
 * @property {(text: string) => string} cyan
 * @property {(id: FactId) => string} id
 * @property {number} columns
 * @property {string} home
 * @property {string} url the URL of the store, without its password
 * @property {string} address the same with it
 *
 * How the command writes facts and texts of others: short, and safe for a terminal.
 *
 * @typedef {object} Words
 * @property {(value: unknown, most?: number) => string} brief
 * @property {(text: string, most?: number) => string} oneLine
 * @property {(count: number, one: string) => string} count
 * @property {(word: string) => string} quoted
 * @property {(fact: import("openrath").Fact, most?: number) => string} describe
 * @property {(fact: import("openrath").Fact, room: { most: number, each: number }) => string} describeFact
 * @property {(fact: import("openrath").Fact) => string | undefined} toneOf
 * @property {new (heads: readonly FactId[]) => { draw(row: { id: FactId, parents: readonly FactId[] }): { before: readonly string[], mark: string, after: readonly string[] } }} Lanes
 *
 * What the command lends to the demonstration.
 *
 * @typedef {object} Surroundings
 * @property {Shell} shell
 * @property {Words} words
 * @property {Store} store
 * @property {string} command the path of the program `rath`
 * @property {(session: Session, name: string) => Promise<number>} tellWaiting
 *
 * @typedef {{ readonly pid: number, readonly facts: number } | undefined} Killed
 */

/**
 * Runs the demonstration and returns the exit code of the command.
 *
 * @param {Omit<Surroundings, "store">} command
 * @param {() => Promise<Store>} openStore
 * @param {{ readonly sandbox?: string, readonly scripted: boolean }} options
 */
export async function demo(command, openStore, { sandbox: wanted, scripted }) {
  const { shell } = command;
  const endpoint = scripted ? undefined : endpointInEnvironment();
  // A missing package is reported before anything is written.
  if (endpoint !== undefined) await modelAt(endpoint);
  const place = await placeFor(wanted, endpoint !== undefined);
  makeHome(shell.home);
  const surroundings = { ...command, store: await openStore() };
  const { store } = surroundings;
  const { name, folder } = await claimFolder(shell.home, store);
  const { sandbox } = place;
  const files = writeFiles(folder, { name, sandbox, ...(endpoint !== undefined && { endpoint }) });
  await importNotes(store, name);
  tellBeginning(surroundings, name, folder, place.words, endpoint);

  const story = new Story(surroundings);
  // Never kill a model that works without a sandbox: its pending call would be in doubt, and a person would have to decide.
  const mayKill = endpoint === undefined || sandbox === "local";
  const killed = await begin(surroundings, story, name, files.program, endpoint !== undefined, mayKill);
  const session = killed ? await resume(store, story, name, files.program) : await store.load(name);
  if (statusOf(session) === "waiting") return surroundings.tellWaiting(session, name);

  const findings = await findingsOf(surroundings, session, { name, folder });
  tellFindings(surroundings, session, findings);
  const next = await nextCommands(surroundings, name, story.rejection, findings);
  // Last, because it is what most people try first.
  const page = `rath studio --modules ${shownPath(surroundings.words, files.studio)}   # all of this as a page in a browser`;
  shell.hint(...next, page);
  const { replay, lesson, ...found } = findings;
  shell.tell({
    name,
    folder,
    ...files,
    id: session.id,
    status: statusOf(session),
    killed: killed ?? null,
    ...found,
    replay,
    same: replay.same,
    rejection: story.rejection ?? null,
    memory: lesson === undefined ? null : { id: lesson.id, text: lesson.text, because: lesson.because },
    usage: session.usage,
    mermaid: toMermaid(graph(session)),
    model: endpoint ?? "script",
    sandbox,
    next,
  });
  return replay.same && findings.intact && findings.accepted ? 0 : 3;
}

/**
 * @param {Surroundings} surroundings
 * @param {string} name
 * @param {string} folder
 * @param {string} place
 * @param {import("./program.mjs").Endpoint | undefined} endpoint
 */
function tellBeginning({ shell, words }, name, folder, place, endpoint) {
  const { count, oneLine } = words;
  shell.say(
    `${shell.bold(name)}: agents repair a small repository (${shownPath(words, join(folder, "repo"))}).`,
  );
  shell.say(
    endpoint === undefined
      ? "Model: a script, which says so; nobody is asked. Files, commands, tests and the kill are real."
      : `Model: ${oneLine(endpoint.model)} at ${oneLine(endpoint.url)}. What happens depends on it; it may spend ${BUDGET.steps} calls and ${count(BUDGET.tokens, "token")}.`,
  );
  shell.say(`Sandbox: ${place}.\n`);
}

/**
 * Begins the run in a process of its own, with `rath run`, and kills that in the middle.
 *
 * @param {Surroundings} surroundings
 * @param {Story} story
 * @param {string} name
 * @param {string} program
 * @param {boolean} isLive
 * @param {boolean} mayKill
 * @returns {Promise<Killed>}
 */
async function begin({ shell, words, command }, story, name, program, isLive, mayKill) {
  const limits = Object.entries(BUDGET).map((pair) => pair.join("="));
  const budget = isLive ? ["--budget", limits.join(",")] : [];
  const { pid, killed } = await runUntil(
    [command, "run", program, "--name", name, "--events", ...budget],
    // Everybody on a machine can read the arguments of a program, but not its environment.
    { RATH_STORE: shell.address },
    (seen) => story.see(seen),
    // The middle: repairs are under way side by side, and one of them has changed a file.
    ({ branch, fact }) =>
      mayKill && fact.type === "workspace-change" && (branch === "small" || branch === "bold"),
  );
  if (!killed) return undefined;
  const { facts } = story;
  shell.say(
    `\n${shell.red("killed")}: process ${pid} with SIGKILL, while repairs were under way. ${words.count(facts, "fact")} are on the disk.\n${shell.green("resumed")} in this process: nothing that is finished is done again.\n`,
  );
  return { pid, facts };
}

/**
 * Continues where the record ends, as `rath resume` does.
 *
 * @param {Store} store
 * @param {Story} story
 * @param {string} name
 * @param {string} program
 */
async function resume(store, story, name, program) {
  const { default: module, options } = await import(pathToFileURL(program).href);
  const rath = openRath({ ...options, store });
  rath.observe((observation) => {
    if (observation.kind === "fact") story.see(observation.session);
  });
  try {
    return await rath.resume(name, module);
  } finally {
    await rath.close();
  }
}

/**
 * @param {Surroundings} surroundings
 * @param {Session} session
 * @param {import("./findings.mjs").Findings} findings
 */
function tellFindings(surroundings, session, { replay, file, facts, intact, lesson, dossier, accepted }) {
  const { shell, words } = surroundings;
  const { bold, red, green } = paints(shell);
  const { count, oneLine } = words;
  shell.say(
    `\n${bold("The graph")}, newest first. What was rejected stays: it is evidence.\n\n${drawGraph(surroundings, session)}\n`,
  );
  shell.say(
    `${bold("Replayed")} in process ${replay.pid}: no model, no file, no test, and ${replay.same ? green("the same id") : red("ANOTHER ID")} ${shell.id(replay.id ?? session.id)}.`,
  );
  shell.say(
    `${bold("Exported")} to ${shownPath(words, file)}: ${count(facts, "fact")}, ${intact ? green("intact") : red("NOT INTACT")}; the SHA-256 of its last line is the id.`,
  );
  if (lesson !== undefined)
    shell.say(
      `${bold("Remembered")} ${shell.id(lesson.id)}: ${oneLine(lesson.text, 160)}\n  because of ${lesson.because.map((id) => id.slice(0, 12)).join(", ")}: the tests that failed, the word of the validator, the tests that pass now`,
    );
  shell.say(
    `${bold("Dossier")} ${shownPath(words, dossier.html)}, for a browser; ${shownPath(words, dossier.bundle)} proves it.`,
  );
  const isSound = replay.same && intact;
  const { calls, input, output } = session.usage;
  const verdict = isSound ? green("All as it should be.") : red("SOMETHING IS WRONG.");
  shell.say(
    `\n${accepted ? verdict : red("The issue is not repaired: no patch was accepted.")} ${count(calls, "model call")}, ${count(input + output, "token")}.`,
  );
}

/**
 * What to type next. The first command begins a newcomer's path: fork, run, diff, verify.
 *
 * @param {Surroundings} surroundings
 * @param {string} name
 * @param {FactId | undefined} rejection
 * @param {import("./findings.mjs").Findings} findings
 */
async function nextCommands({ store, words }, name, rejection, { lesson, dossier }) {
  let fork = "second-try";
  for (let number = 2; (await store.head(fork)) !== undefined; number++) fork = `second-try-${number}`;
  return [
    rejection !== undefined &&
      `rath fork ${name} --at ${rejection.slice(0, 12)} --name ${fork}   # from the rejected patch, with another repair`,
    `rath log ${name}   # all that happened`,
    `rath verify ${shownPath(words, dossier.bundle)}   # the dossier, on any machine`,
    lesson !== undefined && `rath memory why ${lesson.id.slice(0, 12)}   # why it is remembered`,
  ].filter((command) => command !== false);
}

/** The colours, as functions that can be passed on. */
function paints(/** @type {Shell} */ shell) {
  /** @type {(colour: "bold" | "red" | "green") => (text: string) => string} */
  const paint = (colour) => (text) => shell[colour](text);
  return { bold: paint("bold"), red: paint("red"), green: paint("green") };
}

/**
 * A path as people type it from where they are.
 *
 * @param {Words} words
 * @param {string} path
 */
function shownPath({ quoted }, path) {
  const near = relative(process.cwd(), path);
  return quoted(near === "" || near.startsWith("..") ? path : near);
}
