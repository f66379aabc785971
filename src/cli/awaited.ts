import type { Awaited } from "../runtime/index.js";
import { type Principal, visibleText } from "../session/index.js";
import type { Shell } from "./shell.js";
import { argument, brief, oneLine, plain, quoted } from "./text.js";

/** Something that a run waits for, with the command lines that answer it. */
export type Waiting = {
  readonly session: string;
  readonly kind: "approval" | "question" | "signal" | "doubt" | "timer";
  readonly commands: readonly string[];
} & Awaited;

/**
 * The requests that one run waits for, with the commands that answer them. `resume` is the command that resumes it, and
 * `person` the one who is at the terminal: the commands for somebody else say whose word it is.
 */
export function waitingOf(
  session: string,
  awaited: readonly Awaited[],
  resume: string,
  person: Principal,
): readonly Waiting[] {
  return awaited.map((one) => {
    const kind = kindOf(one);
    const [other] = one.to?.includes(person) ? [] : (one.to ?? []);
    const who = other === undefined ? "" : ` --by ${argument(plain(other))}`;
    return { session, kind, commands: commandsFor(argument(session), kind, one, resume, who), ...one };
  });
}

/** The same with its commands as they have to be typed. */
export function typedWaiting(shell: Shell, waiting: readonly Waiting[]): readonly Waiting[] {
  return waiting.map((one) => ({ ...one, commands: one.commands.map((command) => shell.typed(command)) }));
}

/** Whether a run waits for nobody now: every answer is there, and it goes on when it is resumed. */
export function isAnswered(awaited: readonly Awaited[]): boolean {
  return awaited.length > 0 && awaited.every(({ answered }) => answered);
}

function kindOf(one: Awaited): Waiting["kind"] {
  if (one.doubt === true) return "doubt";
  if (one.type === "timer-set") return "timer";
  if (one.type === "signal-await") return "signal";
  return one.answer === undefined ? "approval" : "question";
}

function commandsFor(
  name: string,
  kind: Waiting["kind"],
  one: Awaited,
  resume: string,
  who: string,
): readonly string[] {
  const id = `--id ${one.id.slice(0, 12)}${one.answered ? "" : who}`;
  if (one.answered)
    return [
      resume,
      ...(kind === "approval"
        ? [`rath revoke ${name} ${id}   # revokes an approval that no run has used`]
        : []),
    ];
  switch (kind) {
    case "approval":
      return [
        // With the digest it is agreed to exactly what was shown, whatever happens meanwhile.
        `rath approve ${name} ${id} --digest ${plain(one.digest ?? "").slice(0, 12)}`,
        `rath reject ${name} ${id} --why "…"`,
      ];
    case "question": {
      const { enum: choices } = Object(one.answer) as { readonly enum?: readonly unknown[] };
      return choices === undefined
        ? [`rath answer ${name} ${id} --text "…"`]
        : choices.map((choice) => `rath answer ${name} ${id} --value ${quoted(escaped(choice))}`);
    }
    case "signal":
      return [`rath answer ${name} ${id} --value JSON`];
    case "doubt":
      return [
        `rath answer ${name} ${id} --settle done     # it happened; add --value JSON if it returned a value`,
        `rath answer ${name} ${id} --settle failed   # it did not happen`,
        `rath answer ${name} ${id} --settle again --digest ${plain(one.digest ?? "").slice(0, 12)}   # ${againText(one)}`,
      ];
    case "timer":
      return [`${resume}   # from ${oneLine(one.what)} on`];
  }
}

/** Explains "again": for an approved call it is a second execution. */
function againText({ approved, attempts = 1 }: Awaited): string {
  const number = `execution ${attempts + 1}`;
  return approved === undefined
    ? `execute it again: ${number}`
    : `execute it again: ${number} of a call that ${approved.map((one) => oneLine(one)).join(", ")} approved once`;
}

/** A value as JSON that a terminal shows as it is typed: the same value, with nothing in it that would act. */
function escaped(value: unknown): string {
  return visibleText(JSON.stringify(value));
}

const TITLES: { readonly [kind in Waiting["kind"]]: string } = {
  approval: "approval of",
  question: "an answer to",
  signal: "the signal",
  doubt: "the outcome of",
  timer: "the time",
};

/** The same for people: the request, its content, its addressees, its deadline, and the commands to type. */
export function waitingText(shell: Shell, one: Waiting): string {
  const { kind, what, shown, to, expires, rule, why, problem, edited, id, digest, answered } = one;
  const { key, started, attempts, error, approved, execution, standing } = one;
  const room = Math.max(40, shell.columns - 4);
  const people = (names: readonly string[], between: string): string =>
    names.map((name) => oneLine(name)).join(between);
  const reason = [rule, why].filter((text) => text !== undefined).join(": ");
  const anybody = kind === "signal" || kind === "question" ? "anybody" : "any person";
  const replaced = edited && `edited   by ${oneLine(edited.by)}, in place of `;
  const rows: readonly (string | false | undefined)[] = [
    `${shell.yellow("waits")} for ${TITLES[kind]} ${shell.bold(oneLine(what, 60))}${answered ? shell.green("  answered") : ""}`,
    shown !== undefined && wholeRows("shown    ", shown, one.session),
    execution !== undefined &&
      `  again    execution ${execution}: the call was started before and may have happened`,
    started !== undefined &&
      `  started  ${oneLine(started)}, attempt ${attempts}${key === undefined ? "" : `, idempotency key ${oneLine(key)}`}`,
    error && `  error    ${oneLine(error.message, room)}`,
    approved && `  approved by ${people(approved, ", ")}`,
    replaced && wholeRows(replaced, edited.was, one.session),
    problem !== undefined && `  again    ${oneLine(problem, room)}`,
    (rule !== undefined || why !== undefined) && `  because  ${oneLine(reason, room)}`,
    kind !== "timer" && `  from     ${to === undefined ? anybody : people(to, " or ")}`,
    expires !== undefined && `  until    ${oneLine(expires)}`,
    ...(standing ?? []).map(
      ({ by, always, id: given }) =>
        `  stands   ${oneLine(by)} approved ${always === "tool" ? "every call of it" : "a call of it"} (${given.slice(0, 12)}), which does not cover this one`,
    ),
    `  id       ${shell.id(id)}${digest === undefined ? "" : `  digest ${plain(digest).slice(0, 12)}`}`,
    ...one.commands.map(
      (command, place) => `${place === 0 ? "  type     " : "           "}${shell.typed(command)}`,
    ),
  ];
  return rows.filter((row) => typeof row === "string").join("\n");
}

/** So many characters are shown of what would be done: all of it, most often, because a person is to agree to all of it. */
const SHOWN = 4_000;

function wholeRows(title: string, value: unknown, session: string): string {
  const text = brief(value, SHOWN);
  const isCut = brief(value, SHOWN + 1) !== text;
  const cut = `\n  cut      it is longer; all of it: rath pending ${argument(session)} --json`;
  return `  ${title}${text}${isCut ? cut : ""}`;
}
