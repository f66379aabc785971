import type { FactId } from "../../session/index.js";
import { defined, optionNames, showValue } from "../../util/index.js";
import { isModule, type Refuse, refusing, requireCount, requireOptions } from "../../workflow/index.js";
import type { MemorySpace } from "../memory.js";
import { type ScopeGiven, scopeOf } from "../scope.js";
import type { Somebody } from "./asking.js";
import type { StreamKind } from "./kind.js";
import {
  type Profile,
  type ProfileName,
  profileOf,
  requireDecay,
  requireWeights,
  type Weights,
} from "./profile.js";
import type { ReflectionOptions } from "./reflecting.js";
import type { Asking } from "./retrieval.js";

export type MemoryStreamOptions = {
  /** The space that the stream is kept in. Whatever else is in it is a part of the stream. */
  readonly memory: MemorySpace;
  /** How memories are scored. Default "paper". */
  readonly profile?: ProfileName;
  readonly weights?: Weights;
  readonly decay?: number;
  /** How many memories are told. Default: what the profile says. */
  readonly limit?: number;
  /** Says how important something is: an agent, or a function that gives a number on the scale of the profile. */
  readonly importance?: Somebody<Rating>;
  /** Who thinks about the stream. Without it nobody does. */
  readonly reflection?: ReflectionOptions;
};

/** What whoever rates something is given. */
export type Rating = { readonly text: string; readonly least: number; readonly most: number };

export type StreamRecallOptions = {
  readonly limit?: number;
  readonly weights?: Weights;
  readonly decay?: number;
  /** Whether the hits are shown to the model, as notes before the last message. Default true. */
  readonly show?: boolean;
  /** Maximum number of characters of the notes. Default 4,000. */
  readonly characters?: number;
  /** Whether what is found counts as read from now on. Default: what the profile says. */
  readonly touch?: boolean;
  /** The time of the reading as a step. Default: that of the newest memory. */
  readonly step?: number;
  readonly kinds?: readonly StreamKind[];
  /** The space as it was at one of its ids. Default: as it is. */
  readonly asOf?: FactId;
  readonly scope?: ScopeGiven;
  readonly within?: boolean;
};

const KNOWN = optionNames<MemoryStreamOptions>()("memory profile weights decay limit importance reflection");
const REFLECTION = optionNames<ReflectionOptions>()("questions insights threshold most each recent");
const RECALL = optionNames<StreamRecallOptions>()(
  "limit weights decay show characters touch step kinds asOf scope within",
);
const EXAMPLE = 'memoryStream({ memory: notes, profile: "paper" })';
const CHARACTERS = 4_000;
const MOST = 1_000;
/** Maximum number of characters of a question. */
const QUESTION = 8_192;

/** What a stream is made of, checked, and its profile. */
export function streamOf(options: MemoryStreamOptions): Profile {
  const refuse = refusing("a memory stream");
  requireOptions(options, refuse, EXAMPLE, KNOWN);
  const { memory, importance, reflection } = options;
  if (typeof memory?.recall !== "function" || typeof memory.open !== "function")
    throw refuse("it does not say which memory", EXAMPLE);
  requireSomebody(importance, "importance", refuse, true);
  if (reflection !== undefined) checkReflection(reflection, refuse);
  return weighed(profileOf(options.profile ?? "paper", refuse), options, refuse);
}

function weighed(
  profile: Profile,
  given: {
    readonly weights?: Weights;
    readonly decay?: number;
    readonly limit?: number;
    readonly touch?: boolean;
  },
  refuse: Refuse,
): Profile {
  const {
    weights = profile.weights,
    decay = profile.decay,
    limit = profile.limit,
    touch = profile.touch,
  } = given;
  requireWeights(weights, refuse);
  requireDecay(decay, refuse);
  requireCount(limit, "limit", refuse);
  if (limit > MOST) throw refuse(`its \`limit\` is more than ${MOST}`, `limit: ${MOST}`);
  return Object.freeze({ ...profile, weights, decay, limit, touch });
}

/** How a stream is asked, but for the question. */
export function askingOf(
  options: StreamRecallOptions,
  memory: MemorySpace,
  profile: Profile,
): Omit<Asking, "query"> {
  const use = `recall from the stream of "${memory.name}"`;
  const refuse = refusing(use);
  requireOptions(options, refuse, "{ limit: 10 }", RECALL);
  const { show = true, characters = CHARACTERS, scope, step, kinds, asOf, within } = options;
  if (typeof show !== "boolean") throw refuse(`its \`show\` is ${showValue(show)}`, "show: false");
  requireCount(characters, "characters", refuse, 200);
  if (step !== undefined && !Number.isFinite(step))
    throw refuse(`its \`step\` is ${showValue(step)}`, "a number: step: 12");
  if (
    kinds !== undefined &&
    !(Array.isArray(kinds) && kinds.every((kind) => kind === "observation" || kind === "reflection"))
  )
    throw refuse(`its \`kinds\` are ${showValue(kinds)}`, 'kinds: ["observation"]');
  return {
    profile: weighed(profile, options, refuse),
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

function checkReflection(reflection: ReflectionOptions, refuse: Refuse): void {
  requireOptions(reflection, refuse, "reflection: { questions: asker, insights: thinker }", REFLECTION);
  const { questions, insights, threshold, most = 3, each = 5, recent = 100 } = reflection;
  requireSomebody(questions, "questions", refuse);
  requireSomebody(insights, "insights", refuse);
  if (threshold !== undefined && !(threshold > 0))
    throw refuse(`its \`threshold\` is ${showValue(threshold)}`, "threshold: 150");
  for (const [name, count] of Object.entries({ most, each, recent })) requireCount(count, name, refuse);
}

function requireSomebody(whom: unknown, what: string, refuse: Refuse, optional = false): void {
  if ((optional && whom === undefined) || isModule(whom) || typeof whom === "function") return;
  throw refuse(`its \`${what}\` is ${showValue(whom)}`, `${what}: an agent, or a function`);
}
