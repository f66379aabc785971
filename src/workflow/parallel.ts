import { forward, type Module } from "../runtime/index.js";
import type { Adopt, Session } from "../session/index.js";
import { showValue } from "../util/index.js";
import { ModuleError } from "./error.js";
import { called, refusing, requireCount, requireName, requireOptions } from "./options.js";
import { enter, orderOf, type Parts, partsOf } from "./part.js";
import { endsIn, joined, restTogether, type Side, sideBySide } from "./side.js";
import { type Rebuilds, rebuild } from "./state.js";

export type ParallelOptions = {
  /** The part whose conversation and placement go on, by name; or as in `merge`: "none" gathers the parts without preferring one. Default "both": all of them. */
  readonly adopt?: Adopt | (string & {});
  /** So many parts at a time. Default: all. */
  readonly concurrency?: number;
};

/** A module that also tells what each part came to. */
export interface Parallel extends Module, Rebuilds {
  /** As `forward`, and where each part ended. A run that was suspended has no results yet. */
  call(session: Session): Promise<{
    readonly session: Session;
    readonly results: { readonly [part: string]: Session };
  }>;
}

/**
 * Each part on a branch of its own, side by side, then all of them merged in the order they were given. When one
 * fails, the others are cancelled and come to rest, and its error is thrown.
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
  requireName(name, "parallel", 'parallel("review", { style, bugs })');
  const where = called("parallel", name);
  requireOptions(
    options,
    refusing(where),
    'leave the options out, or pass { adopt: "both", concurrency: 2 }',
    { adopt: true, concurrency: true },
  );
  const parts = partsOf(modules, where);
  const order = orderOf(modules);
  if (order.length === 0) throw new ModuleError(where, "it has no parts");
  return made(name, parts, order, options);
}

function made(name: string, parts: Parts, order: readonly string[], options: ParallelOptions): Parallel {
  const adopt = adoptOf(name, options.adopt, order);
  if (options.concurrency !== undefined)
    requireCount(options.concurrency, "concurrency", refusing(called("parallel", name)));
  const run = async (entered: Session): Promise<Session> => {
    const ends = await allOf(
      entered,
      order.map((part) => ({
        branch: part,
        why: `${name}: ${part}`,
        run: (session) => enter(parts[part] as Module, session),
      })),
      options.concurrency,
    );
    return joined(ends, { adopt, why: `${name}: all parts` });
  };
  const module: Parallel = {
    name,
    kind: "parallel",
    parts,
    ...(options.adopt !== undefined && { state: Object.freeze({ adopt: options.adopt }) }),
    forward: (session) => forward(module, session, run),
    async call(given) {
      const session = await module.forward(given);
      const ends = endsIn(session);
      return { session, results: Object.fromEntries(order.flatMap((part, at) => named(part, ends[at]))) };
    },
    [rebuild]: ({ adopt: other }, newParts) =>
      made(name, partsOf(newParts, called("parallel", name)), order, {
        ...options,
        ...(other !== undefined && { adopt: other as Adopt }),
      }),
  };
  return Object.freeze(module);
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

function named(part: string, end: Session | undefined): [string, Session][] {
  return end === undefined ? [] : [[part, end]];
}

/** Whose side goes on, as a merge wants it said. */
function adoptOf(name: string, adopt: ParallelOptions["adopt"], order: readonly string[]): Adopt {
  if (adopt === undefined) return "both";
  const place = order.indexOf(adopt as string);
  if (place !== -1) return place;
  if (adopt === "ours" || adopt === "both" || adopt === "none" || (adopt === "theirs" && order.length === 2))
    return adopt as Adopt;
  if (typeof adopt === "number" && Number.isSafeInteger(adopt) && adopt >= 0 && adopt < order.length)
    return adopt;
  throw refusing(called("parallel", name))(
    `none of its parts answers to adopt: ${showValue(adopt)}`,
    `adopt ${order.map((part) => JSON.stringify(part)).join(", ")}, "both" or "none"`,
  );
}
