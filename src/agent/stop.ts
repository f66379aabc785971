import type { Session } from "../session/index.js";
import { refusing, requireCount, requireName } from "../workflow/index.js";

/** What an agent has just done: how many times its model has answered, and the tools that the last reply called. */
export type StepInfo = { readonly step: number; readonly calls: readonly string[] };

/** Whether an agent stops here. Asked after each reply whose tool calls are done; of the session alone. */
export type Stop = (session: Session, info: StepInfo) => boolean;

/**
 * Stops after so many replies of the model, quietly; `maxSteps` leaves a `budget-stop` on the record.
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
