import { type Cost, costWith } from "./cost.js";
import type { Usage } from "./fact/index.js";
import { savedAsJson, type View } from "./view.js";

/** The usage of all models in a whole history; every call counted once, on any graph. */
export type TotalUsage = Required<Usage> & {
  readonly calls: number;
  /** In US dollars; null when a call has no known price, because a sum of the others would look like all of it. */
  readonly cost: Cost;
};

/** Snapshots of version 0.1 know no cost. */
type Known = Omit<TotalUsage, "cost"> & { readonly cost?: Cost };

export const usageView: View<Known> = {
  name: "usage",
  start: Object.freeze({ input: 0, output: 0, cached: 0, reasoning: 0, calls: 0, cost: 0 }),
  step(sum, fact) {
    if (fact.type !== "model-reply") return sum;
    const { input, output, cached = 0, reasoning = 0 } = fact.usage;
    return Object.freeze({
      input: sum.input + input,
      output: sum.output + output,
      cached: sum.cached + cached,
      reasoning: sum.reasoning + reasoning,
      calls: sum.calls + 1,
      ...(sum.cost !== undefined && { cost: costWith(sum.cost, fact.cost) }),
    });
  },
  ...savedAsJson<Known>(),
  isPartial: ({ calls, cost }) => calls > 0 && cost === undefined,
};

export function withCost(usage: Known): TotalUsage {
  const { cost = usage.calls === 0 ? 0 : null } = usage;
  return Object.freeze({ ...usage, cost });
}
