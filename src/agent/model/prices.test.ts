import { describe, expect, it } from "vitest";
import { costOf, defaultPrices, estimateTokens, priceOf } from "./index.js";

describe("prices", () => {
  it("[P1] cost what the table says", () => {
    const price = { input: 2, output: 8, cached: 0.5 };
    expect(costOf({ input: 1_000_000, output: 0 }, price)).toBe(2);
    expect(costOf({ input: 1_000_000, output: 500_000, cached: 400_000 }, price)).toBeCloseTo(
      1.2 + 0.2 + 4,
      10,
    );
    expect(costOf({ input: 10, output: 0, cached: 10 }, { input: 1, output: 1 })).toBeCloseTo(1e-5, 12);
    expect(costOf({ input: 10, output: 0, cached: 99 }, price)).toBeCloseTo(5e-6, 12);
    expect(priceOf("gpt-4o-mini-2024-07-18")).toBe(defaultPrices["gpt-4o-mini"]);
    expect(priceOf("claude-sonnet-4-5-20250929")).toBe(defaultPrices["claude-sonnet-4-5"]);
    expect(priceOf("gpt-4o-audio-preview")).toBe(undefined);
    expect(priceOf("constructor")).toBe(undefined);
    expect(priceOf("mine", { mine: price })).toBe(price);
    expect(priceOf("gpt-4o", {})).toBe(undefined);
  });
});

describe("the estimate", () => {
  it("[P2] is about a quarter of latin text and no less than the letters of others", () => {
    expect(estimateTokens("")).toBe(0);
    const english = "The quick brown fox jumps over the lazy dog. ";
    // A tokenizer counts 10 for this sentence.
    expect(estimateTokens(english)).toBeGreaterThanOrEqual(8);
    expect(estimateTokens(english)).toBeLessThanOrEqual(13);
    expect(estimateTokens("日本語のテキスト")).toBe(8);
    expect(estimateTokens("\u{1f600}")).toBe(2);
    expect(estimateTokens("привет")).toBe(3);
  });
});
