import type { Store } from "../../store/index.js";

/** The same store with a word before what some of its methods do: they wait for it, or see that somebody else acts first. */
export function slow(
  store: Store,
  before: { readonly [method in keyof Store]?: (...given: never[]) => Promise<void> | undefined },
): Store {
  return new Proxy(store, {
    get(target, key) {
      const value = Reflect.get(target, key, target) as unknown;
      if (typeof value !== "function") return value;
      const first = (before as { readonly [key: string | symbol]: unknown })[key] as
        | ((...given: unknown[]) => Promise<void> | undefined)
        | undefined;
      if (first === undefined) return value.bind(target) as unknown;
      return async (...given: unknown[]) => {
        await first(...given);
        return value.apply(target, given) as unknown;
      };
    },
  });
}
