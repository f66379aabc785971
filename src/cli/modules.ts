import type { Module, RathOptions } from "../runtime/index.js";
import type { ServerOptions } from "../server/index.js";
import { isObject } from "../util/index.js";
import { isModule } from "../workflow/index.js";
import { loadExports, optionsIn, ProgramError } from "./program.js";

/** The exports of a file for `rath serve --modules`. */
export type Modules = {
  readonly modules: { readonly [name: string]: Module };
  readonly options: Omit<RathOptions, "store">;
  readonly auth: ServerOptions["auth"] | undefined;
};

export const NO_MODULES: Modules = { modules: {}, options: {}, auth: undefined };

/**
 * Reads the modules that a server can run: every export that is a module, by its own name, and those of a default export that is
 * an object. `options` opens the runtime, and `auth` adds ways to prove who somebody is.
 */
export async function loadModules(reference: string, store: string): Promise<Modules> {
  const { file, exported, context } = await loadExports(reference, store);
  const modules: { [name: string]: Module } = {};
  const listed =
    isObject(exported.default) && !isModule(exported.default) ? Object.values(exported.default) : [];
  for (const value of [...Object.values(exported), ...listed]) {
    if (!isModule(value)) continue;
    if (Object.hasOwn(modules, value.name) && modules[value.name] !== value)
      throw new ProgramError(
        file,
        `two modules have the name ${JSON.stringify(value.name)}`,
        "give each module its own name",
      );
    modules[value.name] = value;
  }
  if (Object.keys(modules).length === 0)
    throw new ProgramError(
      file,
      "it exports no module",
      "export agents, workflows or steps: export const clerk = agent({ … })",
    );
  const { options, auth } = exported;
  const given = typeof options === "function" ? await options(context) : options;
  return {
    modules,
    options: optionsIn(given, file),
    auth: typeof auth === "function" ? await auth(context) : (auth as Modules["auth"]),
  };
}
