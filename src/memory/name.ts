import type { Store } from "../store/index.js";
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

/** The name that a space has in its store. */
export function storeNameOf(space: string): string {
  return `memory/${space}`;
}

/**
 * The folder for everything that is derived from a store. It is beside the store, can be deleted at any time, and is
 * then made again. A store that is not on a disk has none: its indexes are kept in memory.
 */
export function derivedFolderOf(store: Store): string | undefined {
  const [, path] = /^sqlite:(.+)$/s.exec(store.url) ?? [];
  return path === undefined ? undefined : `${path}.memory`;
}
