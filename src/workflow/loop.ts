import type { Module } from "../runtime/index.js";
import type { Session } from "../session/index.js";
import { defineModule, enter, functionLike, optional } from "./define.js";
import { LoopError } from "./error.js";
import { requireCount, yesOrNo } from "./options.js";
import type { Rebuilds } from "./state.js";

export type LoopOptions = {
  /** Decides after each turn whether to stop; turns count from 1. Without it, all turns are taken. */
  readonly until?: (session: Session, turn: number) => boolean;
  /** Maximum number of turns. When they are used up and `until` did not hold, a `LoopError` is thrown. */
  readonly max: number;
};

/**
 * Runs a module repeatedly until a condition holds.
 *
 * ```ts
 * const polish = loop("polish", editor, { max: 5, until: (session) => outputOf(session)?.good === true });
 * ```
 */
export function loop(name: string, module: Module, options: LoopOptions): Module & Rebuilds {
  return defineModule(
    {
      kind: "loop",
      name,
      example: 'loop("polish", editor, { max: 5 })',
      parts: [module],
      options,
      checks: {
        until: optional(functionLike("until: (session, turn) => true or false")),
        max: requireCount,
      },
      learnable: ["max"],
    },
    async (entered, { part, where, options: { until, max } }) => {
      let session = entered;
      for (let turn = 1; turn <= max; turn++) {
        session = await enter(part, session);
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
    },
  );
}
