import type { Module } from "../../runtime/index.js";
import type { Json, Session } from "../../session/index.js";
import { showValue } from "../../util/index.js";
import { called, enter, isModule, step } from "../../workflow/index.js";
import { AnswerFormError } from "./error.js";
import { answerOf, reportsSince } from "./found.js";

/** How good a text is: the higher the better. A module says it with the `score` of a `validation-report`. */
export type Score = ((text: string, session: Session) => number | Promise<number>) | Module;

/** Says a text on a branch and measures it there. */
export async function measure(
  name: string,
  score: Score,
  text: string,
  forked: Session,
): Promise<{ readonly session: Session; readonly score: number }> {
  const said = forked.say(text, { role: "assistant", by: `agent:${name}` });
  if (!isModule(score)) {
    const measured = await step(`score of ${name}`, async () => numberOf(await score(text, said)), {
      effect: "read",
      origin: "input",
    }).call(said);
    return { session: measured.session, score: measured.value };
  }
  const session = await enter(score, said);
  const found = reportsSince(session, said).findLast(({ fact }) => fact.score !== undefined)?.fact.score;
  const { score: own } = (answerOf(score, session, said) ?? {}) as { readonly score?: Json };
  const value = found ?? own;
  if (typeof value === "number") return { session, score: value };
  throw new AnswerFormError(
    called("inlineTools", name),
    session,
    score.name,
    showValue(value),
    "a number",
    'leave it on the record: append({ type: "validation-report", name, passed, score }), or give { score }',
  );
}

function numberOf(score: unknown): number {
  if (typeof score === "number" && Number.isFinite(score)) return score;
  throw new Error(`the score is ${showValue(score)}, not a number`);
}
