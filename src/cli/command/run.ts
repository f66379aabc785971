import { readFileSync } from "node:fs";
import { basename, resolve } from "node:path";
import { type Budget, budgetFault, type Rath, statusOf } from "../../runtime/index.js";
import { type Json, type Principal, RathError, type Session } from "../../session/index.js";
import { freeName } from "../../store/index.js";
import { byOption, type Input, textOption } from "../entry.js";
import { UsageError } from "../error.js";
import { failing, tellOutcome } from "../outcome.js";
import { loadProgram, type Program } from "../program.js";
import { watching } from "../running.js";
import type { Shell } from "../shell.js";
import { argument } from "../text.js";
import { requireNewName } from "./list.js";

/** `rath run FILE`: runs the module that a file exports, and says how to go on. */
export async function run(shell: Shell, input: Input): Promise<number> {
  const [file = ""] = input.args;
  const task = taskOf(input);
  const budget = budgetOf(textOption(input, "budget"));
  const by = textOption(input, "by") === undefined ? undefined : byOption(shell, input);
  const program = await loadProgram(file, shell.url);
  const rath = await shell.rath(program.options);
  const { session, name } = await beginning(shell, rath, program, input, { task, by });
  const events = input.options.events === true;
  let ended: Session;
  try {
    ended = await watching(shell, rath, { events }, (signal) =>
      rath.run(program.module, session, {
        name,
        signal,
        by: by ?? program.start.by ?? shell.person,
        ...(budget !== undefined && { budget }),
      }),
    );
  } catch (error) {
    throw failing(error, name);
  }
  return tellOutcome(shell, rath, ended, { name, next: program.next(name), events });
}

/** The session that the program is run on, with a note of what is run, and the name that it goes by. */
async function beginning(
  shell: Shell,
  rath: Rath,
  program: Program,
  input: Input,
  { task, by }: { readonly task: string | undefined; readonly by: Principal | undefined },
): Promise<{ readonly session: Session; readonly name: string }> {
  const on = textOption(input, "on");
  const given = textOption(input, "name");
  requireNewName(given);
  const { start } = program;
  const who = by ?? start.by ?? shell.person;
  let session: Session;
  let name: string;
  if (on === undefined) {
    name = given ?? (await freeNameFor(rath, program));
    session = rath.start(task ?? start.text, { by: who });
  } else {
    const found = await shell.find(on);
    session = await rath.load(found.id);
    requireOver(session, on);
    name = given ?? found.name ?? (await freeNameFor(rath, program));
    // From anywhere but the end of its own name it is a branch.
    if (found.name !== name) session = session.fork(name, { by: who });
    if (task !== undefined) session = session.say(task, { by: who });
  }
  const place = textOption(input, "sandbox") ?? (on === undefined ? start.sandbox : undefined);
  if (place !== undefined) session = session.to(place, specOf(input, start.spec), { by: who });
  session = session.append({ type: "note", kind: "program", ...program.note, by: "runtime" });
  return { session, name };
}

/** Only the run that waits can continue. */
function requireOver(session: Session, on: string): void {
  if (statusOf(session) !== "waiting") return;
  const name = argument(on);
  throw new RathError("work-pending", `Cannot run on ${on}: it waits for an answer.`, {
    hint: `see what it waits for: rath pending ${name}; then: rath resume ${name}`,
    data: { session: on },
  });
}

async function freeNameFor(rath: Rath, { note }: Program): Promise<string> {
  const stem =
    basename(note.file)
      .replace(/\.[^.]*$/, "")
      .replaceAll(/[^\w.-]+/g, "-") || "run";
  return freeName(await rath.store(), stem, `${stem}-1`);
}

function specOf(input: Input, spec: Json | undefined): Json | undefined {
  const workspace = textOption(input, "workspace");
  if (workspace === undefined) return spec;
  return { ...(Object(spec) as { readonly [field: string]: Json }), workspace: resolve(workspace) };
}

/** The task: from the command line, a file, or stdin. */
function taskOf(input: Input): string | undefined {
  const text = textOption(input, "input");
  const file = textOption(input, "inputFile");
  if (text !== undefined && file !== undefined)
    throw new UsageError("The task is given twice.", "give either --input TEXT or --input-file FILE");
  if (file === undefined) return text;
  try {
    return readFileSync(file === "-" ? 0 : file, "utf8");
  } catch (error) {
    throw new RathError("input-missing", `Cannot read the task from ${file}: ${(error as Error).message}.`, {
      hint: "give a text file, or - for standard input",
      data: { file },
    });
  }
}

/** `steps=20,tokens=50000` as a budget. */
function budgetOf(text: string | undefined): Budget | undefined {
  if (text === undefined) return undefined;
  const pairs = text.split(",").map((pair) => pair.split("=", 2) as [string, string?]);
  const budget = Object.fromEntries(
    pairs.map(([limit, value]) => [
      limit.trim(),
      value === undefined || value.trim() === "" ? Number.NaN : Number(value),
    ]),
  );
  const fault = budgetFault(budget);
  if (fault !== undefined)
    throw new UsageError(
      `Cannot read the budget ${JSON.stringify(text)}: ${fault.reason}.`,
      "--budget steps=20,tokens=50000,money=0.5,milliseconds=60000, or some of them",
    );
  return budget;
}
