import type { Services } from "../../runtime/index.js";
import { optionNames, showValue } from "../../util/index.js";
import { refusing, requireFunction, requireOptions } from "../../workflow/index.js";
import type { Choice, Decider } from "./choice.js";
import { type Trial, trialsOf } from "./trials.js";

export type BanditOptions = {
  /**
   * How the unknown is tried: "ucb1" (the default) by what it may be worth at best, without chance; "thompson" by a draw
   * from what each may be worth; a number from 0 to 1 is how often one is tried by chance.
   */
  readonly explore?: "ucb1" | "thompson" | number;
  /** What is known from elsewhere, such as `() => trialsIn(store, "desk")`. What this session knows is known anyway. */
  readonly trials?: () => readonly Trial[] | Promise<readonly Trial[]>;
};

/** Learns from what validations said after earlier choices which route is worth most. */
export function bandit(options: BanditOptions = {}): Decider {
  const refuse = refusing("a bandit");
  requireOptions(options, refuse, 'bandit({ explore: "ucb1" })', OPTIONS);
  const { explore = "ucb1", trials } = options;
  if (typeof explore === "number" ? !(explore >= 0 && explore <= 1) : !["ucb1", "thompson"].includes(explore))
    throw refuse(`its \`explore\` is ${showValue(explore)}`, '"ucb1", "thompson", or a number from 0 to 1');
  if (trials !== undefined)
    requireFunction(trials, "trials", refuse, 'trials: () => trialsIn(store, "desk")');
  return {
    name: "bandit",
    async decide(session, routes, { selector, services }) {
      const known = new Map<string, Trial>();
      for (const trial of [...trialsOf(session, selector), ...((await trials?.()) ?? [])])
        known.set(trial.validation, trial);
      const arms = routes.map(({ name }) => armOf(name, [...known.values()]));
      return chosenOf(arms, explore, services);
    },
  };
}

const OPTIONS = optionNames<BanditOptions>()("explore trials");

/** A route, how often it was tried and what came of it in all. */
type Arm = { readonly name: string; readonly count: number; readonly sum: number };

function armOf(name: string, trials: readonly Trial[]): Arm {
  const own = trials.filter(({ route }) => route === name);
  return { name, count: own.length, sum: own.reduce((sum, { reward }) => sum + reward, 0) };
}

function chosenOf(arms: readonly Arm[], explore: "ucb1" | "thompson" | number, services: Services): Choice {
  const detail = Object.fromEntries(arms.map(({ name, count, sum }) => [name, { count, sum }]));
  const fresh = arms.find(({ count }) => count === 0);
  if (fresh !== undefined && explore !== "thompson")
    return { chosen: fresh.name, why: "it was never tried", detail };
  if (typeof explore === "number" && services.random() < explore) {
    const drawn = arms[Math.floor(services.random() * arms.length)] as Arm;
    return { chosen: drawn.name, why: "by chance", detail };
  }
  const total = arms.reduce((sum, { count }) => sum + count, 0);
  const scores = Object.fromEntries(
    arms.map((arm) => [arm.name, worthOf(arm, total, explore, services)] as const),
  );
  const [best] = Object.entries(scores).sort(([, one], [, other]) => other - one);
  return { chosen: best?.[0] ?? null, scores, detail };
}

function worthOf(
  { count, sum }: Arm,
  total: number,
  explore: "ucb1" | "thompson" | number,
  { random }: Services,
): number {
  if (explore === "thompson") return betaDraw(1 + sum, 1 + count - sum, random);
  const mean = sum / count;
  return explore === "ucb1" ? mean + Math.sqrt((2 * Math.log(total)) / count) : mean;
}

/** A draw from the Beta distribution, as the share of one of two Gamma draws. */
function betaDraw(alpha: number, beta: number, random: () => number): number {
  const [one, other] = [gammaDraw(alpha, random), gammaDraw(beta, random)];
  return one / (one + other);
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
