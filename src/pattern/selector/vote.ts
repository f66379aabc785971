import { performAll } from "../../runtime/index.js";
import { backFrom, type FactId, type Json, type Session } from "../../session/index.js";
import { defined, showValue } from "../../util/index.js";
import { anything, checkOptions, type Refuse, refusing } from "../../workflow/index.js";
import type { Asker, Ballot, Chooser, Rule } from "./choice.js";
import { answerOf, ask, chooserOf, ranked, requestTo } from "./choice.js";

export type VoteOptions = {
  /** How many must be for the same route. Default: more than half of those who are asked. */
  readonly need?: number;
};

/** Several choose, side by side, and none sees the others. */
export function vote(choosers: readonly (Chooser | Rule)[], options: VoteOptions = {}): Asker {
  const refuse = refusing("a vote");
  checkOptions(
    options,
    { need: anything },
    refuse,
    "vote([byModel(one), byModel(other), rule], { need: 2 })",
  );
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
      const scores: { [route: string]: number } = {};
      const detail = ballotsOf(voted, session, all.length).map((fact, place): Json => {
        const answer = answerOf(voted, fact);
        const chooser = (all[place] as Chooser).name;
        if ("failure" in answer) return { chooser, failure: answer.failure.message };
        const { chosen } = answer.choice;
        if (chosen !== null) scores[chosen] = (scores[chosen] ?? 0) + 1;
        return { chooser, ...answer.choice };
      });
      const [first, second] = ranked(scores);
      const isWon = first !== undefined && first[1] >= need && first[1] !== second?.[1];
      const why = isWon
        ? `${first[1]} of ${all.length} voted for it`
        : `no route has ${need} of ${all.length} votes for itself alone`;
      return { session: voted, choice: { chosen: isWon ? first[0] : null, scores, why, detail } };
    },
  };
}

function ballotsOf(voted: Session, before: Session, count: number): readonly Ballot[] {
  const requests: FactId[] = [];
  const outcomes = new Map<FactId, Ballot>();
  for (const { id, fact } of backFrom(voted, before))
    if (fact.type === "step-call") requests.unshift(id);
    else if (fact.type === "step-result" || fact.type === "step-failure") outcomes.set(fact.of, fact);
  return requests.slice(0, count).map((id) => outcomes.get(id) as Ballot);
}

/** Asks one after the other, until somebody chooses: who finds that none fits, or fails, lets the next choose. */
export function firstOf(...choosers: readonly (Chooser | Rule)[]): Asker {
  const all = choosersOf(choosers, refusing("a choice with fallbacks"));
  return {
    name: "first of",
    by: "runtime",
    async choose(session, routes, context) {
      let now = session;
      const passed: { chooser: string; why: string }[] = [];
      for (const chooser of all) {
        const answer = await ask(now, chooser, routes, context);
        now = answer.session;
        const before = passed.length > 0 ? { passed: [...passed] } : {};
        if ("choice" in answer && answer.choice.chosen !== null) {
          const detail = { chooser: chooser.name, ...before, ...defined({ detail: answer.choice.detail }) };
          return { session: now, choice: { ...answer.choice, detail } };
        }
        const why =
          "choice" in answer ? (answer.choice.why ?? "none fits") : `it failed: ${answer.failure.message}`;
        passed.push({ chooser: chooser.name, why });
      }
      return {
        session: now,
        choice: { chosen: null, why: "nobody found one that fits", detail: { passed } },
      };
    },
  };
}

export function choosersOf(choosers: readonly unknown[], refuse: Refuse): readonly Chooser[] {
  const example = 'firstOf(byModel(model), (session) => "support")';
  if (!Array.isArray(choosers) || choosers.length === 0) throw refuse("there is nobody to ask", example);
  return choosers.map((one, place) => chooserOf(one, `rule ${place + 1}`, refuse, example));
}
