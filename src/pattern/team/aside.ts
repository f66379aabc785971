import { type Outcome, perform } from "../../runtime/index.js";
import type { FactOf, Failure, Json, Principal, Session } from "../../session/index.js";
import { StepError } from "../../workflow/index.js";

/** Work that is done beside a conversation. */
export type Aside = {
  /** What it is called on the record, and the name of its branch. */
  readonly name: string;
  readonly input?: Json;
  /** Who did it. */
  readonly by: Principal;
  readonly work: (fork: Session) => Promise<Session>;
  /** What came of it, from where the work began and where it ended. */
  readonly value: (end: Session, fork: Session) => Json;
};

/** What came of it, the conversation with that, and where the branch ended. */
export type Apart = { readonly session: Session; readonly value: Json; readonly end: Session };

/**
 * Works on a branch, and comes back as the value of a step: the conversation goes on without the words of the branch, with
 * its files, and the step's outcome has the end of the branch as a parent. Throws a `StepError` when the work fails.
 */
export async function aside(session: Session, { name, input, by, work, value }: Aside): Promise<Apart> {
  let began: Session | undefined;
  const ended = await perform(session, {
    fact: { type: "step-call", name, ...(input !== undefined && { input }), effect: "read" },
    effect: "read",
    act: async () => {
      throw new Error("it runs inside");
    },
    failed: (error): Outcome => ({ type: "step-failure", error, by }),
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
  if (fact.type === "step-result")
    return { session: ended, value: (fact as FactOf<"step-result">).value, end: ended.parents[1] as Session };
  throw new StepError(name, ended, (fact as { readonly error?: Failure }).error as Failure);
}
