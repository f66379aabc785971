import type { Module } from "../../runtime/index.js";
import type { Digest, Session } from "../../session/index.js";
import { defined, showValue } from "../../util/index.js";
import type { Parts, Rebuilds, Refuse, State } from "../../workflow/index.js";
import {
  anything,
  called,
  checkOptions,
  createModule,
  enter,
  partsOf,
  rebuild,
  refusing,
  requireModule,
  requireName,
  step,
} from "../../workflow/index.js";
import { type Asked, ask, type Choice, type Chooser, chooserOf, type Route, type Rule } from "./choice.js";
import { ChoiceFailedError, listed, meantBy, RouteGoneError } from "./error.js";
import { isTable, type RouteTable, routesIn, versionOf } from "./route.js";

export type SelectorOptions = {
  /** The module to run when no route fits. Default: none; the session continues unchanged. */
  readonly otherwise?: Module;
  /** Purposes of routes, where the modules' own descriptions are missing or poor. */
  readonly descriptions?: { readonly [route: string]: string };
};

/** A module that continues as one of its routes. */
export type Selector = Module & Rebuilds;

/**
 * Chooses a module at run time from the session. Each choice is recorded; a replay adopts it.
 *
 * ```ts
 * const desk = selector("desk", { billing, support }, byModel(model), { otherwise: person });
 * const urgent = selector("urgent", { now, later }, (session) => (isUrgent(session) ? "now" : "later"));
 * ```
 */
export function selector(
  name: string,
  routes: Parts | RouteTable,
  choose: Rule | Chooser,
  options: SelectorOptions = {},
): Selector {
  requireName(name, "selector", EXAMPLE);
  const refuse = refusing(called("selector", name));
  checkOptions(options, { otherwise: anything, descriptions: anything }, refuse, EXAMPLE);
  const { otherwise, descriptions = {} } = options;
  const chooser = chooserOf(choose, "rule", refuse, EXAMPLE);
  const table = isTable(routes) ? routes : fixed(name, routes, refuse);
  for (const route of Object.keys(descriptions))
    if (!isTable(routes) && !Object.hasOwn(routes, route))
      throw refuse(
        `it describes an unknown route ${showValue(route)}`,
        `the routes are ${Object.keys(table.routes).join(", ")}`,
      );
  if (otherwise !== undefined) {
    requireModule(otherwise, called("selector", name), "otherwise");
    if (!isTable(routes) && Object.hasOwn(routes, "otherwise"))
      throw refuse(
        'a route is called "otherwise", and there is another otherwise',
        "call the route something else",
      );
  }
  return made({ name, table, chooser, otherwise, descriptions, forced: null });
}

const EXAMPLE = 'selector("desk", { billing, support }, (session) => "billing")';

type Made = {
  readonly name: string;
  readonly table: Table;
  readonly chooser: Chooser;
  readonly otherwise: Module | undefined;
  readonly descriptions: { readonly [route: string]: string };
  readonly forced: string | null;
};

type Offer = { readonly routes: readonly Route[]; readonly table: Digest };

function made(given: Made): Module & Rebuilds {
  const { name, table, chooser, otherwise, descriptions, forced } = given;
  // Whether the routes are part of the program, and not a state of the world.
  const isFixed = !isTable(table);
  const offer = (): Offer => ({ routes: routesIn(table.routes, descriptions), table: table.version });
  const look = step(`routes of ${name}`, offer, { effect: "read", origin: "trusted" });
  return createModule(
    {
      name,
      kind: "selector",
      parts: Object.freeze({ ...(isFixed && table.routes), ...defined({ otherwise }) }),
      state: Object.freeze({ forced, chooser: chooser.name }),
      [rebuild]: (state: State, rebuilt: Parts) =>
        made({ ...given, ...changed(given, state.forced, rebuilt) }),
    },
    async (entered) => {
      const looked = isFixed ? { session: entered, value: offer() } : await look.call(entered);
      const offered = looked.value as Offer;
      const chosen =
        forced === null
          ? await ask(looked.session, chooser, offered.routes, { selector: name })
          : { session: looked.session, choice: force(given, offered, forced), cost: 0 };
      if ("failure" in chosen) throw new ChoiceFailedError(name, chosen.session, chosen.failure);
      const { chosen: route } = chosen.choice;
      const noted = note(chosen, given, offered);
      if (route === null) return otherwise === undefined ? noted : enter(otherwise, noted);
      const known = table.at(offered.table) ?? table.routes;
      if (!Object.hasOwn(known, route)) throw new RouteGoneError(name, route, Object.keys(known));
      return enter(known[route] as Module, noted);
    },
  );
}

function force({ name }: Made, { routes }: Offer, forced: string): Choice {
  if (routes.some((route) => route.name === forced)) return { chosen: forced, why: "it was forced" };
  throw new RouteGoneError(
    name,
    forced,
    routes.map((route) => route.name),
    true,
  );
}

function note(
  { session, choice, cost }: Extract<Asked, { choice: Choice }>,
  { name, chooser, forced }: Made,
  { routes, table }: Offer,
): Session {
  const { chosen, why, scores = {}, detail } = choice;
  return session.append({
    type: "route-choose",
    selector: name,
    candidates: routes.map((route) => ({
      ...route,
      ...(Object.hasOwn(scores, route.name) && { score: scores[route.name] as number }),
    })),
    chosen,
    ...defined({ why }),
    chooser: forced === null ? chooser.name : "forced",
    ...(cost > 0 && { cost }),
    table,
    ...defined({ detail }),
    by: forced === null ? (chooser.by ?? "runtime") : "runtime",
  });
}

type Table = Pick<RouteTable, "routes" | "version" | "at">;

function fixed(name: string, routes: Parts, refuse: Refuse): Table {
  const parts = partsOf(routes, called("selector", name));
  if (Object.keys(parts).length === 0) throw refuse("it has no routes", EXAMPLE);
  let version: Digest | undefined;
  return {
    routes: parts,
    // Agents that hand over to each other are not all there yet when the first of them is made.
    get version() {
      version ??= versionOf(parts);
      return version;
    },
    at: () => parts,
  };
}

function changed(given: Made, forced: unknown, parts: Parts): Partial<Made> {
  const refuse = refusing(called("selector", given.name));
  if (forced !== null && typeof forced !== "string")
    throw refuse(`its state \`forced\` is ${showValue(forced)}`, "the name of a route, or null");
  const names = Object.keys(given.table.routes);
  const isFixed = !isTable(given.table);
  if (isFixed && forced !== null && !names.includes(forced))
    throw refuse(
      `its state \`forced\` must be the name of a route; got ${showValue(forced)}`,
      `${meantBy(forced, names)}the routes are ${listed(names)}`,
    );
  const { otherwise } = parts;
  return {
    forced,
    ...(otherwise !== undefined && given.otherwise !== undefined && { otherwise }),
    ...(isFixed && { table: fixed(given.name, pick(parts, names), refuse) }),
  };
}

function pick(parts: Parts, names: readonly string[]): Parts {
  return Object.fromEntries(
    names.flatMap((name) => (parts[name] === undefined ? [] : [[name, parts[name]]])),
  );
}
