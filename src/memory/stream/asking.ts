import { textOf, transcriptFor } from "../../agent/model/index.js";
import type { Module } from "../../runtime/index.js";
import type { Json, Principal, Session } from "../../session/index.js";
import { parseJson } from "../../util/index.js";
import { enter, isModule, type StepResult, step, workBeside } from "../../workflow/index.js";

/** Somebody who can be asked: a module, such as an agent, or a function of your own, which is called through the door. */
export type Somebody<Input> = Module | ((input: Input) => unknown);

type Question<Input> = {
  /** What the asking is called on the record. */
  readonly name: string;
  readonly whom: Somebody<Input>;
  /** What a function is given. */
  readonly input: Input;
  /** What a module is told. */
  readonly words: string;
};

/**
 * Asks somebody beside the conversation: a module works on a branch, whose words are evidence and no part of what is said
 * here. Throws a `StepError` when there is no answer to be had.
 */
export async function ask<Input>(
  session: Session,
  { name, whom, input, words }: Question<Input>,
): Promise<StepResult<Json>> {
  if (!isModule(whom))
    return step(name, async (given: Json) => (await whom(given as Input)) as Json, {
      effect: "read",
      origin: "input",
    }).call(session, input as Json);
  const { session: ended, value } = await workBeside(session, {
    name,
    input: { asks: whom.name },
    by: askedOf(whom),
    work: (fork) => enter(whom, fork.say(words, { by: "runtime" })),
    value: (end, fork) => answerOf(whom, end, fork) ?? null,
  });
  return { session: ended, value };
}

/** Whose words an answer is. */
export function askedOf(whom: Somebody<never>): Principal {
  return isModule(whom) ? `agent:${whom.name}` : "agent";
}

/**
 * What a module answered since a session: its output if it has one, else what it said last. Where a limit ended its work
 * there is no answer.
 */
export function answerOf(module: Module, session: Session, since: Session): Json | undefined {
  if (endOf(session).type === "budget-stop") return undefined;
  const { output } = module as { readonly output?: (session: Session) => Json | undefined };
  const structured = typeof output === "function" ? output(session) : undefined;
  if (structured !== undefined) return structured;
  const said = transcriptFor({ since: since.id }, session).findLast(
    (message) => message.role === "assistant" && textOf(message.content) !== "",
  );
  return said?.role === "assistant" ? textOf(said.content) : undefined;
}

/** The last fact of what a module did, before it was left. */
export function endOf(session: Session): Session["fact"] {
  let end = session;
  while (end.fact.type === "module-exit" && end.soleParent !== undefined) end = end.soleParent;
  return end.fact;
}

/** The JSON in an answer: itself, or what stands in a text of it, also between fences. */
export function jsonIn(answer: Json): Json | undefined {
  if (typeof answer !== "string") return answer;
  const text = /```(?:json)?\s*\n([\s\S]*?)\n\s*```/.exec(answer)?.[1] ?? answer;
  return parseJson(text) as Json | undefined;
}
