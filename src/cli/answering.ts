import { AnswerError, type Awaited, type Rath } from "../runtime/index.js";
import type { Json, Principal, RathError } from "../session/index.js";
import { defined } from "../util/index.js";
import { byOption, type Input, textOption } from "./entry.js";
import { UsageError, withHint } from "./error.js";
import { callsAsCommands } from "./hints.js";
import { resumeCommand } from "./program-note.js";
import type { Shell } from "./shell.js";
import { argument, oneLine, plain } from "./text.js";

/** The answer that somebody typed on the command line. */
export type Answering = {
  readonly rath: Rath;
  /** The name of the session, or the reference that was typed. */
  readonly name: string;
  readonly by: Principal;
  readonly ask?: string;
  readonly digest?: string;
  readonly why?: string;
};

/** Gives an answer, and says who gave it and what to type next. */
export async function answering(
  shell: Shell,
  input: Input,
  give: (
    answering: Answering,
    awaited: readonly Awaited[],
  ) => Promise<{ readonly id: string; readonly said: string }>,
): Promise<void> {
  const [reference = ""] = input.args;
  const { id, name = id } = await shell.find(reference);
  const rath = await shell.rath();
  const by = byOption(shell, input);
  const awaited = await rath.pending(name);
  const ask = idOf(textOption(input, "id"));
  const digest = digestOf(textOption(input, "digest"), awaited);
  let given: { readonly id: string; readonly said: string };
  try {
    given = await give(
      {
        rath,
        name,
        by,
        ...defined({ ask, digest, why: textOption(input, "why") }),
      },
      awaited,
    );
  } catch (error) {
    throw error instanceof AnswerError ? toTyped(error, reference) : error;
  }
  const word = argument(name);
  const left = (await rath.pending(name)).filter(({ answered }) => !answered);
  shell.tell({ session: name, answer: given.id, said: given.said, by, left: left.length });
  const guessed = textOption(input, "by") === undefined ? shell.dim("  (say otherwise: --by user:ada)") : "";
  shell.say(`${given.said} ${shell.bold(plain(name))} as ${shell.bold(oneLine(by))}${guessed}`);
  const resume = await resumeCommand(shell, name);
  shell.hint(left.length > 0 ? `rath pending ${word}   # ${left.length} more` : resume);
}

/** A value as JSON, typed by a person. */
export function jsonOption(input: Input, name: string): Json | undefined {
  const text = textOption(input, name);
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text) as Json;
  } catch (error) {
    throw new UsageError(
      `The value of --${name} is not JSON: ${(error as Error).message}.`,
      `quote JSON for the shell: --${name} '{"amount":100}', or for a text: --${name} '"…"'`,
    );
  }
}

/** An empty id would be the beginning of any. */
function idOf(id: string | undefined): string | undefined {
  if (id === undefined || /^[0-9a-f]{4,64}$/.test(id)) return id;
  throw new UsageError(
    `${JSON.stringify(id)} is not the beginning of an id.`,
    "give at least four characters of an id that `rath pending` shows",
  );
}

/** The whole digest that a person named by its beginning; a digest that fits nothing is left as it is, to be refused. */
function digestOf(digest: string | undefined, awaited: readonly Awaited[]): string | undefined {
  if (digest === undefined) return undefined;
  if (!/^[0-9a-f]{8,64}$/.test(digest))
    throw new UsageError(
      `${JSON.stringify(digest)} is not the beginning of a digest.`,
      "give at least eight characters of a digest that `rath pending` shows",
    );
  return awaited.find((one) => one.digest?.startsWith(digest))?.digest ?? digest;
}

/** The same error with what to type instead of what to program. */
function toTyped(error: AnswerError, reference: string): RathError {
  const typed = callsAsCommands(error.hint, reference);
  return withHint(error, typed ?? `see what is awaited: rath pending ${argument(reference)}`);
}

/** `rath approve SESSION`: agrees to exactly what was shown, or to other arguments. */
export async function approve(shell: Shell, input: Input): Promise<void> {
  const edit = jsonOption(input, "edit");
  const always = textOption(input, "always") as "arguments" | "tool" | undefined;
  return answering(shell, input, async ({ rath, name, ...decision }) => ({
    id: await rath.approve(name, { ...decision, ...defined({ edit, always }) }),
    said:
      edit !== undefined
        ? "approved, with other arguments,"
        : always === undefined
          ? "approved"
          : `approved, always for this ${always === "tool" ? "tool" : "call"},`,
  }));
}

/** `rath reject SESSION`: says no; the run takes that in when it is resumed. */
export const reject = deciding("reject", "rejected");
/** `rath withdraw SESSION`: the requester takes the request back; the run goes on without it. */
export const withdraw = deciding("withdraw", "withdrew the request of");
/** `rath revoke SESSION`: revokes an approval that no run has used yet. */
export const revoke = deciding("revoke", "revoked the approval of");

function deciding(decision: "reject" | "withdraw" | "revoke", said: string) {
  return (shell: Shell, input: Input): Promise<void> =>
    answering(shell, input, async ({ rath, name, digest: _, ...given }) => ({
      id: await rath[decision](name, given),
      said,
    }));
}
