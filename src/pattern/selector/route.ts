import { adopted, type Session, type View } from "../../session/index.js";

/**
 * What a selector chose last on the way to a session: a route, null when none fitted, undefined when it was not asked.
 *
 * ```ts
 * if (routeOf(session, "desk") === null) session = await person.forward(session);
 * ```
 */
export function routeOf(session: Session, selector: string): string | null | undefined {
  return session.view(viewFor(selector));
}

const views = new Map<string, View<string | null | undefined>>();

function viewFor(selector: string): View<string | null | undefined> {
  let view = views.get(selector);
  if (view === undefined) {
    view = {
      start: undefined,
      step: (last, fact) => (fact.type === "route-choose" && fact.selector === selector ? fact.chosen : last),
      merge: (sides, merge) => sides[adopted(merge) ?? 0],
    };
    views.set(selector, view);
  }
  return view;
}
