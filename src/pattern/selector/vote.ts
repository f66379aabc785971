import { performAll } from "../../runtime/index.js";
import type { FactId, FactOf, Json, Session } from "../../session/index.js";
import { optionNames, showValue } from "../../util/index.js";
import { refusing, requireOptions } from "../../workflow/index.js";
import { answerOf, requestTo } from "./ask.js";
import type { Asker, Choice, Chooser, Rule } from "./choice.js";
import { choosersOf } from "./first.js";

export type VoteOptions = {
  /** How many must be for the same route. Default: more than half of those who are asked. */
  readonly need?: number;
};

/** Several choose, side by side, and none sees the others. */
export function vote(choosers: readonly (Chooser | Rule)[], options: VoteOptions = {}): Asker {
  const refuse = refusing("a vote");
  requireOptions(options, refuse, "vote([byModel(one), byModel(other), rule], { need: 2 })", OPTIONS);
  const all = choosersOf(choosers, refuse);
  const { need = Math.floor(all.length / 2) + 1 } = options;
  if (!Number.isSafeInteger(need) || need < 1 || need > all.length)
    throw refuse(`its \`need\` is ${showValue(need)}`, `a whole number from 1 to ${all.length}`);
  return {
    name: "vote",
    by: "runtime",
    async choose(session, routes, context) {
      const requests = all.map((chooser) => requestTo(session, chooser, routes, context));
      const voted = await performAll(session, requests);
      const ballots = ballotsOf(voted, session, all.length).map((fact, place) => ({
        chooser: (all[place] as Chooser).name,
        answer: answerOf(voted, fact),
      }));
      const scores: { [route: string]: number } = {};
      for (const { answer } of ballots) {
        const chosen = "choice" in answer ? answer.choice.chosen : null;
        if (chosen !== null) scores[chosen] = (scores[chosen] ?? 0) + 1;
      }
      const [first, second] = Object.entries(scores).sort(([, one], [, other]) => other - one);
      const detail = ballots.map(({ chooser, answer }) => ({
        chooser,
        ...("choice" in answer ? { ...answer.choice } : { failure: answer.failure.message }),
      })) as unknown as Json;
      const isWon = first !== undefined && first[1] >= need && first[1] !== second?.[1];
      const choice: Choice = {
        chosen: isWon ? first[0] : null,
        scores,
        why: isWon
          ? `${first[1]} of ${all.length} voted for it`
          : `no route has ${need} of ${all.length} votes for itself alone`,
        detail,
      };
      return { session: voted, choice };
    },
  };
}

const OPTIONS = optionNames<VoteOptions>()("need");

/** The outcomes of requests that were performed together, in the order of the requests. */
function ballotsOf(
  voted: Session,
  before: Session,
  count: number,
): readonly FactOf<"step-result" | "step-failure">[] {
  const requests: FactId[] = [];
  const outcomes = new Map<FactId, FactOf<"step-result" | "step-failure">>();
  for (let node: Session | undefined = voted; node !== undefined && node !== before; node = node.parents[0]) {
    const { fact } = node;
    if (fact.type === "step-call") requests.unshift(node.id);
    else if (fact.type === "step-result" || fact.type === "step-failure") outcomes.set(fact.of, fact);
  }
  return requests.slice(0, count).map((id) => outcomes.get(id) as FactOf<"step-result" | "step-failure">);
}
