import type { Principal } from "../../session/index.js";
import {
  type Fact,
  type FactId,
  type FactOf,
  type Json,
  mayAgree,
  type Settlement,
} from "../../session/index.js";
import { AnswerError } from "../error.js";
import type { AnswerFact } from "./answer.js";
import { jsonValidator } from "./json-schema.js";

const SETTLEMENTS: { readonly [decision in Settlement]: string } = {
  done: "it happened",
  failed: "it did not happen, and must not",
  again: "do it again",
};

/** For callers the compiler did not check: an answer says who gives it, and what became of what was in doubt. */
export function requireAnswer({ type, by, ...answer }: AnswerFact, nameOrId: string): void {
  const name = JSON.stringify(nameOrId);
  const { decision } = answer as { readonly decision?: string };
  const unsettled = type === "effect-settle" && !Object.hasOwn(SETTLEMENTS, String(decision));
  if (typeof by === "string" && (by as string) !== "" && !unsettled) return;
  const words = Object.entries(SETTLEMENTS).map(([word, meaning]) => `"${word}" (${meaning})`);
  const hints = {
    "effect-settle": `rath.settle(${name}, { by: "user:ada", decision: "done", value }); a decision is ${words.join(", ")}`,
    "approval-give": `say who: rath.${decision === "reject" ? "reject" : "approve"}(${name}, { by: "user:ada" })`,
    "signal-give": `say who, after what they say: rath.answer(${name}, id, value, "user:ada")`,
  };
  const reason = unsettled ? "it does not say what became of it" : "it does not say who answers";
  throw new AnswerError(reason, hints[type], { type });
}

/** Refuses an answer to an approval that its sender may not give, or not any longer, or not in this way. */
export async function requireApprover(
  asking: FactOf<"approval-ask">,
  /** The call that the approval is for. */
  call: Fact | undefined,
  { by, decision, edit, value }: AnswerFact & { readonly type: "approval-give" },
  { now, name, id }: { readonly now: number; readonly name: string; readonly id: FactId },
): Promise<void> {
  const { to, expires, of, fixed, answer } = asking;
  if (to !== undefined && !to.includes(by)) throw notTheirs(by, to);
  const isLate = expires !== undefined && Date.parse(expires) <= now;
  const agrees = decision !== "reject";
  const faults: readonly (readonly [isFault: boolean, reason: string, hint: string, data?: object])[] = [
    [
      isLate,
      `the deadline for an answer was ${expires}`,
      "resume the run: it goes on without, or asks others",
      { expires },
    ],
    [
      agrees && call?.by === by,
      `${by} wants to do it, and cannot agree to it`,
      'somebody else must: say who, by: "user:ada"',
      { by },
    ],
    [
      // Anybody may say no, and a question is not an approval.
      agrees && answer === undefined && !mayAgree(asking, by),
      `${by} is not a person, and the terms of the approval do not name it`,
      `approve as a person: by: "user:ada"; or name it in the terms: approval: { from: ${JSON.stringify(by)} }`,
      { by },
    ],
    [
      edit !== undefined && fixed === true,
      "its arguments cannot be changed",
      "approve it as it is, reject it, or take it over",
      { of: of ?? id },
    ],
    [
      decision === "take-over" && call === undefined,
      "this is a question of a program, and nothing to take over",
      "approve it, or reject it",
    ],
  ];
  for (const [isFault, reason, hint, data] of faults)
    if (isFault) throw new AnswerError(reason, hint, data as { [key: string]: Json });
  if (answer === undefined || !agrees) return;
  const problem = decision === "take-over" ? await misfitOf(answer, value ?? null) : "";
  if (problem === undefined) return;
  const { enum: choices } = answer as { readonly enum?: readonly Json[] };
  const words = choices === undefined ? '"…"' : choices.map((one) => JSON.stringify(one)).join(" | ");
  throw new AnswerError(
    decision === "approve"
      ? "a question cannot be agreed to"
      : `${JSON.stringify(value)} does not answer the question: ${problem}`,
    `rath.answer(${JSON.stringify(name)}, "${id.slice(0, 12)}", ${words}, "user:ada")`,
    { answer },
  );
}

/** The reason why a value does not fit a JSON Schema, if it does not. */
async function misfitOf(schema: Json, value: Json): Promise<string | undefined> {
  const { valid, errors } = (await jsonValidator(Object(schema))).validate(value);
  if (valid) return undefined;
  const { instanceLocation = "#", error = "it does not fit" } = errors.at(-1) ?? {};
  return instanceLocation === "#" ? error : `${instanceLocation}: ${error}`;
}

export function notTheirs(by: unknown, to: readonly Principal[]): AnswerError {
  const hint = `it is for ${to.join(" or ")}`;
  return new AnswerError(`it is not for ${String(by)} to say`, hint, { to: [...to] });
}
