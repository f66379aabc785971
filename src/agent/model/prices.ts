import type { Usage } from "../../session/index.js";

/** US dollars for a million tokens. */
export type Price = { readonly input: number; readonly output: number; readonly cached?: number };
export type Prices = { readonly [model: string]: Price };

/** Approximate prices of well-known models in November 2025, not checked. Give your own if it matters. */
export const defaultPrices: Prices = Object.freeze({
  "gpt-5": { input: 1.25, output: 10, cached: 0.125 },
  "gpt-5-mini": { input: 0.25, output: 2, cached: 0.025 },
  "gpt-5-nano": { input: 0.05, output: 0.4, cached: 0.005 },
  "gpt-4.1": { input: 2, output: 8, cached: 0.5 },
  "gpt-4.1-mini": { input: 0.4, output: 1.6, cached: 0.1 },
  "gpt-4.1-nano": { input: 0.1, output: 0.4, cached: 0.025 },
  "gpt-4o": { input: 2.5, output: 10, cached: 1.25 },
  "gpt-4o-mini": { input: 0.15, output: 0.6, cached: 0.075 },
  o3: { input: 2, output: 8, cached: 0.5 },
  "o4-mini": { input: 1.1, output: 4.4, cached: 0.275 },
  "claude-opus-4-5": { input: 5, output: 25, cached: 0.5 },
  "claude-opus-4-1": { input: 15, output: 75, cached: 1.5 },
  "claude-sonnet-4-5": { input: 3, output: 15, cached: 0.3 },
  "claude-sonnet-4": { input: 3, output: 15, cached: 0.3 },
  "claude-haiku-4-5": { input: 1, output: 5, cached: 0.1 },
  "claude-3-5-haiku": { input: 0.8, output: 4, cached: 0.08 },
  "gemini-2.5-pro": { input: 1.25, output: 10, cached: 0.31 },
  "gemini-2.5-flash": { input: 0.3, output: 2.5, cached: 0.075 },
  "gemini-2.5-flash-lite": { input: 0.1, output: 0.4, cached: 0.025 },
});

/** The price of a model: under its id, or under its id without the date that providers put behind it. */
export function priceOf(model: string, prices: Prices = defaultPrices): Price | undefined {
  for (const id of [model, model.replace(/-(latest|\d{8}|\d{4}-\d{2}-\d{2}|\d{3})$/, "")])
    if (Object.hasOwn(prices, id)) return prices[id];
  return undefined;
}

/** The cost of a call in US dollars. Cached tokens have their own price. */
export function costOf(usage: Usage, price: Price): number {
  const cached = Math.min(usage.cached ?? 0, usage.input);
  const input = (usage.input - cached) * price.input + cached * (price.cached ?? price.input);
  return (input + usage.output * price.output) / 1_000_000;
}
