import { forward, type Module } from "../runtime/index.js";
import { called, requireName } from "./options.js";
import { enter, orderOf, type Parts, partsOf } from "./part.js";
import { type Rebuilds, rebuild } from "./state.js";

/**
 * One module after the other, each with what the one before gave back. A module may be there several times.
 *
 * ```ts
 * const report = sequence("report", [research, write, review]);
 * ```
 */
export function sequence(name: string, modules: readonly Module[]): Module & Rebuilds;
export function sequence(modules: readonly Module[]): Module & Rebuilds;
export function sequence(first: string | readonly Module[], second?: readonly Module[]): Module & Rebuilds {
  const [name, modules] =
    typeof first === "string" ? [first, second as readonly Module[]] : ["sequence", first];
  requireName(name, "sequence", 'sequence("report", [research, write]), or sequence([research, write])');
  return made(name, partsOf(modules, called("sequence", name)), orderOf(modules));
}

function made(name: string, parts: Parts, order: readonly string[]): Module & Rebuilds {
  const module: Module & Rebuilds = {
    name,
    kind: "sequence",
    parts,
    forward: (given) =>
      forward(module, given, async (entered) => {
        let session = entered;
        for (const part of order) session = await enter(parts[part] as Module, session);
        return session;
      }),
    [rebuild]: (_state, newParts) => made(name, partsOf(newParts, called("sequence", name)), order),
  };
  return Object.freeze(module);
}
