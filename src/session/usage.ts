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
