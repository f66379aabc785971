import type { Store } from "../../store/index.js";
import { defined, nearestOf } from "../../util/index.js";
import type { Answer } from "./answer.js";
import { whoApproved } from "./approval.js";
import { whatHappened } from "./between.js";
import { whichBranch } from "./branch.js";
import { AuditError } from "./error.js";
import { whichCall } from "./file.js";
import { ifFalse } from "./if-false.js";
import { whichMemory } from "./memory.js";
import { whatDid } from "./principal.js";
import { whatModelSaw } from "./saw.js";
import { whatStep } from "./step.js";

/** The details of a question; each question reads those that it knows. */
export type QuestionOptions = {
  readonly message?: string;
  readonly step?: string;
  readonly path?: string;
  readonly line?: number;
  readonly from?: string;
  readonly to?: string;
  readonly all?: boolean;
  readonly principal?: string;
  readonly memory?: string;
  readonly limit?: number;
  /** How many facts of a session are held in memory at most. */
  readonly horizon?: number;
  /** Called with the number of facts that the index of memories has taken in, where that has to be made first. */
  readonly progress?: (facts: number) => void;
};

type Ask = (store: Store, session: string, options: QuestionOptions) => Promise<Answer>;

/** The questions that a record answers, by name. The command, the server and the library ask the same. */
const QUESTIONS = {
  branch: (store, session, { message, horizon }) =>
    whichBranch(store, session, defined({ message, horizon })),
  step: (store, session, { step = "" }) => whatStep(store, session, step),
  memory: (store, session, { step = "", progress }) =>
    whichMemory(store, session, step, defined({ progress })),
  saw: (store, session, { step = "", horizon }) => whatModelSaw(store, session, step, defined({ horizon })),
  file: (store, session, { path = "", line, limit }) =>
    whichCall(store, session, path, defined({ line, limit })),
  approvals: (store, session, { limit }) => whoApproved(store, session, defined({ limit })),
  between: (store, session, { from, to, all, limit }) =>
    whatHappened(store, session, defined({ from, to, all, limit })),
  by: (store, session, { principal = "", limit }) =>
    whatDid(store, principal, { ...defined({ limit }), ...(session !== "" && { names: [session] }) }),
  ifFalse: (store, _session, { memory = "", limit, progress }) =>
    ifFalse(store, memory, defined({ limit, progress })),
} as const satisfies { readonly [question: string]: Ask };

export type Question = keyof typeof QUESTIONS;
export const questions = Object.keys(QUESTIONS) as readonly Question[];

/** Asks a question by its name. "by" and "ifFalse" need no session: then it is "". */
export async function ask(
  store: Store,
  question: string,
  session: string,
  options: QuestionOptions = {},
): Promise<Answer> {
  if (Object.hasOwn(QUESTIONS, question)) return QUESTIONS[question as Question](store, session, options);
  const name = String(question).slice(0, 80);
  const near = nearestOf(name, questions);
  throw new AuditError(
    "question-refused",
    `There is no question ${JSON.stringify(name)}.`,
    near === undefined ? `the questions are ${questions.join(", ")}` : `did you mean ${near}?`,
    { question: name },
  );
}
