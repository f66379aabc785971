import { fromHere } from "./own-copy.js";

type Context = { readonly parentURL?: string | undefined };
type Resolve = (specifier: string, context: Context) => Promise<unknown>;

/** Answers Node, in a thread of its own, where a name leads to. */
export function resolve(specifier: string, context: Context, next: Resolve): Promise<unknown> {
  return next(specifier, fromHere(specifier, context));
}
