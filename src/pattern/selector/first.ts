import type { Json } from "../../session/index.js";
import { type Refuse, refusing } from "../../workflow/index.js";
import { ask } from "./ask.js";
import { type Asker, type Chooser, chooserOf, type Rule } from "./choice.js";

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
        const detail = passed.length > 0 ? { passed: passed as unknown as Json } : {};
        if ("choice" in answer && answer.choice.chosen !== null)
          return {
            session: now,
            choice: {
              ...answer.choice,
              detail: { chooser: chooser.name, ...detail, ...detailOf(answer.choice.detail) },
            },
          };
        passed.push({
          chooser: chooser.name,
          why:
            "choice" in answer ? (answer.choice.why ?? "none fits") : `it failed: ${answer.failure.message}`,
        });
      }
      return {
        session: now,
        choice: {
          chosen: null,
          why: "nobody found one that fits",
          detail: { passed: passed as unknown as Json },
        },
      };
    },
  };
}

function detailOf(detail: Json | undefined): { readonly detail?: Json } {
  return detail === undefined ? {} : { detail };
}

/** Those who choose, rules among them. */
export function choosersOf(choosers: readonly unknown[], refuse: Refuse): readonly Chooser[] {
  const example = 'firstOf(byModel(model), (session) => "support")';
  if (!Array.isArray(choosers) || choosers.length === 0) throw refuse("there is nobody to ask", example);
  return choosers.map((one, place) => chooserOf(one, `rule ${place + 1}`, refuse, example));
}
