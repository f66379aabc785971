import { forward, type Module } from "../runtime/index.js";
import type { Session } from "../session/index.js";
import { LoopError } from "./error.js";
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
import { type Rebuilds, rebuild } from "./state.js";

export type LoopOptions = {
  /** Whether it is enough, asked after each turn; turns count from 1. Without it, all turns are taken. */
  readonly until?: (session: Session, turn: number) => boolean;
  /** Turns at most. When they are used up and `until` did not hold, a `LoopError` is thrown. */
  readonly max: number;
};

/**
 * The same module again and again, until it is enough.
 *
 * ```ts
 * const polish = loop("polish", editor, { max: 5, until: (session) => outputOf(session)?.good === true });
 * ```
 */
export function loop(name: string, module: Module, options: LoopOptions): Module & Rebuilds {
  requireName(name, "loop", 'loop("polish", editor, { max: 5 })');
  const where = called("loop", name);
  const refuse = refusing(where);
  const body = requireModule(module, where);
  requireOptions(options, refuse, "say how often at most: { max: 5 }", { until: true, max: true });
  const { until, max } = options;
  requireCount(max, "max", refuse);
  if (until !== undefined) requireFunction(until, "until", refuse, "until: (session, turn) => true or false");
  const made: Module & Rebuilds = {
    name,
    kind: "loop",
    parts: Object.freeze({ [body.name]: body }),
    state: Object.freeze({ max }),
    forward: (given) =>
      forward(made, given, async (entered) => {
        let session = entered;
        for (let turn = 1; turn <= max; turn++) {
          session = await enter(body, session);
          if (until !== undefined && yesOrNo(until(session, turn), "until", where)) return session;
        }
        if (until === undefined) return session;
        const stopped = session.append({
          type: "budget-stop",
          limit: "turns",
          allowed: max,
          spent: max,
          asked: 1,
        });
        throw new LoopError(name, stopped, max);
      }),
    [rebuild]: (state, parts) =>
      loop(name, parts[body.name] as Module, { ...options, max: state.max as number }),
  };
  return Object.freeze(made);
}
