import { forward, type Limits, type Module } from "../runtime/index.js";
import type { Json, Session } from "../session/index.js";
import { showValue } from "../util/index.js";
import { ModuleError } from "./error.js";
import { called, type Refuse, refusing, requireFunction, requireName, requireOptions } from "./options.js";
import { isModule, type Rebuilds, rebuild, type State } from "./state.js";

/** Checks the value of one option, and throws the refusal of a bad one: `requireCount`, `requireMilliseconds`. */
export type Check = (value: unknown, option: string, refuse: Refuse) => void;

/** A check for every option. Its names are all the options that there are. */
export type Checks<Options> = { readonly [Option in keyof Options]-?: Check };

/** The option may be left out. */
export function optional(check: Check): Check {
  return (value, option, refuse) => {
    if (value !== undefined) check(value, option, refuse);
  };
}

/** The option must be a function; `example` shows one. */
export function functionLike(example: string): Check {
  return (value, option, refuse) => requireFunction(value, option, refuse, example);
}

/** The option is checked elsewhere. */
export const anything: Check = () => {};

/** Checks all options. One that is misspelt would otherwise be ignored in silence. */
export function checkOptions<Options extends object>(
  options: Options,
  checks: Checks<Options>,
  refuse: Refuse,
  example: string,
): void {
  requireOptions(options, refuse, example, checks);
  for (const option of Object.keys(checks) as (keyof Options & string)[])
    checks[option](options[option], option, refuse);
}

/** The input of a body: the name, parts and options of its module, all checked. */
export type Given<Options> = {
  readonly name: string;
  /** How the module is called in errors: `loop "polish"`. */
  readonly where: string;
  readonly refuse: Refuse;
  readonly parts: Parts;
  /** The first part, of modules that have one. */
  readonly part: Module;
  /** The names of the parts in the order in which they were given. */
  readonly order: readonly string[];
  readonly options: Options;
};

export type Definition<Options extends object, More extends object> = {
  readonly kind: string;
  readonly name: string;
  /** A call that makes such a module, for the hints of refusals. */
  readonly example: string;
  readonly parts: readonly Module[] | Parts;
  readonly options: Options;
  readonly checks: Checks<Options>;
  /** The options that are the module's state, so that `withState` can change them. */
  readonly learnable?: readonly (keyof Options & string)[];
  readonly limits?: (options: Options) => Limits;
  /** Checks options and parts against each other. */
  readonly check?: (given: Given<Options>) => void;
  /** Members beside those of every module. */
  readonly more?: (given: Given<Options>, forward: Module["forward"]) => More;
};

/**
 * A module of its own kind: checks what it is given, runs the body between `module-enter` and `module-exit`, and lets
 * `withState` change its parts and its learnable options.
 *
 * ```ts
 * const twice = (name: string, part: Module) =>
 *   defineModule({ kind: "twice", name, example: 'twice("again", part)', parts: { part }, options: {}, checks: {} },
 *     async (session, { parts: { part } }) => enter(part, await enter(part, session)));
 * ```
 */
export function defineModule<Options extends object, More extends object = object>(
  definition: Definition<Options, More>,
  body: (session: Session, given: Given<Options>) => Promise<Session>,
): Module & Rebuilds & More {
  const { kind, name, example, checks, learnable = [] } = definition;
  requireName(name, kind, example);
  const where = called(kind, name);
  const refuse = refusing(where);
  let order: readonly string[] | undefined;
  return make(definition.parts, definition.options);

  function make(of: Definition<Options, More>["parts"], options: Options): Module & Rebuilds & More {
    checkOptions(options, checks, refuse, example);
    const parts = partsOf(of, where);
    // That of the first parts: a record of changed parts may have lost it.
    order ??= orderOf(definition.parts);
    const given = { name, where, refuse, parts, part: parts[order[0] ?? ""] as Module, order, options };
    definition.check?.(given);
    const state: { [name: string]: Json } = {};
    for (const option of learnable)
      if (options[option] !== undefined) state[option] = options[option] as Json;
    const module: Module & Rebuilds & More = createModule<Omit<Module, "forward"> & Rebuilds & More>(
      {
        name,
        kind,
        parts,
        ...(Object.keys(state).length > 0 && { state: Object.freeze(state) }),
        [rebuild]: (changed: State, newParts: Parts) => make(newParts, { ...options, ...changed }),
        ...(definition.more?.(given, (session) => module.forward(session)) as More),
      },
      (session) => body(session, given),
      definition.limits?.(options),
    );
    return module;
  }
}

/** A frozen module that runs the body between `module-enter` and `module-exit`. */
export function createModule<Fields extends Omit<Module, "forward">>(
  fields: Fields,
  body: (session: Session) => Promise<Session>,
  limits?: Limits,
): Fields & Pick<Module, "forward"> {
  const module: Fields & Pick<Module, "forward"> = {
    ...fields,
    forward: (session) => forward(module, session, body, limits),
  };
  return Object.freeze(module);
}

/** The modules that a module is made of, by the name it knows them by. */
export type Parts = { readonly [name: string]: Module };

/** A module, or what is one once it is given an input: a step that cannot do without. */
export type Usable = Omit<Module, "forward"> & {
  forward(session: Session, ...input: never[]): Promise<Session>;
};

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
