import { forward, type Module } from "../runtime/index.js";
import type { Session } from "../session/index.js";
import { showValue } from "../util/index.js";
import { ModuleError } from "./error.js";

/** The modules that a module is made of, by the name it knows them by. */
export type Parts = { readonly [name: string]: Module };

/** A module, or what is one once it is given an input: a step that cannot do without. */
export type Usable = Omit<Module, "forward"> & {
  forward(session: Session, ...input: never[]): Promise<Session>;
};

/** Whether something can turn one session into another. */
export function isModule(value: unknown): value is Module {
  return (
    typeof value === "object" && value !== null && typeof (value as Partial<Module>).forward === "function"
  );
}

/** The value, if it is a module; for callers the compiler did not check. */
export function requireModule(value: unknown, where: string, part?: string): Module {
  const which = part === undefined ? "one of its parts" : `its part "${part}"`;
  if (!isModule(value))
    throw new ModuleError(where, `${which} is ${showValue(value)}, without forward(session)`);
  if (typeof value.name !== "string" || value.name === "")
    throw new ModuleError(where, `${which} has no name`);
  return value;
}

/** A checked, frozen record of parts. A name that came twice in a list is told apart by its place. */
export function partsOf(modules: readonly Module[] | Parts, where: string): Parts {
  if (typeof modules !== "object" || modules === null)
    throw new ModuleError(where, "its parts are neither a list nor a record of modules");
  if (isList(modules)) {
    for (const module of modules) requireModule(module, where);
    const names = namesOf(modules);
    return Object.freeze(Object.fromEntries(names.map((name, place) => [name, modules[place] as Module])));
  }
  for (const [part, module] of Object.entries(modules)) requireModule(module, where, part);
  return Object.freeze({ ...modules });
}

/** The names of the parts in the order they were given, which an object loses for names such as "2". */
export function orderOf(modules: readonly Module[] | Parts): readonly string[] {
  return isList(modules) ? namesOf(modules) : Object.keys(modules);
}

/**
 * Runs a part. A plain object `{ name, forward }` is bracketed here, since nobody else does it; a module that brackets
 * itself shows it by having a `kind`.
 */
export function enter(part: Module, session: Session): Promise<Session> {
  return part.kind === undefined
    ? forward(part, session, (entered) => part.forward(entered))
    : part.forward(session);
}

function isList(modules: readonly Module[] | Parts): modules is readonly Module[] {
  return Array.isArray(modules);
}

function namesOf(modules: readonly Module[]): readonly string[] {
  const taken = new Set<string>();
  return modules.map(({ name }) => {
    let free = name;
    for (let place = 2; taken.has(free); place++) free = `${name}-${place}`;
    taken.add(free);
    return free;
  });
}
