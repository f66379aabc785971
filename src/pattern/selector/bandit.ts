import type { Services } from "../../runtime/index.js";
import { type FactId, List, type Session } from "../../session/index.js";
import type { Store } from "../../store/index.js";
import { showValue } from "../../util/index.js";
import { type Checks, checkOptions, functionLike, optional, refusing } from "../../workflow/index.js";
import { type Choice, type Decider, ranked } from "./choice.js";
import { viewsByName } from "./route.js";

export type BanditOptions = {
  /** How to explore: "ucb1" (default) by best possible worth, "thompson" by a draw, a number by chance. */
  readonly explore?: "ucb1" | "thompson" | number;
  /** Results from elsewhere, such as `() => trialsIn(store, "desk")`, besides this session's. */
  readonly trials?: () => readonly Trial[] | Promise<readonly Trial[]>;
};

/** Learns from what validations said after earlier choices which route is worth most. */
export function bandit(options: BanditOptions = {}): Decider {
  checkOptions(options, CHECKS, refusing("a bandit"), 'bandit({ explore: "ucb1" })');
  const { explore = "ucb1", trials } = options;
  return {
    name: "bandit",
    async decide(session, routes, { selector, services }) {
      const known = new Map<string, Trial>();
      for (const trial of [...trialsOf(session, selector), ...((await trials?.()) ?? [])])
        known.set(trial.validation, trial);
      const arms = routes.map(({ name }): Arm => {
        const own = [...known.values()].filter(({ route }) => route === name);
        return { name, count: own.length, sum: own.reduce((sum, { reward }) => sum + reward, 0) };
      });
      return chosenOf(arms, explore, services);
    },
  };
}

const CHECKS: Checks<BanditOptions> = {
  explore: optional((explore, _, refuse) => {
    if (
      typeof explore === "number" ? !(explore >= 0 && explore <= 1) : !/^(ucb1|thompson)$/.test(`${explore}`)
    )
      throw refuse(`its \`explore\` is ${showValue(explore)}`, '"ucb1", "thompson", or a number from 0 to 1');
  }),
  trials: optional(functionLike('trials: () => trialsIn(store, "desk")')),
};

/** A route, how often it was tried and what came of it in all. */
type Arm = { readonly name: string; readonly count: number; readonly sum: number };

function chosenOf(arms: readonly Arm[], explore: Explore, services: Services): Choice {
  const detail = Object.fromEntries(arms.map(({ name, count, sum }) => [name, { count, sum }]));
  const fresh = arms.find(({ count }) => count === 0);
  if (fresh !== undefined && explore !== "thompson")
    return { chosen: fresh.name, why: "it was never tried", detail };
  if (typeof explore === "number" && services.random() < explore) {
    const drawn = arms[Math.floor(services.random() * arms.length)] as Arm;
    return { chosen: drawn.name, why: "by chance", detail };
  }
  const total = arms.reduce((sum, { count }) => sum + count, 0);
  const scores = Object.fromEntries(arms.map((arm) => [arm.name, worthOf(arm, total, explore, services)]));
  return { chosen: ranked(scores)[0]?.[0] ?? null, scores, detail };
}

type Explore = NonNullable<BanditOptions["explore"]>;

function worthOf({ count, sum }: Arm, total: number, explore: Explore, { random }: Services): number {
  if (explore === "thompson") {
    // A draw from the Beta distribution, as the share of one of two Gamma draws.
    const [one, other] = [gammaDraw(1 + sum, random), gammaDraw(1 + count - sum, random)];
    return one / (one + other);
  }
  const mean = sum / count;
  return explore === "ucb1" ? mean + Math.sqrt((2 * Math.log(total)) / count) : mean;
}

/** A draw from the Gamma distribution with a shape of at least 1 (Marsaglia and Tsang). */
function gammaDraw(shape: number, random: () => number): number {
  const d = shape - 1 / 3;
  const c = 1 / Math.sqrt(9 * d);
  for (;;) {
    const normal = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
    const v = (1 + c * normal) ** 3;
    if (v > 0 && Math.log(1 - random()) < 0.5 * normal ** 2 + d - d * v + d * Math.log(v)) return d * v;
  }
}

/** A choice, and what a validation said after it: from 0 to 1. */
export type Trial = { readonly route: string; readonly reward: number; readonly validation: FactId };

/** The results of a selector's choices: each with the validation that followed before the next choice. */
export function trialsOf(session: Session, selector: string): readonly Trial[] {
  return [...session.view(viewFor(selector)).trials];
}

/** The same over all named sessions of a store, each once. */
export async function trialsIn(store: Store, selector: string): Promise<readonly Trial[]> {
  const all = new Map<FactId, Trial>();
  for (const { id } of await store.names())
    for (const trial of trialsOf(await store.load(id), selector)) all.set(trial.validation, trial);
  return [...all.values()];
}

type Trials = { readonly chosen: string | null; readonly trials: List<Trial> };

const viewFor = viewsByName<Trials>((selector) => ({
  start: Object.freeze({ chosen: null, trials: List.empty }),
  step(state, fact, session) {
    if (fact.type === "route-choose" && fact.selector === selector)
      return Object.freeze({ ...state, chosen: fact.chosen });
    if (fact.type !== "validation-report" || state.chosen === null) return state;
    const reward = Math.min(1, Math.max(0, fact.score ?? (fact.passed ? 1 : 0)));
    const trial = Object.freeze({ route: state.chosen, reward, validation: session.id });
    return Object.freeze({ chosen: null, trials: state.trials.push(trial) });
  },
  // Branches each have their own: what was chosen on one must not be credited to another.
  merge(sides) {
    const [{ chosen }] = sides as [Trials];
    const trials = joinLists(
      sides.map((side) => side.trials),
      (trial) => trial.validation,
    );
    return Object.freeze({ chosen, trials });
  },
}));

/** The items of all lists, each once by its key: lists that were folded apart share nothing, though they hold the same. */
export function joinLists<Item>(lists: readonly List<Item>[], keyOf: (item: Item) => string): List<Item> {
  let [joined = List.empty as List<Item>, ...others] = lists;
  const known = new Set([...joined].map(keyOf));
  for (const list of others)
    for (const item of list)
      if (!known.has(keyOf(item))) {
        known.add(keyOf(item));
        joined = joined.push(item);
      }
  return joined;
}
