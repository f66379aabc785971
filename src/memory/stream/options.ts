import type { FactId } from "../../session/index.js";
import { defined, showValue } from "../../util/index.js";
import type { Check, Checks } from "../../workflow/index.js";
import { checkOptions, isModule, optional, refusing, requireCount } from "../../workflow/index.js";
import {
  countUpTo,
  listOf,
  oneOf,
  QUESTION,
  requireBoolean,
  requireMemory,
  requireRoom,
  unchecked,
} from "../checks.js";
import type { MemorySpace } from "../memory.js";
import { type ScopeGiven, scopeOf } from "../scope.js";
import type { Somebody } from "./asking.js";
import type { StreamKind } from "./kind.js";
import type { ReflectionOptions } from "./reflecting.js";
import type { Asking } from "./retrieval.js";

export type MemoryStreamOptions = {
  /** The space that holds the stream. All of its memories are a part of the stream. */
  readonly memory: MemorySpace;
  /** How memories are scored. Default "paper". */
  readonly profile?: ProfileName;
  readonly weights?: Weights;
  readonly decay?: number;
  /** How many memories are recalled. Default: that of the profile. */
  readonly limit?: number;
  /** Rates how important something is: an agent, or a function that returns a number on the scale of the profile. */
  readonly importance?: Somebody<Rating>;
  /** Reflects on the stream. Without it, there are no reflections. */
  readonly reflection?: ReflectionOptions;
};

/** The input of a rating. */
export type Rating = { readonly text: string; readonly least: number; readonly most: number };

export type StreamRecallOptions = {
  readonly limit?: number;
  readonly weights?: Weights;
  readonly decay?: number;
  /** Whether the hits are shown to the model, as notes before the last message. Default true. */
  readonly show?: boolean;
  /** Maximum number of characters of the notes. Default 4,000. */
  readonly characters?: number;
  /** Whether the hits count as read from now on. Default: that of the profile. */
  readonly touch?: boolean;
  /** The time of the reading as a step. Default: that of the newest memory. */
  readonly step?: number;
  readonly kinds?: readonly StreamKind[];
  /** The space as it was at one of its ids. Default: as it is. */
  readonly asOf?: FactId;
  readonly scope?: ScopeGiven;
  readonly within?: boolean;
};

/** How much each of the three counts. */
export type Weights = { readonly recency: number; readonly relevance: number; readonly importance: number };

/** How the memories of a stream are scored, and which of them are recalled. */
export type Profile = {
  readonly name: ProfileName;
  /** The factor of recency for each unit of age. */
  readonly decay: number;
  /** The unit of age: `hours` since the last reading, `steps` behind the newest, or `rank`, the least recently read first. */
  readonly clock: "hours" | "steps" | "rank";
  readonly weights: Weights;
  /** How many are recalled. */
  readonly limit: number;
  /** Whether they come with the best first, or as they were written. */
  readonly order: "score" | "written";
  /** Whether recalled memories count as read from then on. */
  readonly touch: boolean;
  /** The lowest and the highest importance. */
  readonly scale: readonly [number, number];
  /** The sum of importance at which the stream is reflected on. */
  readonly threshold: number;
};

export type ProfileName = "paper" | "reference" | "genagents";

const PAPER: Profile = {
  name: "paper",
  decay: 0.995,
  clock: "hours",
  weights: { recency: 1, relevance: 1, importance: 1 },
  limit: 30,
  order: "score",
  touch: true,
  scale: [1, 10],
  threshold: 150,
};

/**
 * The scorings of the paper on generative agents; of its code, where the oldest has the highest recency; and
 * of genagents, with importance to 100. The paper has no limit, so it takes the code's; genagents never
 * reflects by itself.
 */
export const PROFILES: { readonly [name in ProfileName]: Profile } = Object.freeze({
  paper: PAPER,
  reference: {
    ...PAPER,
    name: "reference",
    decay: 0.99,
    clock: "rank",
    weights: { recency: 0.5, relevance: 3, importance: 2 },
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

const requireWeights: Check = (weights, _, refuse) => {
  const known: readonly string[] = ["recency", "relevance", "importance"];
  const example = "weights: { recency: 1, relevance: 1, importance: 1 }";
  if (typeof weights !== "object" || weights === null)
    throw refuse(`its \`weights\` are ${showValue(weights)}`, example);
  for (const name of new Set([...known, ...Object.keys(weights)])) {
    const weight = (weights as { readonly [name: string]: unknown })[name];
    if (!known.includes(name) || !Number.isFinite(weight) || (weight as number) < 0)
      throw refuse(`its weight of "${name}" is ${showValue(weight)}`, example);
  }
};

const requireDecay: Check = (decay, _, refuse) => {
  if (!(typeof decay === "number" && decay > 0 && decay <= 1))
    throw refuse(`its \`decay\` is ${showValue(decay)}`, "above 0, at most 1: decay: 0.995");
};

const requireSomebody: Check = (whom, option, refuse) => {
  if (!isModule(whom) && typeof whom !== "function")
    throw refuse(`its \`${option}\` is ${showValue(whom)}`, `${option}: an agent, or a function`);
};

const SCORING = {
  weights: optional(requireWeights),
  decay: optional(requireDecay),
  limit: optional(countUpTo(1_000)),
};

const REFLECTION: Checks<ReflectionOptions> = {
  questions: requireSomebody,
  insights: requireSomebody,
  threshold: optional((value, _, refuse) => {
    if (!(typeof value === "number" && value > 0))
      throw refuse(`its \`threshold\` is ${showValue(value)}`, "threshold: 150");
  }),
  most: optional(requireCount),
  each: optional(requireCount),
  recent: optional(requireCount),
};

const STREAM: Checks<MemoryStreamOptions> = {
  memory: requireMemory,
  profile: optional(oneOf(Object.keys(PROFILES))),
  ...SCORING,
  importance: optional(requireSomebody),
  reflection: optional((value, _, refuse) =>
    checkOptions(
      value as ReflectionOptions,
      REFLECTION,
      refuse,
      "reflection: { questions: asker, insights: thinker }",
    ),
  ),
};

const RECALL: Checks<StreamRecallOptions> = {
  ...SCORING,
  show: optional(requireBoolean),
  characters: optional(requireRoom),
  step: optional((value, _, refuse) => {
    if (!Number.isFinite(value)) throw refuse(`its \`step\` is ${showValue(value)}`, "a number: step: 12");
  }),
  kinds: optional(listOf(["observation", "reflection"])),
  ...unchecked("touch asOf scope within"),
};

/** The profile of a stream. */
export function streamOf(options: MemoryStreamOptions): Profile {
  checkOptions(
    options,
    STREAM,
    refusing("a memory stream"),
    'memoryStream({ memory: notes, profile: "paper" })',
  );
  return withScoring(PROFILES[options.profile ?? "paper"], options);
}

function withScoring(profile: Profile, given: StreamRecallOptions): Profile {
  const { weights, decay, limit, touch } = given;
  return Object.freeze({ ...profile, ...defined({ weights, decay, limit, touch }) });
}

/** Everything that a retrieval depends on, without the query. */
export function askingOf(
  options: StreamRecallOptions,
  memory: MemorySpace,
  profile: Profile,
): Omit<Asking, "query"> {
  const use = `recall from the stream of "${memory.name}"`;
  checkOptions(options, RECALL, refusing(use), "{ limit: 10 }");
  const { show = true, characters = 4_000, scope, step, kinds, asOf, within } = options;
  return {
    profile: withScoring(profile, options),
    scope: scope === undefined ? memory.scope : scopeOf(scope, use),
    show,
    characters,
    ...defined({ step, kinds, asOf, within }),
  };
}

export function questionOf(query: unknown, name: string): string {
  if (typeof query === "string") return query.slice(0, QUESTION).toWellFormed();
  throw refusing(`recall from the stream of "${name}"`)(
    `what is asked for is ${showValue(query)}`,
    'stream.recall(session, "What is Klaus working on?")',
  );
}
