import { type Answer, answerText, ask, type Question } from "../../evidence/audit/index.js";
import { defined } from "../../util/index.js";
import { countOption, type Input, textOption } from "../entry.js";
import { UsageError } from "../error.js";
import type { Shell } from "../shell.js";
import { argument, plain } from "../text.js";

/** `rath why`: asks the record, and shows what proves the answer. */
export async function run(shell: Shell, input: Input): Promise<void> {
  const question = questionOf(input);
  limitOf(input);
  const store = await shell.store();
  const ref = input.args[0];
  if (ref === undefined && question !== "by" && question !== "ifFalse")
    throw new UsageError(
      "The question needs a session.",
      "name one: rath why demo-1; list the sessions: rath list",
    );
  const session = ref === undefined ? undefined : await shell.find(ref);
  const at = session?.name ?? session?.id ?? "";
  const asked = await ask(store, question, at, await optionsOf(shell, at, input));
  // The typed reference reads better than its id.
  const answer =
    ref === undefined || at === ref ? asked : { ...asked, question: asked.question.replace(at, () => ref) };
  shell.tell(answer);
  if (shell.json) return;
  await shell.write(plain(answerText(answer, { columns: shell.columns })));
  shell.hint(...nextOf(answer, ref, question));
}

/** Which question was meant. Of two at once, neither. */
function questionOf({ options }: Input): Question {
  const given: Question[] = [];
  if (options.message !== undefined) given.push("branch");
  if (options.step !== undefined) given.push(options.memory ? "memory" : options.saw ? "saw" : "step");
  if (options.file !== undefined) given.push("file");
  if (options.approvals === true) given.push("approvals");
  if (options.from !== undefined || options.to !== undefined) given.push("between");
  if (options.by !== undefined) given.push("by");
  if (options.ifFalse !== undefined) given.push("ifFalse");
  if ((options.memory || options.saw) && options.step === undefined)
    throw new UsageError(
      `--${options.memory ? "memory" : "saw"} needs a step.`,
      `name the step: rath why SESSION --step 7 --${options.memory ? "memory" : "saw"}`,
    );
  if (options.memory && options.saw)
    throw new UsageError("--memory and --saw are two questions.", "ask one at a time");
  if (given.length > 1)
    throw new UsageError(
      `These are ${given.length} questions at once.`,
      "ask one at a time; rath why --help has examples",
    );
  return given[0] ?? "branch";
}

/** The details of the question, as they were typed. */
async function optionsOf(shell: Shell, session: string, input: Input) {
  const step = textOption(input, "step");
  const [, path, line] = /^(.*?)(?::(\d{1,9}))?$/s.exec(textOption(input, "file") ?? "") ?? [];
  return defined({
    ...limitOf(input),
    message: textOption(input, "message"),
    step: step === undefined ? undefined : await placeOf(shell, session, step),
    path,
    line: line === undefined ? undefined : Number(line),
    from: textOption(input, "from"),
    to: textOption(input, "to"),
    all: input.options.all === true ? true : undefined,
    principal: textOption(input, "by"),
    memory: textOption(input, "ifFalse"),
  });
}

function limitOf(input: Input): { readonly limit?: number } {
  return defined({ limit: countOption(input, "limit") });
}

/** A step as it was typed: a number and an id stay as they are, ~3 is three facts before the end, NAME~3 and NAME@branch are looked up. */
async function placeOf(shell: Shell, session: string, given: string): Promise<string> {
  if (/^~\d*$/.test(given)) return (await shell.find(`${session}${given}`)).id;
  return /[~@]/.test(given) ? (await shell.find(given)).id : given;
}

/** Questions that can be asked next. */
function nextOf({ facts }: Answer, ref: string | undefined, question: Question): readonly string[] {
  const shown = facts.slice(0, 2).map(({ id }) => `rath show ${id.slice(0, 12)}`);
  if (ref === undefined) return shown;
  const word = argument(ref);
  const memory = facts.find(({ type }) => type === "memory-write");
  const more: { readonly [question in Question]?: string | undefined } = {
    branch: `rath why ${word} --approvals`,
    step: `rath why ${word} --step ${facts[0]?.id.slice(0, 12)} --saw`,
    memory: memory && `rath memory why ${memory.id.slice(0, 12)}`,
    file: `rath files ${word} --patch`,
    between: `rath log ${word}`,
  };
  const next = more[question];
  return next === undefined ? shown : [...shown, next];
}
