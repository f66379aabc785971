import * as nodeModule from "node:module";
import { HOOKS } from "./location.js";

/**
 * Has every program that is loaded from now on find this copy of openrath under its name, wherever it stands: a session
 * of another copy is none here, and a file outside of any project finds no copy at all.
 */
export function answerWithOurOwn(): void {
  // The tool that runs the sources also finds them by the name of the package.
  if (done || import.meta.url.endsWith(".ts")) return;
  done = true;
  const { register, registerHooks } = nodeModule as typeof nodeModule & {
    readonly registerHooks?: (hooks: { readonly resolve: SyncResolve }) => unknown;
  };
  // Newer Nodes do it in place; older ones in a thread of its own, which is told in a file of its own.
  if (registerHooks !== undefined)
    registerHooks({ resolve: (specifier, context, next) => next(specifier, fromHere(specifier, context)) });
  else register(HOOKS);
}

let done = false;

type Context = { readonly parentURL?: string | undefined };
type SyncResolve = (
  specifier: string,
  context: Context,
  next: (specifier: string, context: Context) => unknown,
) => unknown;

/** Where a name is looked for: ours from here, all else from where it stands. */
export function fromHere<Given extends Context>(specifier: string, context: Given): Given {
  return /^openrath(\/|$)/.test(specifier) ? { ...context, parentURL: import.meta.url } : context;
}
