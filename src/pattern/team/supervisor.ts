import { type Agent, agent, type StepInfo } from "../../agent/index.js";
import type { LanguageModel } from "../../agent/model/index.js";
import type { Budget, Module } from "../../runtime/index.js";
import type { Session } from "../../session/index.js";
import { defined, showValue } from "../../util/index.js";
import {
  anything,
  called,
  defineModule,
  type Parts,
  partsOf,
  type Rebuilds,
  refusing,
} from "../../workflow/index.js";
import { withDefaults } from "../options.js";
import { FORWARD, forwarded, forwardTool } from "./forward-message.js";
import { type HandoffOutput, handoffTo } from "./handoff.js";

export type SupervisorOptions = {
  /** The name of the supervisor; the record has it as `agent:<name>`. */
  readonly name: string;
  /** What the supervisor is good for. Models that may call it read this. */
  readonly description?: string;
  readonly model: LanguageModel | readonly [LanguageModel, ...LanguageModel[]];
  /** Added to the system prompt of the supervisor. */
  readonly instructions?: string;
  /** Agents, workflows or other supervisors that do the work. */
  readonly workers: readonly Module[] | Parts;
  /** What the supervisor sees of the work of a worker: the last message (the default), or everything. */
  readonly output?: HandoffOutput;
  /** Whether the supervisor can forward an answer word for word. Default true. */
  readonly forward?: boolean;
  /** Limits for the supervisor and its workers. */
  readonly budget?: Budget;
  /** Maximum number of model replies of the supervisor. Default 50. */
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
  const { name, description, output = "last", forward: passes = true } = options ?? {};
  const where = called("supervisor", name);
  const workers = partsOf(options?.workers, where);
  if (Object.keys(workers).length === 0) throw refusing(where)("it has no workers", EXAMPLE);
  return defineModule(
    {
      kind: "supervisor",
      name,
      example: EXAMPLE,
      parts: { lead: leadOf(options, workers, output, passes) },
      options: withDefaults(options, { output, forward: passes }),
      checks: {
        name: anything,
        description: anything,
        model: anything,
        instructions: anything,
        workers: anything,
        output(value, _, refuse) {
          if (value !== "full" && value !== "last")
            throw refuse(`its output is ${showValue(value)}`, 'output: "last", or "full"');
        },
        forward(value, _, refuse) {
          if (typeof value !== "boolean")
            throw refuse(`its forward is ${showValue(value)}`, "forward: true, or false");
        },
        budget: anything,
        maxSteps: anything,
      },
      learnable: ["output", "forward"],
      check({ refuse, options: checked }) {
        if (checked.output !== output || checked.forward !== passes)
          throw refuse(
            "what its tools give is code, not a value",
            "make another supervisor with another output",
          );
      },
      more: () => defined({ description }),
    },
    async (entered, { part: lead }) => {
      const ended = await lead.forward(entered);
      const passed = forwarded(ended);
      return passed === undefined
        ? ended
        : ended.say(passed.text, { role: "assistant", by: `agent:${passed.from}` });
    },
  );
}

const EXAMPLE = 'supervisor({ name: "desk", model, workers: [math, research] })';

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
    ...defined({ budget, maxSteps }),
  });
}

const LEAD =
  "You lead a team. Hand each piece of work to whom it suits, with everything that is needed to do it; hand over several at once when none needs the others. Answer when the work is done.";
