import { BudgetError, CancelledError, forward, type Module } from "../runtime/index.js";
import type { Session } from "../session/index.js";
import {
  called,
  refusing,
  requireCount,
  requireFunction,
  requireName,
  requireOptions,
  yesOrNo,
} from "./options.js";
import { enter, requireModule } from "./part.js";
import { joined, restAt } from "./side.js";
import { type Rebuilds, rebuild } from "./state.js";

export type RetryOptions = {
  /** Attempts in all, the first included. */
  readonly attempts: number;
  /** Whether to try again after this error. Default: after all but a cancellation and a spent budget. */
  readonly when?: (error: unknown) => boolean;
};

/**
 * The same module on the same input until it does not throw. Each attempt is a branch of its own, so none sees what
 * the failed ones said; their evidence is merged in. The last error is thrown when no attempt is left.
 *
 * ```ts
 * const stubborn = retry("stubborn", fix, { attempts: 3, when: (error) => error instanceof StepError });
 * ```
 */
export function retry(name: string, module: Module, options: RetryOptions): Module & Rebuilds {
  requireName(name, "retry", 'retry("stubborn", fix, { attempts: 3 })');
  const where = called("retry", name);
  const refuse = refusing(where);
  const body = requireModule(module, where);
  requireOptions(options, refuse, "say how often at most: { attempts: 3 }", { attempts: true, when: true });
  const { attempts, when = mayPass } = options;
  requireCount(attempts, "attempts", refuse);
  requireFunction(when, "when", refuse, "when: (error) => true or false");
  const made: Module & Rebuilds = {
    name,
    kind: "retry",
    parts: Object.freeze({ [body.name]: body }),
    state: Object.freeze({ attempts }),
    forward: (given) =>
      forward(made, given, async (entered) => {
        const failed: Session[] = [];
        for (let attempt = 1; ; attempt++) {
          const fork = entered.fork(`attempt ${attempt}`, {
            why: `${name}: attempt ${attempt} of ${attempts}`,
            by: "runtime",
          });
          try {
            const good = await enter(body, fork);
            return joined([good, ...failed], {
              adopt: "ours",
              why: `${name}: attempt ${attempt} succeeded`,
            });
          } catch (error) {
            const rest = restAt(error, fork);
            if (attempt < attempts && yesOrNo(when(error), "when", where)) {
              failed.push(rest);
              continue;
            }
            // The newest session in here is where this module has come to: it has the evidence of all attempts.
            joined([rest, ...failed], { adopt: "ours", why: `${name}: no attempt is left` });
            throw error;
          }
        }
      }),
    [rebuild]: (state, parts) =>
      retry(name, parts[body.name] as Module, { ...options, attempts: state.attempts as number }),
  };
  return Object.freeze(made);
}

function mayPass(error: unknown): boolean {
  return !(error instanceof CancelledError || error instanceof BudgetError);
}
