import type { Module } from "../runtime/index.js";
import type { Session } from "../session/index.js";
import { anything, defineModule, enter, type Parts } from "./define.js";
import { RouteError } from "./error.js";
import { requireFunction, wrong } from "./options.js";
import type { Rebuilds } from "./state.js";

/** Returns the name of a route for the session, or null when none fits: the session then continues unchanged. */
export type Choose<Route extends string> = (session: Session) => Route | null;

/**
 * Runs the module that a rule chooses. The choice is recorded with all candidates.
 *
 * ```ts
 * const desk = branch("desk", (session) => (isBill(session) ? "billing" : null), { routes: { billing, support } });
 * ```
 */
export function branch<Routes extends Parts>(
  name: string,
  choose: Choose<keyof Routes & string>,
  options: { readonly routes: Routes },
): Module & Rebuilds {
  const example = 'branch("desk", (session) => "billing", { routes: { billing, support } })';
  return defineModule(
    {
      kind: "branch",
      name,
      example,
      parts: options?.routes,
      options,
      checks: { routes: anything },
      check({ order, refuse }) {
        requireFunction(choose, "choose", refuse, example);
        if (order.length === 0) throw refuse("it has no routes", example);
      },
    },
    async (entered, { where, parts, order }) => {
      const chosen: unknown = choose(entered);
      if (chosen !== null && typeof chosen !== "string")
        throw wrong(chosen, "choose", where, "the name of a route or null");
      if (chosen !== null && !Object.hasOwn(parts, chosen)) throw new RouteError(name, chosen, order);
      const session = entered.append({
        type: "route-choose",
        selector: name,
        candidates: order.map((route) => ({ name: route })),
        chosen,
        by: "runtime",
      });
      return chosen === null ? session : enter(parts[chosen] as Module, session);
    },
  );
}
