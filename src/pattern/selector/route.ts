import { descriptionOf } from "../../agent/index.js";
import { digestOfModule } from "../../runtime/index.js";
import { adopted, canonical, type Digest, digestOf, type Session, type View } from "../../session/index.js";
import { type Parts, partsOf } from "../../workflow/index.js";
import type { Route } from "./choice.js";

/**
 * A selector's last choice on the way to a session: a route, null when none fitted, undefined when it was not asked.
 *
 * ```ts
 * if (routeOf(session, "desk") === null) session = await person.forward(session);
 * ```
 */
export function routeOf(session: Session, selector: string): string | null | undefined {
  return session.view(viewFor(selector));
}

const viewFor = viewsByName<string | null | undefined>((selector) => ({
  start: undefined,
  step: (last, fact) => (fact.type === "route-choose" && fact.selector === selector ? fact.chosen : last),
  merge: (sides, merge) => sides[adopted(merge) ?? 0],
}));

/** One view for each name, made when it is first asked for: a session caches the states of views by the view itself. */
export function viewsByName<Value>(create: (name: string) => View<Value>): (name: string) => View<Value> {
  const views = new Map<string, View<Value>>();
  return (name) => {
    const view = views.get(name) ?? create(name);
    views.set(name, view);
    return view;
  };
}

/** Routes that can change while sessions are in progress. */
export interface RouteTable {
  readonly routes: Parts;
  /** Tells what there was to choose from: the names, what they are good for, and what the modules are. */
  readonly version: Digest;
  /** Replaces all routes. Sessions that have already chosen keep their route. */
  set(routes: Parts): void;
  /** The routes of a version, as long as this process knows them. */
  at(version: Digest): Parts | undefined;
}

/**
 * Routes for a selector that can be changed later.
 *
 * ```ts
 * const table = routeTable({ billing, support });
 * const desk = selector("desk", table, byModel(model));
 * table.set({ billing, support, refunds });
 * ```
 */
export function routeTable(routes: Parts): RouteTable {
  let current = partsOf(routes, "a route table");
  // Those that were replaced: a session that chose among them may still be under way.
  const former: Parts[] = [];
  return {
    get routes() {
      return current;
    },
    get version() {
      return versionOf(current);
    },
    set(next) {
      const parts = partsOf(next, "a route table");
      former.push(current);
      current = parts;
    },
    at: (version) => [current, ...former.toReversed()].find((one) => versionOf(one) === version),
  };
}

export function isTable(routes: Parts | Partial<RouteTable>): routes is RouteTable {
  return typeof (routes as Partial<RouteTable>).set === "function";
}

export function versionOf(routes: Parts): Digest {
  return digestOf(
    canonical(
      Object.entries(routes).map(([name, module]) => [
        name,
        descriptionOf(module) ?? null,
        digestOfModule(module),
      ]),
    ),
  );
}

export function routesIn(
  routes: Parts,
  described: { readonly [route: string]: string } = {},
): readonly Route[] {
  return Object.freeze(
    Object.entries(routes).map(([name, module]) => {
      const description = Object.hasOwn(described, name) ? described[name] : descriptionOf(module);
      return Object.freeze({ name, ...(description !== undefined && { description }) });
    }),
  );
}
