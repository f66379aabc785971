import { AnswerError, type Awaited, type Rath } from "../runtime/index.js";
import { isPrincipal, type Json, type Principal, RathError } from "../session/index.js";
import { defined } from "../util/index.js";
import { waitingOf } from "./awaited.js";
import { type Input, textOption } from "./entry.js";
import { UsageError } from "./error.js";
import type { Shell } from "./shell.js";
import { oneLine, plain, quoted } from "./text.js";

/** What somebody who answers has said on the command line. */
export type Answering = {
  readonly rath: Rath;
  /** What the session is called, as it was typed or by its name. */
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
): Promise<number> {
  const [reference = ""] = input.args;
  const { id, name = id } = await shell.find(reference);
  const rath = await shell.rath();
  const by = whoOf(shell, textOption(input, "by"));
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
  const word = quoted(plain(name));
  const left = waitingOf(name, await rath.pending(name)).filter(({ answered }) => !answered);
  shell.tell({ session: name, answer: given.id, said: given.said, by, left: left.length });
  const guessed = textOption(input, "by") === undefined ? shell.dim("  (say otherwise: --by user:ada)") : "";
  shell.say(`${given.said} ${shell.bold(plain(name))} as ${shell.bold(oneLine(by))}${guessed}`);
  shell.hint(left.length > 0 ? `rath pending ${word}   # ${left.length} more` : `rath resume ${word}`);
  return 0;
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
      `put it in quotes: --${name} '{"amount":100}'; a text: --${name} '"…"'`,
    );
  }
}

function whoOf(shell: Shell, by: string | undefined): Principal {
  if (by === undefined) return shell.person;
  if (isPrincipal(by)) return by;
  throw new UsageError(`${JSON.stringify(by)} is nobody who could answer.`, "say who: --by user:ada");
}

/** An empty id would be the beginning of any. */
function idOf(id: string | undefined): string | undefined {
  if (id === undefined || /^[0-9a-f]{4,64}$/.test(id)) return id;
  throw new UsageError(
    `${JSON.stringify(id)} is not the beginning of an id.`,
    "at least four of its characters, as `rath pending` shows them",
  );
}

/** The whole digest that a person named by its beginning; what fits nothing is left as it is, to be refused. */
function digestOf(digest: string | undefined, awaited: readonly Awaited[]): string | undefined {
  if (digest === undefined) return undefined;
  if (!/^[0-9a-f]{8,64}$/.test(digest))
    throw new UsageError(
      `${JSON.stringify(digest)} is not the beginning of a digest.`,
      "at least eight of its characters, as `rath pending` shows them",
    );
  return awaited.find((one) => one.digest?.startsWith(digest))?.digest ?? digest;
}

/** The same error with what to type instead of what to program. */
function toTyped(error: AnswerError, reference: string): RathError {
  const [message = ""] = error.message.split("\n  hint: ");
  const hint = /rath\.\w+\(/.test(error.hint)
    ? `see what is awaited: rath pending ${quoted(reference)}`
    : error.hint;
  return new RathError(error.code, message, { hint, data: error.data, cause: error });
}
