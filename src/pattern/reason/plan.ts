import { answerOf, stopAt, stopOf } from "../../agent/index.js";
import type { Module } from "../../runtime/index.js";
import type { Json, Session, View } from "../../session/index.js";
import { defined, showValue } from "../../util/index.js";
import { called, defineModule, enter, joined, type Rebuilds, requireCount } from "../../workflow/index.js";
import { elsewhere, withDefaults } from "../options.js";
import { AnswerFormError, PlanFailedError } from "./error.js";
import { attempt, shortfall } from "./found.js";

/** A step of a plan, what became of it, and where. */
export type PlanStep = {
  readonly task: string;
  readonly state: "open" | "done" | "failed" | "dropped";
  /** The branch that it was done on. */
  readonly branch?: string;
  /** Why it failed. */
  readonly why?: string;
};

/** A plan as it stands: how often it was made anew, and its steps, those of earlier versions that are over among them. */
export type Plan = { readonly version: number; readonly steps: readonly PlanStep[] };

export type PlanExecuteOptions = {
  readonly name: string;
  /** Makes the plan: an agent with `output: PLAN`, or a module whose output is `{ steps: […] }`. */
  readonly planner: Module;
  /** Does one step. It fails where it throws, leaves a `validation-report` that did not pass, or ends at its limit. */
  readonly executor: Module;
  /** How often another plan may be made for what is left, after a step failed. Default 2. */
  readonly replans?: number;
  /** Maximum number of steps of a plan. Default 20. */
  readonly maxSteps?: number;
};

/** The output of an agent that plans. */
export const PLAN = Object.freeze({
  type: "object",
  properties: {
    steps: {
      type: "array",
      items: { type: "string", minLength: 1 },
      minItems: 1,
      description: "What to do, in order: one task each, which can be done by itself.",
    },
  },
  required: ["steps"],
  additionalProperties: false,
} as const);

/**
 * A plan, then its steps one by one, each on its own branch. After a failed step the planner plans the rest
 * anew. Each plan is recorded, and `planOf` reads it.
 *
 * ```ts
 * const planner = agent({ name: "planner", model, output: PLAN });
 * const build = planExecute({ name: "build", planner, executor: coder, replans: 2 });
 * ```
 */
export function planExecute(options: PlanExecuteOptions): Module & Rebuilds {
  const { name, planner, executor } = options ?? {};
  return defineModule(
    {
      kind: "planExecute",
      name,
      example: 'planExecute({ name: "build", planner: agent({ …, output: PLAN }), executor })',
      parts: { planner, executor },
      options: withDefaults(options, { replans: 2, maxSteps: 20 }),
      checks: {
        ...elsewhere("name", "planner", "executor"),
        replans: (replans, option, refuse) => requireCount(replans, option, refuse, 0),
        maxSteps: requireCount,
      },
      learnable: ["replans", "maxSteps"],
    },
    async (entered, made) => {
      const given = { ...made.options, ...(made.parts as Pick<PlanExecuteOptions, "planner" | "executor">) };
      const { name, executor, replans } = given;
      let session = await planned(entered, given, { version: 0, steps: [] });
      for (;;) {
        const plan = planOf(session, name);
        // A planner that ended at a limit has planned nothing, and the record says so.
        if (plan === undefined || stopOf(session) !== undefined) return session;
        const place = plan.steps.findIndex(({ state }) => state === "open");
        const open = plan.steps[place];
        if (open === undefined) return session;
        const branch = `step ${place + 1}`;
        const fork = session
          .fork(branch, { why: `${name}: ${open.task}`, by: "runtime" })
          .say(`Now do step ${place + 1} of the plan, and nothing else: ${open.task}`, { by: "runtime" });
        const { session: done, failure } = await attempt(executor, fork);
        const why = failure === undefined ? shortfall(done, fork) : failure.message;
        const state = why === undefined ? "done" : "failed";
        const steps = plan.steps.with(place, { task: open.task, state, branch, ...defined({ why }) });
        if (why === undefined) {
          session = noted(done, name, { ...plan, steps });
          continue;
        }
        // The work on the way to a failure stays on its branch: the next plan begins where this step did.
        const back = joined([session, done], { adopt: "ours", why: `${name}: ${branch} failed` });
        const told = noted(back, name, { ...plan, steps });
        if (plan.version > replans) {
          const stopped = stopAt(told, "plans", replans + 1, plan.version);
          throw new PlanFailedError(name, stopped, open.task, why, replans);
        }
        const asked = told.say(
          `Step ${place + 1} of the plan (${open.task}) failed: ${why}\nMake another plan for what is left to do.`,
          // The failure may quote anybody, and the branch that knows the author is not adopted.
          { by: `agent:${executor.name}` },
        );
        session = await planned(asked, given, {
          version: plan.version,
          steps: steps.map((one) => (one.state === "open" ? { ...one, state: "dropped" } : one)),
        });
      }
    },
  );
}

/** The plan of a session as it stands: of this name, else the newest. */
export function planOf(session: Session, name?: string): Plan | undefined {
  const plans = session.view(plansView);
  return name === undefined ? Object.values(plans).at(-1) : plans[name];
}

const plansView: View<{ readonly [name: string]: Plan }> = {
  start: Object.freeze({}),
  step(plans, fact) {
    if (fact.type !== "note" || fact.kind !== "plan") return plans;
    const { [fact.plan as string]: _, ...others } = plans;
    const plan = { version: fact.version as number, steps: fact.steps as readonly PlanStep[] };
    return Object.freeze({ ...others, [fact.plan as string]: plan });
  },
};

/** Asks for a plan, checks it, and notes it behind what is over of the one before. */
async function planned(
  session: Session,
  given: Required<PlanExecuteOptions>,
  before: Plan,
): Promise<Session> {
  const { name, planner, maxSteps } = given;
  const answered = await enter(planner, session);
  if (stopOf(answered) !== undefined) return answered;
  const answer = answerOf(planner, answered, session);
  const { steps: tasks } = (answer ?? {}) as { readonly steps?: Json };
  const isPlan =
    Array.isArray(tasks) &&
    tasks.length > 0 &&
    tasks.length <= maxSteps &&
    tasks.every((task) => typeof task === "string" && task.trim() !== "");
  if (!isPlan)
    throw new AnswerFormError(
      called("planExecute", name),
      answered,
      planner.name,
      Array.isArray(tasks) ? `a plan of ${tasks.length} steps` : showValue(answer),
      `a plan of 1 to ${maxSteps} tasks`,
      `plan with an agent whose output is a plan: agent({ name: ${JSON.stringify(planner.name)}, model, output: PLAN })`,
    );
  const steps = (tasks as readonly string[]).map((task): PlanStep => ({ task, state: "open" }));
  return noted(answered, name, { version: before.version + 1, steps: [...before.steps, ...steps] });
}

function noted(session: Session, plan: string, { version, steps }: Plan): Session {
  return session.append({ type: "note", kind: "plan", plan, version, steps: steps as Json, by: "runtime" });
}
