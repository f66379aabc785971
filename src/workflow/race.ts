import { CancelledError, type Module } from "../runtime/index.js";
import { defineModule, type Parts } from "./define.js";
import { RaceError } from "./error.js";
import { type Rest, requireSides, restTogether, sideBySide, sidesOf } from "./side.js";
import type { Rebuilds } from "./state.js";

/**
 * Runs each part on its own branch, in parallel: the first to finish wins, and its conversation continues. The others
 * are cancelled and come to rest, and what they did stays in the record. A part that fails does not win; when all
 * do, a `RaceError` is thrown.
 *
 * ```ts
 * const quick = race("quick", { local: askLocal, cloud: askCloud });
 * ```
 */
export function race(name: string, modules: readonly Module[] | Parts): Module & Rebuilds {
  const example = 'race("quick", { local, cloud })';
  return defineModule(
    { kind: "race", name, example, parts: modules, options: {}, checks: {}, check: requireSides },
    async (session, given) => {
      let won: number | undefined;
      const sides = sidesOf(given);
      const rests = (await sideBySide(session, sides, sides.length, ({ failed }, place) => {
        if (!failed) won ??= place;
        return !failed;
      })) as Rest[];
      if (won !== undefined) return restTogether(rests, won, `${name}: ${sides[won]?.branch} won`);
      const together = restTogether(rests, 0, `${name}: nobody finished`);
      // Nobody lost: the whole race was called off.
      const cancelled = rests.find(({ error }) => error instanceof CancelledError);
      if (cancelled !== undefined) throw cancelled.error;
      const errors = rests.map((rest) => rest.error);
      throw new RaceError(name, together, errors);
    },
  );
}
