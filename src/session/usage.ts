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

/** The cost of all calls together, in dollars. Null as soon as one of them has no price: a sum of the others would look like all of it. */
export type Cost = number | null;

/** The sum with the price of one more call, without the noise of binary fractions: 0.1 and 0.2 are 0.3. */
export function costWith(sum: Cost, price: number | undefined): Cost {
  return sum === null || price === undefined ? null : Number((sum + price).toPrecision(12));
}

/** An amount with as many digits as it needs to be seen; the same words wherever it is not known. */
export function costText(cost: Cost): string {
  if (cost === null) return "unknown";
  return `$${cost === 0 || cost >= 0.01 ? cost.toFixed(2) : cost.toPrecision(2)}`;
}
