import { execFile } from "node:child_process";
import { accessSync, constants, existsSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { promisify } from "node:util";
import { RathError } from "../../session/index.js";
import { type Input, textOption } from "../entry.js";
import { UsageError } from "../error.js";
import { resumeCommand } from "../program-note.js";
import { type Shell, typedCommands } from "../shell.js";
import { argument, count, plain } from "../text.js";

type Check = {
  readonly what: string;
  readonly state: "ok" | "missing" | "bad";
  readonly detail: string;
  readonly next?: string;
};

/** `rath doctor`: what is here, what is not, and what to type where something is not. */
export async function run(shell: Shell, input: Input): Promise<number> {
  const target = textOption(input, "recover");
  if (target !== undefined) return salvage(shell, target);
  const checks: Check[] = [nodeCheck(), homeCheck(shell.home)];
  for (const tool of TOOLS) checks.push(await toolCheck(tool));
  checks.push(...(await storeChecks(shell, input.options.deep === true)));
  shell.clear();
  const sound = checks.every(({ state }) => state !== "bad");
  shell.tell({ sound, home: shell.home, config: shell.config, store: shell.url, checks });
  for (const { what, state, detail, next } of checks) {
    const mark = state === "ok" ? shell.green("✓") : state === "bad" ? shell.red("✗") : shell.yellow("–");
    shell.say(
      `${mark} ${what}: ${detail}${next === undefined ? "" : `\n    ${shell.dim("try:")} ${shell.typed(next)}`}`,
    );
  }
  return sound ? 0 : 1;
}

/** `rath doctor --recover FILE`: everything of the store that is intact, in another one. */
async function salvage(shell: Shell, target: string): Promise<number> {
  const url = `sqlite:${target}`;
  if (existsSync(target))
    throw new UsageError(`The file ${target} already exists.`, "rath doctor --recover OTHER.db");
  if (!shell.hasStore)
    throw new UsageError(`There is no store at ${shell.url}.`, "name the damaged store: --store sqlite:FILE");
  const [{ openStore }, { recover }] = await Promise.all([
    import("../../store/index.js"),
    import("../../store/recover/index.js"),
  ]);
  const store = await openStore(url);
  try {
    const { facts, blobs, names, findings } = await recover(shell.url, store);
    shell.tell({ from: shell.url, to: url, facts, blobs, names, findings });
    shell.say(
      `${count(facts, "fact")}, ${count(blobs, "blob")} and ${count(names.length, "name")} are in ${plain(target)}.`,
    );
    for (const { place, problem } of findings)
      shell.say(`${shell.red("✗")} not saved: ${plain(place)}: ${plain(problem)}`);
    if (!shell.json && !shell.quiet) shell.say(`\nnext: ${typedCommands(`rath list`, url)}`);
    return findings.length === 0 ? 0 : 3;
  } finally {
    await store.close();
  }
}

const TOOLS = [
  { command: "bwrap", package: "bubblewrap", for: "local sandboxes" },
  { command: "git", package: "git", for: "import from and export to git" },
  { command: "python3", package: "python3", for: "verifying with tools/verify.py" },
] as const;

function nodeCheck(): Check {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  const fits = major > 20 || (major === 20 && minor >= 19);
  return {
    what: "Node.js",
    state: fits ? "ok" : "bad",
    detail: `${process.version}${fits ? "" : ", and 20.19 or newer is needed"}`,
    ...(!fits && { next: "install a newer Node.js" }),
  };
}

function homeCheck(home: string): Check {
  try {
    const place = existsSync(home) ? home : nearestFolder(home);
    accessSync(place, constants.W_OK);
    const detail = existsSync(home) ? home : `${home} (is made when it is needed)`;
    return { what: "home", state: "ok", detail };
  } catch {
    const next = "RATH_HOME=~/.rath rath doctor";
    return { what: "home", state: "bad", detail: `${home} cannot be written`, next };
  }
}

function nearestFolder(path: string): string {
  return existsSync(path) && statSync(path).isDirectory() ? path : nearestFolder(dirname(path));
}

async function toolCheck(tool: (typeof TOOLS)[number]): Promise<Check> {
  try {
    const { stdout } = await promisify(execFile)(tool.command, ["--version"], { timeout: 10_000 });
    return { what: tool.command, state: "ok", detail: `${stdout.trim().split("\n")[0]}, for ${tool.for}` };
  } catch {
    const detail = `is not here; without it there is no ${tool.for}`;
    return { what: tool.command, state: "missing", detail, next: `apt-get install ${tool.package}` };
  }
}

async function storeChecks(shell: Shell, deep: boolean): Promise<readonly Check[]> {
  const what = "store";
  // A check does not create a store.
  if (!shell.hasStore)
    return [{ what, state: "missing", detail: `there is no store at ${shell.path} yet`, next: "rath demo" }];
  try {
    const store = await shell.store();
    const names = await store.names();
    const checks: Check[] = [{ what, state: "ok", detail: `${shell.url}, ${count(names.length, "name")}` }];
    const unfinished = await (await shell.rath()).unfinished();
    for (const { name, waiting } of unfinished)
      checks.push({
        what: "run",
        state: "missing",
        detail: waiting ? `${name} waits for an answer` : `${name} is under way, or was cut off`,
        next: waiting ? `rath pending ${argument(name)}` : await resumeCommand(shell, name),
      });
    if (deep) {
      const { facts, blobs, findings } = await store.check({ progress: shell.reading("facts") });
      checks.push({
        what: "record",
        state: findings.length === 0 ? "ok" : "bad",
        detail: `${count(facts, "fact")}, ${count(blobs, "blob")}${findings.map(({ place, problem }) => `\n    ${place}: ${problem}`).join("")}`,
        ...(findings.length > 0 && { next: "rath doctor --recover OTHER.db" }),
      });
    }
    return checks;
  } catch (error) {
    if (!(error instanceof RathError)) throw error;
    return [{ what, state: "bad", detail: error.message }];
  }
}
