import { CancelledError, statusOf } from "../../runtime/index.js";
import { type Json, RathError, type Session } from "../../session/index.js";
import { freeName } from "../../store/index.js";
import { type Input, textOption } from "../entry.js";
import { erasedBehind, failing, tellOutcome } from "../outcome.js";
import { type Program, programOf } from "../program.js";
import { commandWith, noteBeside, resumeCommand } from "../program-note.js";
import { watching } from "../running.js";
import type { Shell } from "../shell.js";
import { argument, plain } from "../text.js";

/** `rath resume SESSION`: goes on with a run, by the program that its record names. */
export async function run(shell: Shell, input: Input): Promise<number> {
  const [reference = ""] = input.args;
  const found = await shell.find(reference);
  const other = textOption(input, "with");
  const name = found.name ?? reference;
  const events = input.options.events === true;
  const recorded = await (await shell.store()).load(found.id);
  const status = statusOf(recorded);
  const retries = input.options.retry === true;
  // Nothing is left to do: no program is needed to say so.
  if (status === "finished" && !retries && other === undefined)
    return tellOutcome(shell, await shell.rath(), recorded, { name, events });
  const words = `rath resume ${argument(name)}${retries ? " --retry" : ""}`;
  const program = await requireProgram(shell, found.id, reference, other, words);
  const rath = await shell.rath(program.options);
  const session = await rath.load(found.id);
  // One that was stopped is over; going on with it is what its owner asks for.
  const again = retries || status === "cancelled";
  const goal = again
    ? (textOption(input, "name") ?? (await freeName(await shell.store(), `${name}-again`)))
    : name;
  if (again && !events)
    shell.say(shell.dim(`a new run, ${plain(goal)}: finished work is taken from the record`));
  let ended: Session;
  let pressed: AbortSignal | undefined;
  try {
    ended = await watching(shell, rath, { events }, (signal) => {
      pressed = signal;
      return again
        ? rath.retry(found.id, program.module, { name: goal, signal })
        : rath.resume(found.name ?? found.id, program.module, { signal });
    });
  } catch (error) {
    // It was stopped, and ended before it came to rest: now it has, and can be gone on with.
    if (!again && error instanceof CancelledError && pressed?.aborted !== true) return run(shell, input);
    throw (await erasedBehind(await shell.store(), found.id, name, error)) ?? failing(error, goal);
  }
  // A run that was over already, or waits as before, was not continued by this program.
  if (other !== undefined && ended.id !== session.id)
    await noteBeside(await shell.store(), ended, program.note);
  return tellOutcome(shell, rath, ended, { name: goal, next: program.next(goal), events });
}

/**
 * The program of a session, or a hint if the record names none. Another program is reported, and the run itself checks it
 * against the record. `words` is the command that needs it, without the program.
 */
export async function requireProgram(
  shell: Shell,
  id: string,
  reference: string,
  override: string | undefined,
  words: string,
): Promise<Program & { readonly changed: boolean }> {
  const program = await programOf(await shell.store(), id, override, {
    command: `${words} --with`,
    replays: !words.startsWith("rath resume"),
  });
  if (program === undefined) {
    const { fact } = await (await shell.store()).load(id);
    const isOver = fact.type === "run-end" || !words.startsWith("rath resume");
    const command = isOver ? await commandWith(shell, id, words) : await resumeCommand(shell, reference);
    const isFile = !command.includes("--with FILE");
    throw new RathError(
      "program-unknown",
      `The record of ${reference} does not name the program that made it.`,
      {
        hint: isFile
          ? command
          : `name it: ${words} --with FILE, or FILE#EXPORT; only \`rath run\` records its program (see the record: rath log ${argument(reference)} --all)`,
        data: { session: reference } satisfies { [key: string]: Json },
      },
    );
  }
  if (program.changed && !shell.json)
    shell.streams.stderr.write(
      `rath: ${plain(program.note.file)} differs from the recorded program (${plain(program.recorded?.digest.slice(0, 12) ?? "")}, now ${program.note.digest.slice(0, 12)})\n`,
    );
  return program;
}
