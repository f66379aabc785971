import { type FactId, List, type Session, type View } from "../../session/index.js";
import type { Store } from "../../store/index.js";

/** A choice, and what a validation said after it: from 0 to 1. */
export type Trial = { readonly route: string; readonly reward: number; readonly validation: FactId };

/**
 * What came of the choices of a selector, as far as a session knows: each with the validation that followed it on its way,
 * before the selector chose again.
 */
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

const views = new Map<string, View<Trials>>();

function viewFor(selector: string): View<Trials> {
  let view = views.get(selector);
  if (view === undefined) {
    view = {
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
        let [{ chosen, trials }] = sides as [Trials];
        const known = new Set([...trials].map(({ validation }) => validation));
        for (const side of sides.slice(1))
          for (const trial of side.trials)
            if (!known.has(trial.validation)) {
              known.add(trial.validation);
              trials = trials.push(trial);
            }
        return Object.freeze({ chosen, trials });
      },
    };
    views.set(selector, view);
  }
  return view;
}
