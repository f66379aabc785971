import type { Usage } from "./fact/index.js";
import { savedAsJson, type View } from "./view.js";

/** The usage of all models in a whole history; every call counted once, on any graph. */
export type TotalUsage = Required<Usage> & { readonly calls: number };

export const usageView: View<TotalUsage> = {
  name: "usage",
  start: Object.freeze({ input: 0, output: 0, cached: 0, reasoning: 0, calls: 0 }),
  step(sum, fact) {
    if (fact.type !== "model-reply") return sum;
    const { input, output, cached = 0, reasoning = 0 } = fact.usage;
    return Object.freeze({
      input: sum.input + input,
      output: sum.output + output,
      cached: sum.cached + cached,
      reasoning: sum.reasoning + reasoning,
      calls: sum.calls + 1,
    });
  },
  ...savedAsJson<TotalUsage>(),
};

/** The cost of all calls together, in dollars. Null as soon as one of them has no price: a sum of the others would look like all of it. */
export type Cost = number | null;

/** The sum with the price of one more call. */
export function costWith(sum: Cost, price: number | undefined): Cost {
  return sum === null || price === undefined ? null : sum + price;
}

/** An amount with as many digits as it needs to be seen; the same words wherever it is not known. */
export function costText(cost: Cost): string {
  if (cost === null) return "unknown";
  return `$${cost === 0 || cost >= 0.01 ? cost.toFixed(2) : cost.toPrecision(2)}`;
}
