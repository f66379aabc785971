import type { Retry } from "../runtime/index.js";
import { isRetryable } from "../runtime/index.js";
import type { Effect, FactId, Failure, Session } from "../session/index.js";

/** A step that failed for good: what it was told to do about it, and what it came to. */
export type Failed = {
  readonly name: string;
  readonly effect: Effect;
  readonly retry: Retry | undefined;
  /** Whether it takes an input and was given none. */
  readonly unfed: boolean;
  readonly failure: Failure;
  /** The session that ends with the failure. */
  readonly ended: Session;
};

const GO_ON = "catch StepError to go on from error.session";
const WHEN = "retry: { attempts: 3, when: (error) => … }";

/** The next thing to type after a step has failed. Patience is advised where it may help, and never to repeat an action. */
export function adviceFor({ name, effect, retry, unfed, failure, ended }: Failed): string {
  const { code } = failure;
  if (isDone(failure)) {
    const { hint } = failure.data as { readonly hint?: string };
    const kept =
      effect === "pure" || effect === "read" ? "" : "it is done: do not do it again for its value. ";
    return `${kept}Let it return plain data (${hint}); ${GO_ON}`;
  }
  if (code === "rejected" || code === "approval-mismatch" || code === "approval-expired")
    return `nobody agreed to it; ${GO_ON}`;
  if (unfed && failure.name === "TypeError")
    return `it was given no input: await ${name}.call(session, input), in a workflow`;
  const allowed = retry === undefined ? 1 : (retry.attempts ?? 3);
  const made = attemptsIn(ended);
  if (allowed > 1 && made >= allowed) return `it failed ${made} times; ${GO_ON}, or allow more attempts`;
  if (allowed > 1 && retry?.when !== undefined)
    return `not tried again: the \`when\` of its retry said no; ${GO_ON}`;
  if (allowed > 1)
    return `not tried again: it does not look like a failure that passes; decide it yourself: ${WHEN}`;
  if (effect === "write")
    return `${GO_ON}. A write is tried again only where you know that it did not happen: ${WHEN}; reconcile: finds out after a crash`;
  return `${GO_ON}, or give the step a ${isRetryable(failure, {}) ? "retry: { attempts: 3 }" : WHEN}`;
}

/** Whether it was done, and only what came of it is lost. */
export function isDone({ data }: Failure): boolean {
  return (data as { readonly done?: unknown } | undefined)?.done === true;
}

/** How many attempts the record has of the request that a session ends with. */
function attemptsIn(ended: Session): number {
  const { of } = ended.fact as { readonly of?: FactId };
  for (let node: Session | undefined = ended; node !== undefined && node.id !== of; node = node.parents[0]) {
    const { fact } = node;
    if (fact.type === "effect-start" && fact.of === of) return fact.attempt;
    if (fact.type === "effect-fail" && fact.of === of) return fact.attempt + 1;
  }
  return 1;
}
