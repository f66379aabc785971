import type { Module } from "../runtime/index.js";
import { defineModule, enter } from "./define.js";
import type { Rebuilds } from "./state.js";

/**
 * Runs modules one after the other; each gets the session that the previous one returned. A module may occur several times.
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
  const example = 'sequence("report", [research, write]), or sequence([research, write])';
  return defineModule(
    { kind: "sequence", name, example, parts: modules, options: {}, checks: {} },
    async (entered, { parts, order }) => {
      let session = entered;
      for (const part of order) session = await enter(parts[part] as Module, session);
      return session;
    },
  );
}
