import type { Module } from "../runtime/index.js";
import type { Adopt, Session } from "../session/index.js";
import { showValue } from "../util/index.js";
import { anything, defineModule, type Given, optional, type Parts } from "./define.js";
import { requireCount } from "./options.js";
import { endsIn, joined, requireSides, restTogether, type Side, sideBySide, sidesOf } from "./side.js";
import type { Rebuilds } from "./state.js";

export type ParallelOptions = {
  /** The name of the part whose conversation and placement continue, or as in `merge`: "none" prefers no part. Default "both": all parts. */
  readonly adopt?: Adopt | (string & {});
  /** Maximum number of parts that run at the same time. Default: all. */
  readonly concurrency?: number;
};

/** A module that also returns the outcome of each part. */
export interface Parallel extends Module, Rebuilds {
  /** Like `forward`, with the last session of each part. A suspended run has no results yet. */
  call(session: Session): Promise<{
    readonly session: Session;
    readonly results: { readonly [part: string]: Session };
  }>;
}

/**
 * Runs each part on its own branch, in parallel, then merges all of them in the given order. When one fails, the
 * others are cancelled, and its error is thrown after all have stopped.
 *
 * ```ts
 * const review = parallel("review", { style, bugs, tests }, { concurrency: 2 });
 * const { session: next, results } = await review.call(session); // results.bugs: where that part ended
 * ```
 */
export function parallel(
  name: string,
  modules: readonly Module[] | Parts,
  options: ParallelOptions = {},
): Parallel {
  return defineModule(
    {
      kind: "parallel",
      name,
      example: 'parallel("review", { style, bugs }, { adopt: "both", concurrency: 2 })',
      parts: modules,
      options,
      checks: { adopt: anything, concurrency: optional(requireCount) },
      learnable: ["adopt"],
      check(given) {
        requireSides(given);
        adoptOf(given);
      },
      more: ({ order }, forward) => ({
        async call(given: Session) {
          const session = await forward(given);
          const ends = endsIn(session).slice(0, order.length);
          return { session, results: Object.fromEntries(ends.map((end, at) => [order[at] as string, end])) };
        },
      }),
    },
    async (entered, given) => {
      const ends = await allOf(entered, sidesOf(given), given.options.concurrency);
      return joined(ends, { adopt: adoptOf(given), why: `${name}: all parts` });
    },
  );
}

/** Where all sides ended, in order; or the first failure, once the others rest and their evidence is joined. */
export async function allOf(
  session: Session,
  sides: readonly Side[],
  concurrency: number | undefined,
): Promise<readonly Session[]> {
  let failure: { readonly error: unknown; readonly place: number } | undefined;
  const rests = await sideBySide(session, sides, concurrency ?? sides.length, ({ failed, error }, place) => {
    if (failed) failure ??= { error, place };
    return failed;
  });
  if (failure === undefined) return rests.map((rest) => rest?.session as Session);
  const { error, place } = failure;
  restTogether(rests, place, `${sides[place]?.branch} failed`);
  throw error;
}

/** The side that goes on, as `merge` takes it. */
function adoptOf({ options: { adopt }, order, refuse }: Given<ParallelOptions>): Adopt {
  if (adopt === undefined) return "both";
  const place = order.indexOf(adopt as string);
  if (place !== -1) return place;
  if (adopt === "ours" || adopt === "both" || adopt === "none" || (adopt === "theirs" && order.length === 2))
    return adopt as Adopt;
  if (typeof adopt === "number" && Number.isSafeInteger(adopt) && adopt >= 0 && adopt < order.length)
    return adopt;
  throw refuse(
    `none of its parts answers to adopt: ${showValue(adopt)}`,
    `adopt ${order.map((part) => JSON.stringify(part)).join(", ")}, "both" or "none"`,
  );
}
