import type { Session } from "../../session/index.js";
import { showValue } from "../../util/index.js";
import { type Check, checkOptions, optional, refusing, requireFunction } from "../../workflow/index.js";
import type { Decider, Route } from "./choice.js";

export type ByScoreOptions = {
  /** The least score of a match. Default: any. */
  readonly threshold?: number;
};

/** The route with the highest score; of equals the first. */
export function byScore(
  score: (session: Session, route: Route) => number | Promise<number>,
  options: ByScoreOptions = {},
): Decider {
  const refuse = refusing("a choice by score");
  requireFunction(score, "score", refuse, "byScore((session, route) => a number)");
  checkOptions(options, { threshold: optional(between()) }, refuse, "byScore(score, { threshold: 0.5 })");
  const { threshold = Number.NEGATIVE_INFINITY } = options;
  return {
    name: "score",
    async decide(session, routes) {
      const scores: { [route: string]: number } = {};
      let best: string | null = null;
      for (const route of routes) {
        const one = await score(session, route);
        scores[route.name] = one;
        if (one >= threshold && (best === null || one > (scores[best] as number))) best = route.name;
      }
      return { chosen: best, scores, ...(best === null && { why: `none has ${threshold}` }) };
    },
  };
}

export function between(least = Number.NEGATIVE_INFINITY, most = Number.POSITIVE_INFINITY): Check {
  return (value, option, refuse) => {
    if (!((value as number) >= least && (value as number) <= most))
      throw refuse(
        `its \`${option}\` is ${showValue(value)}`,
        Number.isFinite(least) ? `a number from ${least} to ${most}` : "a number",
      );
  };
}
