import type { Budget, Module } from "../runtime/index.js";
import type { Session } from "../session/index.js";
import { type Checks, defineModule, type Parts, type Usable } from "./define.js";
import { requireBudget, requireFunction } from "./options.js";
import type { Rebuilds } from "./state.js";

export type WorkflowOptions = {
  /** The limits of the whole workflow. */
  readonly budget?: Budget;
};

/**
 * Plain TypeScript that turns one session into another by awaiting its parts.
 *
 * ```ts
 * const review = workflow("review", { coder, critic }, async (session, { coder, critic }) => {
 *   const draft = await coder.forward(session);
 *   return critic.forward(draft);
 * });
 * ```
 *
 * A body awaits only modules, steps and waits: what else it awaits is not recorded, and not there at a replay.
 */
export function workflow<Own extends OwnParts>(
  name: string,
  parts: Own,
  body: (session: Session, parts: Own) => Promise<Session>,
  options?: WorkflowOptions,
): Module & Rebuilds;
export function workflow(
  name: string,
  body: (session: Session) => Promise<Session>,
  options?: WorkflowOptions,
): Module & Rebuilds;
export function workflow(
  name: string,
  first: OwnParts | ((session: Session) => Promise<Session>),
  second?: WorkflowOptions | ((session: Session, parts: never) => Promise<Session>),
  third?: WorkflowOptions,
): Module & Rebuilds {
  const [parts, body, options = {}] =
    typeof first === "function"
      ? [{}, first, second as WorkflowOptions | undefined]
      : [first as Parts, second as (session: Session, parts: Parts) => Promise<Session>, third];
  return defineModule(
    {
      kind: "workflow",
      name,
      example: EXAMPLE,
      parts,
      options,
      checks: WORKFLOW_OPTIONS,
      learnable: ["budget"],
      limits: (limits) => limits,
      check: ({ refuse }) => requireFunction(body, "body", refuse, EXAMPLE),
    },
    (session, given) => body(session, given.parts),
  );
}

/** The parts of a body. It calls them itself, so steps may be among them that cannot do without an input. */
type OwnParts = { readonly [name: string]: Usable };

const EXAMPLE = 'workflow("review", parts, async (session, parts) => …, { budget: { steps: 20 } })';
/** The options of workflows, as functions and as classes. */
export const WORKFLOW_OPTIONS: Checks<WorkflowOptions> = {
  budget: (budget, _, refuse) => requireBudget(budget, refuse),
};
