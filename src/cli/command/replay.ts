import { recordedRun } from "../../runtime/index.js";
import type { FactId, RathError, Session } from "../../session/index.js";
import { freeName } from "../../store/index.js";
import { defined } from "../../util/index.js";
import { type Input, textOption } from "../entry.js";
import { UsageError } from "../error.js";
import { erasedBehind, failing, isDifference, tellOutcome } from "../outcome.js";
import { noteBeside } from "../program-note.js";
import { watching } from "../running.js";
import type { Shell } from "../shell.js";
import { placeAt } from "../step.js";
import { argument, plain } from "../text.js";
import { requireProgram } from "./resume.js";

/** `rath replay SESSION`: the same program with the record as the world. Exit code 3 where it comes out otherwise. */
export async function run(shell: Shell, input: Input): Promise<number> {
  const [reference = ""] = input.args;
  const found = await shell.find(reference);
  const at = textOption(input, "at");
  const id = await placeAt(await shell.store(), found.id, at);
  const other = textOption(input, "with");
  const program = await requireProgram(shell, id, reference, other, `rath replay ${argument(reference)}`);
  const rath = await shell.rath(program.options);
  const called = at === undefined ? (found.name ?? id) : id;
  const events = input.options.events === true;
  const until = await factOption(shell, input, "until", found.id);
  const from = await factOption(shell, input, "from", found.id);
  const isWhatIf = textOption(input, "mode") === "what-if" || from !== undefined;
  if (until !== undefined && isWhatIf)
    throw new UsageError(
      "--until stops a replay, but a what-if runs on.",
      "use --until STEP alone, or --from STEP to run anew from there",
    );
  if (from !== undefined && textOption(input, "mode") === "verify")
    throw new UsageError("--from starts a what-if, which cannot verify.", "leave out --mode verify");
  if (isWhatIf) {
    const name =
      textOption(input, "name") ??
      (await freeName(await shell.store(), `${found.name ?? id.slice(0, 12)}-what-if`));
    // One that does nothing else than what is recorded ends as that run did: there is nothing to keep of it.
    const original = (await recordedRun(await shell.store(), called))?.nonce;
    const own = found.name ?? reference;
    let ended: Session;
    try {
      ended = await watching(shell, rath, { events }, (signal) =>
        rath.replay(called, program.module, { mode: "what-if", name, signal, ...defined({ from }) }),
      );
    } catch (error) {
      const { session } = Object(error) as { readonly session?: Session };
      throw failing(error, session !== undefined && session.fact.run === original ? own : name);
    }
    if (ended.fact.run === original) {
      if (!events) shell.say(`the result is the same as ${plain(own)}; nothing was kept\n`);
      return tellOutcome(shell, rath, ended, { name: own, events, more: { same: true, kept: false } });
    }
    if (other !== undefined) await noteBeside(await shell.store(), ended, program.note);
    return tellOutcome(shell, rath, ended, { name, events });
  }
  try {
    const same = await watching(shell, rath, { events }, (signal) =>
      rath.replay(
        called,
        program.module,
        until === undefined ? { mode: "verify", signal } : { until, signal },
      ),
    );
    shell.tell({ same: true, id: same.id, program: program.note, changed: program.changed });
    shell.say(
      `${shell.green("the same id")} ${shell.id(same.id)}: the program came out as it is recorded${until === undefined ? "" : " up to there"}, and nothing was asked`,
    );
    return 0;
  } catch (error) {
    const erased = await erasedBehind(await shell.store(), found.id, reference, error);
    if (erased !== undefined) throw erased;
    if (!isDifference(error)) throw failing(error, reference);
    const told = failing(error, found.name ?? reference) as RathError;
    const hint = shell.typed(told.hint);
    shell.tell({
      same: false,
      error: { ...(told.toJSON() as object), message: told.message.replace(told.hint, () => hint), hint },
      program: program.note,
      changed: program.changed,
    });
    shell.say(`${shell.red("not the same")}: ${shell.typed(told.message)}`);
    return 3;
  }
}

/** The fact that an option points to in this session. */
async function factOption(
  shell: Shell,
  input: Input,
  option: "until" | "from",
  session: FactId,
): Promise<FactId | undefined> {
  const step = textOption(input, option);
  return step === undefined ? undefined : placeAt(await shell.store(), session, step);
}
