import type { Session } from "../../session/index.js";
import { optionNames, showValue } from "../../util/index.js";
import { refusing, requireFunction, requireOptions } from "../../workflow/index.js";
import type { Decider, Route } from "./choice.js";

export type ByScoreOptions = {
  /** What is needed at least. Default: any score will do. */
  readonly threshold?: number;
};

/** The route with the highest score; of equals the first. */
export function byScore(
  score: (session: Session, route: Route) => number | Promise<number>,
  options: ByScoreOptions = {},
): Decider {
  const refuse = refusing("a choice by score");
  requireFunction(score, "score", refuse, "byScore((session, route) => a number)");
  requireOptions(options, refuse, "byScore(score, { threshold: 0.5 })", OPTIONS);
  const { threshold = Number.NEGATIVE_INFINITY } = options;
  if (Number.isNaN(threshold)) throw refuse(`its \`threshold\` is ${showValue(threshold)}`, "a number");
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

const OPTIONS = optionNames<ByScoreOptions>()("threshold");
