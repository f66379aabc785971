import { showValue } from "../../util/index.js";
import type { Refuse } from "../../workflow/index.js";

/** How much each of the three counts. */
export type Weights = {
  readonly recency: number;
  readonly relevance: number;
  readonly importance: number;
};

/** How a stream of memories is scored, and what of it is told. */
export type Profile = {
  readonly name: ProfileName;
  /** What recency is multiplied by with every unit of age. */
  readonly decay: number;
  /**
   * What an age is counted in: `hours` since a memory was last read; `steps` behind the newest one; or its `rank`, the one
   * that was read longest ago first.
   */
  readonly clock: "hours" | "steps" | "rank";
  readonly weights: Weights;
  /** How many are told. */
  readonly limit: number;
  /** Whether they are told with the best first, or as they were written. */
  readonly order: "score" | "written";
  /** Whether what is told counts as read from then on. */
  readonly touch: boolean;
  /** The least and the most important that something can be. */
  readonly scale: readonly [number, number];
  /** How much importance must have come together before somebody thinks about it. */
  readonly threshold: number;
};

export type ProfileName = "paper" | "reference" | "genagents";

/**
 * As it is written in the paper on generative agents; as its published code does it, which gives the oldest the highest
 * recency; and as the later genagents does it, whose importance goes to 100. The paper names no number of memories
 * (as many as fit), so it has that of the code; genagents thinks about nothing by itself, so it has the threshold of
 * the others on its own scale.
 */
export const PROFILES: { readonly [name in ProfileName]: Profile } = Object.freeze({
  paper: {
    name: "paper",
    decay: 0.995,
    clock: "hours",
    weights: { recency: 1, relevance: 1, importance: 1 },
    limit: 30,
    order: "score",
    touch: true,
    scale: [1, 10],
    threshold: 150,
  },
  reference: {
    name: "reference",
    decay: 0.99,
    clock: "rank",
    weights: { recency: 0.5, relevance: 3, importance: 2 },
    limit: 30,
    order: "score",
    touch: true,
    scale: [1, 10],
    threshold: 150,
  },
  genagents: {
    name: "genagents",
    decay: 0.99,
    clock: "steps",
    weights: { recency: 0, relevance: 1, importance: 0.5 },
    limit: 120,
    order: "written",
    touch: false,
    scale: [0, 100],
    threshold: 1_500,
  },
});

export function profileOf(name: unknown, refuse: Refuse): Profile {
  if (typeof name === "string" && Object.hasOwn(PROFILES, name)) return PROFILES[name as ProfileName];
  throw refuse(`its \`profile\` is ${showValue(name)}`, '"paper", "reference" or "genagents"');
}

export function requireWeights(weights: unknown, refuse: Refuse): void {
  const known: readonly (keyof Weights)[] = ["recency", "relevance", "importance"];
  const example = "weights: { recency: 1, relevance: 1, importance: 1 }";
  if (typeof weights !== "object" || weights === null)
    throw refuse(`its \`weights\` are ${showValue(weights)}`, example);
  for (const name of new Set([...known, ...Object.keys(weights)])) {
    const weight = (weights as { readonly [name: string]: unknown })[name];
    if (!known.includes(name as keyof Weights) || !Number.isFinite(weight) || (weight as number) < 0)
      throw refuse(`its weight of "${name}" is ${showValue(weight)}`, example);
  }
}

export function requireDecay(decay: unknown, refuse: Refuse): void {
  if (!(typeof decay === "number" && decay > 0 && decay <= 1))
    throw refuse(`its \`decay\` is ${showValue(decay)}`, "above 0, at most 1: decay: 0.995");
}
