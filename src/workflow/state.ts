import { canonical, type Module } from "../runtime/index.js";
import type { Json } from "../session/index.js";
import { mapValues, nearestOf, showValue } from "../util/index.js";
import type { Parts } from "./define.js";
import { StateError } from "./error.js";
import { requireJson } from "./options.js";

/** State that learning may change in a module and its parts, by path: `{ "coder.instructions": "…" }`. */
export type State = { readonly [path: string]: Json };

/** Names the method by which a module makes another of its kind, with other state and parts. */
export const rebuild: unique symbol = Symbol.for("openrath.rebuild");

/** A module that `withState` can change. The state it gets is whole: what was not changed is as it was. */
export interface Rebuilds {
  [rebuild](state: State, parts: Parts): Module;
}

/** Whether something can turn one session into another. */
export function isModule(value: unknown): value is Module {
  return (
    typeof value === "object" && value !== null && typeof (value as Partial<Module>).forward === "function"
  );
}

/**
 * Everything that can be read and replaced in a module and its parts, by path. A module that contains itself is read once.
 *
 * ```ts
 * stateOf(team)["coder.instructions"];
 * ```
 */
export function stateOf(module: Module): State {
  requireModule(module, "read");
  return Object.freeze(Object.fromEntries(entriesOf(module, "", [])));
}

/**
 * The same module with other state, deep by path; the one given stays as it is. A name that is not there is refused,
 * and so is a value that the module cannot take.
 *
 * ```ts
 * const kinder = withState(team, { "coder.instructions": "Be kind.", "coder.maxSteps": 10 });
 * ```
 */
export function withState(module: Module, state: State): Module {
  requireModule(module, "change");
  if (typeof state !== "object" || state === null)
    throw new StateError(
      `Cannot change the state of "${module.name}" to ${showValue(state)}.`,
      'pass the paths to change: withState(team, { "coder.instructions": "Be kind." })',
      { module: module.name },
    );
  const known = entriesOf(module, "", []).map(([path]) => path);
  const next = Object.entries(state).map(([path, value]): [string, Json] => {
    if (!known.includes(path)) throw unknownName(module, path, known);
    const refuse = (reason: string, hint: string) =>
      new StateError(`Cannot change "${path}" of "${module.name}": ${reason}.`, hint, {
        module: module.name,
        path,
      });
    return [path, requireJson(value, "new value", refuse)];
  });
  return change(module, Object.fromEntries(next), "", []);
}

function requireModule(module: unknown, use: string): void {
  if (!isModule(module))
    throw new StateError(
      `Cannot ${use} the state of ${showValue(module)}: it is not a module.`,
      "pass what agent(…), workflow(…) or another of them made",
      {},
    );
}

/** The refusal of a module whose state identifies it and cannot be learnt. */
export function unchangeable(module: Module): StateError {
  const names = Object.keys(module.state ?? {});
  return new StateError(
    `Cannot change ${names.map((name) => `"${name}"`).join(", ")} of "${module.name}": it says what the module is.`,
    "make another module instead",
    { module: module.name, names },
  );
}

function change(module: Module, state: State, prefix: string, above: readonly Module[]): Module {
  if (above.includes(module)) return module;
  const { state: own = {}, parts = {} } = module;
  const next = mapValues(own, (value, name) => {
    const path = prefix + name;
    return Object.hasOwn(state, path) ? (state[path] as Json) : value;
  });
  const newParts = mapValues(parts, (part, name) =>
    change(part, state, `${prefix}${name}.`, [...above, module]),
  );
  const isSame =
    canonical(next) === canonical(own) && Object.keys(parts).every((name) => newParts[name] === parts[name]);
  if (isSame) return module;
  const { [rebuild]: build } = module as Module & Partial<Rebuilds>;
  if (build === undefined)
    throw new StateError(
      `Cannot change the state of "${module.name}": it does not say how another one is made.`,
      'implement [rebuild](state, parts) on it (rebuild is from "openrath/workflow"), and return the new module',
      { module: module.name },
    );
  return build.call(module, next, newParts);
}

function entriesOf(module: Module, prefix: string, above: readonly Module[]): [string, Json][] {
  if (above.includes(module)) return [];
  return [
    ...Object.entries(module.state ?? {}).map(([name, value]): [string, Json] => [prefix + name, value]),
    ...Object.entries(module.parts ?? {}).flatMap(([name, part]) =>
      entriesOf(part, `${prefix}${name}.`, [...above, module]),
    ),
  ];
}

function unknownName(module: Module, path: string, known: readonly string[]): StateError {
  const nearest = nearestPath(path, known);
  const [some, more] = [known.slice(0, LISTED), known.length > LISTED];
  return new StateError(
    `Cannot change "${path}" of "${module.name}": it has no such state.`,
    nearest !== undefined
      ? `did you mean "${nearest}"? stateOf(module) lists them all`
      : known.length === 0
        ? `"${module.name}" has no state that can be changed`
        : `it has ${some.map((name) => `"${name}"`).join(", ")}${more ? ", …: stateOf(module) lists them all" : ""}`,
    { module: module.name, path, known, ...(nearest !== undefined && { nearest }) },
  );
}

/** So many names are read, and more are looked up. */
const LISTED = 12;
/** Where paths are longer, their ends tell them apart. */
const COMPARED = 64;

/** The nearest path as a whole; else the one with the nearest last name. */
function nearestPath(path: string, known: readonly string[]): string | undefined {
  const whole = (one: string) => one.replaceAll(/[.:/]/g, "-").slice(-COMPARED);
  const nearest = nearestOf(whole(path), known.map(whole));
  return nearest === undefined ? nearestOf(path, known) : known.find((one) => whole(one) === nearest);
}
