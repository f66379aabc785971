import { BudgetError, CancelledError, type Module } from "../runtime/index.js";
import type { Session } from "../session/index.js";
import { defineModule, enter, functionLike, optional } from "./define.js";
import { requireCount, yesOrNo } from "./options.js";
import { joined, restAt } from "./side.js";
import type { Rebuilds } from "./state.js";

export type RetryOptions = {
  /** The number of attempts, including the first. */
  readonly attempts: number;
  /** Decides whether to try again after this error. Default: yes, except after a cancellation or an exhausted budget. */
  readonly when?: (error: unknown) => boolean;
};

/**
 * Runs a module on the same input until it does not throw. Each attempt has its own branch, so it does not see the messages of
 * failed attempts; their evidence is merged in. The last error is thrown when no attempt is left.
 *
 * ```ts
 * const stubborn = retry("stubborn", fix, { attempts: 3, when: (error) => error instanceof StepError });
 * ```
 */
export function retry(name: string, module: Module, options: RetryOptions): Module & Rebuilds {
  return defineModule(
    {
      kind: "retry",
      name,
      example: 'retry("stubborn", fix, { attempts: 3 })',
      parts: [module],
      options,
      checks: { attempts: requireCount, when: optional(functionLike("when: (error) => true or false")) },
      learnable: ["attempts"],
    },
    async (entered, { part, where, options: { attempts, when } }) => {
      const isOver = (error: unknown) => error instanceof CancelledError || error instanceof BudgetError;
      const mayPass = (error: unknown) =>
        when === undefined ? !isOver(error) : yesOrNo(when(error), "when", where);
      const failed: Session[] = [];
      for (let attempt = 1; ; attempt++) {
        const why = `${name}: attempt ${attempt}`;
        const fork = entered.fork(`attempt ${attempt}`, { why: `${why} of ${attempts}`, by: "runtime" });
        try {
          const good = await enter(part, fork);
          return joined([good, ...failed], { adopt: "ours", why: `${why} succeeded` });
        } catch (error) {
          const rest = restAt(error, fork);
          if (attempt < attempts && mayPass(error)) {
            failed.push(rest);
            continue;
          }
          // The newest session in here is where this module has come to: it has the evidence of all attempts.
          joined([rest, ...failed], { adopt: "ours", why: `${name}: no attempt is left` });
          throw error;
        }
      }
    },
  );
}
