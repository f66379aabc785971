import { type Agent, agent, type StepInfo } from "../../agent/index.js";
import type { LanguageModel } from "../../agent/model/index.js";
import { type Budget, forward, type Module } from "../../runtime/index.js";
import type { Session } from "../../session/index.js";
import { showValue } from "../../util/index.js";
import {
  called,
  type Known,
  type Parts,
  partsOf,
  type Rebuilds,
  rebuild,
  refusing,
  requireName,
  requireOptions,
} from "../../workflow/index.js";
import { FORWARD, forwarded, forwardTool } from "./forward-message.js";
import { type HandoffOutput, handoffTo } from "./handoff.js";

export type SupervisorOptions = {
  /** Who it is: on the record as `agent:<name>`. */
  readonly name: string;
  /** What it is good for: read by models that may call it. */
  readonly description?: string;
  readonly model: LanguageModel | readonly [LanguageModel, ...LanguageModel[]];
  /** What the supervisor is told beside that it leads a team. */
  readonly instructions?: string;
  /** Who does the work: agents, workflows, other supervisors. */
  readonly workers: readonly Module[] | Parts;
  /** What the supervisor gets to see of a worker: its last message (the default), or all that it did. */
  readonly output?: HandoffOutput;
  /** Whether it can pass an answer on word for word. Default true. */
  readonly forward?: boolean;
  /** What it may spend, with all its workers. */
  readonly budget?: Budget;
  /** Replies of the supervisor at most. Default 50. */
  readonly maxSteps?: number;
};

/**
 * A model that hands work to others, by a tool for each, and goes on when they hand it back. Each handoff works on a branch
 * of its own, where only its own call is to be seen, several side by side. With the tool `forward_message` the answer of a
 * worker becomes the supervisor's, word for word.
 *
 * ```ts
 * const desk = supervisor({ name: "desk", model, workers: [math, research], output: "last" });
 * ```
 */
export function supervisor(options: SupervisorOptions): Module & Rebuilds {
  const { name } = (options ?? {}) as SupervisorOptions;
  requireName(name, "supervisor", EXAMPLE);
  const where = called("supervisor", name);
  const refuse = refusing(where);
  requireOptions(options, refuse, EXAMPLE, OPTIONS);
  const { description, output = "last", forward: passes = true } = options;
  if (output !== "full" && output !== "last")
    throw refuse(`its output is ${showValue(output)}`, 'output: "last", or "full"');
  if (typeof passes !== "boolean")
    throw refuse(`its forward is ${showValue(passes)}`, "forward: true, or false");
  const workers = partsOf(options.workers, where);
  if (Object.keys(workers).length === 0) throw refuse("it has no workers", EXAMPLE);
  return made(name, description, leadOf(options, workers, output, passes), { output, forward: passes });
}

const EXAMPLE = 'supervisor({ name: "desk", model, workers: [math, research] })';
const OPTIONS: Known<SupervisorOptions> = {
  name: true,
  description: true,
  model: true,
  instructions: true,
  workers: true,
  output: true,
  forward: true,
  budget: true,
  maxSteps: true,
};

function made(
  name: string,
  description: string | undefined,
  lead: Module,
  state: { readonly output: HandoffOutput; readonly forward: boolean },
): Module & Rebuilds {
  const module: Module & Rebuilds = {
    name,
    kind: "supervisor",
    ...(description !== undefined && { description }),
    parts: Object.freeze({ lead }),
    state: Object.freeze(state),
    forward: (session) =>
      forward(module, session, async (entered) => {
        const ended = await lead.forward(entered);
        const passed = forwarded(ended);
        return passed === undefined
          ? ended
          : ended.say(passed.text, { role: "assistant", by: `agent:${passed.from}` });
      }),
    [rebuild]: (next, parts) => {
      if (next.output !== state.output || next.forward !== state.forward)
        throw refusing(called("supervisor", name))(
          "what its tools give is code, not a value",
          "make another supervisor with another output",
        );
      return made(name, description, parts.lead as Module, state);
    },
  };
  return Object.freeze(module);
}

/** The agent that leads. */
function leadOf(
  { name, model, instructions, budget, maxSteps }: SupervisorOptions,
  workers: Parts,
  output: HandoffOutput,
  passes: boolean,
): Agent<undefined> {
  const names = Object.keys(workers);
  const tools = names.map((worker) => handoffTo(name, worker, workers[worker] as Module, names, output));
  return agent({
    name,
    model,
    instructions: instructions === undefined ? LEAD : `${LEAD}\n${instructions}`,
    tools: passes ? [...tools, forwardTool(names)] : tools,
    // A call that failed passed on nothing: the model reads why, and goes on.
    stop: (session: Session, { calls }: StepInfo) =>
      calls.includes(FORWARD) && forwarded(session) !== undefined,
    ...(budget !== undefined && { budget }),
    ...(maxSteps !== undefined && { maxSteps }),
  });
}

const LEAD =
  "You lead a team. Hand each piece of work to whom it suits, with everything that is needed to do it; hand over several at once when none needs the others. Answer when the work is done.";
