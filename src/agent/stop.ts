import type { Session } from "../session/index.js";
import { refusing, requireCount, requireName } from "../workflow/index.js";

/** What an agent has just done: how many times its model has answered, and the tools that the last reply called. */
export type StepInfo = { readonly step: number; readonly calls: readonly string[] };

/** Decides whether an agent stops, after each reply whose tool calls are done. Must depend on the session alone. */
export type Stop = (session: Session, info: StepInfo) => boolean;

/**
 * Stops after this number of model replies. Unlike `maxSteps`, it leaves no `budget-stop` on the record.
 *
 * ```ts
 * agent({ name: "coder", model, tools, stop: [stopAfter(10), stopWhenCalled("submit")] });
 * ```
 */
export function stopAfter(steps: number): Stop {
  requireCount(steps, "steps", refusing("a stop condition"), 1, "stopAfter(5)");
  return (_session, { step }) => step >= steps;
}

/** Stops when the model has called this tool, after it has run. */
export function stopWhenCalled(tool: string): Stop {
  requireName(tool, "stop condition", 'stopWhenCalled("submit")');
  return (_session, { calls }) => calls.includes(tool);
}
