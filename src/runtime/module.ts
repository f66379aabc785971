import { canonical, digestOf, type Json, type Session } from "../session/index.js";
import { defined, mapValues } from "../util/index.js";

/** The only interface of composition: turns one session into another that descends from it. */
export interface Module {
  readonly name: string;
  /** The modules this one is made of, by the name it knows them by. */
  readonly parts?: { readonly [name: string]: Module };
  forward(session: Session): Promise<Session>;
  /** The sort of module: "agent", "workflow", "sequence". */
  readonly kind?: string;
  /** The values that learning may change, and others that tell two configurations apart. Part of its digest. */
  readonly state?: { readonly [name: string]: Json };
}

/** A module and everything in it, as data. */
export type Description = {
  readonly name: string;
  readonly kind: string;
  readonly state?: { readonly [name: string]: Json };
  readonly parts?: { readonly [name: string]: Description };
};

/** Describes a module and its parts as a tree. A module that contains itself is described once, and by name further inside. */
export function describe(module: Module): Description {
  return describeIn(module, []);
}

function describeIn(module: Module, above: readonly Module[]): Description {
  const { name, kind = "module", state, parts = {} } = module;
  if (above.includes(module)) return { name, kind: "recursion" };
  const inner = mapValues(parts, (part) => describeIn(part, [...above, module]));
  return { name, kind, ...defined({ state }), ...(Object.keys(inner).length > 0 && { parts: inner }) };
}

/** Tells two configurations of a module apart: its tree, and the state and tools of everything in it. */
export function digestOfModule(module: Module): string {
  return digester()(module, new Set());
}

/**
 * The same for each thing that a module and the modules in it declare, shortened and by its path: which of them differs
 * is then known without the other program. Of very many, those that are not as deep inside.
 */
export function digestsOfModule(module: Module): { readonly [declared: string]: string } {
  const digest = digester();
  const declared: { [name: string]: string } = {};
  let room = ROOM;
  const declare = (name: string, value: string): void => {
    declared[name] = value.slice(0, SHORT);
    room -= name.length + SHORT + 6;
  };
  const open: { readonly at: string; readonly module: Module; readonly above: ReadonlySet<Module> }[] = [
    { at: "", module, above: new Set([module]) },
  ];
  for (const { at, module: one, above } of open) {
    if (room < 0) break;
    for (const [name, value] of Object.entries(one.state ?? {}).slice(0, DECLARED))
      declare(at === "" ? name : `${at}: ${name}`, digestOf(canonical(value)));
    for (const [name, part] of Object.entries(one.parts ?? {}).slice(0, DECLARED)) {
      const path = at === "" ? `part ${name}` : `${at} › ${name}`;
      declare(path, digest(part, above));
      if (!above.has(part)) open.push({ at: path, module: part, above: new Set([...above, part]) });
    }
  }
  return declared;
}

/** Whether something declared is inside of a part, and not what that module itself declares. */
export function isDeep(declared: string): boolean {
  return /^part .*(?: › |: )/.test(declared);
}

/** Whether one thing declared is inside of another. */
export function isInside(declared: string, part: string): boolean {
  return declared.startsWith(`${part} › `) || declared.startsWith(`${part}: `);
}

const DECLARED = 32;
/** Characters for what is inside of the parts: the beginning of a run stays in its line. */
const ROOM = 2_000;
const SHORT = 12;

/** Each module is gone into once: agents that all hand over to each other have more paths than anybody can walk. */
function digester(): (module: Module, above: ReadonlySet<Module>) => string {
  const known = new Map<Module, string>();
  const digestedIn = (one: Module, above: ReadonlySet<Module>): string => {
    const { name, kind = "module", state, parts = {} } = one;
    if (above.has(one)) return digestOf(canonical({ name, kind: "recursion" }));
    let digest = known.get(one);
    if (digest === undefined) {
      const inside = new Set([...above, one]);
      const inner: { [part: string]: string } = {};
      for (const part of Object.keys(parts).sort()) inner[part] = digestedIn(parts[part] as Module, inside);
      digest = digestOf(canonical({ name, kind, ...(state !== undefined && { state }), parts: inner }));
      known.set(one, digest);
    }
    return digest;
  };
  return digestedIn;
}
