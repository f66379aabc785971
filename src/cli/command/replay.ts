import { recordedRun } from "../../runtime/index.js";
import type { RathError, Session } from "../../session/index.js";
import { freeName } from "../../store/index.js";
import { type Input, textOption } from "../entry.js";
import { erasedBehind, failing, isDifference, tellOutcome } from "../outcome.js";
import { noteBeside } from "../program-note.js";
import { watching } from "../running.js";
import type { Shell } from "../shell.js";
import { placeAt } from "../step.js";
import { plain } from "../text.js";
import { requireProgram } from "./resume.js";

/** `rath replay SESSION`: the same program with the record as the world. Exit code 3 where it comes out otherwise. */
export async function run(shell: Shell, input: Input): Promise<number> {
  const [reference = ""] = input.args;
  const found = await shell.find(reference);
  const at = textOption(input, "at");
  const id = await placeAt(await shell.store(), found.id, at);
  const other = textOption(input, "with");
  const program = await requireProgram(shell, id, reference, other);
  const rath = await shell.rath(program.options);
  const called = at === undefined ? (found.name ?? id) : id;
  const events = input.options.events === true;
  if (textOption(input, "mode") === "what-if") {
    const name =
      textOption(input, "name") ??
      (await freeName(await shell.store(), `${found.name ?? id.slice(0, 12)}-what-if`));
    // One that does nothing else than what is recorded ends as that run did: there is nothing to keep of it.
    const original = (await recordedRun(await shell.store(), called))?.nonce;
    const own = found.name ?? reference;
    let ended: Session;
    try {
      ended = await watching(shell, rath, { events }, (signal) =>
        rath.replay(called, program.module, { mode: "what-if", name, signal }),
      );
    } catch (error) {
      const { session } = Object(error) as { readonly session?: Session };
      throw failing(error, session !== undefined && session.fact.run === original ? own : name);
    }
    if (ended.fact.run === original) {
      if (!events) shell.say(`came out the same as ${plain(own)}; nothing was kept\n`);
      return tellOutcome(shell, rath, ended, { name: own, events, more: { same: true, kept: false } });
    }
    if (other !== undefined) await noteBeside(await shell.store(), ended, program.note);
    return tellOutcome(shell, rath, ended, { name, events });
  }
  try {
    const same = await watching(shell, rath, { events }, (signal) =>
      rath.replay(called, program.module, { mode: "verify", signal }),
    );
    shell.tell({ same: true, id: same.id, program: program.note, changed: program.changed });
    shell.say(
      `${shell.green("the same id")} ${shell.id(same.id)}: the program came out as it is recorded, and nothing was asked`,
    );
    return 0;
  } catch (error) {
    const erased = await erasedBehind(await shell.store(), found.id, reference, error);
    if (erased !== undefined) throw erased;
    if (!isDifference(error)) throw failing(error, reference);
    const told = failing(error, found.name ?? reference) as RathError;
    shell.tell({ same: false, error: told.toJSON(), program: program.note, changed: program.changed });
    shell.say(`${shell.red("not the same")}: ${plain(told.message)}`);
    return 3;
  }
}
