import { forward, type Module } from "../runtime/index.js";
import type { Session } from "../session/index.js";
import { RouteError } from "./error.js";
import { called, refusing, requireFunction, requireName, requireOptions, wrong } from "./options.js";
import { enter, type Parts, partsOf } from "./part.js";
import { type Rebuilds, rebuild } from "./state.js";

/** Looks at the session and names a route; null when none fits, and then the session goes on as it is. */
export type Choose<Route extends string> = (session: Session) => Route | null;

/**
 * One of several modules, chosen by a rule. The choice is recorded with all its candidates.
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
  requireName(name, "branch", 'branch("desk", (session) => "billing", { routes: { billing, support } })');
  const where = called("branch", name);
  const refuse = refusing(where);
  requireFunction(
    choose,
    "choose",
    refuse,
    "branch(name, (session) => the name of a route, or null, { routes })",
  );
  requireOptions(options, refuse, "say what there is to choose from: { routes: { billing, support } }", {
    routes: true,
  });
  const routes = partsOf(options.routes, where);
  if (Object.keys(routes).length === 0)
    throw refuse("it has no routes", "say what there is to choose from: { routes: { billing, support } }");
  return made(name, choose as Choose<string>, routes);
}

function made(name: string, choose: Choose<string>, routes: Parts): Module & Rebuilds {
  const names = Object.keys(routes);
  const candidates = Object.freeze(names.map((route) => Object.freeze({ name: route })));
  const module: Module & Rebuilds = {
    name,
    kind: "branch",
    parts: routes,
    forward: (given) =>
      forward(module, given, async (entered) => {
        const chosen: unknown = choose(entered);
        if (chosen !== null && typeof chosen !== "string")
          throw wrong(chosen, "choose", called("branch", name), "the name of a route or null");
        if (chosen !== null && !Object.hasOwn(routes, chosen)) throw new RouteError(name, chosen, names);
        const session = entered.append({
          type: "route-choose",
          selector: name,
          candidates,
          chosen,
          by: "runtime",
        });
        return chosen === null ? session : enter(routes[chosen] as Module, session);
      }),
    [rebuild]: (_state, parts) => made(name, choose, partsOf(parts, called("branch", name))),
  };
  return Object.freeze(module);
}
