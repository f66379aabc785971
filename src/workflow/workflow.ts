import { type Budget, forward, type Module } from "../runtime/index.js";
import type { Session } from "../session/index.js";
import { called, refusing, requireBudget, requireFunction, requireName, requireOptions } from "./options.js";
import { type Parts, partsOf, type Usable } from "./part.js";
import { type Rebuilds, rebuild } from "./state.js";

export type WorkflowOptions = {
  /** What all of it may spend. */
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
  if (typeof first === "function") return made(name, {}, first, second as WorkflowOptions | undefined);
  requireFunction(second, "body", refusing(called("workflow", name)), BODY);
  return made(name, first as Parts, second as (session: Session, parts: Parts) => Promise<Session>, third);
}

/** The parts of a body. It calls them itself, so steps may be among them that cannot do without an input. */
type OwnParts = { readonly [name: string]: Usable };

const BODY = "workflow(name, parts, async (session, parts) => …), or without parts";

function made(
  name: string,
  given: Parts,
  body: (session: Session, parts: Parts) => Promise<Session>,
  options: WorkflowOptions = {},
): Module & Rebuilds {
  const parts = checkedParts(name, given, options);
  const module: Module & Rebuilds = {
    name,
    kind: "workflow",
    parts,
    ...(options.budget !== undefined && { state: { budget: options.budget } }),
    forward: (session) => forward(module, session, (entered) => body(entered, parts), options),
    [rebuild]: ({ budget }, newParts) =>
      made(name, newParts, body, budget === undefined ? options : { ...options, budget: budget as Budget }),
  };
  return Object.freeze(module);
}

function checkedParts(name: string, given: Parts, options: WorkflowOptions): Parts {
  requireName(name, "workflow", 'workflow("review", parts, async (session, parts) => …)');
  const where = called("workflow", name);
  requireOptions(options, refusing(where), "leave the options out, or pass { budget: { steps: 20 } }", {
    budget: true,
  });
  requireBudget(options.budget, refusing(where));
  return partsOf(given, where);
}

/**
 * A workflow as a class, for people who prefer one.
 *
 * ```ts
 * class Review extends Workflow<{ coder: Module; critic: Module }> {
 *   constructor() { super("review", { coder, critic }); }
 *   protected async body(session: Session) {
 *     return this.parts.critic.forward(await this.parts.coder.forward(session));
 *   }
 * }
 * ```
 *
 * `withState` cannot make another one of a class it does not know: implement `[rebuild](state, parts)` to take part.
 */
export abstract class Workflow<Own extends OwnParts = Parts> implements Module {
  readonly kind: string = "workflow";
  readonly name: string;
  readonly parts: Own & Parts;
  readonly #options: WorkflowOptions;

  constructor(name: string, parts: Own = {} as Own, options: WorkflowOptions = {}) {
    this.name = name;
    this.parts = checkedParts(name, parts as OwnParts as Parts, options) as Own & Parts;
    this.#options = options;
  }

  forward(session: Session): Promise<Session> {
    return forward(this, session, (entered) => this.body(entered), this.#options);
  }

  protected abstract body(session: Session): Promise<Session>;
}
