import { besideStore, type Store } from "../store/index.js";
import { showValue } from "../util/index.js";
import type { Refuse } from "../workflow/index.js";

const NAME = /^[^\s/@~][^/\p{Cc}]{0,199}$/u;

/** The name of a space is a part of the name that it has in the store. */
export function requireSpaceName(name: unknown, refuse: Refuse): void {
  if (typeof name !== "string" || !NAME.test(name))
    throw refuse(
      `its name is ${showValue(name)}`,
      'at most 200 characters, no slash in it, and not beginning with "@" or "~": memory({ name: "notes", … })',
    );
}

export function storeNameOf(space: string): string {
  return `memory/${space}`;
}

/** The folder beside a store for everything derived from it. A store in memory has none. */
export function derivedFolderOf(store: Store): string | undefined {
  const path = besideStore(store);
  return path === undefined ? undefined : `${path}.memory`;
}
