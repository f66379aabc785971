import { type Outcome, perform } from "../runtime/index.js";
import type { Json, Principal, Session } from "../session/index.js";
import { defined } from "../util/index.js";
import { StepError } from "./error.js";

/** Work that is done beside a conversation. */
export type Beside = {
  /** The name of the step on the record, and of its branch. */
  readonly name: string;
  readonly input?: Json;
  /** The principal that did the work. */
  readonly by: Principal;
  readonly work: (fork: Session) => Promise<Session>;
  /** The value of the step, from where the work began and where it ended. */
  readonly value: (end: Session, fork: Session) => Json;
};

/** The conversation after the work, the value of the work, and the end of its branch. */
export type BesideResult = { readonly session: Session; readonly value: Json; readonly end: Session };

/**
 * Works on a branch, and comes back as the value of a step: the conversation goes on without the words of the branch, with
 * its files, and the step's outcome has the end of the branch as a parent. Throws a `StepError` when the work fails.
 */
export async function workBeside(
  session: Session,
  { name, input, by, work, value }: Beside,
): Promise<BesideResult> {
  let began: Session | undefined;
  const ended = await perform(session, {
    fact: { type: "step-call", name, ...defined({ input }), effect: "read" },
    effect: "read",
    act: async () => {
      throw new Error("it runs inside");
    },
    failed: (error): Outcome<"step-call"> => ({ type: "step-failure", error, by }),
    inside: {
      branch: name,
      body: (fork) => {
        began = fork;
        return work(fork);
      },
      outcome: (end) => ({
        type: "step-result",
        value: value(end, began as Session),
        origin: "input",
        by,
      }),
    },
  });
  const { fact } = ended;
  if (fact.type === "step-failure") throw new StepError(name, ended, fact.error);
  return { session: ended, value: fact.value, end: ended.parents[1] as Session };
}
